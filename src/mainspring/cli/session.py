"""From settings to a client: which database, and one event loop for a command's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from mainspring.client import Client

_P = ParamSpec("_P")
_T = TypeVar("_T")


def with_client(
    home: Path | None,
    action: Callable[Concatenate[Client, _P], Awaitable[_T]],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Connect, do `action(client, …)`, disconnect."""
    from mainspring.client import Client
    from mainspring.config import database_url, load_config

    url = database_url(load_config(home=home))

    async def session() -> _T:
        async with Client(url, name="command") as client:
            return await action(client, *args, **kwargs)

    return asyncio.run(session())
