"""The SQL that the page on promises gives to authors does what it says."""

from __future__ import annotations

import pytest

from mainspring.store.connection import Connection, fetch
from tests.docs.test_documents import ROOT, blocks_of

PAGE = ROOT / "docs" / "concepts" / "promises.md"
KEY = "4711/report/1"


def example(mark: str) -> str:
    [block] = [b for b in blocks_of(PAGE) if (b.language, b.mark) == ("sql", mark)]
    return block.text


async def test_the_second_attempt_changes_nothing_under_its_key(connection: Connection) -> None:
    await connection.execute(
        "create table public.payment (key text primary key, order_id text, cents int)"
    )
    for cents in (4250, 9999):
        await connection.execute(example("once"), KEY, "A-17", cents)
    assert await connection.fetchval("select array_agg(cents) from payment") == [4250]


@pytest.mark.parametrize(
    ("tokens", "accepted"),
    [
        ([1, 2], [1, 2]),
        ([2, 1], [2]),
        ([2, 2], [2, 2]),
        ([2**32 + 5, 2**33 + 1, 2**32 + 6], [2**32 + 5, 2**33 + 1]),
    ],
)
async def test_what_comes_with_a_lower_token_is_refused(
    connection: Connection, tokens: list[int], accepted: list[int]
) -> None:
    await connection.execute(
        "create table public.report (key text primary key, token bigint, body text)"
    )
    taken = [
        token
        for token in tokens
        if await fetch(connection, example("fenced"), KEY, token, f"by {token}")
    ]
    assert taken == accepted
    [row] = await fetch(connection, "select token, body from report")
    assert (row["token"], row["body"]) == (accepted[-1], f"by {accepted[-1]}")
