"""The gateway over HTTP: one route for each call, under `/api/v1/workers/{worker}`.

The worker in the path is its incarnation, an id that it has made and nobody can guess. Messages are
those of `mainspring/wire.py`, as JSON or as MessagePack.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mainspring import wire
from mainspring.api.gateway.gateway import Gateway
from mainspring.domain.errors import (
    ConflictError,
    InputError,
    MainspringError,
    NotFoundError,
    UnavailableError,
)
from mainspring.store.attempts import Reaped

PREFIX = "/api/v1/workers/{worker}"
BODY_BYTES_MAX = 16 * 1024 * 1024

Authorize = Callable[[Request], Awaitable[Sequence[str]]]
"""The queues that the caller's token is for; none: any. Raises if it is no token of a worker."""

_T = TypeVar("_T")
_Handler = Callable[[UUID, Request, Sequence[str]], Awaitable[object]]

log = structlog.get_logger(__name__)

_json = msgspec.json.Encoder()
_msgpack = msgspec.msgpack.Encoder()


class NotAllowed(MainspringError):
    """Who asks has no token, or one that is not for workers."""

    code = "not_allowed"


def routes(gateway: Gateway, authorize: Authorize) -> list[Route]:
    async def join(worker: UUID, request: Request, allowed: Sequence[str]) -> object:
        return await gateway.join(worker, await _body(request, wire.Join), allowed)

    async def leave(worker: UUID, _request: Request, _allowed: Sequence[str]) -> object:
        await gateway.leave(worker)
        return wire.Nothing()

    async def claim(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        wish = await _body(request, wire.Wish)
        # Nothing is claimed for a worker that does not wait for the answer any more.
        return await _while_connected(request, gateway.claim(worker, wish))

    async def renew(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        return await gateway.renew(worker, await _body(request, wire.Beat))

    async def notes(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        waited = gateway.notes(worker, _wait_seconds(request))
        return await _while_connected(request, waited)

    async def complete(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        return await gateway.complete(worker, await _body(request, wire.Ends))

    async def append(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        await gateway.append_log(worker, await _body(request, wire.Chunks))
        return wire.Nothing()

    async def tell(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        await gateway.tell(worker, await _body(request, wire.Told))
        return wire.Nothing()

    async def give_back(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        await gateway.give_back(worker, await _body(request, wire.Return))
        return wire.Nothing()

    async def read(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        return await gateway.read(worker, await _body(request, wire.Read))

    async def snapshot(worker: UUID, request: Request, _allowed: Sequence[str]) -> object:
        number = request.path_params["snapshot"]
        return Response(
            await gateway.fetch_snapshot(worker, number), media_type="application/octet-stream"
        )

    def route(method: str, path: str, handler: _Handler) -> Route:
        return Route(PREFIX + path, _Endpoint(handler, authorize), methods=[method])

    return [
        route("PUT", "", join),
        route("DELETE", "", leave),
        route("POST", "/claims", claim),
        route("POST", "/beats", renew),
        route("GET", "/notes", notes),
        route("POST", "/ends", complete),
        route("POST", "/logs", append),
        route("POST", "/progress", tell),
        route("POST", "/returns", give_back),
        route("POST", "/inputs", read),
        route("GET", "/snapshots/{snapshot:int}", snapshot),
    ]


class _Endpoint:
    """One call: who asks, the call itself, and its answer or the problem with it.

    An ASGI application of its own, as these are the calls that come by the thousand.
    """

    def __init__(self, handler: _Handler, authorize: Authorize) -> None:
        self._handler = handler
        self._authorize = authorize

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with contextlib.suppress(ClientDisconnect):
            response = await self._respond(request)
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        try:
            allowed = await self._authorize(request)
            answer = await self._handler(_worker(request), request, allowed)
        except Reaped:
            return _problem(410, wire.REAPED, "this worker has no lease", "join under a new id")
        except MainspringError as error:
            return _problem(_status(error), error.code, error.message, error.hint)
        except ClientDisconnect:
            raise
        except Exception:
            log.exception("a worker's call failed", path=request.url.path)
            return _problem(500, "unexpected", "the server's log says why")
        return answer if isinstance(answer, Response) else _answer(request, answer)


async def _while_connected(request: Request, call: Awaitable[_T]) -> _T:
    """The answer, unless whoever asked hangs up before."""
    asked = asyncio.ensure_future(call)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([asked, gone], return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise ClientDisconnect
        return asked.result()
    finally:
        asked.cancel()
        gone.cancel()
        await asyncio.gather(asked, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request, type_: type[_T]) -> _T:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            raise InputError(
                f"the body has more than {BODY_BYTES_MAX:,} bytes", hint="send it in parts"
            )
    try:
        if _is_msgpack(request, "content-type"):
            return msgspec.msgpack.decode(bytes(body), type=type_)
        return msgspec.json.decode(bytes(body), type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the body cannot be understood: {error}") from None


def _worker(request: Request) -> UUID:
    try:
        return UUID(request.path_params["worker"])
    except ValueError:
        raise InputError(
            "the worker in the path is no UUID", hint="make one when the worker starts"
        ) from None


def _wait_seconds(request: Request) -> float:
    text = request.query_params.get("wait_seconds", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= wire.WAIT_SECONDS_MAX:
        raise InputError(f"`wait_seconds` is from 0 to {wire.WAIT_SECONDS_MAX:g}")
    return seconds


def _answer(request: Request, answer: object) -> Response:
    if _is_msgpack(request, "accept"):
        return Response(_msgpack.encode(answer), media_type=wire.MSGPACK)
    return Response(_json.encode(answer), media_type=wire.JSON)


def _problem(status: int, code: str, detail: str, hint: str = "") -> Response:
    problem = wire.Problem(status=status, code=code, detail=detail, hint=hint)
    body: dict[str, Any] = {**msgspec.structs.asdict(problem), "title": detail}
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return Response(_json.encode(body), status, headers, "application/problem+json")


def _is_msgpack(request: Request, header: str) -> bool:
    return wire.MSGPACK in request.headers.get(header, "")


def _status(error: MainspringError) -> int:
    match error:
        case NotAllowed():
            return 401
        case ConflictError():
            return 409
        case NotFoundError():
            return 404
        case UnavailableError():
            return 503
        case InputError():
            return 422
        case _:
            return getattr(error, "status", 500)
