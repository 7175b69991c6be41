"""Jobs: what they may be of, how they stand, and the dags that are built in for them.

A job binds a dag, parameters and perhaps a schedule under a name. Making one makes no dag and no
version: a command and a request are parameters of two dags that come with Mainspring.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.names import listed, shown
from mainspring.domain.requests import (
    EXPECTED,
    HEADER,
    METHOD,
    RETRIED,
    address_problem,
    address_shown,
    is_status,
    places_in,
    status_ranges,
)
from mainspring.domain.specs import DagSpec, Parameter, ParameterSpec, RetrySpec, TaskSpec
from mainspring.domain.states import RunState

NAME_LENGTH_MAX = 190
"""So that its schedule, which is called `job.` and its name, has a name as well."""
ATTEMPTS_MAX = 1_000
TIMEOUT_SECONDS_MAX = 365 * 86_400.0
REQUEST_SECONDS = 30.0
"""How long a request may take, if its job says nothing."""


class JobKind(StrEnum):
    COMMAND = "command"
    HTTP = "http"
    TASK = "task"


class JobStatus(StrEnum):
    """How a job stands, at a glance."""

    PENDING = "pending"
    """A run of it waits, or its first fire is to come."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    """So did its last run."""
    FAILED = "failed"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    """By hand; or so was its last run."""
    FINISHED = "finished"
    """Nothing of it is left to come, and no run is kept that would tell how it went."""


_VERDICTS = {
    RunState.SUCCEEDED: JobStatus.SUCCEEDED,
    RunState.FAILED: JobStatus.FAILED,
    RunState.CANCELLED: JobStatus.CANCELLED,
}


def job_status(
    *,
    cancelled: bool,
    paused: bool,
    running: int,
    queued: int,
    last: RunState | None,
    to_come: bool,
) -> JobStatus:
    """What is wanted of it comes first, then what it does now, then what it did last."""
    if cancelled:
        return JobStatus.CANCELLED
    if running:
        return JobStatus.RUNNING
    if paused:
        return JobStatus.PAUSED
    if queued:
        return JobStatus.PENDING
    if last in _VERDICTS:
        return _VERDICTS[last]
    return JobStatus.PENDING if to_come else JobStatus.FINISHED


def schedule_of(name: str) -> str:
    """What the schedule of a job is called."""
    return f"job.{name}"


# --- what a job does -----------------------------------------------------------------------


class CommandCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program and its arguments; no shell reads them."""

    arguments: list[str]
    cwd: str | None = None

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of a run: those of the job become variables of the program's environment."""
        arguments: object = self.arguments
        if not isinstance(arguments, (list, tuple)) or not arguments:
            raise InputError(
                "`command`: expected the program and its arguments",
                hint='write `["pg_dump", "--dbname", "shop"]`; for a shell, `["sh", "-c", "…"]`',
            )
        for number, argument in enumerate(arguments):
            _check_text(f"`command`: argument {number}", argument)
        if not arguments[0]:
            raise InputError("`command`: the program has no name")
        if self.cwd is not None:
            _check_text("`command`: `cwd`", self.cwd)
        for name, value in given.items():
            what = f"parameter {shown(name)} of a command"
            if not name or "=" in name or "\x00" in name:
                raise InputError(f"{what} cannot be the name of a variable")
            _check_plain(what, value)
        return {"arguments": list(arguments), "env": dict(given), "cwd": self.cwd}


class HttpCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request; the status of its answer decides whether it went well."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    query: dict[str, Any] = {}
    body: str | None = None
    json: Any = None
    expect: list[int] | None = None
    """Statuses of success; 200 to 299 if nothing is said."""

    def parameters(self, given: Mapping[str, Any], timeout_seconds: float | None) -> dict[str, Any]:
        """Of a run: those of the job fill the places in the address."""
        if not METHOD.fullmatch(str(self.method)):
            raise InputError(f"`http`: {shown(self.method)} is no method such as `GET` or `POST`")
        self._check_address(given)
        for name, value in self.headers.items():
            if not HEADER.fullmatch(name):
                raise InputError(f"`http`: {shown(name)} cannot be the name of a header")
            _check_text(f"`http`: header {shown(name)}", value)
        if self.json is not None and self.body is not None:
            raise InputError("`http`: `json` and `body` both say what is sent; give one of them")
        if self.body is not None:
            _check_text("`http`: `body`", self.body)
        expect = EXPECTED if self.expect is None else self.expect
        for status in expect:
            if not is_status(status):
                raise InputError(f"`http`: `expect`: {shown(status)} is no status of HTTP")
        if not expect:
            raise InputError("`http`: `expect` names no status", hint="leave it away for 2xx")
        return {
            "method": self.method.upper(),
            "url": self.url,
            "path": dict(given),
            "query": dict(self.query),
            "headers": dict(self.headers),
            "json": self.json,
            "body": self.body,
            "timeout_seconds": timeout_seconds or REQUEST_SECONDS,
            "expect": status_ranges(expect),
            "retry_on": status_ranges(RETRIED),
        }

    def _check_address(self, given: Mapping[str, Any]) -> None:
        url: object = self.url
        if not isinstance(url, str):
            raise InputError(f"`http`: the address is no text but `{type(url).__name__}`")
        filled = url.replace("{", "").replace("}", "")
        if problem := address_problem(filled):
            raise InputError(
                f"`http`: the address {shown(address_shown(filled))} {problem}",
                hint="write it like `https://shop.example/orders`",
            )
        places = places_in(url)
        for name, value in given.items():
            _check_plain(f"parameter {shown(name)} of a request", value)
        if odd := sorted(places.symmetric_difference(given)):
            raise InputError(
                f"`http`: {listed(odd)} {'is' if len(odd) == 1 else 'are'} "
                + ("in the address and no parameter" if odd[0] in places else "not in the address"),
                hint="parameters of a request fill the `{name}` in its address",
            )


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise InputError(f"{what}: expected text, got `{type(value).__name__}`")
    if "\x00" in value:
        raise InputError(f"{what} holds a NUL character")


def _check_plain(what: str, value: object) -> None:
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{what}: expected text or a number, got `{type(value).__name__}`")
    if isinstance(value, str):
        _check_text(what, value)


# --- built-in dags ---------------------------------------------------------------------------


def _built_in(
    name: str, entry: str, kind: SlotKind, retry: RetrySpec, parameters: list[str], about: str
) -> DagSpec:
    task = TaskSpec(
        name.removeprefix(BUILT_IN),
        entry,
        kind=kind,
        arguments={parameter: Parameter(parameter) for parameter in parameters},
        retry=retry,
    )
    return DagSpec(
        name,
        (task,),
        parameters=tuple(ParameterSpec(each) for each in parameters),
        description=about,
    )


BUILT_IN = "mainspring."
"""How the names of dags begin that come with Mainspring."""

BUILT_IN_DAGS: Mapping[JobKind, DagSpec] = {
    JobKind.COMMAND: _built_in(
        f"{BUILT_IN}command",
        "mainspring.operators.commands:run_command",
        SlotKind.COMMAND,
        RetrySpec(attempts=1, backoff="exponential", first_seconds=1.0, cap_seconds=300.0),
        ["arguments", "env", "cwd"],
        "Commands of jobs.",
    ),
    JobKind.HTTP: _built_in(
        f"{BUILT_IN}http",
        "mainspring.operators.requests:send_request",
        SlotKind.ASYNC,
        RetrySpec(attempts=5, backoff="exponential", first_seconds=1.0, cap_seconds=60.0),
        [
            *("method", "url", "path", "query", "headers", "json", "body"),
            *("timeout_seconds", "expect", "retry_on"),
        ],
        "Requests of jobs.",
    ),
}
