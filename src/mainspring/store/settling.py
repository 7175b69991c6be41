"""A schedule as it stands becomes its next move: decided here, carried out by `move_schedules`.

Everything that makes a schedule move goes through here: the engine's tick, the end of a run that
it follows, and a change by hand, which settles the spec of before. What is needed to decide is
read without locks; if the schedule moves meanwhile, the move finds nothing to do and is decided
anew by whoever looks next.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from mainspring import faults
from mainspring.domain.errors import InputError, InvalidSchedule, MainspringError
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.specs import DagSpec
from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.firing import (
    Decision,
    Entry,
    Outcome,
    Reason,
    Standing,
    decide_buffer,
    decide_fires,
    depends_on_name,
)
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection, fetch
from mainspring.store.ids import Ids
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.schedules import (
    LedgerChange,
    LedgerRow,
    MadeRun,
    Move,
    Moved,
    StandingSchedule,
    move_schedules,
    verdicts,
)
from mainspring.store.statements import statement

FIRES_PER_MOVE = 100
"""So that one schedule with much to catch up does not keep others waiting."""

_TASKS_PER_STATEMENT = 10_000
"""So that no statement takes long, however much is to be caught up with."""

_SPECS_KEPT = 50_000

_decode_spec = msgspec.json.Decoder(ScheduleSpec).decode
_decode_dag = msgspec.json.Decoder(DagSpec).decode
_decode_calendar = msgspec.json.Decoder(CalendarSpec).decode


class Settler:
    """Settles schedules, and remembers what it has read for that. One for each connection."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._timetables: dict[tuple[bytes, str | None], tuple[ScheduleSpec, Timetable]] = {}
        self._checks: dict[int, ParameterCheck] = {}
        self._calendars: dict[str, Calendar] = {}
        self._unusable: dict[str, InvalidSchedule] = {}
        self._calendar_specs: dict[str, bytes] = {}

    async def settle(
        self,
        connection: Connection,
        standing: Sequence[StandingSchedule],
        now: datetime | None,
        *,
        tenant_id: int = DEFAULT_TENANT,
    ) -> Moved:
        """Fire what is due of each, and take in what its runs have come to."""
        await self._prepare(connection, standing, tenant_id)
        ended = await self._ended(connection, standing)
        moves, plans = [], []
        for schedule in _bounded(standing):
            try:
                plan = self._plan(schedule, ended.get(schedule.schedule_id, ()))
            except MainspringError as error:
                move = _given_up(schedule, error)
                if move is not None:
                    moves.append(move)
            else:
                if plan is not None:
                    plans.append(plan)
        counts = [count for plan in plans for count in plan.counts]
        ids = iter(await self._ids.take_many(connection, counts))
        moves += [plan.carried_out(ids) for plan in plans]
        moved = Moved(set(), set())
        if moves:
            faults.point("moves of schedules are decided and not made")
        for part in _parts(moves):
            done = await move_schedules(connection, part, now, tenant_id=tenant_id)
            moved.schedules.update(done.schedules)
            moved.lanes.update(done.lanes)
        return moved

    async def timetable(
        self, connection: Connection, schedule: StandingSchedule, *, tenant_id: int = DEFAULT_TENANT
    ) -> tuple[ScheduleSpec, Timetable]:
        await self._prepare(connection, [schedule], tenant_id)
        return self._timetable(schedule)

    async def take_id(self, connection: Connection) -> int:
        """For a row of the ledger that has no run."""
        return await self._ids.take(connection, 1)

    # --- what is to be known beforehand --------------------------------------------------------

    async def _prepare(
        self, connection: Connection, standing: Sequence[StandingSchedule], tenant_id: int
    ) -> None:
        versions = {each.version_id for each in standing} - self._checks.keys()
        if versions:
            rows = await fetch(connection, statement("read_versions"), sorted(versions))
            self._checks |= {row["id"]: ParameterCheck(_decode_dag(row["spec"])) for row in rows}
        if any(b'"exclude"' in each.spec for each in standing):
            await self._read_calendars(connection, tenant_id)
        if len(self._timetables) > _SPECS_KEPT:
            self._timetables.clear()

    async def _read_calendars(self, connection: Connection, tenant_id: int) -> None:
        """Calendars change without their schedules: what was made of old ones is let go."""
        rows = await fetch(connection, statement("read_calendars"), tenant_id)
        specs = {row["name"]: bytes(row["spec"]) for row in rows}
        if specs != self._calendar_specs:
            self._calendar_specs = specs
            self._calendars, self._unusable = {}, {}
            for name, spec in specs.items():
                try:
                    self._calendars[name] = Calendar(_decode_calendar(spec))
                except InvalidSchedule as error:
                    # The package of public holidays is missing here: not everybody's problem.
                    self._unusable[name] = error
            self._timetables.clear()

    async def _ended(
        self, connection: Connection, standing: Sequence[StandingSchedule]
    ) -> dict[int, list[tuple[int, bool]]]:
        """Followed runs that have closed, by schedule: the run, and whether it failed."""
        closed = {
            run_id: each.schedule_id
            for each in standing
            if each.runs is not None and each.open_runs is not None
            for run_id in set(each.runs) - set(each.open_runs)
        }
        if not closed:
            return {}
        ended: dict[int, list[tuple[int, bool]]] = {}
        told = await verdicts(connection, sorted(closed))
        # One that retention has taken tells nothing any more.
        lost = [(run_id, False) for run_id in closed.keys() - {run_id for run_id, _ in told}]
        for run_id, failed in [*lost, *told]:
            ended.setdefault(closed[run_id], []).append((run_id, failed))
        return ended

    def _timetable(self, schedule: StandingSchedule) -> tuple[ScheduleSpec, Timetable]:
        key = (schedule.spec, schedule.name if _depends_on_name(schedule.spec) else None)
        known = self._timetables.get(key)
        if known is None:
            spec = _decode_spec(schedule.spec)
            for name in spec.exclude:
                if name in self._unusable:
                    raise self._unusable[name]
            known = spec, Timetable(spec, schedule.name, self._calendars)
            self._timetables[key] = known
        return known

    # --- the move ------------------------------------------------------------------------------

    def _plan(self, schedule: StandingSchedule, ended: Sequence[tuple[int, bool]]) -> _Plan | None:
        spec, timetable = self._timetable(schedule)
        move = _standing_still(schedule)
        move.over = [run_id for run_id, _ in ended]
        paused = self._count_failures(spec, schedule, move, ended)
        parameters, hindrance = self._parameters(schedule)
        plan = _Plan(schedule, timetable, parameters, move)
        standing = Standing(
            schedule.next_fire_at or schedule.now,
            schedule.fired,
            len(schedule.open_runs or ()),
            schedule.buffered_ids or (),
            Reason.PAUSE if paused or schedule.paused or schedule.dag_paused else hindrance,
        )
        if standing.buffered:
            standing = plan.start_buffered(spec, standing)
        due = schedule.next_fire_at is not None and schedule.next_fire_at <= schedule.now
        if due:
            limit = _fires_max(schedule)
            plan.fire(decide_fires(spec, timetable, standing, schedule.now, limit=limit))
        if paused:
            move.next_fire_at = None
        return plan if due or ended or plan.counts or move.changes else None

    def _count_failures(
        self,
        spec: ScheduleSpec,
        schedule: StandingSchedule,
        move: Move,
        ended: Sequence[tuple[int, bool]],
    ) -> bool:
        """Whether it has failed so often, one after the other, that it pauses."""
        for _, failed in ended:
            move.failures = move.failures + 1 if failed else 0
        most = spec.pause_after_failures
        if most is None or move.failures < most or not ended or schedule.paused:
            return False
        times = "once" if most == 1 else f"{most} times, one after the other"
        move.pause_note = f"its runs failed {times}"
        move.failures = 0
        return True

    def _parameters(self, schedule: StandingSchedule) -> tuple[bytes | None, Reason | None]:
        if schedule.dag_gone:
            return None, Reason.REFUSED
        try:
            encoded = _encoded(self._checks[schedule.version_id], schedule.parameters)
        except InputError:
            return None, Reason.REFUSED
        return None if encoded == b"{}" else encoded, None


