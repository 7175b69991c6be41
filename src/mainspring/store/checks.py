"""What `mainspring doctor` and the server's `/doctor` look at: verdicts, and what to do.

Each check is a pure function of what was read. `checks` asks them in the order in which they make
sense; `promises` reads much, and is asked for by itself.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any

import asyncpg
import msgspec

from mainspring.domain.words import clock, counted, roughly, safe
from mainspring.store import reading
from mainspring.store.connection import Connection, fetch
from mainspring.store.invariants import INVARIANTS
from mainspring.store.migrate import check_schema, pending
from mainspring.store.pauses import Pause
from mainspring.store.reading import (
    COUNT_MAX,
    EngineLine,
    FileProblem,
    LaneLine,
    PausedLine,
    ServerLine,
    WorkerLine,
)

SERVER_VERSION_MIN = 150000
_ENGINE_SILENT_SECONDS = 5.0
_PROBLEM_SECONDS = 3600.0
_PAUSED_SHOWN = 10
_ROWS_MAX = 1000
"""How many rows that break a promise are counted."""
PROMISE_SECONDS = 30

_CLOCK_LOOKS = 5


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""
    count: int | None = None
    """How many things are wrong, where that can be counted."""
    details: Any = None
    """What programs may want to know of it."""


class Health(msgspec.Struct, frozen=True):
    """How all of it is."""

    ok: bool
    """Whether nothing is broken."""
    checks: list[Check]


def health(checks: list[Check]) -> Health:
    return Health(all(check.verdict is not Verdict.BROKEN for check in checks), checks)


async def checks(connection: Connection) -> AsyncIterator[Check]:
    """In the order in which they make sense; a schema that is too old ends the list."""
    from mainspring.store.schedule_checks import (
        clock_check,
        schedules_check,
        shards_check,
    )
    from mainspring.store.schedule_reading import (
        count_schedules,
        list_engines,
        list_hindered,
        list_shards,
    )

    server = await reading.read_server(connection)
    yield server_check(server)
    yield role_check(server)
    missing = await pending(connection)
    await check_schema(connection)
    yield schema_check(missing)
    yield engine_check(await reading.read_engine(connection))
    yield shards_check(await list_engines(connection), await list_shards(connection))
    yield clock_check(await clock_offset(connection))
    yield workers_check(await reading.list_workers(connection))
    yield lanes_check(await reading.list_lanes(connection))
    yield pauses_check(await reading.list_paused(connection))
    yield schedules_check(*await count_schedules(connection), await list_hindered(connection))
    yield files_check(await reading.list_file_problems(connection))
    yield problems_check(await reading.count_recent_problems(connection, seconds=_PROBLEM_SECONDS))


def server_check(server: ServerLine) -> Check:
    name = f"PostgreSQL {server.version}"
    if server.version_number < SERVER_VERSION_MIN:
        return Check("server", Verdict.BROKEN, name, "upgrade it to version 15 or newer")
    return Check("server", Verdict.OK, name)


def role_check(server: ServerLine) -> Check:
    if server.superuser:
        return Check(
            "role",
            Verdict.WARNING,
            f"`{server.role}` is a superuser",
            "use a role of its own that owns the database and no more",
        )
    return Check("role", Verdict.OK, f"`{server.role}` is no superuser")


def schema_check(missing: list[str]) -> Check:
    if missing:
        return Check(
            "schema",
            Verdict.WARNING,
            f"{', '.join(missing)} not applied yet",
            "run `mainspring migrate` when no older version runs any more",
            len(missing),
        )
    return Check("schema", Verdict.OK, "up to date")


def engine_check(engine: EngineLine) -> Check:
    start = "start one with `mainspring engine`, or everything with `mainspring up`"
    if not engine.held:
        return Check("engine", Verdict.BROKEN, "none runs: timers and recovery stand still", start)
    if engine.silent_seconds > _ENGINE_SILENT_SECONDS:
        found = f"`{engine.name}` was not heard of for {roughly(engine.silent_seconds)}"
        return Check("engine", Verdict.BROKEN, found, start)
    return Check("engine", Verdict.OK, f"`{engine.name}` is alive")


def workers_check(workers: list[WorkerLine]) -> Check:
    living = [worker for worker in workers if not worker.overdue]
    if silent := [worker for worker in workers if worker.overdue]:
        names = ", ".join(
            f"`{worker.name}` for {roughly(worker.silent_seconds)}" for worker in silent[:5]
        )
        return Check(
            "workers",
            Verdict.WARNING if living else Verdict.BROKEN,
            f"{counted(len(living), 'worker')} alive; not heard of: {names}",
            "look at those processes; a running engine hands their tasks to others",
            len(silent),
        )
    if not living:
        start = "start one with `mainspring worker`, or everything with `mainspring up`"
        return Check("workers", Verdict.BROKEN, "none lives: nothing can run", start)
    return Check("workers", Verdict.OK, f"{counted(len(living), 'worker')} alive")


def lanes_check(lanes: list[LaneLine]) -> Check:
    unserved = [lane for lane in lanes if lane.ready and not lane.workers]
    if unserved:
        found = ", ".join(
            f"{counted(lane.ready, 'task', at_most=COUNT_MAX)} in `{lane.queue}`, kind"
            f" `{lane.kind}`"
            for lane in unserved[:5]
        )
        first = unserved[0]
        return Check(
            "queues",
            Verdict.BROKEN,
            f"nobody serves {found}",
            f"`mainspring worker --queues {first.queue} --slots {first.kind}=1` would",
            len(unserved),
        )
    waiting = sum(lane.ready for lane in lanes)
    return Check("queues", Verdict.OK, f"{counted(waiting, 'task')} waiting, all served")


def pauses_check(paused: list[PausedLine]) -> Check:
    """Somebody wanted it so: that is no fault, and it explains why nothing moves."""
    if not paused:
        return Check("pauses", Verdict.OK, "no dag and no queue is paused")
    told = [f"{line.what} `{safe(line.name)}`{_because(line.pause)}" for line in paused]
    more = f", and {len(told) - _PAUSED_SHOWN} more" if len(told) > _PAUSED_SHOWN else ""
    first = paused[0]
    return Check(
        "pauses",
        Verdict.OK,
        f"paused: {', '.join(told[:_PAUSED_SHOWN])}{more}",
        f"`mainspring {first.what} resume {safe(first.name)}` lets it go on",
        len(paused),
    )


def _because(pause: Pause) -> str:
    who = f" by {safe(pause.by)}" if pause.by else ""
    why = f": {safe(pause.note)}" if pause.note else ""
    return f" (since {clock(pause.at)}{who}{why})"


def files_check(problems: list[FileProblem]) -> Check:
    if problems:
        some = ", ".join(f"`{problem.file}`" for problem in problems[:5])
        return Check(
            "files",
            Verdict.WARNING,
            f"{counted(len(problems), 'file')} of dags could not be read: {some}",
            "`mainspring dag list` shows what is wrong with them",
            len(problems),
        )
    return Check("files", Verdict.OK, "every file of dags could be read")


def problems_check(recent: int) -> Check:
    if recent:
        return Check(
            "failures",
            Verdict.WARNING,
            f"{counted(recent, 'task', at_most=1000)} failed for good within the last hour",
            "`mainspring dlq list` shows them by error",
            recent,
        )
    return Check("failures", Verdict.OK, "no task failed for good within the last hour")


def promise_check(name: str, rows: int) -> Check:
    if rows == 0:
        return Check(name, Verdict.OK, "holds", count=0)
    return Check(
        name,
        Verdict.BROKEN,
        f"broken by {counted(rows, 'row', at_most=_ROWS_MAX)}",
        "this is a bug in Mainspring: please report it, with the output of `doctor --json`",
        rows,
    )


async def promises(connection: Connection, seconds: int = PROMISE_SECONDS) -> AsyncIterator[Check]:
    """Every promise, each within a time limit: on a large database some read much."""
    await connection.execute(f"set statement_timeout = '{seconds}s'")
    for name, sql in INVARIANTS.items():
        try:
            rows = await fetch(connection, f"select 1 from ({sql}) as broken limit {_ROWS_MAX}")
        except asyncpg.QueryCanceledError:
            found = f"not known: asking took more than {seconds} s"
            yield Check(name, Verdict.UNKNOWN, found)
        else:
            yield promise_check(name, len(rows))


async def clock_offset(connection: Connection) -> float:
    """How far the database's clock is ahead of this machine's, in seconds.

    The answer that came quickest says it best: it was on its way for the shortest time.
    """
    best: tuple[float, float] | None = None
    for _ in range(_CLOCK_LOOKS):
        sent = time.time()
        theirs = (await reading.read_clock(connection)).timestamp()
        back = time.time()
        look = back - sent, theirs - (sent + back) / 2
        best = look if best is None else min(best, look)
    assert best is not None
    return best[1]
