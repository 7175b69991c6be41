"""A process dies at any point between two writes, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from mainspring import faults
from mainspring.bundles.pack import PACKED_BYTES_MAX
from mainspring.bundles.snapshot import restore_snapshot, tree_digest
from mainspring.domain.log_marks import Ending
from mainspring.engine.audit import Audit
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import archive_runs
from mainspring.store.logs import append_log, intend_object, list_logs
from mainspring.store.migrate import check_schema
from mainspring.store.pauses import pause_dag, pause_queue, shift_slice
from mainspring.store.reading import read_clock
from mainspring.store.runs import stop_runs
from mainspring.store.schedule_changes import Intent, pause_schedule, put_schedule
from mainspring.store.wakeups import Bell
from tests.conftest import Server
from tests.fault.cluster import Cluster, Role
from tests.fault.crash_points import named_points, statement_points
from tests.fault.crashes import Crashes
from tests.fault.nemesis import Scale
from tests.fault.storm import DAGS_FOLDER, storm
from tests.fault.workload import Books, Pace
from tests.support.factory import BareWorker, dag_of, failure, start_dag, task_states
from tests.support.invariants import violations
from tests.support.launcher import Launcher

pytestmark = [pytest.mark.fault, pytest.mark.slow]

_SEED = 1
_PAIR = dag_of([(0, 1)], tasks=2)
_ONE = dag_of()

WORKER = {
    "a snapshot is copied and not published",
    "after append_log",
    "after claim_attempts",
    "after complete_attempts",
    "after ensure_queues",
    "after mark_started",
    "after raise_epoch",
    "after register_worker",
    "after renew_lease",
    "tasks are in hand and not started",
    "tasks have ended and are not reported",
}
FAR = {point for point in WORKER if not point.startswith("after ")}
"""Of workers that are far from the database."""
SERVER = {
    "after append_log",
    "after claim_together",
    "after complete_attempts",
    "after create_jobs",
    "after end_worker",
    "after join_together",
    "after mark_started",
    "after raise_epoch",
    "after renew_together",
}
"""Every change that servers make for far workers, with nobody told of it."""
ENGINE = {
    "a backfill has moved and nobody was woken",
    "a backfill's step is decided and not made",
    "a duty's step is committed",
    "a folder of dags is read and not stored",
    "a snapshot is copied and not published",
    "after add_period",
    "after archive_runs",
    "after beat_engine",
    "after complete_attempts",
    "after create_edges",
    "after create_nodes",
    "after create_version",
    "after drop_claims",
    "after due_deadlines",
    "after end_shift",
    "after end_worker",
    "after ensure_queues",
    "after ensure_snapshot",
    "after forget_backfills",
    "after forget_fires",
    "after forget_keys",
    "after forget_progress",
    "after forget_runs",
    "after forget_snapshots",
    "after keep_snapshot_content",
    "after lock_astray",
    "after lock_dag",
    "after lock_lease",
    "after lock_runs",
    "after lock_tasks",
    "after mark_gone",
    "after move_backfill",
    "after move_schedules",
    "after raise_epoch",
    "after read_from_snapshot",
    "after renew_shard",
    "after reserve_ids",
    "after set_file_problems",
    "after stop_tasks",
    "after take_notices",
    "after take_shard",
    "after use_version",
    "after wake_backoff",
    "after wake_starts",
    "dags are stored and their schedules are not",
    "moves of schedules are decided and not made",
    "schedules have moved and nobody was woken",
}
"""What engines come to at work, fed as they are; see `tests/fault/feeding.py`."""
AT_WORK: dict[Role, set[str]] = {
    "worker": WORKER,
    "far": FAR,
    "server": SERVER,
    "engine": ENGINE,
}
LEAVING: dict[Role, set[str]] = {
    "worker": {"after end_worker"},
    "far": set(),
    "server": set(),
    "engine": {"after forget_engine", "after free_shard"},
}
PRUNING = {"after drop_period", "after forget_problems", "after list_objects_of_period"}
"""What engines come to now and then; the command `prune`, which does the same, dies there."""
MOVING = {
    "a log is an object and still in the database",
    "after adopt_log",
    "after forget_removals",
    "after intend_object",
    "after let_log_stay",
    "after take_removals",
    "objects are removed and still listed",
}
"""Between the steps by which a long log becomes an object, and an object goes."""

KEEPING = {"after keep_snapshot_object", "code is an object and not in use"}
"""Between the steps by which code that is too large for the database is kept."""


# --- engines and workers -----------------------------------------------------------------------


async def test_workers_and_their_server_may_die_anywhere(
    tmp_path: Path, launcher: Launcher
) -> None:
    """At the same time: workers beside the database, workers far from it, and their server."""
    scale = Scale(engines=1, workers=2, servers=1, far=1)
    await _die(("worker", "far", "server"), _POINTS, scale, tmp_path, launcher)


@pytest.mark.parametrize("half", [0, 1])
async def test_an_engine_may_die_anywhere(tmp_path: Path, launcher: Launcher, half: int) -> None:
    """In two halves, which two test processes play at a time."""
    points = frozenset(sorted(_POINTS)[half::2])
    await _die(("engine",), points, Scale(engines=1, workers=1), tmp_path, launcher)


_PACES: dict[Role, Pace] = {
    "worker": Pace(job_share=0.2),
    "engine": Pace(requests_per_second=3.0),
}
"""Engines are fed before each of their lives, and need not wait for callers."""
_POINTS = (named_points() | statement_points()) - PRUNING - MOVING


async def _die(
    roles: tuple[Role, ...],
    points: frozenset[str],
    scale: Scale,
    folder: Path,
    launcher: Launcher,
) -> None:
    dags = folder / "dags"
    shutil.copytree(DAGS_FOLDER, dags)
    crashes = {role: Crashes(role, points, AT_WORK[role] & points) for role in roles}

    async def play_in_turn(cluster: Cluster, books: Books, *of: Role) -> None:
        for role in of:
            if role in crashes:
                await crashes[role].play(cluster, books)

    async def play(cluster: Cluster, books: Books) -> None:
        await asyncio.gather(
            play_in_turn(cluster, books, "engine"),
            play_in_turn(cluster, books, "worker"),
            # A server dies while its workers come and go.
            play_in_turn(cluster, books, "far", "server"),
        )

    summary = await storm(
        _SEED,
        folder,
        seconds=0,
        scale=scale,
        callers=1,
        pace=_PACES[roles[0]],
        dags=dags,
        trouble=play,
        expect=("L1", "N1"),
        launcher=launcher,
    )
    for role, each in crashes.items():
        print(f"{role}s died at {len(each.died)} points: {sorted(each.died)}")
    assert summary.ok, "\n".join(summary.broken)
    for role, each in crashes.items():
        assert not each.missed
        assert each.died >= (AT_WORK[role] | LEAVING[role]) & points


# --- commands ----------------------------------------------------------------------------------


class Command(NamedTuple):
    words: tuple[str, ...]
    prepare: Callable[[Connection], Awaitable[int | None]]
    """Makes the world; the run that the command is about, if it is about one."""
    done: Callable[[Connection, int | None], Awaitable[None]]
    """What must be so after it died and was given again."""
    points: int
    """At least so many has it."""


async def _a_dag(connection: Connection) -> None:
    await start_dag(connection, _PAIR)


async def _one_run_of_the_key(connection: Connection, _: int | None) -> None:
    [row] = await fetch(
        connection, "select count(*), count(distinct run_id) as runs from mainspring.idempotency"
    )
    assert (row["count"], row["runs"]) == (1, 1)
    assert await connection.fetchval("select count(*) from mainspring.run") == 2


async def _a_run_under_way(connection: Connection) -> int:
    run_id = await start_dag(connection, _PAIR)
    worker = await BareWorker.join(connection, _PAIR)
    await worker.claim(1)
    return run_id


async def _is_cancelled(connection: Connection, run_id: int | None) -> None:
    assert run_id is not None
    assert await task_states(connection, run_id) == {"t0": "running", "t1": "cancelled"}


async def _a_failed_run_in_history(connection: Connection) -> int:
    run_id = await start_dag(connection, _PAIR)
    worker = await BareWorker.join(connection, _PAIR)
    [root] = await worker.claim(1)
    await worker.end(root, failure())
    later = await read_clock(connection) + timedelta(days=1)
    assert (await archive_runs(connection, 0, 100, later)).moved == 1
    return run_id


async def _runs_again_once(connection: Connection, run_id: int | None) -> None:
    assert run_id is not None
    assert await task_states(connection, run_id) == {"t0": "ready", "t1": "waiting"}
    generations = await fetch(connection, "select distinct generation from mainspring.task")
    assert [row["generation"] for row in generations] == [2]


async def _old_history(connection: Connection) -> None:
    """One period that is full of old runs, and one that has old and open ones."""
    for _ in range(2):
        run_id = await start_dag(connection, _PAIR)
        await stop_runs(connection, [run_id], "cancel")
        later = await read_clock(connection) + timedelta(days=1)
        await archive_runs(connection, 0, 100, later)
        await connection.execute(
            "select setval('mainspring.id_block', nextval('mainspring.id_block') + 10000000)"
        )
    await connection.execute(
        "update mainspring.run_history set finished_at = finished_at - interval '1 year'"
    )
    await start_dag(connection, _PAIR, key="kept")


async def _only_the_open_run_is_left(connection: Connection, _: int | None) -> None:
    assert await connection.fetchval("select count(*) from mainspring.run_history") == 0
    assert await connection.fetchval("select count(*) from mainspring.run") == 1


async def _failed_runs_of_two_errors(connection: Connection) -> int:
    run_id = await _a_failed_run_in_history(connection)
    await start_dag(connection, _PAIR)
    worker = await BareWorker.join(connection, _PAIR)
    [root] = await worker.claim(1)
    await worker.end(root, failure("otherwise"))
    return run_id


async def _no_letter_is_left(connection: Connection, _: int | None) -> None:
    letters = "select count(*) from mainspring.problem where discarded_at is null"
    assert await connection.fetchval(letters) == 0
    assert await connection.fetchval("select count(*) from mainspring.remark") == 2


async def _is_rerun_once(connection: Connection, run_id: int | None) -> None:
    assert await connection.fetchval("select count(*) from mainspring.run") == 1
    assert await connection.fetchval("select rerun_of from mainspring.run") == run_id


async def _is_marked_once(connection: Connection, run_id: int | None) -> None:
    assert run_id is not None
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "ready"}
    assert await connection.fetchval("select count(*) from mainspring.remark") == 1


async def _a_waiting_run(connection: Connection) -> int:
    return await start_dag(connection, _PAIR)


async def _a_paused_dag(connection: Connection) -> int:
    run_id = await start_dag(connection, _PAIR)
    paused = await pause_dag(connection, _PAIR.name)
    await shift_slice(connection, paused.id, 0)
    return run_id


async def _a_paused_queue(connection: Connection) -> int:
    await pause_queue(connection, "default")
    return await start_dag(connection, _PAIR)


async def _is_aside(connection: Connection, run_id: int | None) -> None:
    rows = await fetch(connection, "select distinct priority from mainspring.task")
    assert [row["priority"] for row in rows] == [-6]
    await _waits(connection, run_id)


async def _waits(connection: Connection, run_id: int | None) -> None:
    assert run_id is not None
    assert await task_states(connection, run_id) == {"t0": "ready", "t1": "waiting"}
    assert not await (await BareWorker.join(connection, _PAIR)).claim()


async def _goes_on(connection: Connection, run_id: int | None) -> None:
    [claimed] = await (await BareWorker.join(connection, _PAIR)).claim()
    assert claimed.run_id == run_id


async def _is_urgent(connection: Connection, run_id: int | None) -> None:
    rows = await fetch(connection, "select distinct priority from mainspring.task")
    assert [row["priority"] for row in rows] == [9]
    await _goes_on(connection, run_id)


async def _a_due_schedule(connection: Connection) -> None:
    """One fire is due that no engine has seen."""
    await register_dag(connection, _ONE, "snapshot")
    now = await read_clock(connection)
    spec = ScheduleSpec(when=(IntervalSpec(3600),), grace_seconds=86_400)
    await put_schedule(
        connection, Intent("tick", _ONE.name, spec), by="tests", now=now - timedelta(hours=1)
    )


async def _a_paused_schedule(connection: Connection) -> None:
    await _a_due_schedule(connection)
    await pause_schedule(connection, "tick", by="tests")


async def _fired_once(connection: Connection, _: int | None) -> None:
    """What was due has become a run with the change; the promises say that nothing is doubled."""
    fired = "select count(*) from mainspring.run where trigger = 'schedule'"
    assert await connection.fetchval(fired) == 1


async def _is_changed(connection: Connection, run_id: int | None) -> None:
    await _fired_once(connection, run_id)
    versions = await connection.fetchval("select max(number) from mainspring.schedule_version")
    assert versions == 2


async def _is_paused(connection: Connection, run_id: int | None) -> None:
    await _fired_once(connection, run_id)
    assert await connection.fetchval("select paused_at is not null from mainspring.schedule")


async def _is_resumed(connection: Connection, run_id: int | None) -> None:
    await _fired_once(connection, run_id)
    assert await connection.fetchval("select paused_at is null from mainspring.schedule")


async def _is_removed(connection: Connection, run_id: int | None) -> None:
    await _fired_once(connection, run_id)
    assert await connection.fetchval("select gone_at is not null from mainspring.schedule")


async def _is_made(connection: Connection, _: int | None) -> None:
    assert await connection.fetchval("select count(*) from mainspring.schedule") == 1


async def _a_backfill(connection: Connection) -> int:
    await register_dag(connection, _ONE, "snapshot")
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    order = BackfillOrder(
        since=begin,
        until=begin + timedelta(hours=3),
        dag=_ONE.name,
        spec=ScheduleSpec(when=(IntervalSpec(3600),)),
    )
    backfill_id = await reserve_backfill(connection)
    await create_backfill(connection, backfill_id, order, by="tests")
    return backfill_id


async def _is_ordered(connection: Connection, _: int | None) -> None:
    """Who died before the answer and asks again may have ordered two; each is whole."""
    rows = await fetch(connection, "select total, state::text from mainspring.backfill")
    assert {tuple(row.values()) for row in rows} == {(3, "running")}


async def _is_halted(connection: Connection, backfill_id: int | None) -> None:
    rows = await fetch(connection, "select id, state::text from mainspring.backfill")
    assert [(row["id"], row["state"] in ("paused", "cancelled")) for row in rows] == [
        (backfill_id, True)
    ]


COMMANDS = {
    "schedule create": Command(
        ("schedule", "create", "tick", "--dag", "sample", "--every", "1h"), _a_dag, _is_made, 1
    ),
    "schedule put": Command(
        ("schedule", "put", "tick", "--every", "2h"), _a_due_schedule, _is_changed, 4
    ),
    "schedule pause": Command(("schedule", "pause", "tick"), _a_due_schedule, _is_paused, 4),
    "schedule resume": Command(("schedule", "resume", "tick"), _a_paused_schedule, _is_resumed, 3),
    "schedule remove": Command(("schedule", "remove", "tick"), _a_due_schedule, _is_removed, 4),
    "backfill create": Command(
        (
            *("backfill", "create", "--dag", "sample", "--every", "1h"),
            *("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T03:00:00Z"),
        ),
        _a_dag,
        _is_ordered,
        2,
    ),
    "backfill pause": Command(("backfill", "pause", "{run}"), _a_backfill, _is_halted, 1),
    "backfill cancel": Command(("backfill", "cancel", "{run}"), _a_backfill, _is_halted, 1),
    "trigger": Command(
        ("dag", "trigger", "sample", "--key", "once"), _a_dag, _one_run_of_the_key, 2
    ),
    "cancel": Command(("run", "cancel", "{run}"), _a_run_under_way, _is_cancelled, 3),
    "rerun": Command(("run", "rerun", "{run}"), _a_failed_run_in_history, _runs_again_once, 4),
    "rerun --latest": Command(
        ("run", "rerun", "{run}", "--latest"), _a_failed_run_in_history, _is_rerun_once, 2
    ),
    "mark": Command(
        ("run", "mark", "{run}", "t0", "succeeded", "--note", "done elsewhere"),
        _a_failed_run_in_history,
        _is_marked_once,
        6,
    ),
    "retry": Command(
        ("dlq", "retry", "--all", "--yes"), _failed_runs_of_two_errors, _no_letter_is_left, 6
    ),
    "discard": Command(
        ("dlq", "discard", "--all", "--yes"), _failed_runs_of_two_errors, _no_letter_is_left, 1
    ),
    "pause a dag": Command(("dag", "pause", "sample"), _a_waiting_run, _is_aside, 3),
    "resume a dag": Command(("dag", "resume", "sample"), _a_paused_dag, _goes_on, 3),
    "pause a queue": Command(("queue", "pause", "default"), _a_waiting_run, _waits, 1),
    "resume a queue": Command(("queue", "resume", "default"), _a_paused_queue, _goes_on, 1),
    "priority": Command(("run", "priority", "{run}", "9"), _a_waiting_run, _is_urgent, 3),
    "prune": Command(("prune", "--keep", "30d"), _old_history, _only_the_open_run_is_left, 3),
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_may_die_anywhere_and_be_given_again(
    server: Server, launcher: Launcher, tmp_path: Path, name: str
) -> None:
    command = COMMANDS[name]
    record = tmp_path / "points"
    await _given(server, launcher, command, f"record {record}")
    points = set(record.read_text("utf-8").splitlines()) & (named_points() | statement_points())
    for point in sorted(points):
        await _given(server, launcher, command, f"die {point} 1")
    assert len(points) >= command.points, points
    assert name != "prune" or points >= PRUNING


async def _given(server: Server, launcher: Launcher, command: Command, fault: str) -> None:
    database = await server.create()
    connection = await connect(server.url(database), name="test")
    run_id = await command.prepare(connection)
    words = [word.format(run=run_id) for word in command.words]
    status = await _run(launcher, server.url(database), words, fault)
    assert status == (-signal.SIGKILL if fault.startswith("die") else 0), fault
    if status != 0:
        again = await _run(launcher, server.url(database), words)
        # What had been done already is said so, by some commands as an error.
        assert again in (0, 1), fault
    await command.done(connection, run_id)
    assert not await violations(connection), fault
    await connection.close()
    await server.drop(database)


async def test_a_migration_may_die_anywhere_and_be_given_again(
    server: Server, launcher: Launcher, tmp_path: Path
) -> None:
    record = tmp_path / "points"
    await _migrated(server, launcher, f"record {record}")
    points = set(record.read_text("utf-8").splitlines()) & named_points()
    for point in sorted(points):
        await _migrated(server, launcher, f"die {point} 1")
    assert points == {
        "a migration is applied and not recorded",
        "views and guards are made and not recorded",
    }


async def _migrated(server: Server, launcher: Launcher, fault: str) -> None:
    database = await server.create("template1")
    url = server.url(database)
    status = await _run(launcher, url, ["migrate"], fault)
    assert status == (-signal.SIGKILL if fault.startswith("die") else 0), fault
    assert await _run(launcher, url, ["migrate"]) == 0
    connection = await connect(url, name="test")
    await check_schema(connection)
    await connection.close()
    await server.drop(database)


async def _run(
    launcher: Launcher,
    url: str,
    words: list[str],
    fault: str | None = None,
    more: Mapping[str, str] | None = None,
) -> int:
    environment = {**os.environ, "MAINSPRING_DATABASE_URL": url, **(more or {})}
    if fault is not None:
        environment[faults.VARIABLE] = fault
    process = launcher.start(words, environment)
    waiting = asyncio.create_task(asyncio.to_thread(process.wait))
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        process.kill()
        await waiting
        raise


# --- logs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", sorted(MOVING))
async def test_an_engine_may_die_while_it_moves_logs(
    server: Server, launcher: Launcher, tmp_path: Path, point: str
) -> None:
    database = await server.create()
    url, folder = server.url(database), tmp_path / "objects"
    connection = await connect(url, name="test")
    content = b"".join(b"line %d\n" % number for number in range(20_000))
    whole, torn = await _two_long_logs(connection, content)
    # An object that another engine has left behind, long ago.
    await intend_object(connection, folder.as_uri(), "logs/0/left.gz", seconds=0.0)
    (folder / "logs/0").mkdir(parents=True)
    (folder / "logs/0/left.gz").write_bytes(b"half")
    environment = {
        "MAINSPRING_OBJECTS": folder.as_uri(),
        "MAINSPRING_HOME": str(tmp_path),
        "MAINSPRING_KEEP": "36500d",  # the runs of a bare worker are old
    }
    assert await _run(launcher, url, ["engine"], f"die {point} 1", environment) == -signal.SIGKILL
    [log] = await list_logs(connection, whole, whole + 1)
    assert (log.mark.ending, log.mark.bytes) == (Ending.COMPLETE, len(content))
    engine = asyncio.create_task(_run(launcher, url, ["engine"], None, environment))

    async def busy() -> bool:
        # The day of what died is over, and nobody takes it for his any more.
        await connection.execute("update mainspring.object_removal set due_at = now()")
        return bool(
            await connection.fetchval(
                "select exists (select 1 from mainspring.object_removal) or exists ("
                "  select 1 from mainspring.long_log where moved_at is null and not stays)"
            )
        )

    while await busy():
        assert not engine.done(), "the engine died"
        await asyncio.sleep(0.05)
    engine.cancel()
    await asyncio.gather(engine, return_exceptions=True)
    [log] = await list_logs(connection, whole, whole + 1)
    [holed] = await list_logs(connection, torn, torn + 1)
    assert log.moved is not None
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / log.moved.key]
    assert gzip.decompress((folder / log.moved.key).read_bytes()) == content
    assert (holed.moved, str(holed.mark)) == (None, f"lost after byte {len(content):,}")
    assert not await violations(connection)
    await connection.close()
    await server.drop(database)


@pytest.mark.parametrize("point", sorted(KEEPING))
async def test_an_engine_may_die_while_it_keeps_large_code(
    server: Server, launcher: Launcher, tmp_path: Path, point: str
) -> None:
    database = await server.create()
    url, folder = server.url(database), tmp_path / "objects"
    connection = await connect(url, name="test")
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "sample.py").write_text(_SAMPLE, "utf-8")
    (dags / "data").write_bytes(os.urandom(PACKED_BYTES_MAX + 1))
    environment = {
        "MAINSPRING_OBJECTS": folder.as_uri(),
        "MAINSPRING_HOME": str(tmp_path / "home"),
        "MAINSPRING_DAGS": str(dags),
    }
    assert await _run(launcher, url, ["engine"], f"die {point} 1", environment) == -signal.SIGKILL
    assert not await connection.fetchval("select exists (select 1 from mainspring.dag)")
    engine = asyncio.create_task(_run(launcher, url, ["engine"], None, environment))

    async def busy() -> bool:
        await connection.execute("update mainspring.object_removal set due_at = now()")
        return not await connection.fetchval(
            "select exists (select 1 from mainspring.dag)"
            " and not exists (select 1 from mainspring.object_removal)"
        )

    while await busy():
        assert not engine.done(), "the engine died"
        await asyncio.sleep(0.05)
    engine.cancel()
    await asyncio.gather(engine, return_exceptions=True)
    [key] = [
        row["key"] for row in await fetch(connection, "select * from mainspring.snapshot_content")
    ]
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / key]
    restore_snapshot((folder / key).read_bytes(), tmp_path / "cache", tree_digest(dags))
    assert not await violations(connection)
    await connection.close()
    await server.drop(database)


_SAMPLE = """
from mainspring import dag, task

