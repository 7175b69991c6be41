"""Backfills in the store. Thin calls of `backfills.sql`.

`BackfillMove` is how a backfill moves: built by `backfilling.py` from one as it stood, and carried
out only if it still stands so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.states import BACKFILL, BackfillState
from mainspring.schedule.backfilling import ExistingRun, Outcome, Plan
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT, stop_runs
from mainspring.store.statements import statement

BACKFILLS_SHOWN_MAX = 1_000

decode_plan = msgspec.json.Decoder(Plan).decode


class StandingBackfill(msgspec.Struct, frozen=True):
    """A backfill as it stood when it was read."""

    id: int
    tenant_id: int
    turn: int
    state: str
    cursor_at: datetime | None
    plan: bytes
    parameters: bytes | None
    reprocess: str
    concurrency: int
    priority: int
    created_by: str | None
    schedule_id: int | None
    dag_id: int
    version_id: int
    snapshot_id: int
    tasks: int
    dag_gone: bool
    dag: str
    open_fires: list[datetime]
    """Instants whose runs are not known to be over, and these runs."""
    open_runs: list[int]


class Kin(msgspec.Struct, frozen=True):
    """Whose runs count as runs of the same instants."""

    schedules: list[int]
    backfills: list[int]


class MadeRun(msgspec.Struct, frozen=True):
    id: int
    version_id: int
    snapshot_id: int
    parameters: bytes | None
    fire_at: datetime
    interval_start: datetime


class BackfillMove(msgspec.Struct):
    """How a backfill moves, if it stands as it was read."""

    backfill_id: int
    turn: int
    cursor_at: datetime | None
    state: BackfillState
    halt_note: str | None = None
    runs: list[MadeRun] = []
    passed_by: list[tuple[datetime, Outcome, int | None]] = []
    """Instants that are not run, why, and the run that they have."""
    over: list[tuple[datetime, str]] = []
    """Instants whose runs are over, and how these ended."""


class BackfillMoved(msgspec.Struct, frozen=True):
    moved: bool
    lanes: set[int]


class BackfillLine(msgspec.Struct, frozen=True):
    """A backfill as people see it."""

    id: int
    dag: str
    schedule: str | None
    state: BackfillState
    since_at: datetime
    until_at: datetime
    reprocess: str
    concurrency: int
    priority: int
    parameters: bytes | None
    note: str | None
    created_at: datetime
    created_by: str | None
    cursor_at: datetime | None
    halted_by: str | None
    halt_note: str | None
    ended_at: datetime | None
    total: int
    made: int
    existing: int
    excluded: int
    succeeded: int
    failed: int
    cancelled: int
    read_at: datetime

    @property
    def open_runs(self) -> int:
        return self.made - self.succeeded - self.failed - self.cancelled

    @property
    def done(self) -> int:
        """Instants about which nothing is left to do."""
        return self.existing + self.excluded + self.made - self.open_runs

    @property
    def halted(self) -> bool:
        """Whether it is paused, and none of its runs is open."""
        return self.state is BackfillState.PAUSED and not self.open_runs

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: it has ended, and so have its runs."""
        return self.ended_at is not None and not self.open_runs


class BackfillFire(msgspec.Struct, frozen=True):
    fire_at: datetime
    outcome: str
    run_id: int | None
    verdict: str | None


async def going_backfills(connection: Connection, above: int, limit: int) -> list[int]:
    rows = await fetch(connection, statement("going_backfills"), above, limit)
    return [row["id"] for row in rows]


async def standing_backfill(connection: Connection, backfill_id: int) -> StandingBackfill | None:
    rows = await fetch(connection, statement("standing_backfill"), backfill_id)
    return StandingBackfill(*rows[0].values()) if rows else None


async def closed_runs(connection: Connection, run_ids: Sequence[int]) -> dict[int, str]:
    """Of these, those that are over, and how."""
    if not run_ids:
        return {}
    rows = await fetch(connection, statement("closed_runs"), run_ids)
    return {row["id"]: row["state"] for row in rows}


async def read_kin(
    connection: Connection, dag_id: int, schedule_id: int | None, parameters: bytes | None
) -> Kin:
    rows = await fetch(connection, statement("related_backfills"), dag_id, schedule_id, parameters)
    return Kin(*rows[0].values())


async def existing_fires(
    connection: Connection, fires: Sequence[datetime], kin: Kin
) -> Mapping[datetime, ExistingRun]:
    """The latest run of each of these instants that has one."""
    rows = await fetch(connection, statement("existing_fires"), fires, kin.schedules, kin.backfills)
    return {row["fire_at"]: ExistingRun(row["run_id"], row["state"]) for row in rows}


