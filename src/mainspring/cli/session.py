"""From settings to a client: which server or which database, and one event loop for a command.

A command asks the routes of the server. With MAINSPRING_URL these are those of a server; else, and
where `--home` says which database is meant, the same routes run in this process, over the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.http import HttpClient

_P = ParamSpec("_P")
_T = TypeVar("_T")


def with_http(
    home: Path | None,
    action: Callable[Concatenate[HttpClient, _P], Awaitable[_T]],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Do `action(client, …)` with a client of the server, or of the routes in this process."""

    async def session() -> _T:
        async with await _http_client(home) as client:
            return await action(client, *args, **kwargs)

    return asyncio.run(session())


async def _http_client(home: Path | None) -> HttpClient:
    from mainspring.config import database_url, find_server, load_config

    server = find_server() if home is None else None
    if server is not None:
        from mainspring.http.client import HttpClient

        return HttpClient(server.url, server.token)
    config = load_config(home=home)
    url = database_url(config)
    from mainspring.api.local import LocalRoutes
    from mainspring.cli.given import person
    from mainspring.http.client import HttpClient

    routes = LocalRoutes(url, home=config.home, who=person())
    await routes.open()
    return HttpClient(transport=routes)


def with_client(
    home: Path | None,
    action: Callable[Concatenate[Client, _P], Awaitable[_T]],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Connect to the database, do `action(client, …)`, disconnect."""
    from mainspring.client import Client
    from mainspring.config import database_url, load_config

    check_beside_database(home)
    url = database_url(load_config(home=home))

    async def session() -> _T:
        async with Client(url, name="command") as client:
            return await action(client, *args, **kwargs)

    return asyncio.run(session())


def only_a_server(home: Path | None) -> bool:
    """Whether a server is named, and no database beside it."""
    from mainspring.config import find_server

    named = home is not None or os.environ.get("MAINSPRING_DATABASE_URL")
    return not named and find_server() is not None


def check_beside_database(home: Path | None) -> None:
    """InputError if a server is named, and no database beside it."""
    from mainspring.domain.errors import InputError

    if not only_a_server(home):
        return
    raise InputError(
        "this command asks the database itself, and MAINSPRING_URL names a server",
        hint="give it where the database is, with `--home` or MAINSPRING_DATABASE_URL",
    )