@task
def nothing():
    pass

@dag
def sample():
    nothing()
"""


async def _two_long_logs(connection: Connection, content: bytes) -> tuple[int, int]:
    """Of attempts that are over: one whole, and one with a hole."""
    spec = dag_of()
    runs = [await start_dag(connection, spec) for _ in range(2)]
    worker = await BareWorker.join(connection, spec)
    claims = await worker.claim()
    for run_id in runs:
        await append_log(connection, [(run_id, 1, 0, content)])
    await append_log(connection, [(runs[1], 1, len(content) + 1, b"after the hole")])
    for claimed in claims:
        await worker.end(claimed)
    # Long ago, so that nobody waits for more of it.
    await connection.execute("update mainspring.log set written_at = now() - interval '1 hour'")
    return runs[0], runs[1]


# --- what only a broken system passes ------------------------------------------------------------


async def test_an_engine_that_dies_while_it_mends_has_mended_nothing_and_mends_later(
    database_url: str, connection: Connection
) -> None:
    run_id = await start_dag(connection, _PAIR)
    await connection.execute("delete from mainspring.ready")
    line = Line(database_url, name="bell")
    audit = Audit(Bell(line))
    dying = connection.transaction()
    await dying.start()
    await audit.step(connection, None, 100)
    await dying.rollback()
    assert await connection.fetchval("select count(*) from mainspring.ready") == 0
    async with connection.transaction():
        await Audit(Bell(line)).step(connection, None, 100)
    worker = await BareWorker.join(connection, _PAIR)
    [root] = await worker.claim()
    await worker.end(root)
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "ready"}
    await line.close()


def test_every_point_is_passed_by_somebody() -> None:
    """What engines, workers and commands die at, by the tests above, is all there is."""
    assert named_points() == (
        {point for point in WORKER | ENGINE | MOVING | KEEPING if not point.startswith("after ")}
        | {
            "a migration is applied and not recorded",
            "views and guards are made and not recorded",
        }
    )
