"""The routes without a server: for a command beside its database, in its own process.

The same handlers, types and refusals as over the network, so that a command tells the same either
way. No socket, no token: who can reach the database may do everything, and is called as the system
calls them. What was not expected is not wrapped: it is raised, where the command was given.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import Message

from mainspring.api.answers import encode
from mainspring.api.application import build_router
from mainspring.api.problems import CONTENT_TYPE, problem_of, status_of
from mainspring.api.resources import RESOURCES
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
        self._router = build_router(RESOURCES, self._services, Everybody(who))

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
            await self._router(scope, exchange.receive, exchange.send)
        except MainspringError as error:
            if status_of(error) == 500:
                raise
            return Reply(
                status_of(error),
                {"content-type": CONTENT_TYPE},
                encode(problem_of(error, "")),
            )
        return Reply(exchange.status, exchange.headers, b"".join(exchange.content))

    async def close(self) -> None:
        await self._services.close()


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
