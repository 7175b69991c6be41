"""The link by which `mainspring up` lets its owner into the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from mainspring.config import Config


def take_port(config: Config) -> tuple[Config, socket.socket]:
    """The port that was asked for; if none was and the usual one is taken, a free one.

    Two installations on one machine should not have to know of each other. What listens there is
    handed to the server: so nobody else gets the port between now and then, or while the server is
    started again, and the link leads to us and to nobody else.
    """
    import msgspec

    from mainspring.api.server import bind
    from mainspring.config import Listening
    from mainspring.domain.errors import UnavailableError

    listening = config.listening
    try:
        listener = bind(listening)
    except UnavailableError:
        if listening.port != Listening().port:
            raise
        listener = bind(msgspec.structs.replace(listening, port=0))
    port = listener.getsockname()[1]
    listening = msgspec.structs.replace(listening, port=port)
    return msgspec.structs.replace(config, listening=listening), listener


async def login_link(url: str, config: Config) -> str:
    """Opens a session of an admin, once, within ten minutes."""
    from mainspring.api.server import address_of
    from mainspring.client import Client
    from mainspring.domain.roles import Role
    from mainspring.store.tokens import LINK_SECONDS, create_token, new_secret

    secret = new_secret()
    async with Client(url, name="up") as client:
        await client.ask(
            create_token,
            secret,
            name="up",
            role=Role.ADMIN,
            kind="link",
            seconds=LINK_SECONDS,
            by="up",
        )
    return f"{address_of(config.listening)}/login?code={secret}"