async def move_backfill(
    connection: Connection,
    move: BackfillMove,
    now: datetime | None,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> BackfillMoved:
    """Carry out the move, if the backfill has not moved since it was read."""
    answer = await fetch(
        connection,
        statement("move_backfill"),
        [run.id for run in move.runs],
        [run.version_id for run in move.runs],
        [run.snapshot_id for run in move.runs],
        tenant_id,
        [run.parameters for run in move.runs],
        [run.interval_start for run in move.runs],
        [run.fire_at for run in move.runs],
        now,
        move.backfill_id,
        move.turn,
        move.cursor_at,
        move.state,
        move.halt_note,
        [fire_at for fire_at, _, _ in move.passed_by],
        [outcome for _, outcome, _ in move.passed_by],
        [run_id for _, _, run_id in move.passed_by],
        [fire_at for fire_at, _ in move.over],
        [verdict for _, verdict in move.over],
    )
    return BackfillMoved(
        any(row["kind"] == "backfill" for row in answer),
        {row["id"] for row in answer if row["kind"] == "lane"},
    )


# --- by hand ------------------------------------------------------------------------------


async def pause_backfill(
    connection: Connection, backfill_id: int, *, by: str | None = None, note: str | None = None
) -> BackfillLine:
    """From the answer on it makes no run; those that are open go on. Again: another note."""
    return await _change(
        connection, "pause_backfill", backfill_id, (by, note), BackfillState.PAUSED
    )


async def resume_backfill(connection: Connection, backfill_id: int) -> BackfillLine:
    """It goes on where it was. One that runs is left alone."""
    return await _change(connection, "resume_backfill", backfill_id, (), BackfillState.RUNNING)


async def cancel_backfill(
    connection: Connection,
    backfill_id: int,
    *,
    by: str | None = None,
    note: str | None = None,
    now: datetime | None = None,
) -> BackfillLine:
    """It makes no more runs, ever. One that was cancelled is left alone."""
    return await _change(
        connection, "cancel_backfill", backfill_id, (by, note, now), BackfillState.CANCELLED
    )


async def stop_backfill_runs(connection: Connection, backfill_id: int) -> tuple[int, int]:
    """Stop its open runs: how many there were, and how many of their tasks were asked to stop.

    To be asked when it makes no more of them.
    """
    rows = await fetch(connection, statement("open_backfill_runs"), backfill_id)
    open_runs = [row["run_id"] for row in rows]
    noted = await stop_runs(connection, open_runs, "cancel") if open_runs else 0
    return len(open_runs), noted


async def _change(
    connection: Connection,
    name: str,
    backfill_id: int,
    given: tuple[object, ...],
    target: BackfillState,
) -> BackfillLine:
    """Move it by hand; ConflictError if it cannot be. One that stands so already is left alone."""
    async with connection.transaction():
        # Held, so that nobody changes it between the question and the change.
        held = await fetch(connection, statement("lock_backfill"), backfill_id)
        state = held[0]["state"] if held else target
        if state != target and not BACKFILL.allows(state, target):
            words = {BackfillState.RUNNING: "resumed"}
            raise ConflictError(
                f"backfill {backfill_id} is {state} and cannot be {words.get(target, target)}",
                hint="make a new one; what has a run already is passed by",
            )
        if state != target or target is BackfillState.PAUSED:
            await fetch(connection, statement(name), backfill_id, *given)
        return await read_backfill(connection, backfill_id)


# --- reading ------------------------------------------------------------------------------


async def read_backfill(
    connection: Connection, backfill_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> BackfillLine:
    rows = await fetch(
        connection, statement("read_backfills"), tenant_id, backfill_id, None, None, 1, None
    )
    if not rows:
        raise NotFoundError(
            f"there is no backfill {backfill_id}",
            hint="`mainspring backfill list` shows what there is",
        )
    return _line(rows[0])


async def list_backfills(
    connection: Connection,
    *,
    dag: str | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = BACKFILLS_SHOWN_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> list[BackfillLine]:
    """Newest first; those before this number."""
    rows = await fetch(
        connection, statement("read_backfills"), tenant_id, None, dag, state, limit, before
    )
    return [_line(row) for row in rows]


async def read_plan(connection: Connection, backfill_id: int) -> Plan:
    rows = await fetch(connection, statement("read_backfill_plan"), backfill_id)
    return decode_plan(rows[0]["plan"])


async def page_backfill_fires(
    connection: Connection,
    backfill_id: int,
    *,
    before: datetime | None = None,
    verdict: str | None = None,
    limit: int = 20,
) -> list[BackfillFire]:
    """What became of its instants, latest fire first."""
    rows = await fetch(
        connection, statement("page_backfill_fires"), backfill_id, before, verdict, limit
    )
    return [BackfillFire(*row.values()) for row in rows]


async def backfill_of_run(connection: Connection, run_id: int) -> int | None:
    """Which one made a run; None if it was none."""
    rows = await fetch(connection, statement("backfill_of_run"), run_id)
    return rows[0]["backfill_id"] if rows else None


async def past_durations(
    connection: Connection, dag_id: int, limit: int, *, tenant_id: int = DEFAULT_TENANT
) -> list[float]:
    rows = await fetch(connection, statement("past_durations"), tenant_id, dag_id, limit)
    return [row["seconds"] for row in rows]


async def forget_backfills(connection: Connection, ended_before: datetime, limit: int) -> int:
    """Let go of some of what ended long ago; says how much."""
    rows = await fetch(connection, statement("forget_backfills"), ended_before, limit)
    forgotten: int = rows[0]["forgotten"]
    return forgotten


def _line(row: asyncpg.Record) -> BackfillLine:
    values = dict(row.items())
    return BackfillLine(**{**values, "state": BackfillState(row["state"])})
