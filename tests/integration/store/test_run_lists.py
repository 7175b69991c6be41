"""Pages of a filter together hold every run that fits, once, newest first; each looks at few."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.states import RunState
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import archive_runs
from mainspring.store.ids import KEPT_SECONDS
from mainspring.store.run_lists import RunFilter, choose_dags, first_after, page_runs
from mainspring.store.runs import stop_runs
from tests.support.factory import BareWorker, dag_of, failure, start_run

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
FAR = datetime(2100, 1, 1, tzinfo=UTC)
RUNS = 160
STEP = timedelta(minutes=4)
DAGS = ("sales", "orders", "stock")


async def fill(connection: Connection, random_: random.Random) -> list[int]:
    """Runs in all states, some in history, made out of order by as much as may be."""
    specs = {name: dag_of(name=name) for name in DAGS}
    dags = [await register_dag(connection, spec, "snapshot") for spec in specs.values()]
    worker = await BareWorker.join(connection, specs["sales"])
    made = []
    for _ in range(RUNS):
        trigger = random_.choice(["manual", "manual", "event", "upstream"])
        made.append(await start_run(connection, random_.choice(dags), trigger=trigger))
    claimed = await worker.claim(RUNS)
    random_.shuffle(claimed)
    ends = [(each, failure(retry=False) if n % 9 == 0 else None) for n, each in enumerate(claimed)]
    await worker.end_all(ends[: RUNS * 3 // 4])
    open_runs = [each.run_id for each, _ in ends[RUNS * 3 // 4 :]]
    await stop_runs(connection, open_runs[:8], "cancel")
    for number, run_id in enumerate(made):
        late = timedelta(seconds=random_.uniform(0, KEPT_SECONDS))
        await connection.execute(
            "update mainspring.run set created_at = $2 where id = $1",
            run_id,
            BEGIN + STEP * number + late,
        )
    await archive_runs(connection, made[20], 90, FAR)
    return made


@pytest.mark.parametrize("seed", [1, 2])
async def test_pages_hold_all_that_fits_once_and_newest_first(
    connection: Connection, seed: int
) -> None:
    """Against looking at every run."""
    random_ = random.Random(seed)
    await fill(connection, random_)
    every = await fetch(
        connection,
        "select id, dag_id, state, trigger, created_at from mainspring.run_view order by id desc",
    )
    dag_ids = sorted({row["dag_id"] for row in every})
    times = [None, BEGIN + STEP * 30, BEGIN + STEP * 100]
    for state, trigger, dags, since, until in itertools.product(
        [None, *RunState], [None, "upstream"], [None, dag_ids[:1], dag_ids[1:]], times, times
    ):
        chosen = RunFilter(state=state, trigger=trigger, dag_ids=dags, since=since, until=until)
        fitting = [
            row["id"]
            for row in every
            if (state is None or row["state"] == state)
            and (trigger is None or row["trigger"] == trigger)
            and (dags is None or row["dag_id"] in dags)
            and (since is None or row["created_at"] >= since)
            and (until is None or row["created_at"] < until)
        ]
        found: list[int] = []
        below: int | None = None
        pages = 0
        while pages == 0 or below is not None:
            page = await page_runs(connection, chosen, below=below, limit=7, seen_max=20)
            assert below is None or page.next_below is None or page.next_below < below
            found += [run.id for run in page.runs]
            below = page.next_below
            pages += 1
        assert found == fitting, chosen


async def test_a_time_is_an_id_below_which_all_of_before_lies(connection: Connection) -> None:
    await fill(connection, random.Random(3))
    every = await fetch(connection, "select id, created_at from mainspring.run_view")
    slack = timedelta(seconds=KEPT_SECONDS)
    for minutes in range(-60, RUNS * 4 + 60, 17):
        instant = BEGIN + timedelta(minutes=minutes)
        found = await first_after(connection, instant)
        assert all(row["created_at"] >= instant - slack for row in every if row["id"] >= found)
        passed = [row for row in every if row["created_at"] >= instant + slack]
        assert all(row["id"] >= found for row in passed)


async def test_without_runs_there_is_nothing_to_probe(connection: Connection) -> None:
    page = await page_runs(connection, RunFilter(until=FAR, state=RunState.FAILED), limit=5)
    assert (page.runs, page.next_below) == ([], None)


async def test_dags_are_chosen_by_tag_and_by_text_in_their_names(connection: Connection) -> None:
    ids = [(await register_dag(connection, dag_of(name=name), "snapshot")).dag_id for name in DAGS]
    await connection.execute("update mainspring.dag set tags = '{eu,daily}' where id = $1", ids[0])
    await connection.execute("update mainspring.dag set tags = '{eu}' where id = $1", ids[1])
    assert await choose_dags(connection, tags=["eu"]) == ids[:2]
    assert await choose_dags(connection, tags=["eu", "daily"]) == ids[:1]
    assert await choose_dags(connection, text="S") == ids
    assert await choose_dags(connection, text="ORD") == [ids[1]]
    assert await choose_dags(connection, text="%") == []
    assert await choose_dags(connection, text="s", tags=["eu"], name="orders") == [ids[1]]


@pytest.mark.parametrize("count", [100, 101])
async def test_many_dags_are_looked_through_together(connection: Connection, count: int) -> None:
    made = await fill(connection, random.Random(4))
    known = await choose_dags(connection)
    chosen = RunFilter(dag_ids=[*known, *range(10_000, 10_000 + count - len(known))])
    page = await page_runs(connection, chosen, limit=RUNS + 1)
    assert [run.id for run in page.runs] == sorted(made, reverse=True)
    only = RunFilter(dag_ids=list(range(10_000, 10_000 + count)))
    assert (await page_runs(connection, only, limit=5)).runs == []
