"""How a route is declared: a plain function whose types say what comes in and what goes out.

    runs = Resource("runs", "What was executed.")

    @runs.get("/runs/{run}", needs=Role.VIEWER)
    async def show_run(call: Call, run: RunId) -> shapes.RunWhole:
        \"\"\"One run with its tasks.\"\"\"

The first parameter is the call. `query` and `body`, where a function has them, are structs; every
other parameter is a part of the path. The answer is a struct, which is encoded as JSON, an
`Answer`, which is sent as it is, or a `Flow`, which goes on. The docstring is the documentation.
From this come decoding, refusals, the guard, and the OpenAPI document; a route that cannot be read
is found at import.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from inspect import cleandoc, signature
from types import NoneType
from typing import Any, Literal, TypeVar

import msgspec

from mainspring.domain.roles import Role

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler = Callable[..., Awaitable[Any]]
_H = TypeVar("_H", bound=Handler)

BODY_BYTES_MAX = 1024 * 1024
_PART = re.compile(r"{(\w+)}")


class Example(msgspec.Struct, frozen=True):
    """A request that works, as the documentation shows it; a test makes each of them."""

    path: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: Any = None
    headers: Mapping[str, str] = {}


class Route(msgspec.Struct, frozen=True):
    method: Method
    path: str
    """Below the server's root; parts in braces are parameters of the handler."""
    handler: Handler
    needs: Role | None
    """None: anybody may."""
    summary: str
    description: str
    tag: str
    parts: Mapping[str, Any]
    """The types of the path's parameters."""
    query: type[msgspec.Struct] | None
    body: Any
    """None: it takes none."""
    body_rule: Mapping[str, Any]
    """What the document tells of the body beyond its type: an `Annotated` struct says it."""
    answer: Any
    """None for an `Answer` of the handler's own, and where there is nothing to say."""
    status: int
    produces: str
    example: Example
    refusals: tuple[int, ...]
    body_bytes_max: int
    repeats: bool
    """Whether the handler itself sees to it that a repeated Idempotency-Key has one effect."""
    once: bool
    """Whether it has one effect however often it is asked, also without a key: a key means more."""
    shared: bool
    """Whether the answer depends on nothing but path and query, so that callers may share it."""
    waits: Handler | None
    """What is waited for before a shared answer is read: it takes what the handler takes."""
    versioned: bool
    """Whether the answer has a `version`, which goes into its ETag."""
    packed: bool
    """Whether body and answer may be MessagePack, too."""
    slow: bool
    """Whether it is meant to take long: it waits for something to happen."""
    goes_on: bool
    """Whether the answer is a `Flow`, which sends itself."""
    events: Mapping[str, type[msgspec.Struct]]
    """What a flow tells, by name."""

    @property
    def name(self) -> str:
        return self.handler.__name__


class Resource:
    """A set of routes about one thing."""

    def __init__(self, tag: str, about: str, *, prefix: str = "/api/v1") -> None:
        self.tag = tag
        self.about = about
        self.routes: list[Route] = []
        self._prefix = prefix

    def get(self, path: str, *, needs: Role | None, **options: Any) -> Callable[[_H], _H]:
        return self._route("GET", path, needs, options)

    def post(self, path: str, *, needs: Role | None, **options: Any) -> Callable[[_H], _H]:
        return self._route("POST", path, needs, options)

    def put(self, path: str, *, needs: Role | None, **options: Any) -> Callable[[_H], _H]:
        return self._route("PUT", path, needs, options)

    def patch(self, path: str, *, needs: Role | None, **options: Any) -> Callable[[_H], _H]:
        return self._route("PATCH", path, needs, options)

    def delete(self, path: str, *, needs: Role | None, **options: Any) -> Callable[[_H], _H]:
        return self._route("DELETE", path, needs, options)

    def _route(
        self, method: Method, path: str, needs: Role | None, options: dict[str, Any]
    ) -> Callable[[_H], _H]:
        def declare(handler: _H) -> _H:
            self.routes.append(
                route_of(handler, method, self._prefix + path, needs, self.tag, **options)
            )
            return handler

        return declare


def route_of(
    handler: Handler,
    method: Method,
    path: str,
    needs: Role | None,
    tag: str,
    *,
    example: Example | None = None,
    status: int = 200,
    produces: str = "application/json",
    refusals: tuple[int, ...] = (),
    body_bytes_max: int = BODY_BYTES_MAX,
    repeats: bool = False,
    once: bool = False,
    shared: bool = False,
    waits: Handler | None = None,
    versioned: bool = False,
    packed: bool = False,
    slow: bool = False,
    events: Mapping[str, type[msgspec.Struct]] | None = None,
) -> Route:
    types = typing.get_type_hints(handler, include_extras=True)
    names = list(signature(handler).parameters)[1:]
    parts = {name: types[name] for name in names if name not in ("query", "body")}
    assert list(_PART.findall(path)) == list(parts), f"{handler.__name__}: {path} has {parts}"
    assert handler.__doc__, f"{handler.__name__} says nothing of itself"
    text = cleandoc(handler.__doc__)
    summary, _, description = text.partition("\n\n")
    body = types.get("body")
    body_rule: dict[str, Any] = {}
    if typing.get_origin(body) is typing.Annotated:
        body, *rules = typing.get_args(body)
        for rule in rules:
            body_rule |= rule.extra_json_schema or {}
    answer = types["return"]
    name = getattr(answer, "__name__", "")
    return Route(
        method=method,
        path=path,
        handler=handler,
        needs=needs,
        summary=" ".join(summary.split()).removesuffix("."),
        description=description,
        tag=tag,
        parts=parts,
        query=types.get("query"),
        body=body,
        body_rule=body_rule,
        answer=None if name in ("Answer", "Flow", "NoneType") else answer,
        status=204 if answer is NoneType else status,
        produces=produces,
        example=example or Example(),
        refusals=refusals,
        body_bytes_max=body_bytes_max,
        repeats=repeats,
        once=once,
        shared=shared,
        waits=waits,
        versioned=versioned,
        packed=packed,
        slow=slow or waits is not None,
        goes_on=name == "Flow",
        events=events or {},
    )


def refusals_of(route: Route) -> list[int]:
    """The statuses of problems that this route may answer with."""
    # A query that a route does not know makes no sense anywhere.
    found = {400, 408, 421, 422, 429, 431, 500, 503, *route.refusals}
    if route.needs is not None:
        found |= {401, 403}
    if route.parts:
        found |= {404}
    if route.method in ("POST", "PUT", "PATCH"):
        found |= {409, 413, 415}
    return sorted(found)
