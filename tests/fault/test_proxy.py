"""The proxy does to connections what it says, to those that it says, and nothing else."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeAlias

import asyncpg
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.store.connection import GONE, Connection, fetch
from tests.fault.conftest import Network
from tests.fault.proxy import Delay, Trick, Weather
from tests.fault.wire import Frames, is_commit, statement_name, writes

pytestmark = pytest.mark.fault

Rows: TypeAlias = Callable[[], Awaitable[list[int]]]
Write: TypeAlias = Callable[[Connection, int], Awaitable[None]]


@pytest.fixture
async def rows(connection: Connection) -> Rows:
    """The numbers in a table, as they really are: asked beside the proxy."""
    await connection.execute("create table number (n int primary key deferrable)")

    async def read() -> list[int]:
        return [row["n"] for row in await fetch(connection, "select n from number order by n")]

    return read


async def insert(connection: Connection, n: int) -> None:
    await connection.fetch("insert into number values ($1)", n)


async def insert_in_transaction(connection: Connection, n: int) -> None:
    async with connection.transaction():
        await connection.fetch("insert into number values ($1)", n)


# --- it passes ---------------------------------------------------------------------------------


async def test_without_orders_everything_passes(network: Network) -> None:
    connection = await network.connect()
    large = "x" * 3_000_000
    assert await connection.fetchval("select $1::text", large) == large
    async with connection.transaction():
        assert await connection.fetchval("select count(*) from generate_series(1, 9999)") == 9999
    with pytest.raises(asyncpg.DivisionByZeroError):
        await connection.fetchval("select 1 / $1::int", 0)
    assert await connection.execute("select 1; select 2") == "SELECT 1"
    copied = io.BytesIO()
    await connection.copy_from_query("select 7", output=copied)
    assert copied.getvalue() == b"7\n"
    await connection.close()
    assert network.logged == []


async def test_a_statement_is_cancelled_through_it(network: Network) -> None:
    connection = await network.connect()
    with pytest.raises(asyncio.TimeoutError):
        await connection.fetchval("select pg_sleep(600)", timeout=0.1)
    assert await connection.fetchval("select 1") == 1
    await connection.close()


async def test_libpq_with_its_questions_about_encryption_passes(network: Network) -> None:
    def ask() -> object:
        with psycopg.connect(network.url, application_name="mainspring libpq") as connection:
            row = connection.execute("select current_setting('application_name')").fetchone()
            assert row is not None
            return row[0]

    assert await asyncio.to_thread(ask) == "mainspring libpq"


async def test_notifications_pass(network: Network) -> None:
    connection = await network.connect()
    heard: asyncio.Queue[object] = asyncio.Queue()
    await connection.add_listener("channel", lambda *told: heard.put_nowait(told[3]))
    other = await network.connect()
    await other.execute("notify channel, 'hello'")
    assert await heard.get() == "hello"
    await connection.close()
    await other.close()


# --- it is slow --------------------------------------------------------------------------------


async def test_a_delay_holds_every_piece_on_both_ways(network: Network) -> None:
    connection = await network.connect("mainspring worker-1 beat")
    network.proxy.begin(
        Weather(kind="delay", aim="beat", delay=Delay(0.1, spread=0.0), bytes_per_second=None)
    )
    began = time.monotonic()
    await connection.execute("select 1")
    assert time.monotonic() - began >= 0.2
    network.proxy.pass_all()
    [fault] = network.logged
    assert (fault.kind, fault.target) == ("delay", "somebody")
    assert fault.until - fault.at >= 0.2
    await connection.close()


def test_delays_are_mostly_near_the_median_and_never_beyond_the_most() -> None:
    delay = Delay(0.1, spread=0.5, most_seconds=0.3)
    drawn = sorted(delay.draw(random) for random in [Random(1)] for _ in range(1001))
    assert 0.08 < drawn[500] < 0.12
    assert drawn[0] > 0
    assert drawn[-1] == 0.3


async def test_a_throttle_lets_so_many_bytes_pass_in_a_second(network: Network) -> None:
    connection = await network.connect()
    network.proxy.begin(Weather(kind="throttle", bytes_per_second=400_000))
    began = time.monotonic()
    assert len(await connection.fetchval("select repeat('x', 200000)")) == 200_000
    assert time.monotonic() - began >= 0.5
    network.proxy.pass_all()
    await connection.close()


# --- it breaks ---------------------------------------------------------------------------------


async def test_a_reset_breaks_those_aimed_at_and_no_others(network: Network) -> None:
    hit = await network.connect("mainspring worker-1 claim")
    spared = await network.connect("mainspring worker-1 beat")
    assert network.proxy.reset("claim") == 1
    with pytest.raises(GONE):
        await hit.fetch("select 1")
    assert await spared.fetchval("select 1") == 1
    assert network.kinds() == ["cut"]
    await spared.close()


async def test_a_reset_is_one_and_no_farewell(network: Network) -> None:
    reader, writer = await asyncio.open_connection(*network.proxy.address)
    writer.write(b"\0\0\0\x08\x04\xd2\x16\x2f")  # Is there encryption?
    assert await reader.read(1) == b"N"
    network.proxy.reset()
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    writer.close()


async def test_a_reset_under_a_statement_is_seen_by_its_caller(network: Network) -> None:
    connection = await network.connect()
    asked = asyncio.create_task(connection.fetch("select pg_sleep(600)"))
    await asyncio.sleep(0.1)
    network.proxy.reset()
    with pytest.raises(GONE):
        await asked


async def test_half_open_is_silent_and_stays_connected(network: Network, rows: Rows) -> None:
    connection = await network.connect()
    half_open = Weather(kind="half_open")
    network.proxy.begin(half_open)
    inserted = asyncio.create_task(insert(connection, 1))
    newcomer = asyncio.create_task(network.connect())
    done, _ = await asyncio.wait([inserted, newcomer], timeout=0.5)
    assert not done
    assert not connection.is_closed()
    assert await rows() == []
    network.proxy.end(half_open)
    await inserted
    assert await rows() == [1]
    await (await newcomer).close()
    await connection.close()
    assert network.kinds() == ["half_open"]


async def test_a_refusal_meets_newcomers_only(network: Network) -> None:
    connection = await network.connect()
    network.proxy.begin(Weather(kind="refuse"))
    with pytest.raises(GONE):
        await network.connect()
    assert await connection.fetchval("select 1") == 1
    network.proxy.pass_all()
    await (await network.connect()).close()
    await connection.close()
    assert network.proxy.counts["refused"] >= 1


# --- it cuts at the commit ---------------------------------------------------------------------


@pytest.mark.parametrize("write", [insert, insert_in_transaction])
async def test_after_a_cut_at_the_commit_the_row_is_there_and_nobody_was_told(
    network: Network,
    rows: Rows,
    write: Write,
) -> None:
    connection = await network.connect()
    done = network.proxy.spoil_next("unknown_commit")
    with pytest.raises(GONE):
        await write(connection, 1)
    assert done.is_set()
    assert await rows() == [1]
    [fault] = network.logged
    assert fault.kind == "unknown_commit"
    assert fault.detail == "mainspring test: insert into number"


@pytest.mark.parametrize("write", [insert, insert_in_transaction])
async def test_after_a_lost_request_the_row_is_not_there(
    network: Network,
    rows: Rows,
    write: Write,
) -> None:
    connection = await network.connect()
    network.proxy.spoil_next("lost_request")
    with pytest.raises(GONE):
        await write(connection, 1)
    assert await rows() == []
    assert network.kinds() == ["lost_request"]


@pytest.mark.parametrize("trick", ["unknown_commit", "lost_request"])
async def test_each_of_many_commits_is_there_or_not_as_the_log_says(
    network: Network, rows: Rows, trick: Trick
) -> None:
    network.proxy.begin(Weather(kind=trick, share=0.3))
    answered = []

    async def work(numbers: range) -> None:
        connection = await network.connect()
        for n in numbers:
            write = insert if n % 2 else insert_in_transaction
            try:
                await write(connection, n)
                answered.append(n)
            except GONE:
                connection = await network.connect()
        await connection.close()

    await asyncio.gather(*(work(range(100 * k, 100 * k + 100)) for k in range(4)))
    spoiled = network.kinds().count(trick)
    assert 60 < spoiled < 180
    assert network.proxy.counts[trick] == spoiled
    assert len(answered) == 400 - spoiled
    if trick == "unknown_commit":
        assert await rows() == list(range(400))
    else:
        assert await rows() == sorted(answered)


async def test_what_did_not_commit_is_answered_and_the_next_commit_is_cut(
    network: Network, rows: Rows
) -> None:
    connection = await network.connect()
    await insert(connection, 1)
    done = network.proxy.spoil_next("unknown_commit")
    with pytest.raises(asyncpg.UniqueViolationError):
        await insert(connection, 1)
    # Here COMMIT itself fails.
    await connection.execute("begin; set constraints all deferred")
    await insert(connection, 1)
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute("commit")
    # And here it is answered with ROLLBACK.
    await connection.execute("begin")
    with pytest.raises(asyncpg.UniqueViolationError):
        await insert(connection, 1)
    assert await connection.execute("commit") == "ROLLBACK"
    assert not done.is_set()
    with pytest.raises(GONE):
        await insert(connection, 2)
    assert done.is_set()
    assert await rows() == [1, 2]


async def test_reading_and_locking_are_no_commits(network: Network, rows: Rows) -> None:
    connection = await network.connect()
    await insert(connection, 1)
    network.proxy.begin(Weather(kind="unknown_commit", share=1.0))
    await connection.fetch("select n from number where n = $1", 1)
    async with connection.transaction():
        await connection.fetch("select n from number for update")
    async with connection.transaction():
        await connection.execute("savepoint here")
    assert network.proxy.counts["unknown_commit"] == 0
    with pytest.raises(GONE):
        await insert(connection, 2)


@pytest.mark.parametrize("aim", ["worker-2", "number_of_two"])
async def test_cuts_are_aimed_by_connection_or_by_statement(
    network: Network, rows: Rows, aim: str
) -> None:
    network.proxy.begin(Weather(kind="unknown_commit", share=1.0, aim=aim))
    one = await network.connect("mainspring worker-1 claim")
    two = await network.connect("mainspring worker-2 claim")
    await one.fetch("-- number_of_one\ninsert into number values ($1)", 1)
    with pytest.raises(GONE):
        await two.fetch("-- number_of_two\ninsert into number values ($1)", 2)
    assert await rows() == [1, 2]
    assert network.proxy.counts["unknown_commit of number_of_two"] == 1
    await one.close()


async def test_the_same_seed_spoils_the_same_commits(database_url: str, rows: Rows) -> None:
    async def spoiled(seed: int, first: int) -> list[int]:
        network = Network(database_url, seed)
        await network.proxy.start()
        network.proxy.begin(Weather(kind="lost_request", share=0.5))
        hit = []
        for n in range(40):
            connection = await network.connect()
            try:
                await insert(connection, first + n)
                await connection.close()
            except GONE:
                hit.append(n)
        await network.proxy.close()
        return hit

    once, again, other = await spoiled(1, 0), await spoiled(1, 100), await spoiled(2, 200)
    assert once == again != other


# --- it reads ----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from("PBESQZC"), st.binary(max_size=40)), max_size=20),
    st.lists(st.integers(1, 30), max_size=100),
)
def test_frames_are_the_same_however_they_arrive(
    messages: list[tuple[str, bytes]], pieces: list[int]
) -> None:
    stream = b"".join(
        kind.encode() + (len(body) + 4).to_bytes(4, "big") + body for kind, body in messages
    )
    frames, found, begin = Frames(), [], 0
    for length in [*pieces, len(stream)]:
        found += frames.feed(stream[begin : begin + length])
        begin += length
    assert [(frame.kind.decode(), frame.body) for frame in found] == messages


def test_statements_are_known_by_what_they_do() -> None:
    assert writes("with a as (delete from x returning 1) select * from a")
    assert writes("select nextval('s')")
    assert not writes("-- delete it\nselect 1 /* update */ from t for no key update of t")
    assert is_commit("  COMMIT;")
    assert is_commit("-- over\nend")
    assert not is_commit("select 'commit'")
    assert statement_name("-- claim_attempts\nwith again as (…)") == "claim_attempts"
    assert statement_name("COMMIT;") == "commit"
