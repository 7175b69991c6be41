"""Who asks, and how often. Whatever is not expressly public needs a token of the right role.

A token is looked up in the database at most once a second: so it is revoked within a second, on
every server, and a busy caller costs nothing. What a page sends by itself, its session cookie,
counts for changes only if the request comes from the page itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from mainspring.api.problems import Refusal
from mainspring.domain.roles import Role, allows
from mainspring.store.tokens import Caller, looks_like_secret

COOKIE = "mainspring_session"
TRUST_SECONDS = 0.9
"""How long an answer of the database is believed; revoking a token takes that long at most."""
_KNOWN_MAX = 10_000
_FAILURES_PER_SECOND = 10.0

Find = Callable[[str], Awaitable[Caller | None]]
Clock = Callable[[], float]


class Doorkeeper(Protocol):
    """Who asks, or a refusal."""

    async def admit(
        self, needed: Role, method: str, headers: Headers, address: str
    ) -> tuple[Caller, str]: ...


class Guard:
    def __init__(self, find: Find, *, rate: float, clock: Clock = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._known: dict[str, tuple[float, Caller | None]] = {}
        self._asked: dict[str, asyncio.Task[Caller | None]] = {}
        self._callers = Buckets(rate, clock)
        self._failures = Buckets(_FAILURES_PER_SECOND, clock)

    async def admit(
        self, needed: Role, method: str, headers: Headers, address: str
    ) -> tuple[Caller, str]:
        """The caller and its secret, or a refusal."""
        secret, by_cookie = secret_of(headers)
        if by_cookie and method not in ("GET", "HEAD"):
            check_same_origin(headers)
        caller = await self._caller(secret, address)
        if caller is None:
            raise _unknown("this token is not known, has expired or was revoked")
        if not self._callers.take(str(caller.id)):
            raise Refusal(
                429,
                "rate",
                f"token `{caller.name}` asks more often than {self._callers.rate:g} times a second",
                hint="ask less often, or in bulk",
                headers=((b"retry-after", b"1"),),
            )
        if not allows(caller.role, needed):
            raise Refusal(
                403,
                "forbidden",
                f"this needs a token of role `{needed}`, and `{caller.name}` is one of role"
                f" `{caller.role}`",
                hint=f"make one: `mainspring token create --name NAME --role {needed}`",
            )
        return caller, secret

    async def _caller(self, secret: str, address: str) -> Caller | None:
        known = self._known.get(secret)
        if known is not None and self._clock() - known[0] < TRUST_SECONDS:
            return known[1]
        if not looks_like_secret(secret) or not self._failures.has(address):
            self._fail(address)
            return None
        asked = self._asked.get(secret)
        if asked is None:
            asked = self._asked[secret] = asyncio.create_task(self._look_up(secret))
        caller = await asyncio.shield(asked)
        if caller is None:
            self._fail(address)
        return caller

    async def _look_up(self, secret: str) -> Caller | None:
        try:
            # Trusted from before the question on: what happened since may not be in the answer.
            since = self._clock()
            caller = await self._find(secret)
            if caller is not None:
                if len(self._known) >= _KNOWN_MAX:
                    self._known.clear()
                self._known[secret] = (since, caller)
            else:
                self._known.pop(secret, None)
            return caller
        finally:
            del self._asked[secret]

    def _fail(self, address: str) -> None:
        if not self._failures.take(address):
            raise Refusal(
                429,
                "rate",
                "too many requests from this address have no valid token",
                hint="check the token",
                headers=((b"retry-after", b"1"),),
            )


class Buckets:
    """So many a second for each name, with a second's worth in hand."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self.rate = rate
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def has(self, name: str) -> bool:
        return self._level(name) >= 1

    def take(self, name: str) -> bool:
        level = self._level(name)
        if level < 1:
            return False
        if len(self._levels) >= _KNOWN_MAX:
            self._levels.clear()
        self._levels[name] = (self._clock(), level - 1)
        return True

    def _level(self, name: str) -> float:
        full = max(self.rate, 1.0)
        known = self._levels.get(name)
        if known is None:
            return full
        return min(full, known[1] + (self._clock() - known[0]) * self.rate)


def secret_of(headers: Headers) -> tuple[str, bool]:
    """The secret that came with a request, and whether a browser sent it by itself."""
    given = headers.get("authorization")
    if given is not None:
        scheme, _, secret = given.partition(" ")
        if scheme.lower() != "bearer":
            raise _unknown("only `Authorization: Bearer …` is understood")
        return secret.strip(), False
    if "cookie" in headers and (secret := cookie_parser(headers["cookie"]).get(COOKIE, "")):
        return secret, True
    raise _unknown("the request has no token")


def check_same_origin(headers: Headers) -> None:
    """A page of somebody else's can make a browser send its cookies, but not hide where it is."""
    origin = headers.get("origin")
    if origin is not None and _host_of(origin) == headers.get("host"):
        return
    raise Refusal(
        403,
        "foreign_origin",
        "a session counts for changes only from the page of this server",
        hint="programs use a token: `Authorization: Bearer msp_…`",
    )


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _unknown(message: str) -> Refusal:
    return Refusal(
        401,
        "unauthenticated",
        message,
        hint="send `Authorization: Bearer msp_…`; `mainspring token create` makes one",
        headers=((b"www-authenticate", b'Bearer realm="mainspring"'),),
    )
