"""What schemathesis loads: each request gets the right token and, mostly, things that are there.

What is generated has the right form and means nothing: a dag that is not there, a line that is no
cron line. So most parts of paths, queries and bodies are exchanged for what the keeper says there
is, bodies are crossed with the example of their operation, and cursors are those of earlier pages.
The rest stays as it was generated, right or wrong.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import schemathesis

from tests.fuzz.stage import STEP_SECONDS, Hand, Things
from tests.fuzz.tally import Tally, tally_file

PLACE = Path(os.environ["FUZZ_PLACE"])
TOKENS: dict[str, str] = json.loads(os.environ["FUZZ_TOKENS"])
"""The secret for each role; under `""` the one for all, if it is to be one."""
SEED = int(os.environ["FUZZ_SEED"])
SHORT_SECONDS = 0.02
CURSORS_MAX = 20
TELL_EACH = 500

TIMES = (
    *("0 3 * * *", "*/5 * * * * *", "H H * * *", "30 2 31 * *", "@daily", "every 90m", "every 1s"),
    *("2027-03-28T02:30:00Z", "2020-01-01T00:00:00Z", "now"),
    *("FREQ=DAILY;COUNT=3", "RRULE:FREQ=MONTHLY;BYDAY=-1FR", "at 02:00 each day"),
)
"""What may be written for a time; nobody would find it by chance."""
WORDS: dict[str, tuple[Any, ...]] = {
    "when": (*TIMES, ["0 3 * * *"], ["every 90m", "0 1 * * mon"]),
    "schedule": (*TIMES, ["0 3 * * *"], {"when": ["0 3 * * *"]}),
    "timezone": ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
    "timeout": ("10m", "1h30m", 5, 0.5),
    "expires_in": ("30d", "1s"),
    "topics": ("runs", "queues,workers", "runs:dag=daily_sales", "dags,runs"),
    "fields": ("id", "name", "id,name", "id,dag,state", "name,status"),
    "text": ("sales", "%", "_", "\\", "daily%"),
    "weekdays": (["sat"], ["sunday", "Mon"]),
    "country": ("DE", "US"),
    "kind": ("cron", "command", "http", "task"),
}


class _Told:
    """What the keeper says, read again now and then."""

    def __init__(self) -> None:
        self._read_at = -1.0
        self._things = Things({}, [])

    def now(self) -> Things:
        if time.monotonic() > self._read_at + STEP_SECONDS:
            content = (PLACE / "things.json").read_bytes()
            self._things = msgspec.json.decode(content, type=Things)
            self._read_at = time.monotonic()
        return self._things


_luck = random.Random(SEED)
_lock = threading.Lock()
_tally = Tally()
_cursors: dict[str, list[str]] = {}
_told = _Told()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    with _lock:
        operation = case.operation.definition.raw
        things = _told.now()
        if isinstance(case.path_parameters, dict):
            for name in case.path_parameters:
                # Workers name themselves by their incarnation, and others by their name.
                others = name == "worker" and operation.get("x-role") != "worker"
                _exchange(case.path_parameters, name, things, "worker_name" if others else name)
        if isinstance(case.query, dict):
            for name in case.query:
                # Elsewhere these are runs.
                compares = operation["operationId"] == "diff_versions"
                _exchange(case.query, name, things, "version" if compares else name)
            _hurry(case.query, operation)
            if "cursor" in case.query and case.operation.label in _cursors and _luck.random() < 0.7:
                case.query["cursor"] = _luck.choice(_cursors[case.operation.label])
        if isinstance(case.body, dict):
            body = _crossed(case.body, operation)
            _fill(body, things)
            _hurry(body, operation)
            case.body = body
        if "Idempotency-Key" in case.headers and (luck := _luck.random()) < 0.75:
            # A key that was used before gets no further.
            case.headers["Idempotency-Key"] = str(uuid4())
            if luck < 0.5:
                del case.headers["Idempotency-Key"]
        if case.path_parameters.get("schedule") and _luck.random() < 0.5:
            case.headers["If-Match"] = "*"
        elif "If-Match" in case.headers and _luck.random() < 0.5:
            case.headers["If-Match"] = '"1"'
        role = operation.get("x-role")
        if role is not None:
            case.headers["Authorization"] = f"Bearer {TOKENS.get('') or TOKENS[role]}"


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    with _lock:
        label = case.operation.label
        _tally.count(label, response.status_code)
        seconds = response.elapsed
        if _tally.requests % TELL_EACH == 0:
            tell()
        _tally.slowest[label] = max(_tally.slowest.get(label, 0.0), seconds)
        if response.status_code == 200 and case.method.upper() == "GET":
            _keep_cursor(label, response)
        elif 400 <= response.status_code < 500:
            _tally.refuse(label, f"{response.status_code} {_detail_of(response)}"[:120])


@schemathesis.hook
def after_network_error(context: Any, case: Any, request: Any) -> None:
    with _lock:
        _tally.count(case.operation.label, 0)


@atexit.register
def tell() -> None:
    tally_file(PLACE, SEED).write_bytes(msgspec.json.encode(_tally))


def _exchange(found: dict[str, Any], name: str, things: Things, kind: str = "") -> None:
    kind = kind or name
    if _luck.random() < 0.75 and (known := things.names.get(kind) or WORDS.get(kind)):
        value = _luck.choice(known)
        found[name] = [value] if isinstance(found[name], list) else value


def _hurry(found: dict[str, Any], operation: dict[str, Any]) -> None:
    """Nobody waits for what is not going to happen."""
    if operation["operationId"] == "listen":
        found.setdefault("seconds", 0)
    for name in ("wait", "wait_seconds", "seconds"):
        value = found.get(name)
        if isinstance(value, int | float) and value > SHORT_SECONDS:
            found[name] = SHORT_SECONDS


def _crossed(body: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """Some of what was generated, over what is known to work."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    example = content.get("example")
    if not isinstance(example, dict) or _luck.random() < 0.25:
        return dict(body)
    known: dict[str, Any] = json.loads(json.dumps(example))
    if "oneOf" in content["schema"]:
        # Both together would be neither.
        return known if _luck.random() < 0.5 else dict(body)
    return _over(known, body)


