"""`http`: a request as a task.

The answer's status decides: success, another attempt, or failure for good. Nothing is followed
and nothing is guessed: a redirect is an answer like any other.

Python's own client blocks, and the task is a coroutine, so that it costs no process while it
waits. So each request has a thread of its own, and a request that is stopped or late has its
socket closed under it.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from mainspring.authoring.context import context
from mainspring.authoring.drawing import Later
from mainspring.authoring.ends import Fail, Retry
from mainspring.authoring.options import checked_seconds
from mainspring.authoring.retries import RetryPolicy
from mainspring.authoring.tasks import task
from mainspring.domain.durations import Duration, format_duration
from mainspring.domain.errors import DefinitionError
from mainspring.domain.names import shown
from mainspring.domain.requests import (
    EXPECTED,
    HEADER,
    METHOD,
    PLACE,
    RETRIED,
    address_problem,
    address_shown,
    is_status,
    places_in,
    status_ranges,
)
from mainspring.operators.options import (
    TaskOptions,
    check_mapping,
    check_plain,
    plain_text,
    require_drawing,
)

if TYPE_CHECKING:
    from mainspring.operators.exchange import Answer

BODY_BYTES_MAX = 256 * 1024
RETRY_AFTER_SECONDS_MAX = 24 * 3600.0
_SHOWN_BODY_LENGTH = 500
_KEPT_HEADERS = ("content-type", "etag", "last-modified", "link", "location", "retry-after")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
_RETRY = RetryPolicy(attempts=5, first="1s", cap="1m")

Statuses = int | Iterable[int]


def http(
    method: str,
    url: Any,
    *,
    path: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, Any] | None = None,
    json: Any = None,
    body: Any = None,
    timeout: Duration = "30s",
    expect: Statuses = EXPECTED,
    retry_on: Statuses = RETRIED,
    **options: Unpack[TaskOptions],
) -> Any:
    """Draw a task that sends a request; its result has `status`, `headers` and `body`.

    >>> http(
    ...     "POST",
    ...     "https://shop.example/orders/{order}/refund",
    ...     path={"order": order},
    ...     json={"reason": reason},
    ...     timeout="10s",
    ...     name="refund",
    ... )

    Parameters and results may stand in `path` (for the `{…}` in the address), `query`, `headers`,
    `json` and `body` (text), and may be the whole `url`. An answer with a status in `expect` is a
    success; one in `retry_on` asks for another attempt, after the time that its `Retry-After` says,
    if it has one; any other fails the task. What goes wrong before there is an answer is tried
    again as well. Up to five attempts are made unless `retries` or `retry` say otherwise.
    Requests that may change something carry the task's `Idempotency-Key`.
    """
    require_drawing("http")
    what = "`http`"
    if not METHOD.fullmatch(str(method)):
        raise DefinitionError(f"{what}: {shown(method)} is not a method such as `GET` or `POST`")
    for name, mapping in (("path", path), ("query", query), ("headers", headers)):
        check_mapping(f"{what}: `{name}`", mapping)
    for name, value in [*(path or {}).items(), *(headers or {}).items()]:
        check_plain(f"{what}: {shown(name)}", value)
    for name in headers or {}:
        if not HEADER.fullmatch(name):
            raise DefinitionError(f"{what}: {shown(name)} cannot be the name of a header")
    _check_address(what, url, path or {})
    if json is not None and body is not None:
        raise DefinitionError(f"{what}: `json` and `body` both say what is sent; give one of them")
    if body is not None:
        check_plain(f"{what}: `body`", body)
    if not isinstance(url, Later):
        options.setdefault("description", f"{method.upper()} {address_shown(url)}"[:200])
    return send_request.with_options(**options)(
        method=method.upper(),
        url=url,
        path=dict(path or {}),
        query=dict(query or {}),
        headers=dict(headers or {}),
        json=json,
        body=body,
        timeout_seconds=checked_seconds(f"{what}: `timeout`", timeout, positive=True),
        expect=_ranges(f"{what}: `expect`", expect),
        retry_on=_ranges(f"{what}: `retry_on`", retry_on),
    )


class Request(msgspec.Struct, frozen=True):
    """A request as it is sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None
    timeout_seconds: float

    @property
    def shown(self) -> str:
        return f"{self.method} {address_shown(self.url)}"


@task(name="http")
async def send_request(
    method: str,
    url: str,
    path: dict[str, Any],
    query: dict[str, Any],
    headers: dict[str, Any],
    json: Any,
    body: Any,
    timeout_seconds: float,
    expect: list[tuple[int, int]],
    retry_on: list[tuple[int, int]],
) -> dict[str, Any]:
    """Send a request."""
    from mainspring.operators.exchange import exchanged

    address = _address(url, path, query)
    sent = {name: plain_text(f"header `{name}`", value) for name, value in headers.items()}
    request = _request(method, address, sent, json, body, timeout_seconds)
    answer = await exchanged(request, BODY_BYTES_MAX)
    if _within(answer.status, expect):
        return _result(request, answer)
    if _within(answer.status, retry_on):
        raise Retry(_told(request, answer), after=_retry_after(answer.headers.get("retry-after")))
    raise Fail(_told(request, answer))


# Not as an option of `@task`: a dag's defaults go before it.
send_request.spec = msgspec.structs.replace(send_request.spec, retry=_RETRY.spec)


# --- what is sent --------------------------------------------------------------------------


