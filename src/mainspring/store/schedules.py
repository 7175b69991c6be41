"""Schedules in the store. Thin calls of `schedules.sql`.

`Move` is how one schedule moves: built by `settling.py` from a schedule as it stood, and carried
out, for many at once, only where it still stands so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any

import asyncpg
import msgspec

from mainspring.schedule.firing import Outcome, Reason
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.shards import ALL_SHARDS
from mainspring.store.statements import statement


class StandingSchedule(msgspec.Struct, frozen=True):
    """A schedule as it stood when it was read."""

    schedule_id: int
    turn: int
    alike_ids: list[int] | None
    """Of several that stand so and do the same: all of them, itself first; and their turns."""
    alike_turns: list[int] | None
    tracked: bool
    next_fire_at: datetime | None
    cursor_at: datetime
    fired: int
    failures: int
    range_id: int | None
    range_reason: str | None
    tenant_id: int
    name: str
    version: int
    spec: bytes
    parameters: bytes | None
    paused: bool
    gone: bool
    version_id: int
    snapshot_id: int
    tasks: int
    dag_paused: bool
    dag_gone: bool
    now: datetime
    """The database's time of the reading."""
    runs: list[int] | None
    """Runs that it follows, if it does; `open_runs` are those that have not closed."""
    open_runs: list[int] | None
    buffered_ids: list[int] | None
    buffered_fires: list[datetime] | None
    job_id: int | None = None
    """The job that it is of, if it is of one."""

    @property
    def many(self) -> int:
        return 1 if self.alike_ids is None else len(self.alike_ids)


class MadeRun(msgspec.Struct, frozen=True):
    """A run of each schedule that moves, and its row of the ledger, which has its id."""

    ids: Sequence[int]
    version_id: int
    snapshot_id: int
    parameters: bytes | None
    due_at: datetime
    fire_at: datetime
    interval_start: datetime
    version: int | None
    """The schedule's; None if the fire comes out of the buffer, and has its row."""
    next_at: datetime | None
    job_id: int | None = None


class LedgerRow(msgspec.Struct, frozen=True):
    """What became of fires that made no run; a row for each schedule that moves."""

    ids: Sequence[int]
    fire_at: datetime
    until_at: datetime
    next_at: datetime | None
    count: int
    outcome: Outcome
    reason: Reason | None


class LedgerChange(msgspec.Struct, frozen=True):
    """A row of the ledger that goes on: a range that grows, or a fire that leaves the buffer."""

    id: int
    until_at: datetime | None = None
    next_at: datetime | None = None
    count: int = 0
    outcome: Outcome | None = None
    reason: Reason | None = None
    run_id: int | None = None


class Move(msgspec.Struct):
    """How a schedule moves, if it stands as it was read; or several that stand alike."""

    schedule_ids: list[int]
    turns: list[int]
    tasks: int
    """Of each run that they make."""
    version: int
    next_fire_at: datetime | None
    cursor_at: datetime
    fired: int = 0
    failures: int = 0
    range_ids: Sequence[int] | None = None
    """The last row of the ledger of each, if that is a range of skips."""
    range_reason: str | None = None
    pause_note: str | None = None
    rows: list[LedgerRow] = []
    changes: list[LedgerChange] = []
    runs: list[MadeRun] = []
    over: list[int] = []
    """Followed runs that have closed."""


class Moved(msgspec.Struct, frozen=True):
    schedules: set[int]
    lanes: set[int]


BEGINNING_OF_ROUND = (0, 0)


class Followed(msgspec.Struct, frozen=True):
    schedules: list[int]
    last: tuple[int, int] | None
    """The last schedule and run that were looked at; None at the end of the round."""


async def due_schedules(
    connection: Connection,
    now: datetime | None,
    shards: Sequence[int],
    look_from: datetime,
    limit: int,
    *,
    among: Collection[int] = ALL_SHARDS,
    look_until: datetime | None = None,
) -> list[StandingSchedule]:
    """Those of `shards` that are due, and of the others `among` all those that are overdue."""
    others = [number for number in among if number not in shards]
    rows = await fetch(
        connection,
        statement("due_schedules"),
        *(now, shards, look_from, limit, others, look_until),
    )
    return [_standing(row) for row in rows]


