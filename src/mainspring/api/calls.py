"""What a handler knows of the request beside its typed parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.types import Receive

from mainspring.api.decoding import Disconnected
from mainspring.api.services import Services
from mainspring.store.tokens import Caller

_T = TypeVar("_T")


class Call:
    __slots__ = ("_caller", "_receive", "headers", "key", "request_id", "secret", "services")

    def __init__(
        self,
        services: Services,
        headers: Headers,
        request_id: str,
        caller: Caller | None,
        secret: str,
        key: str | None,
        receive: Receive,
    ) -> None:
        self.services = services
        self.headers = headers
        self.request_id = request_id
        self._caller = caller
        self.secret = secret
        """What the caller is known by; empty on public routes."""
        self.key = key
        """The Idempotency-Key."""
        self._receive = receive

    @property
    def caller(self) -> Caller:
        """Who asks; only routes that need a role have one."""
        assert self._caller is not None, "a public route has no caller"
        return self._caller

    @property
    def who(self) -> str:
        """Who asks, as history will show it."""
        return self.caller.name

    async def while_connected(self, waited: Awaitable[_T]) -> _T:
        """The answer, unless whoever asked hangs up before."""
        asked = asyncio.ensure_future(waited)
        gone = asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait([asked, gone], return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise Disconnected
            return asked.result()
        finally:
            asked.cancel()
            gone.cancel()
            await asyncio.gather(asked, gone, return_exceptions=True)

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
