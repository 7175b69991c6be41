"""`mainspring backfill`: as people type it, with real engines and workers where that matters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from mainspring import SyncClient
from mainspring.client import BackfillOrder, Client
from mainspring.schedule.specs import CronSpec, Misfire, ScheduleSpec
from mainspring.store.backfilling import Stepper
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.schedule_changes import Intent, put_schedule
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure
from tests.support.launcher import Launcher
from tests.support.team import Team

BOTH_ROADS = True
LOCAL = {"test_engines_that_die_in_the_middle_leave_nothing_out_and_nothing_twice"}

SALES = dag_of(name="sales")
DAILY = ScheduleSpec(when=(CronSpec("0 2 * * *"),), misfire=Misfire.FROM_NOW, grace_seconds=0)
WEEK = ("--from", "2026-11-01T00:00Z", "--to", "2026-11-08T00:00Z")


@pytest.fixture
async def nightly(connection: Connection) -> None:
    await register_dag(connection, SALES, "snapshot")
    made_at = datetime(2026, 11, 3, 12, tzinfo=UTC)
    await put_schedule(connection, Intent("nightly", "sales", DAILY), by="tests", now=made_at)
    # What was missed since then is settled, as an engine would do.
    due = await due_schedules(connection, None, list(range(17)), made_at, 10)
    await Settler().settle(connection, due, None)


async def deal(connection: Connection, backfill_id: int, *, fail: bool = False) -> None:
    """As an engine and a worker would, until nothing is left to do."""
    stepper, worker = Stepper(), await BareWorker.join(connection, SALES)
    ended = True
    while ended:
        while (await stepper.step(connection, backfill_id)).more:
            pass
        claimed = await worker.claim()
        await worker.end_all([(each, failure() if fail else None) for each in claimed])
        ended = bool(claimed)
    await stepper.step(connection, backfill_id)


@pytest.mark.usefixtures("nightly")
async def test_a_dry_run_shows_what_would_run_and_makes_nothing(command: Command) -> None:
    answer = await command("backfill", "create", "--schedule", "nightly", *WEEK, "--dry-run")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "7 instants, 7 to run"
    assert "its first version stands in" in lines[1]
    assert lines[-1].split() == ["2026-11-07", "02:00:00", "2026-11-06", "02:00:00", "1", "runs"]
    told = await command(
        *("backfill", "create", "--schedule", "nightly", *WEEK, "--dry-run", "--json"),
        *("--count", 2, "--newest-first"),
    )
    assert (told.json["instants"], told.json["to_run"], told.json["existing"]) == (7, 7, 0)
    assert [fire["fire_at"] for fire in told.json["fires"]] == [
        "2026-11-07T02:00:00Z",
        "2026-11-06T02:00:00Z",
    ]
    assert (await command("backfill", "list")).out == "There are no backfills yet.\n"


@pytest.mark.usefixtures("nightly")
async def test_one_is_made_shown_and_listed(connection: Connection, command: Command) -> None:
    answer = await command(
        *("backfill", "create", "--schedule", "nightly", *WEEK, "--concurrency", 3),
        *("--note", "the disk was full"),
    )
    assert answer.code == 0
    [first, second] = answer.out.splitlines()
    number = int(first.split()[1].rstrip(":"))
    assert first == f"backfill {number} of schedule nightly: 7 instants"
    assert second == f"follow it: mainspring backfill watch {number}"
    await deal(connection, number, fail=True)
    shown = (await command("backfill", "show", number)).out
    for words in ("✓ finished", "7/7", "7 failed", "the disk was full", "3 at a time"):
        assert words in shown
    whole = (await command("backfill", "show", number, "--json", "--failed", "--limit", 3)).json
    assert [fire["verdict"] for fire in whole["fires"]] == ["failed"] * 3
    run_id = whole["fires"][0]["run"]
    told = (await command("run", "show", run_id)).out.splitlines()
    assert ["backfill", str(number)] in [line.split() for line in told]
    assert ["schedule", "nightly"] in [line.split() for line in told]
    assert (await command("run", "show", run_id, "--json")).json["backfill"] == number
    [listed] = (await command("backfill", "list", "--dag", "sales", "--json")).json
    assert (listed["id"], listed["failed"], listed["done"]) == (number, 7, 7)
    assert "schedule nightly" in (await command("backfill", "list")).out
    assert (await command("backfill", "list", "--state", "running", "--json")).json == []
    # Watching what is over ends at once, and tells that something failed.
    watched = await command("backfill", "watch", number)
    assert watched.code == 1
    assert f"`mainspring backfill show {number} --failed` lists what failed" in watched.out
    preview = await command(
        *("backfill", "create", "--schedule", "nightly", *WEEK, "--reprocess", "failed"),
        "--dry-run",
    )
    assert f"runs again: run {run_id} failed" in preview.out


@pytest.mark.usefixtures("nightly")
async def test_it_is_paused_resumed_and_cancelled(connection: Connection, command: Command) -> None:
    made = await command("backfill", "create", "--schedule", "nightly", *WEEK, "--json")
    number = made.json["id"]
    await Stepper().step(connection, number)
    paused = await command("backfill", "pause", number, "--note", "bad data")
    assert paused.out == f"backfill {number} makes no runs until it is resumed\n"
    assert "bad data" in (await command("backfill", "show", number)).out
    resumed = await command("backfill", "resume", number)
    assert resumed.out == f"backfill {number} goes on: 0 of 7 are done\n"
    cancelled = await command("backfill", "cancel", number)
    assert cancelled.out.splitlines() == [
        f"backfill {number} makes no more runs",
        "1 open run may go on; `--runs` would stop them",
    ]
    assert (await command("backfill", "cancel", number, "--runs")).code == 0
    await Stepper().step(connection, number)
    told = await command("backfill", "watch", number, "--json")
    assert (told.code, told.json["state"], told.json["cancelled"]) == (1, "cancelled", 1)
    refused = await command("backfill", "resume", number)
    assert refused.code != 0
    assert "is cancelled and cannot be resumed" in refused.err


@pytest.mark.usefixtures("nightly")
async def test_bad_input_is_refused_with_what_to_do(command: Command) -> None:
    for options, words in (
        (["--schedule", "nightli", *WEEK], "there is no schedule `nightli`"),
        (["--schedule", "nightli", *WEEK], "did you mean `nightly`?"),
        (["--schedule", "nightly", "--timezone", "UTC", *WEEK], "times that are given here"),
        (["--dag", "sale", "--every", "1d", *WEEK], "sale"),
        (["--dag", "sales", *WEEK], "a backfill is of a schedule, or of a dag"),
        (["--schedule", "nightly", "--cron", "@daily", *WEEK], "its own times"),
        (["--schedule", "nightly", "--from", "soon"], "`--from`: `soon` is no instant"),
        (["--schedule", "nightly", *WEEK, "--concurrency", "0"], "`concurrency` must be"),
        (["--schedule", "nightly", *WEEK, "-p", "region=eu"], "region"),
        (["--schedule", "nightly", "--from", "2026-11-08", "--to", "2026-11-01"], "not after"),
        (["--schedule", "nightly", "--from", "2026-11-08", "--to", "2099-01-01"], "the future"),
        (["--dag", "sales", "--cron", "0 0 30 2 *", *WEEK], "30"),
        (
            ["--dag", "sales", "--every", "1s", "--from", "2026-01-01", "--to", "2026-06-01"],
            "instants",
        ),
    ):
        answer = await command("backfill", "create", *options)
        assert answer.code != 0, options
        assert words in answer.err, answer.err
    assert (await command("backfill", "show", 4711)).code != 0
    assert (await command("backfill", "list", "--json")).json == []


@pytest.mark.usefixtures("nightly")
async def test_clients_have_it_too(database_url: str, connection: Connection) -> None:
    now = datetime.now(UTC)
    order = BackfillOrder(
        since=now - timedelta(hours=10), until=now, dag="sales", spec="every 1h", concurrency=5
    )
    async with Client(database_url, created_by="app") as client:
        assert (await client.preview_backfill(order)).to_run == 10
        made = await client.create_backfill(order)
        assert (made.created_by, made.total) == ("app", 10)
        await deal(connection, made.id)
        assert (await client.wait_backfill(made.id)).succeeded == 10

    def without_a_loop() -> None:
        with SyncClient(database_url) as sync:
            assert sync.preview_backfill(order).existing == 10
            number = sync.create_backfill(order).id
            assert sync.pause_backfill(number, note="why").halt_note == "why"
            assert sync.wait_backfill(number).state == "paused"
            assert sync.resume_backfill(number).state == "running"
            assert sync.cancel_backfill(number, runs=True).over
            assert sync.backfill(number).state == "cancelled"

    await asyncio.to_thread(without_a_loop)


@pytest.fixture
async def team(database_url: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Team]:
    async with Team(database_url, tmp_path, launcher) as team:
        yield team


QUICK = """
@task
def write(day: str) -> None:
    effect("wrote", day)

