"""Dead letters are listed by steps of an index, however many there are and wherever their runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from mainspring.store.connection import Connection, connect
from mainspring.store.history import archive_runs
from tests.conftest import Server
from tests.plans.conftest import ANALYZE, undone
from tests.plans.plan import Plan, explain

LETTERS = 40_000
ALIKE = 20
"""Groups of letters that look alike."""
COUNTED = 100
ALWAYS, NEVER = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

_FILL = """
insert into mainspring.problem (task_id, run_id, tenant_id, dag_id, term, task, failed_at,
  discarded_at, likeness)
select n, n, 1, (select min(id) from mainspring.dag), 1, 't0',
  timestamptz '2026-01-01' + n * interval '1 s',
  case when n % 2 = 0 then now() end, md5((n / 2 % $2)::text)::uuid
from generate_series(1, $1) as n
"""
_ATTEMPTS = """
insert into mainspring.attempt (task_id, term, attempt, generation, state, finished_at, error)
select n, 1, 1, 1, 'failed', now(), '{"type":"E","message":"m"}' from generate_series(1, $1) as n
on conflict do nothing
"""


@pytest.fixture(scope="module", params=["never analyzed", "analyzed"])
def url(server: Server, filled: str, request: pytest.FixtureRequest) -> str:
    """A past that is full of failures, half of them discarded."""
    url = server.url(asyncio.run(server.create(filled)))
    asyncio.run(_fail(url, analyze=request.param == "analyzed"))
    return url


async def _fail(url: str, *, analyze: bool) -> None:
    connection = await connect(url, name="fail", stable_plans=True)
    await connection.execute(_FILL, LETTERS, ALIKE)
    await connection.execute(_ATTEMPTS, LETTERS)
    assert (await archive_runs(connection, 0, 5000, NEVER)).moved == 5000
    if analyze:
        await connection.execute(ANALYZE)
        await connection.execute("analyze mainspring.problem, mainspring.attempt")
    await connection.close()


@pytest.fixture
async def connection(url: str) -> AsyncIterator[Connection]:
    """As clients have it."""
    async with undone(url, stable_plans=False) as connection:
        yield connection


def handled(plan: Plan, relation: str) -> float:
    """How many rows of a table, or of its partitions, were looked at."""
    return sum(
        node.handled
        for node in plan.root.walk()
        if node.relation is not None and node.relation.startswith(relation)
    )


async def test_a_list_reads_a_few_letters_of_each_group(connection: Connection) -> None:
    plan = await explain(
        connection,
        "page_likenesses",
        *(1, UUID(int=0), 200, None, None, ALWAYS, NEVER, COUNTED),
        run=True,
    )
    assert plan.root.rows == ALIKE
    # One to find it, its last, its first, and those that are counted.
    assert handled(plan, "problem") <= ALIKE * (3 + COUNTED) + 1, plan.text
    assert handled(plan, "attempt") <= ALIKE, plan.text


async def test_a_group_is_read_page_by_page(connection: Connection) -> None:
    likeness = await connection.fetchval(
        "select likeness from mainspring.problem where discarded_at is null limit 1"
    )
    after = datetime(2026, 1, 1, 1, tzinfo=UTC)
    plan = await explain(
        connection, "page_letters", *(1, likeness, after, 3600, ALWAYS, NEVER, 50), run=True
    )
    assert plan.root.rows == 50
    assert handled(plan, "problem") == 50, plan.text
    assert handled(plan, "attempt") <= 50, plan.text


async def test_a_shortened_group_is_found_in_two_steps(connection: Connection) -> None:
    plan = await explain(
        connection, "find_likenesses", 1, UUID(int=0), UUID(int=2**128 - 1), run=True
    )
    assert handled(plan, "problem") == 2, plan.text


@pytest.mark.parametrize("place", ["run", "run_history"])
async def test_letters_of_a_run_are_found_by_key(connection: Connection, place: str) -> None:
    run_id = await connection.fetchval(f"select max(id) from mainspring.{place} where id % 2 = 1")
    for name, arguments in (
        ("letters_of_run", (1, run_id)),
        ("discard_letters", ([run_id], [1], "me", "")),
        ("page_remarks", (run_id, 4, 100)),
    ):
        plan = await explain(connection, name, *arguments, run=True)
        assert handled(plan, "problem") <= 8, plan.text
        assert handled(plan, "run") <= 2, plan.text
        assert not plan.read_whole() & {"problem", "run", "run_history_1"}, plan.text


async def test_the_last_discarded_letters_are_read_from_the_end(connection: Connection) -> None:
    # As autovacuum does; without it a few thousand may be sorted.
    await connection.execute("analyze mainspring.problem, mainspring.remark")
    places = await connection.fetchval(
        "select percentile_disc(array[0.5, 1]) within group (order by discarded_at)"
        " from mainspring.problem"
    )
    for before in places:
        plan = await explain(
            connection, "page_discarded", 1, None, None, ALWAYS, 50, before, 2**62, run=True
        )
        assert plan.root.rows == 50
        assert handled(plan, "problem") == 50, plan.text