def _check_address(what: str, url: object, path: Mapping[str, Any]) -> None:
    if isinstance(url, Later):
        if path:
            raise DefinitionError(f"{what}: `path` fills an address that is written in the dag")
        return
    if not isinstance(url, str):
        raise DefinitionError(f"{what}: the address: expected text, got `{type(url).__name__}`")
    if problem := address_problem(PLACE.sub("x", url)):
        raise DefinitionError(f"{what}: the address {shown(address_shown(url))} {problem}")
    places = places_in(url)
    if places != path.keys():
        odd = min(places.symmetric_difference(path))
        raise DefinitionError(
            f"{what}: {shown(odd)} is "
            + ("in the address and not in `path`" if odd in places else "not in the address"),
            hint='write `http("GET", "https://…/orders/{order}", path={"order": order})`',
        )


def _address(url: str, path: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """The whole address. What fills a place stays one segment of the path, whatever it holds."""
    segments = {name: _segment(name, value) for name, value in path.items()}
    parts = urlsplit(url)
    filled = PLACE.sub(lambda place: segments.get(place[1], place[0]), parts.path)
    more = urlencode([pair for name, value in query.items() for pair in _pairs(name, value)])
    whole = urlunsplit(
        parts._replace(
            path=quote(filled, safe="/%:@!$&'()*+,;=~"),
            query=quote("&".join(filter(None, (parts.query, more))), safe="/%:@!$&'()*+,;=~?[]"),
            fragment="",
        )
    )
    if problem := address_problem(whole):
        raise Fail(f"the address {shown(address_shown(whole))} {problem}")
    return whole


def _segment(name: str, value: Any) -> str:
    text = plain_text(f"`{name}` in the address", value)
    if text in ("", ".", ".."):
        raise Fail(f"`{name}` in the address cannot be {shown(text)}: it would be another address")
    return quote(text, safe="")


def _pairs(name: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    return [(name, plain_text(f"`{name}` in the query", item)) for item in values]


def _request(
    method: str, url: str, headers: dict[str, str], json: Any, body: Any, timeout_seconds: float
) -> Request:
    given = {name.lower() for name in headers}
    more: dict[str, str] = {}
    sent: bytes | None = None
    if json is not None:
        more["Content-Type"] = "application/json"
        sent = msgspec.json.encode(json)
    elif body is not None:
        more["Content-Type"] = "text/plain; charset=utf-8"
        sent = plain_text("`body`", body).encode("utf-8", "replace")
    if method not in _SAFE_METHODS:
        more["Idempotency-Key"] = context().idempotency_key
    more["User-Agent"] = "mainspring"
    parts = urlsplit(url)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        more["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    headers |= {name: value for name, value in more.items() if name.lower() not in given}
    return Request(method, url, headers, sent, timeout_seconds)


# --- what comes back -----------------------------------------------------------------------


def _result(request: Request, answer: Answer) -> dict[str, Any]:
    if answer.cut:
        raise Fail(
            f"{request.shown} answered {answer.status} with more than {BODY_BYTES_MAX // 1024} kB, "
            "which a result is not meant for; write a task that stores it elsewhere"
        )
    return {
        "status": answer.status,
        "headers": {n: answer.headers[n] for n in _KEPT_HEADERS if n in answer.headers},
        "body": _decoded(answer),
    }


def _decoded(answer: Answer) -> Any:
    """JSON if it says so and is, else text; None if it is neither."""
    kind, _, more = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            pass
    charset = re.search(r"charset=\"?([\w.-]+)", more, re.IGNORECASE)
    try:
        return answer.body.decode(charset[1] if charset else "utf-8")
    except (UnicodeDecodeError, LookupError):
        return None


def _told(request: Request, answer: Answer) -> str:
    words = f"{request.shown} answered {answer.status} {answer.reason}".rstrip()
    if 300 <= answer.status < 400 and (target := answer.headers.get("location")):
        return f"{words}, which leads to {address_shown(target)}; redirects are not followed"
    start = answer.body[: 4 * _SHOWN_BODY_LENGTH].decode("utf-8", "replace").strip()
    if len(start) > _SHOWN_BODY_LENGTH:
        start = f"{start[:_SHOWN_BODY_LENGTH]}…"
    return f"{words}: {start}" if start else words


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number of them or from a date; None if it says nothing readable."""
    from email.utils import parsedate_to_datetime

    if value is None:
        return None
    try:
        seconds = float(value) if value.strip().isdigit() else None
        if seconds is None:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX)


# --- statuses ------------------------------------------------------------------------------


def _ranges(what: str, statuses: Statuses) -> list[tuple[int, int]]:
    """From and to, both included."""
    given: Any = [statuses] if isinstance(statuses, int) else statuses
    if isinstance(given, (str, bytes, Later)) or not isinstance(given, Iterable):
        raise DefinitionError(f"{what}: expected statuses such as `{{404, 410}}`")
    return status_ranges(_checked_statuses(what, given))


def _checked_statuses(what: str, statuses: Iterable[Any]) -> Iterable[int]:
    for status in statuses:
        if not is_status(status):
            raise DefinitionError(f"{what}: {shown(repr(status))} is not a status of HTTP")
        yield status


def _within(status: int, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= status <= last for first, last in ranges)


def timed_out(request: Request) -> TimeoutError:
    limit = format_duration(request.timeout_seconds)
    return TimeoutError(f"{request.shown} was not answered within {limit}")
