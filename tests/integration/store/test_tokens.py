"""Tokens, links and kept answers in the store: races, repetition, and what is swept up."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.roles import Role
from mainspring.store.answers import begin_answer, drop_answer, forget_answers, keep_answer
from mainspring.store.connection import Connection, connect
from mainspring.store.reading import read_clock
from mainspring.store.tokens import (
    create_token,
    derived_secret,
    exchange_link,
    find_token,
    forget_sessions,
    list_tokens,
    looks_like_secret,
    new_secret,
    revoke_token,
)


async def test_a_token_is_found_until_it_is_revoked(connection: Connection) -> None:
    secret = new_secret()
    assert looks_like_secret(secret)
    made = await create_token(
        connection, secret, name="w", role=Role.WORKER, queues=["b", "a", "a"]
    )
    assert made.queues == ["a", "b"]
    # Asked again after a lost answer, it is the same token.
    again = await create_token(connection, secret, name="w", role=Role.WORKER, queues=["a", "b"])
    assert again == made
    found = await find_token(connection, secret)
    assert found is not None
    assert (found.id, found.role, found.queues) == (made.id, Role.WORKER, ("a", "b"))
    first = await revoke_token(connection, made.id)
    assert await revoke_token(connection, made.id) == first
    assert await find_token(connection, secret) is None
    with pytest.raises(NotFoundError):
        await revoke_token(connection, 999)


async def test_names_are_taken_by_those_that_are_not_revoked(connection: Connection) -> None:
    made = await create_token(connection, new_secret(), name="ci", role=Role.VIEWER)
    with pytest.raises(ConflictError):
        await create_token(connection, new_secret(), name="ci", role=Role.ADMIN)
    await revoke_token(connection, made.id)
    await create_token(connection, new_secret(), name="ci", role=Role.ADMIN)
    assert [token.name for token in await list_tokens(connection)] == ["ci", "ci"]


@pytest.mark.parametrize(
    ("name", "role", "queues", "seconds"),
    [
        ("", Role.VIEWER, [], None),
        ("a b", Role.VIEWER, [], None),
        ("w", Role.WORKER, [], None),
        ("v", Role.VIEWER, ["default"], None),
        ("w", Role.WORKER, ["no queue"], None),
        ("v", Role.VIEWER, [], 0.0),
    ],
)
async def test_what_can_be_no_token_is_refused(
    connection: Connection, name: str, role: Role, queues: list[str], seconds: float | None
) -> None:
    with pytest.raises(InputError):
        await create_token(
            connection, new_secret(), name=name, role=role, queues=queues, seconds=seconds
        )


async def test_of_many_who_open_one_link_one_gets_in(
    connection: Connection, database_url: str
) -> None:
    link = new_secret()
    await create_token(connection, link, name="up", role=Role.ADMIN, kind="link", seconds=60)
    others = [await connect(database_url, name="test") for _ in range(5)]
    sessions = [new_secret() for _ in others]
    opened = await asyncio.gather(
        *(exchange_link(each, link, mine) for each, mine in zip(others, sessions, strict=True))
    )
    for each in others:
        await each.close()
    assert sum(opened) == 1
    known = [await find_token(connection, session) is not None for session in sessions]
    assert known == opened


async def test_a_derived_secret_needs_both_its_holder_and_its_salt() -> None:
    holder, other = new_secret(), new_secret()
    made = derived_secret(holder, b"salt")
    assert looks_like_secret(made)
    assert made == derived_secret(holder, b"salt")
    assert len({made, derived_secret(other, b"salt"), derived_secret(holder, b"other")}) == 3


async def test_a_key_is_taken_once_and_given_back(
    connection: Connection, database_url: str
) -> None:
    others = [await connect(database_url, name="test") for _ in range(5)]
    salts = [bytes([number]) * 32 for number in range(5)]
    begun = await asyncio.gather(
        *(begin_answer(each, 1, "k", b"d", salt) for each, salt in zip(others, salts, strict=True))
    )
    for each in others:
        await each.close()
    [winner] = [place for place, each in enumerate(begun) if each.ours]
    assert {each.salt for each in begun} == {salts[winner]}
    # Asked again after a lost answer, it knows its own row.
    assert (await begin_answer(connection, 1, "k", b"d", salts[winner])).ours
    other = await begin_answer(connection, 1, "k", b"other", b"x" * 32)
    assert (other.ours, other.same) == (False, False)
    await keep_answer(connection, 1, "k", 200, b"{}")
    await drop_answer(connection, 1, "k")
    kept = (await begin_answer(connection, 1, "k", b"d", b"y" * 32)).kept
    assert kept is not None
    assert (kept.status, kept.content) == (200, b"{}")


async def test_old_answers_and_sessions_are_swept_up_and_tokens_stay(
    connection: Connection,
) -> None:
    await begin_answer(connection, 1, "k", b"d", b"x" * 32)
    await create_token(connection, new_secret(), name="t", role=Role.VIEWER, seconds=1e-6)
    await create_token(
        connection, new_secret(), name="up", role=Role.ADMIN, kind="link", seconds=1e-6
    )
    now = await read_clock(connection)
    assert await forget_answers(connection, now - timedelta(days=1), 10) == 0
    assert await forget_answers(connection, now, 10) == 1
    assert await forget_sessions(connection, now - timedelta(days=1), 10) == 0
    assert await forget_sessions(connection, now, 10) == 1
    assert [token.name for token in await list_tokens(connection)] == ["t"]
