"""Statistics read what they tell and no more, and old ones are found by their age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.store.connection import Connection
from tests.plans.plan import explain

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MINUTES = 400
DAGS = 60


@pytest.fixture
async def rolled(plain_connection: Connection) -> Connection:
    """Many minutes of many dags."""
    await plain_connection.execute(
        "insert into mainspring.rollup select 1, dag, 'minute', timestamptz '2026-11-16 00:00Z'"
        " - n * interval '1 minute', 1, 0, 0, 0, 1, 0, 0, '1 s', '1 s', '0', '0',"
        " array_fill(1, array[28]), array_fill(1, array[28])"
        f" from generate_series(0, {DAGS}) as dag, generate_series(1, {MINUTES}) as n"
    )
    await plain_connection.execute("analyze mainspring.rollup")
    return plain_connection


@pytest.mark.parametrize("dag_id", [0, 7])
async def test_statistics_read_one_row_for_each_minute_that_they_tell(
    rolled: Connection, dag_id: int
) -> None:
    asked = (1, dag_id, NOW - timedelta(hours=1), NOW, timedelta(minutes=1), ["minute"])
    plan = await explain(rolled, "read_rollups", *asked, run=True)
    read = [node.handled for node in plan.root.walk() if node.relation == "rollup"]
    assert read == [60], plan.text


async def test_folding_reads_only_what_it_folds(rolled: Connection) -> None:
    before = NOW - timedelta(minutes=MINUTES - 5)
    asked = ("minute", "hour", timedelta(hours=1), before, 100)
    plan = await explain(rolled, "fold_rollups", *asked, run=True)
    read = [node.handled for node in plan.root.walk() if node.relation == "rollup"]
    assert max(read) <= 100, plan.text


async def test_nothing_to_fold_costs_nothing(rolled: Connection) -> None:
    before = NOW - timedelta(days=2)
    asked = ("minute", "hour", timedelta(hours=1), before, 100)
    plan = await explain(rolled, "fold_rollups", *asked, run=True)
    read = [node.handled for node in plan.root.walk() if node.relation == "rollup"]
    assert max(read) == 0, plan.text
    plan = await explain(rolled, "forget_rollups", before, 100, run=True)
    read = [node.handled for node in plan.root.walk() if node.relation == "rollup"]
    assert max(read) == 0, plan.text
