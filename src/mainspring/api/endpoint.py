"""One request's road through a route: guard, limits, decode, handler, encode.

What costs least comes first: who may not ask is refused before the body is read, and what is too
large before it is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from mainspring.api.answers import MSGPACK, Answer, Flow, encode, pack, send_answer
from mainspring.api.calls import Call
from mainspring.api.decoding import decode_body, decode_parts, decode_query, read_body
from mainspring.api.guard import Doorkeeper
from mainspring.api.masking import masked, quotes
from mainspring.api.pages import selected
from mainspring.api.problems import Refusal
from mainspring.api.repeating import answered_once, digest_of, given_key
from mainspring.api.routes import Method, Route
from mainspring.api.services import Services
from mainspring.api.sharing import Sharing
from mainspring.domain.roles import Role, allows

_WITH_BODY = ("POST", "PUT", "PATCH")


class Endpoint:
    """All methods of one path."""

    def __init__(
        self, routes: Mapping[Method, Route], services: Services, guard: Doorkeeper
    ) -> None:
        self._roads = {method: Road(route, services, guard) for method, route in routes.items()}
        self._allow = ", ".join(sorted({*routes, *(["HEAD"] if "GET" in routes else [])}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        road = self._roads.get("GET" if method == "HEAD" else method)
        if road is None:
            raise Refusal(
                405,
                "method",
                f"{scope['path']} is not there for {method}",
                hint=f"it is for {self._allow}",
                headers=((b"allow", self._allow.encode()),),
            )
        await road.go(scope, receive, send)


class Road:
    def __init__(self, route: Route, services: Services, guard: Doorkeeper) -> None:
        self._route = route
        self._services = services
        self._guard = guard
        self._quotes = route.needs is not None and quotes(route.answer)
        self._sharing: Sharing[Answer] = Sharing()
        self._decoder = None if route.body is None else msgspec.json.Decoder(route.body)
        packed = route.packed and route.body is not None
        self._unpacker = msgspec.msgpack.Decoder(route.body) if packed else None

    async def go(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._route
        scope["mainspring.route"] = route.path
        scope["mainspring.slow"] = route.slow
        headers = Headers(scope=scope)
        caller, secret = None, ""
        if route.needs is not None:
            client = scope.get("client")
            caller, secret = await self._guard.admit(
                route.needs, scope["method"], headers, client[0] if client else ""
            )
            scope["mainspring.caller"] = caller.name
        arguments = decode_parts(route.parts, scope.get("path_params", {}))
        query = decode_query(route.query, scope.get("query_string", b""))
        if query is not None:
            arguments["query"] = query
        content = b""
        if route.method in _WITH_BODY:
            content = await read_body(receive, headers, route.body_bytes_max)
            body = decode_body(self._decoder, content, headers, self._unpacker)
            if body is not None:
                arguments["body"] = body
        key = given_key(headers.get("idempotency-key")) if route.method == "POST" else None
        request_id = scope["mainspring.request"]
        call = Call(self._services, headers, request_id, caller, secret, key, receive)
        if route.goes_on:
            flow: Flow = await route.handler(call, **arguments)
            scope["mainspring.goes_on"] = True
            await flow.go(scope, receive, send)
            return
        if route.shared:
            assert caller is not None
            if route.waits is not None:
                await route.waits(call, **arguments)
            # Who may only look is told less, so it shares with its like.
            what = (
                caller.tenant_id,
                self._masks(call),
                scope["path"],
                scope.get("query_string", b""),
            )
            answer = await self._sharing.share(what, lambda: self._handle(call, arguments))
        elif key is None or caller is None or route.repeats:
            answer = await self._handle(call, arguments)
        else:
            digest = digest_of(route.method, scope["path"], content)
            answer = await answered_once(
                self._services, caller, key, digest, lambda: self._handle(call, arguments)
            )
        await send_answer(send, answer, scope["method"], headers)

    async def _handle(self, call: Call, arguments: dict[str, Any]) -> Answer:
        said = await self._route.handler(call, **arguments)
        if (fields := getattr(arguments.get("query"), "fields", None)) is not None:
            said = selected(said, fields)
        if isinstance(said, Answer):
            return said
        if said is None:
            return Answer(status=204)
        if self._route.packed and call.headers.get("accept") == MSGPACK:
            return Answer(pack(said), content_type=MSGPACK.encode())
        version = said.version if self._route.versioned else None
        content = encode(said)
        if self._masks(call):
            content = masked(content)
        return Answer(content, status=self._route.status, version=version)

    def _masks(self, call: Call) -> bool:
        return self._quotes and not allows(call.caller.role, Role.OPERATOR)