async def standing_schedules(
    connection: Connection, now: datetime | None, ids: Sequence[int]
) -> list[StandingSchedule]:
    rows = await fetch(connection, statement("standing_schedules"), now, ids)
    return [_standing(row) for row in rows]


async def lock_schedules(connection: Connection, ids: Sequence[int]) -> None:
    """Until the transaction ends nobody else moves them."""
    await fetch(connection, statement("lock_schedules"), ids)


async def next_due(
    connection: Connection, now: datetime | None
) -> tuple[datetime, datetime | None]:
    """The database's time, and when the next schedule is due."""
    row = (await fetch(connection, statement("next_due"), now))[0]
    return row["now"], row["next_fire_at"]


async def followed_schedules(
    connection: Connection, above: tuple[int, int] = BEGINNING_OF_ROUND, limit: int = 200
) -> Followed:
    row = (await fetch(connection, statement("followed_schedules"), *above, limit))[0]
    last = None if row["run_id"] is None else (row["schedule_id"], row["run_id"])
    return Followed(row["ids"], last)


async def verdicts(connection: Connection, run_ids: Sequence[int]) -> list[tuple[int, bool]]:
    """Of those that have closed, in the order of their ends: the run, and whether it failed."""
    rows = await fetch(connection, statement("verdicts"), run_ids)
    return [(row["id"], row["failed"]) for row in rows]


async def move_schedules(
    connection: Connection,
    moves: Sequence[Move],
    now: datetime | None,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> Moved:
    """Carry out the moves of those schedules that have not moved since they were read."""
    makes = [(move, run) for move in moves for run in move.runs]
    rows = [
        (id, schedule_id, move.version, row)
        for move in moves
        for row in move.rows
        for id, schedule_id in zip(row.ids, move.schedule_ids, strict=True)
    ]
    changes = [(move.schedule_ids[0], change) for move in moves for change in move.changes]
    over = [(move.schedule_ids[0], run_id) for move in moves for run_id in move.over]
    answer = await fetch(
        connection,
        statement("move_schedules"),
        [id for _, run in makes for id in run.ids],
        [run.version_id for _, run in makes],
        [run.snapshot_id for _, run in makes],
        tenant_id,
        [id for move, _ in makes for id in move.schedule_ids],
        _numbers(len(run.ids) for _, run in makes),
        *_columns(
            [run for _, run in makes],
            ("parameters", "due_at", "fire_at", "interval_start", "version", "next_at"),
        ),
        now,
        [id for move in moves for id in move.schedule_ids],
        [turn for move in moves for turn in move.turns],
        [id for move in moves for id in move.range_ids or repeat(None, len(move.turns))],
        _numbers(len(move.turns) for move in moves),
        *_columns(
            moves,
            ("next_fire_at", "cursor_at", "fired", "failures", "range_reason", "pause_note"),
        ),
        [id for id, _, _, _ in rows],
        [schedule_id for _, schedule_id, _, _ in rows],
        [version for _, _, version, _ in rows],
        *_columns(
            [row for _, _, _, row in rows],
            ("fire_at", "until_at", "next_at", "count", "outcome", "reason"),
        ),
        [change.id for _, change in changes],
        [schedule_id for schedule_id, _ in changes],
        *_columns(
            [change for _, change in changes],
            ("until_at", "next_at", "count", "outcome", "reason", "run_id"),
        ),
        [schedule_id for schedule_id, _ in over],
        [run_id for _, run_id in over],
        [run.job_id for _, run in makes],
    )
    return Moved(
        {row["id"] for row in answer if row["kind"] == "schedule"},
        {row["id"] for row in answer if row["kind"] == "lane"},
    )


def _numbers(counts: Iterable[int]) -> list[int]:
    """1 as often as the first says, 2 as often as the second, and so on."""
    return [number for number, count in enumerate(counts, 1) for _ in range(count)]


def _columns(items: Sequence[Any], names: Iterable[str]) -> list[list[Any]]:
    return [[getattr(item, name) for item in items] for name in names]


def _standing(row: asyncpg.Record) -> StandingSchedule:
    return StandingSchedule(*row.values())