class _Plan:
    """What one schedule does next, and how many ids it takes to carry that out."""

    def __init__(
        self,
        schedule: StandingSchedule,
        timetable: Timetable,
        parameters: bytes | None,
        move: Move,
    ) -> None:
        self._schedule = schedule
        self._timetable = timetable
        self._parameters = parameters
        self._move = move
        self._starting: list[tuple[int, _Start]] = []
        self._entries: list[tuple[Entry, _Start | None]] = []
        self.counts: list[int] = []
        """Ids, neighbours each time, in the order in which they are used."""
        self._many = len(move.schedule_ids)

    def start_buffered(self, spec: ScheduleSpec, standing: Standing) -> Standing:
        """Those of the buffer for which there is room; how it stands then."""
        starting = decide_buffer(spec, standing)
        fires = self._schedule.buffered_fires or ()
        for entry_id, fire_at in list(zip(standing.buffered, fires, strict=True))[:starting]:
            self._starting.append((entry_id, self._start(fire_at)))
            self.counts.append(self._schedule.tasks)
        return msgspec.structs.replace(
            standing,
            open_runs=standing.open_runs + starting,
            buffered=standing.buffered[starting:],
        )

    def fire(self, decision: Decision) -> None:
        move = self._move
        move.next_fire_at, move.cursor_at = decision.next_fire_at, decision.cursor_at
        move.fired = decision.fired
        for entry_id in decision.dropped:
            move.changes.append(
                LedgerChange(entry_id, outcome=Outcome.SKIPPED, reason=Reason.OVERLAP)
            )
        for entry in decision.entries:
            fires = entry.outcome is Outcome.FIRED
            self._entries.append((entry, self._start(entry.fire_at) if fires else None))
            self.counts += [self._schedule.tasks if fires else 1] * self._many

    def carried_out(self, ids: Iterator[int]) -> Move:
        """The move, with its runs and rows of the ledger under these ids."""
        move = self._move
        for entry_id, start in self._starting:
            run_id = next(ids)
            self._make([run_id], start, None)
            move.changes.append(LedgerChange(entry_id, outcome=Outcome.FIRED, run_id=run_id))
        for entry, maybe_start in self._entries:
            self._enter(list(islice(ids, self._many)), entry, maybe_start)
        return move

    def _start(self, fire_at: datetime) -> _Start:
        """When the run of a fire starts. One that is late starts now: its time limit counts from
        there."""
        start_at = self._timetable.start_at(fire_at)
        if self._schedule.now - start_at > _LATE:
            start_at = self._schedule.now
        interval_start, _ = self._timetable.data_interval(fire_at)
        return _Start(fire_at, start_at, interval_start)

    def _make(self, ids: list[int], start: _Start, entry: Entry | None) -> None:
        """Runs, and their rows of the ledger if they have none."""
        schedule = self._schedule
        self._move.runs.append(
            MadeRun(
                ids,
                schedule.version_id,
                schedule.snapshot_id,
                self._parameters,
                start.due_at,
                start.fire_at,
                start.interval_start,
                None if entry is None else schedule.version,
                None if entry is None else entry.next_at,
                schedule.job_id,
            )
        )

    def _enter(self, ids: list[int], entry: Entry, start: _Start | None) -> None:
        move = self._move
        if start is not None:
            self._make(ids, start, entry)
            move.range_ids = move.range_reason = None
            return
        last = move.rows[-1] if move.rows else None
        if entry.reason is None or entry.reason != move.range_reason:
            move.rows.append(
                LedgerRow(
                    ids,
                    entry.fire_at,
                    entry.until_at,
                    entry.next_at,
                    entry.count,
                    entry.outcome,
                    entry.reason,
                )
            )
            is_range = entry.outcome is Outcome.SKIPPED
            move.range_ids = ids if is_range else None
            move.range_reason = entry.reason if is_range else None
        elif last is not None and last.ids == move.range_ids:
            move.rows[-1] = msgspec.structs.replace(
                last,
                until_at=entry.until_at,
                next_at=entry.next_at,
                count=last.count + entry.count,
            )
        else:
            assert move.range_ids is not None
            [range_id] = move.range_ids
            move.changes.append(LedgerChange(range_id, entry.until_at, entry.next_at, entry.count))


