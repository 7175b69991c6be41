"""Tokens: who may ask."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Page
from mainspring.api.problems import field_refusal
from mainspring.api.repeating import digest_of, take_key
from mainspring.api.routes import Example, Resource
from mainspring.domain.durations import parse_duration
from mainspring.domain.roles import Role
from mainspring.store.tokens import (
    NewToken,
    Token,
    check_token,
    create_token,
    derived_secret,
    new_secret,
    revoke_token,
)
from mainspring.store.tokens import list_tokens as read_tokens

tokens = Resource("tokens", "Who may ask, and what.")

TokenId = Annotated[int, Meta(ge=0, le=2**63 - 1, description="A token's number.")]
_encode = msgspec.json.Encoder(order="deterministic").encode


class TokenOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    role: Role
    queues: Annotated[list[str], Meta(max_length=100)] = []
    """Of a worker: those that it may serve."""
    expires_in: Annotated[str, Meta(max_length=40)] | None = None
    """How long it lives, such as `30d`; without, until it is revoked."""


@tokens.get("/tokens", needs=Role.ADMIN)
async def list_tokens(call: Call) -> Page[Token]:
    """All tokens, the newest first; their secrets are not known."""
    return Page(await call.services.read(read_tokens))


@tokens.post(
    "/tokens",
    needs=Role.ADMIN,
    status=201,
    repeats=True,
    example=Example(body={"name": "grafana", "role": "viewer", "expires_in": "30d"}),
)
async def make_token(call: Call, body: TokenOrder) -> NewToken:
    """Make a token. Its secret, `token`, is in this answer and nowhere else.

    Asked again with the same `Idempotency-Key`, the answer is the same: the secret is made anew
    from yours, and is stored by nobody.
    """
    seconds = None
    if body.expires_in is not None:
        seconds = parse_duration(body.expires_in, what="`expires_in`")
    check_token(body.name, body.role, body.queues, seconds)
    secret = new_secret()
    if call.key is not None:
        digest = digest_of("POST", "/tokens", _encode(body))
        begun = await take_key(call.services, call.caller, call.key, digest)
        secret = derived_secret(call.secret, begun.salt)
    return await call.services.write(
        create_token,
        secret,
        name=body.name,
        role=body.role,
        queues=body.queues,
        seconds=seconds,
        by=call.who,
    )


@tokens.delete("/tokens/{token}", needs=Role.ADMIN, example=Example(path={"token": "12"}))
async def delete_token(call: Call, token: TokenId) -> Token:
    """Revoke a token: within a second no server takes it any more."""
    if token == call.caller.id:
        raise field_refusal(
            "path/token", "this is the token that asks", hint="revoke it with another one"
        )
    return await call.services.write(revoke_token, token)