def _over(known: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    for name, value in body.items():
        if _luck.random() < 0.3:
            inner = known.get(name)
            both = isinstance(value, dict) and isinstance(inner, dict)
            known[name] = _over(inner, value) if both and inner is not None else value
    return known


def _fill(value: Any, things: Things) -> None:
    """Names, numbers and claims that are there, wherever a field is called after them."""
    if isinstance(value, list):
        for each in value:
            _fill(each, things)
        return
    if not isinstance(value, dict):
        return
    hand: Hand | None = _luck.choice(things.hand) if things.hand else None
    for name, inner in value.items():
        if isinstance(inner, dict):
            _fill(inner, things)
        elif name in ("runs", "groups", "queues", "tasks") and isinstance(inner, list) and inner:
            if not isinstance(inner[0], dict):
                _exchange_each(inner, things.names.get(name[:-1], []))
            else:
                _fill(inner, things)
        elif name == "claims" and isinstance(inner, list) and hand is not None:
            value[name] = [each.claim for each in things.hand] if _luck.random() < 0.8 else inner
        elif isinstance(inner, list):
            _fill(inner, things)
        elif name == "task" and isinstance(inner, int) and hand is not None and "term" in value:
            if _luck.random() < 0.8:
                value["task"], value["term"] = hand.task, hand.term
        elif name != "term" and inner is not None and _luck.random() < 0.5:
            _exchange(value, name, things)


def _exchange_each(found: list[Any], known: list[Any]) -> None:
    for number in range(len(found)):
        if known and _luck.random() < 0.7:
            found[number] = _luck.choice(known)


def _keep_cursor(label: str, response: Any) -> None:
    try:
        following = response.json()["next"]
    except (ValueError, KeyError, TypeError):
        return
    if isinstance(following, str):
        kept = _cursors.setdefault(label, [])
        kept.append(following)
        del kept[:-CURSORS_MAX]


def _detail_of(response: Any) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return ""
