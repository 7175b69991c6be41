"""Ids are reserved before they are used, and nobody else gets them."""

from __future__ import annotations

import asyncio

from mainspring.store.connection import Connection, connect
from mainspring.store.ids import BLOCK_IDS, Ids

CLIENTS = 4
COUNTS = (1, 3, 99, 100, 101, 250, 1, 1000, 7)


async def test_ids_of_many_clients_never_overlap(database_url: str) -> None:
    connections = [await connect(database_url, name="test") for _ in range(CLIENTS)]

    async def take_some(connection: Connection) -> list[range]:
        ids = Ids()
        taken = []
        for count in COUNTS * 5:
            first = await ids.take(connection, count)
            taken.append(range(first, first + count))
        return taken

    taken = await asyncio.gather(*map(take_some, connections))
    every = [number for ranges in taken for numbers in ranges for number in numbers]
    assert len(every) == len(set(every)) == CLIENTS * sum(COUNTS) * 5
    for connection in connections:
        await connection.close()


async def test_many_ids_are_asked_for_at_once_and_never_overlap(connection: Connection) -> None:
    ids, taken = Ids(), list[range]()
    for counts in ([1] * 250, COUNTS, [30] * 20, [], [1]):
        firsts = await ids.take_many(connection, counts)
        taken += [range(first, first + n) for first, n in zip(firsts, counts, strict=True)]
    every = [number for numbers in taken for number in numbers]
    assert len(every) == len(set(every))
    before = await connection.fetchval("select last_value from mainspring.id_block")
    await ids.take_many(connection, [1] * 500)
    after = await connection.fetchval("select last_value from mainspring.id_block")
    assert after - before <= 5 * BLOCK_IDS


async def test_a_rolled_back_transaction_does_not_give_its_ids_away(
    connection: Connection,
) -> None:
    transaction = connection.transaction()
    await transaction.start()
    lost = await Ids().take(connection, 10)
    await transaction.rollback()
    assert await Ids().take(connection, 10) >= lost + BLOCK_IDS


async def test_small_requests_share_a_block(connection: Connection) -> None:
    ids = Ids()
    firsts = [await ids.take(connection, 10) for _ in range(BLOCK_IDS // 10)]
    assert firsts == list(range(firsts[0], firsts[0] + BLOCK_IDS, 10))


async def test_the_sequence_steps_by_the_block_that_the_code_expects(
    connection: Connection,
) -> None:
    step = await connection.fetchval(
        "select increment_by from pg_sequences where sequencename = 'id_block'"
    )
    assert step == BLOCK_IDS
