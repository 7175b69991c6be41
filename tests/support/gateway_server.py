"""A gateway as a process of its own: `python -m tests.support.gateway_server SOCKET-FD`.

It serves on a socket that its parent has opened, so that a gateway that was killed can be started
again at the same address, and whoever knocks meanwhile waits at the door.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request

from mainspring.api.gateway.gateway import Gateway
from mainspring.api.gateway.routes import NotAllowed, routes
from mainspring.app import configure_logging

TOKEN = "a-token-of-workers"


async def authorize(request: Request) -> Sequence[str]:
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        raise NotAllowed("this token is not known", hint="set MAINSPRING_TOKEN")
    return ()


def application(url: str, home: Path) -> Starlette:
    gateway = Gateway(url, home)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with gateway.serving():
            yield

    return Starlette(routes=routes(gateway, authorize), lifespan=lifespan)


def main() -> None:
    configure_logging()
    door = socket.socket(fileno=int(sys.argv[1]))
    app = application(os.environ["MAINSPRING_DATABASE_URL"], Path(os.environ["MAINSPRING_HOME"]))
    config = uvicorn.Config(
        app, log_level="warning", timeout_keep_alive=75, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[door])


if __name__ == "__main__":
    main()