class _Start(NamedTuple):
    """Of the run of a fire."""

    fire_at: datetime
    due_at: datetime
    interval_start: datetime


def _standing_still(schedule: StandingSchedule) -> Move:
    """The move that changes nothing yet."""
    return Move(
        schedule.alike_ids or [schedule.schedule_id],
        schedule.alike_turns or [schedule.turn],
        schedule.tasks,
        schedule.version,
        schedule.next_fire_at,
        schedule.cursor_at,
        failures=schedule.failures,
        range_ids=None if schedule.range_id is None else [schedule.range_id],
        range_reason=schedule.range_reason,
    )


@functools.lru_cache(maxsize=_SPECS_KEPT)
def _depends_on_name(spec: bytes) -> bool:
    """Others share what is made of their spec, whatever they are called."""
    return depends_on_name(_decode_spec(spec))


def _bounded(standing: Sequence[StandingSchedule]) -> Iterator[StandingSchedule]:
    """With no more of those that stand alike than one statement takes."""
    for schedule in standing:
        ids, turns = schedule.alike_ids or (), schedule.alike_turns or ()
        many = max(1, _TASKS_PER_STATEMENT // schedule.tasks)
        if len(ids) <= many:
            yield schedule
            continue
        for start in range(0, len(ids), many):
            yield msgspec.structs.replace(
                schedule,
                schedule_id=ids[start],
                turn=turns[start],
                alike_ids=ids[start : start + many],
                alike_turns=turns[start : start + many],
            )


def _fires_max(schedule: StandingSchedule) -> int:
    tasks = schedule.tasks * schedule.many
    return max(1, min(FIRES_PER_MOVE, _TASKS_PER_STATEMENT // tasks))


def _parts(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """Moves that go into a statement together."""
    part: list[Move] = []
    size = 0
    for move in moves:
        added = len(move.runs) * len(move.turns) * move.tasks
        if part and size + added > _TASKS_PER_STATEMENT:
            yield part
            part, size = [], 0
        part.append(move)
        size += added
    if part:
        yield part


def _given_up(schedule: StandingSchedule, error: MainspringError) -> Move | None:
    """It cannot be computed here: a calendar is gone, say. It is paused, so that it is seen, and
    neither stops the others nor comes up at each tick. Its cursor stays: a resume accounts for it.
    """
    if schedule.next_fire_at is None:
        return None
    _log().error("schedule is paused", schedule=schedule.name, error=error.message)
    move = _standing_still(schedule)
    move.next_fire_at = None
    move.pause_note = f"it cannot be computed: {error.message}"
    return move


_LATE = timedelta(seconds=60)


@functools.lru_cache(_SPECS_KEPT)
def _encoded(check: ParameterCheck, given: bytes | None) -> bytes:
    return check.encode({} if given is None else msgspec.json.decode(given))


def _log() -> Any:
    # Commands, which log nothing, are not kept waiting for it.
    import structlog

    return structlog.get_logger(__name__)
