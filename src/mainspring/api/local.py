"""The routes without a server: for a command beside its database, in its own process.

The same handlers, types and refusals as over the network, so that a command tells the same either
way. No socket, no token: who can reach the database may do everything, and is called as the system
calls them. What was not expected is not wrapped: it is raised, where the command was given.

A command asks for little: of the resources only those are loaded that have the path.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message

from mainspring.api.answers import encode
from mainspring.api.application import build_router
from mainspring.api.places import PLACES
from mainspring.api.problems import CONTENT_TYPE, problem_of, status_of
from mainspring.api.routes import Route
from mainspring.api.services import LocalServices
from mainspring.domain.errors import MainspringError
from mainspring.domain.roles import Role
from mainspring.http.requests import Reply, Request
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.tokens import Caller

_NOBODY = 0
"""The number of a caller who has no token."""


class LocalRoutes:
    """A transport of `HttpClient`, over one connection to the database."""

    repeats = False

    def __init__(self, url: str, *, home: Path, who: str) -> None:
        self.server = "this machine"
        self._services = LocalServices(url, home=home)
        self._everybody = Everybody(who)
        self._routers: dict[tuple[str, ...], ASGIApp] = {}

    async def open(self) -> None:
        await self._services.open()

    async def send(self, request: Request) -> Reply:
        path, _, query = request.target.partition("?")
        headers = [(b"host", b"localhost")]
        headers += [(k.lower().encode(), v.encode()) for k, v in request.headers.items()]
        scope = {
            "type": "http",
            "method": request.method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": headers,
            "mainspring.request": "local",
        }
        exchange = _Exchange(request.content)
        try:
            await self._router(unquote(path))(scope, exchange.receive, exchange.send)
        except MainspringError as error:
            if status_of(error) == 500:
                raise
            return Reply(
                status_of(error),
                {"content-type": CONTENT_TYPE},
                encode(problem_of(error, "")),
            )
        return Reply(exchange.status, exchange.headers, b"".join(exchange.content))

    def _router(self, path: str) -> ASGIApp:
        places = places_of(path)
        if places not in self._routers:
            routes = [route for place in places for route in routes_at(place)]
            self._routers[places] = build_router(routes, self._services, self._everybody)
        return self._routers[places]

    async def close(self) -> None:
        await self._services.close()


def places_of(path: str) -> tuple[str, ...]:
    """All that fit: a schedule may be called `preview`."""
    words = path.split("/")
    return tuple(place for place in PLACES if _fits(place.split("/"), words))


def _fits(place: list[str], words: list[str]) -> bool:
    return len(place) == len(words) and all(
        want == word or (want[:1] == "{" and word != "")
        for want, word in zip(place, words, strict=True)
    )


def routes_at(place: str) -> list[Route]:
    # A file may add routes to the resource of another one.
    found: dict[str, Route] = {}
    for file, resource in PLACES[place]:
        module = import_module(f"mainspring.api.resources.{file}")
        for route in getattr(module, resource).routes:
            if route.path == place:
                found[route.method] = route
    return list(found.values())


class Everybody:
    """A doorkeeper who lets everybody in, as one and the same."""

    def __init__(self, who: str) -> None:
        self._caller = Caller(
            id=_NOBODY,
            tenant_id=DEFAULT_TENANT,
            kind="token",
            role=Role.ADMIN,
            queues=(),
            name=who,
        )

    async def admit(
        self, needed: Role, method: str, headers: Headers, address: str
    ) -> tuple[Caller, str]:
        return self._caller, ""


class _Exchange:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.status = 0
        self.headers: dict[str, str] = {}
        self.content: list[bytes] = []

    async def receive(self) -> Message:
        return {"type": "http.request", "body": self._content, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.content.append(message.get("body", b""))
