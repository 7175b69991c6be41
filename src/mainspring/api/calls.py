"""What a handler knows of the request beside its typed parameters."""

from __future__ import annotations

from starlette.datastructures import Headers

from mainspring.api.services import Services
from mainspring.store.tokens import Caller


class Call:
    __slots__ = ("_caller", "headers", "key", "request_id", "secret", "services")

    def __init__(
        self,
        services: Services,
        headers: Headers,
        request_id: str,
        caller: Caller | None,
        secret: str,
        key: str | None,
    ) -> None:
        self.services = services
        self.headers = headers
        self.request_id = request_id
        self._caller = caller
        self.secret = secret
        """What the caller is known by; empty on public routes."""
        self.key = key
        """The Idempotency-Key."""

    @property
    def caller(self) -> Caller:
        """Who asks; only routes that need a role have one."""
        assert self._caller is not None, "a public route has no caller"
        return self._caller

    @property
    def who(self) -> str:
        """Who asks, as history will show it."""
        return self.caller.name
