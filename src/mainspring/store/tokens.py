"""Tokens: secrets by which callers of the server are known.

A secret has 256 random bits and is shown once; stored is its SHA-256. Three kinds: a `token` for
programs; a `link`, which opens the page once; and the `session` that the link is exchanged for.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import asyncpg
import msgspec

from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.names import name_problem, shown
from mainspring.domain.roles import Role
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

PREFIX = "msp_"
LINK_SECONDS = 600.0
SESSION_SECONDS = 12 * 3600.0
TOKENS_MAX = 1_000
_SECRET_LENGTH = len(PREFIX) + 43

Kind = Literal["token", "link", "session"]


class Caller(msgspec.Struct, frozen=True):
    """Whom a secret belongs to."""

    id: int
    tenant_id: int
    kind: Kind
    role: Role
    queues: tuple[str, ...]
    name: str


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token in a list; its secret is not known."""

    id: int
    name: str
    role: Role
    queues: list[str]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None


class NewToken(Token, frozen=True, kw_only=True):
    """A token as it is shown once."""

    token: str


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def derived_secret(holder: str, salt: bytes) -> str:
    """A secret for one who holds a secret: the same for the same salt, and known to nobody else.

    Neither the database, which has the salt, nor who learns the holder's secret has both.
    """
    made = hmac.digest(holder.encode(), salt, "sha256")
    return PREFIX + urlsafe_b64encode(made).decode().rstrip("=")


def looks_like_secret(text: str) -> bool:
    return len(text) == _SECRET_LENGTH and text.startswith(PREFIX) and text.isascii()


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def check_token(name: str, role: Role, queues: Sequence[str], seconds: float | None) -> None:
    """InputError if there cannot be such a token."""
    if problem := name_problem(name):
        raise InputError(f"the token's name {shown(name)} {problem}")
    if role is Role.WORKER and not queues:
        raise InputError(
            "a worker's token is bound to queues, and none is given",
            hint="name the queues that it may serve",
        )
    if role is not Role.WORKER and queues:
        raise InputError(
            f"a token of role `{role}` is bound to no queues", hint="only that of a `worker` is"
        )
    for queue in queues:
        if problem := name_problem(queue):
            raise InputError(f"the queue's name {shown(queue)} {problem}")
    if seconds is not None and seconds <= 0:
        raise InputError("a token has to live for some time")


async def create_token(
    connection: Connection,
    secret: str,
    *,
    name: str,
    role: Role,
    queues: Sequence[str] = (),
    seconds: float | None = None,
    by: str | None = None,
    kind: Kind = "token",
    tenant_id: int = DEFAULT_TENANT,
) -> NewToken:
    """Store a secret that the caller has made: asked again, it is stored once."""
    check_token(name, role, queues, seconds)
    digest = digest_of(secret)
    try:
        rows = await fetch(
            connection,
            statement("create_token"),
            *(tenant_id, kind, role, sorted(set(queues)), name, digest, by, seconds),
        )
    except asyncpg.UniqueViolationError:
        raise ConflictError(
            f"there is a token {shown(name)} already",
            hint="give it another name, or revoke that one",
        ) from None
    return NewToken(**{**rows[0], "role": Role(rows[0]["role"])}, token=secret)


async def find_token(connection: Connection, secret: str) -> Caller | None:
    rows = await fetch(connection, statement("find_token"), digest_of(secret))
    if not rows:
        return None
    row = rows[0]
    return Caller(**{**row, "role": Role(row["role"]), "queues": tuple(row["queues"])})


async def list_tokens(
    connection: Connection, *, limit: int = TOKENS_MAX, tenant_id: int = DEFAULT_TENANT
) -> list[Token]:
    """Newest first, those that were revoked or have expired among them."""
    rows = await fetch(connection, statement("list_tokens"), tenant_id, limit)
    return [_token(row) for row in rows]


async def revoke_token(
    connection: Connection, token_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> Token:
    rows = []
    if 0 <= token_id < 2**63:
        rows = await fetch(connection, statement("revoke_token"), tenant_id, token_id)
    if not rows:
        raise NotFoundError(
            f"there is no token {token_id}", hint="`mainspring token list` shows what there is"
        )
    return _token(rows[0])


async def exchange_link(connection: Connection, link: str, session: str) -> bool:
    """Make a session of a link; False if the link was used, has expired or never was."""
    digests = (digest_of(link), digest_of(session))
    rows = await fetch(connection, statement("exchange_link"), *digests, SESSION_SECONDS)
    return bool(rows)


async def forget_sessions(connection: Connection, before: datetime, limit: int) -> int:
    """Remove links and sessions that expired before then; says how many."""
    rows = await fetch(connection, statement("forget_sessions"), before, limit)
    forgotten: int = rows[0]["forgotten"]
    return forgotten


def _token(row: asyncpg.Record) -> Token:
    return Token(**{**row, "role": Role(row["role"])})