@dag
def quick(day: str = "-"):
    write(day)
"""


async def test_engines_that_die_in_the_middle_leave_nothing_out_and_nothing_twice(
    team: Team, command: Command
) -> None:
    """Killed just before a step, just after one, and at a moment of its own choosing."""
    team.write("quick.py", QUICK)
    engine = team.start_engine()
    team.start_worker()
    await team.known("quick")
    made = await command(
        *("backfill", "create", "--dag", "quick", "--every", "1m", "--concurrency", 4, "--json"),
        *("--from", "2026-11-01T00:00Z", "--to", "2026-11-01T02:00Z"),
    )
    number = made.json["id"]

    async def at_least(done: int) -> None:
        async def reached() -> bool:
            [row] = await team.rows("select made from mainspring.backfill")
            return bool(row["made"] >= done)

        await team.until(reached)

    await at_least(10)
    engine.kill()
    engine.wait()
    for point in (
        "a backfill's step is decided and not made",
        "a backfill has moved and nobody was woken",
        "after move_backfill",
    ):
        dying = team.start_engine(MAINSPRING_FAULT=f"die {point} 3")
        await asyncio.to_thread(dying.wait)
    team.start_engine()
    watched = await command("backfill", "watch", number)
    assert watched.code == 0
    assert f"backfill {number} is finished" in watched.out
    rows = await team.rows(
        "select fire_at, count(*) as runs from mainspring.backfill_fire group by 1 order by 1"
    )
    start = datetime(2026, 11, 1, tzinfo=UTC)
    assert [(row["fire_at"], row["runs"]) for row in rows] == [
        (start + timedelta(minutes=n), 1) for n in range(120)
    ]
    [counts] = await team.rows(
        "select count(*) as runs, count(distinct fire_at) as fires from"
        " (select fire_at from mainspring.run"
        " union all select fire_at from mainspring.run_history) r"
    )
    assert (counts["runs"], counts["fires"]) == (120, 120)


def test_a_bar_tells_how_far_it_is() -> None:
    from rich.console import Console

    from mainspring.cli.backfill_watch import picture
    from mainspring.domain.states import BackfillState
    from mainspring.store.backfill_shapes import backfill_line
    from mainspring.store.backfills import BackfillLine

    now = datetime(2026, 11, 15, tzinfo=UTC)
    line = BackfillLine(
        id=3,
        dag="sales",
        schedule="nightly",
        state=BackfillState.RUNNING,
        since_at=now,
        until_at=now,
        reprocess="none",
        concurrency=2,
        priority=0,
        parameters=None,
        note=None,
        created_at=now - timedelta(minutes=4),
        created_by=None,
        cursor_at=now,
        halted_by=None,
        halt_note=None,
        ended_at=None,
        total=100,
        made=42,
        existing=10,
        excluded=0,
        succeeded=39,
        failed=1,
        cancelled=0,
        read_at=now,
    )

    def shown(line: BackfillLine) -> str:
        out = Console(width=120)
        with out.capture() as captured:
            out.print(picture(backfill_line(line), now))
        return captured.get()

    told = shown(line)
    assert "backfill 3  schedule nightly  ● running  about 5 min left at most" in told
    assert "50/100  39 succeeded, 1 failed, 2 open, 10 had a run" in told
    assert "nothing has begun" not in told
    still = structs.replace(line, made=0, existing=0, succeeded=0, failed=0)
    assert "nothing has begun; `mainspring doctor` says whether" in shown(still)
