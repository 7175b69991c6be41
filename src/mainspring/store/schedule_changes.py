"""Schedules are made, changed, paused, resumed and removed: by hand, or as code says.

Each change locks the schedule, settles what was due until now under the spec of before, and then
sets what holds from now on, in one transaction. While somebody changes it, ticks pass the schedule
by and come again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from mainspring.domain.errors import (
    ConflictError,
    InputError,
    InvalidSchedule,
    NotFoundError,
    PluginError,
)
from mainspring.domain.names import name_problem, shown
from mainspring.domain.notes import checked_note
from mainspring.domain.parameters import ParameterCheck
from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.explaining import explain
from mainspring.schedule.firing import Outcome, Reason, is_tracked, stands_alone
from mainspring.schedule.specs import DatesSpec, OnceSpec, ScheduleSpec, When, check_spec
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.reading import read_clock
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.schedule_reading import list_schedules
from mainspring.store.schedules import (
    LedgerRow,
    Move,
    StandingSchedule,
    lock_schedules,
    move_schedules,
    standing_schedules,
)
from mainspring.store.settling import Settler
from mainspring.store.shards import shard_of
from mainspring.store.statements import statement

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_calendar = msgspec.json.Decoder(CalendarSpec).decode


class Intent(msgspec.Struct, frozen=True):
    """What a schedule is to be."""

    name: str
    dag: str
    spec: ScheduleSpec
    parameters: Mapping[str, Any] = {}
    note: str = ""
    in_code: bool = False
    at_once: datetime | None = None
    """An instant of `spec` that stands for "now": it becomes the second after the change."""
    job_id: int | None = None
    """The job whose schedule it is; such a one is changed by way of its job."""


class Put(msgspec.Struct, frozen=True):
    schedule_id: int
    version: int
    next_fire_at: datetime | None
    lanes: frozenset[int] = frozenset()
    """Lanes that got tasks when the spec of before was settled: whom to wake."""


class Changed(msgspec.Struct, frozen=True):
    next_fire_at: datetime | None
    lanes: frozenset[int]
    changed: bool = True
    """False: it was so already."""


class KnownSchedule(msgspec.Struct, frozen=True):
    """What is stored under a name, be it gone or not."""

    id: int
    version: int
    in_code: bool
    gone: bool
    dag_id: int
    spec: bytes
    parameters: bytes | None
    note: str
    job_id: int | None = None

    def is_already(self, intent: Intent, dag_id: int) -> bool:
        """Whether putting what a file says would change nothing."""
        is_stored = self.spec, self.parameters, self.note, self.dag_id
        is_meant = encoded_spec(intent), encoded_parameters(intent), intent.note, dag_id
        return self.in_code and intent.in_code and not self.gone and is_stored == is_meant


class NewSchedule(msgspec.Struct, frozen=True):
    """A schedule that was not there before, ready to be stored."""

    intent: Intent
    dag_id: int
    by: str
    next_fire_at: datetime | None


async def create_schedule(
    connection: Connection,
    intent: Intent,
    *,
    by: str,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Put:
    """A new schedule; ConflictError if there is one of that name."""
    intent = _checked(intent)
    async with connection.transaction():
        known = await _locked(connection, intent.name, tenant_id)
        if known is not None and not known.gone:
            raise ConflictError(
                f"there is a schedule `{intent.name}` already",
                hint="choose another name, or change it: `mainspring schedule put`",
            )
        if known is not None:
            # It was removed, and perhaps paused before: what is made anew is not.
            await fetch(connection, statement("resume_schedule"), known.id)
        return await _put(connection, intent, known, by, now, tenant_id)


async def put_schedule(
    connection: Connection,
    intent: Intent,
    *,
    version: int | None = None,
    by: str,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Put:
    """Make the schedule what is intended; with `version`, only if that is the one in force."""
    intent = _checked(intent)
    async with connection.transaction():
        known = await _locked(connection, intent.name, tenant_id)
        in_force = 0 if known is None or known.gone else known.version
        if version is not None and version != in_force:
            raise await _stale(connection, intent.name, in_force, version, tenant_id)
        _check_owner(known, intent)
        return await _put(connection, intent, known, by, now, tenant_id)


async def put_code_schedule(
    connection: Connection,
    intent: Intent,
    *,
    by: str,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Put | None:
    """The same, as a file says it; None if it is so already.

    Every engine that reads the file comes here. The lock lets one of them make the change, and the
    others find it made.
    """
    async with connection.transaction():
        known = await _locked(connection, intent.name, tenant_id)
        _check_owner(known, intent)
        dag = await _dag(connection, intent, tenant_id)
        if known is not None and known.is_already(intent, dag.id):
            return None
        return await _put(connection, intent, known, by, now, tenant_id)


async def create_schedules(
    connection: Connection,
    made: Sequence[NewSchedule],
    at: datetime,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> dict[str, int]:
    """New schedules, from `at` on; the ids of those whose names were free."""
    intents = [each.intent for each in made]
    rows = await fetch(
        connection,
        statement("create_schedules"),
        tenant_id,
        [intent.name for intent in intents],
        [each.dag_id for each in made],
        [encoded_spec(intent) for intent in intents],
        [encoded_parameters(intent) for intent in intents],
        [intent.in_code for intent in intents],
        [intent.note for intent in intents],
        [each.by for each in made],
        [shard_of(intent.name) for intent in intents],
        [is_tracked(intent.spec) for intent in intents],
        [each.next_fire_at for each in made],
        at,
        [stands_alone(intent.spec) for intent in intents],
    )
    return {row["name"]: row["id"] for row in rows}


async def pause_schedule(
    connection: Connection,
    name: str,
    *,
    by: str,
    note: str | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Changed:
    """Nothing is fired from now on, until it is resumed. A second pause only changes the note."""
    note = checked_note(note)
    async with connection.transaction():
        change = await _Change.begin(connection, name, now, tenant_id)
        schedule_id, at = change.standing.schedule_id, change.standing.now
        if change.standing.paused:
            if note is not None:
                await fetch(connection, statement("note_pause"), schedule_id, by, note)
            return Changed(None, frozenset(change.lanes), changed=False)
        await fetch(connection, statement("rest_schedule"), schedule_id, True, by, note, False, at)
        return Changed(None, frozenset(change.lanes))


async def resume_schedule(
    connection: Connection,
    name: str,
    *,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Changed:
    """From its first fire after now on; what was due during the pause is skipped."""
    async with connection.transaction():
        change = await _Change.begin(connection, name, now, tenant_id)
        standing = change.standing
        if not standing.paused:
            return Changed(standing.next_fire_at, frozenset(change.lanes), changed=False)
        next_fire_at = await change.account_for_pause()
        await fetch(connection, statement("resume_schedule"), standing.schedule_id)
        return Changed(next_fire_at, frozenset(change.lanes))


async def remove_schedule(
    connection: Connection,
    name: str,
    *,
    from_code: bool = False,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Changed:
    """It is no more; what it has fired, and its ledger, stay. Fires that wait never start."""
    async with connection.transaction():
        known = await _locked(connection, name, tenant_id)
        if known is not None and not known.gone and known.in_code != from_code:
            raise no_schedule(name) if from_code else _written_in_code(name)
        change = await _Change.begin(connection, name, now, tenant_id)
        if change.standing.paused:
            await change.leave_pause()
        schedule_id, at = change.standing.schedule_id, change.standing.now
        await fetch(connection, statement("drop_buffered"), schedule_id, at)
        await fetch(
            connection, statement("rest_schedule"), schedule_id, False, None, None, True, at
        )
        return Changed(None, frozenset(change.lanes))


async def was_removed(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> bool:
    known = await _find(connection, name, tenant_id)
    return known is not None and known.gone


async def read_calendars(
    connection: Connection, *, tenant_id: int = DEFAULT_TENANT
) -> dict[str, CalendarSpec]:
    rows = await fetch(connection, statement("read_calendars"), tenant_id)
    return {row["name"]: _decode_calendar(row["spec"]) for row in rows}


async def put_calendar(
    connection: Connection, name: str, spec: CalendarSpec, *, tenant_id: int = DEFAULT_TENANT
) -> None:
    """Schedules that exclude it follow with their next fire."""
    if problem := name_problem(name):
        raise InputError(f"a calendar: the name {shown(name)} {problem}")
    Calendar(spec)
    await fetch(connection, statement("put_calendar"), tenant_id, name, _encode(spec))


async def remove_calendar(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> None:
    """ConflictError while a schedule names it."""
    async with connection.transaction():
        for schedule in await list_schedules(connection, tenant_id=tenant_id):
            if name in schedule.spec.exclude:
                raise ConflictError(
                    f"schedule `{schedule.name}` excludes the days of calendar `{name}`",
                    hint="change the schedule first",
                )
        if not await fetch(connection, statement("remove_calendar"), tenant_id, name):
            raise NotFoundError(
                f"there is no calendar `{name}`",
                hint="`mainspring calendar list` shows what there is",
            )


class _Change:
    """A schedule that is locked and settled: what was due until now has become what it had to."""

    def __init__(
        self, connection: Connection, standing: StandingSchedule, settler: Settler, tenant_id: int
    ) -> None:
        self._connection = connection
        self._settler = settler
        self._tenant_id = tenant_id
        self.standing = standing
        self.lanes: set[int] = set()

    @classmethod
    async def begin(
        cls, connection: Connection, name: str, now: datetime | None, tenant_id: int
    ) -> _Change:
        known = await _find(connection, name, tenant_id)
        if known is None or known.gone:
            raise no_schedule(name)
        change = await cls.of(connection, known.id, now, tenant_id)
        if change.standing.gone:
            # Somebody has removed it while we waited for its lock.
            raise no_schedule(name)
        return change

    @classmethod
    async def of(
        cls, connection: Connection, schedule_id: int, now: datetime | None, tenant_id: int
    ) -> _Change:
        await lock_schedules(connection, [schedule_id])
        settler, lanes = Settler(), set[int]()
        while True:
            [standing] = await standing_schedules(connection, now, [schedule_id])
            if standing.next_fire_at is None or standing.next_fire_at > standing.now:
                break
            lanes |= (await settler.settle(connection, [standing], now)).lanes
        change = cls(connection, standing, settler, tenant_id)
        change.lanes = lanes
        return change

    async def leave_pause(self) -> None:
        """For another spec, or none. What cannot be computed any more is not accounted for: that
        must not keep anybody from mending it."""
        with contextlib.suppress(InvalidSchedule, PluginError):
            await self.account_for_pause()

    async def account_for_pause(self) -> datetime | None:
        """One range for what the pause has swallowed; the first fire after it."""
        standing = self.standing
        spec, timetable = await self._settler.timetable(
            self._connection, standing, tenant_id=self._tenant_id
        )
        following = timetable.next_fire(standing.now)
        next_fire_at = None if following is None else following.at
        if spec.limit is not None and standing.fired >= spec.limit:
            return None
        first = timetable.next_fire(standing.cursor_at)
        rows = []
        last = timetable.last_fire(standing.now)
        if first is not None and last is not None and first.at <= last.at:
            rows = [
                LedgerRow(
                    [await self._settler.take_id(self._connection)],
                    first.at,
                    last.at,
                    next_fire_at,
                    timetable.count_between(standing.cursor_at, last.at),
                    Outcome.SKIPPED,
                    Reason.PAUSE,
                )
            ]
        move = Move(
            [standing.schedule_id],
            [standing.turn],
            standing.tasks,
            standing.version,
            next_fire_at,
            standing.now,
            rows=rows,
        )
        moved = await move_schedules(
            self._connection, [move], standing.now, tenant_id=self._tenant_id
        )
        assert moved.schedules, "a schedule moved under our lock"
        return next_fire_at


async def _put(
    connection: Connection,
    intent: Intent,
    known: KnownSchedule | None,
    by: str,
    now: datetime | None,
    tenant_id: int,
) -> Put:
    calendars = await read_calendars(connection, tenant_id=tenant_id)
    check_spec(intent.spec, calendars)
    dag = await _dag(connection, intent, tenant_id)
    ParameterCheck(dag.spec).encode(intent.parameters)
    lanes: set[int] = set()
    if known is not None and not known.gone:
        change = await _Change.of(connection, known.id, now, tenant_id)
        if change.standing.paused:
            await change.leave_pause()
        lanes, at = change.lanes, change.standing.now
    else:
        at = now or await read_clock(connection)
    intent = _begun(intent, at)
    next_fire_at = first_fire(intent, calendars, at)
    if known is None:
        new = NewSchedule(intent, dag.id, by, next_fire_at)
        made = await create_schedules(connection, [new], at, tenant_id=tenant_id)
        if not made:
            raise ConflictError(
                f"somebody else has just made a schedule `{intent.name}`",
                hint="look, and try again",
            )
        return Put(made[intent.name], 1, next_fire_at)
    rows = await fetch(
        connection,
        statement("put_schedule"),
        *(known.id, dag.id, encoded_spec(intent), encoded_parameters(intent)),
        *(intent.in_code, intent.note, by, is_tracked(intent.spec), next_fire_at, at),
        stands_alone(intent.spec),
        intent.job_id,
    )
    return Put(known.id, rows[0]["version"], next_fire_at, frozenset(lanes))


def first_fire(
    intent: Intent, calendars: Mapping[str, CalendarSpec], at: datetime
) -> datetime | None:
    """The first one after `at`."""
    excluded = {name: Calendar(calendars[name]) for name in intent.spec.exclude}
    first = Timetable(intent.spec, intent.name, excluded).next_fire(at)
    return None if first is None else first.at


def encoded_spec(intent: Intent) -> bytes:
    return _encode(intent.spec)


def encoded_parameters(intent: Intent) -> bytes | None:
    """As they were given: defaults are those of the dag when it fires."""
    return _encode(dict(intent.parameters)) if intent.parameters else None


def _checked(intent: Intent) -> Intent:
    if problem := name_problem(intent.name):
        raise InputError(f"the schedule's name {shown(intent.name)} {problem}")
    return msgspec.structs.replace(intent, note=checked_note(intent.note) or "")


def _begun(intent: Intent, at: datetime) -> Intent:
    """With an instant for "now": the first that can still be fired."""
    now, begins = intent.at_once, at.replace(microsecond=0) + timedelta(seconds=1)
    if now is None:
        return intent

    def begun(when: When) -> When:
        match when:
            case OnceSpec(at=moment):
                return OnceSpec(begins) if moment == now else when
            case DatesSpec(at=several):
                return DatesSpec(tuple(begins if moment == now else moment for moment in several))
            case _:
                return when

    spec = msgspec.structs.replace(
        intent.spec, when=tuple(begun(each) for each in intent.spec.when)
    )
    return msgspec.structs.replace(intent, spec=spec)


async def _stale(
    connection: Connection, name: str, in_force: int, version: int, tenant_id: int
) -> ConflictError:
    """It tells what is in force, so that whoever asked can judge."""
    if not in_force:
        return ConflictError(
            f"there is no schedule `{name}` of version {version}",
            hint="`mainspring schedule list` shows what there is; version 0 stands for none",
        )
    [line] = await list_schedules(connection, names=[name], tenant_id=tenant_id)
    return ConflictError(
        f"schedule `{name}` is at version {in_force}, not {version}:"
        f" {explain(line.spec, name)}, for dag `{line.dag}`",
        hint=f"`mainspring schedule show {name}` shows all of it",
    )


async def _find(connection: Connection, name: str, tenant_id: int) -> KnownSchedule | None:
    if name_problem(name):
        return None  # Nothing can have that name, and a NUL could not even be asked for.
    rows: Sequence[asyncpg.Record] = await fetch(
        connection, statement("find_schedule"), tenant_id, name
    )
    return KnownSchedule(*rows[0].values()) if rows else None


async def _locked(connection: Connection, name: str, tenant_id: int) -> KnownSchedule | None:
    """As it is now, and stays until we are done."""
    known = await _find(connection, name, tenant_id)
    if known is None:
        return None
    await lock_schedules(connection, [known.id])
    return await _find(connection, name, tenant_id)


def _check_owner(known: KnownSchedule | None, intent: Intent) -> None:
    if known is None or known.gone:
        return
    if known.job_id is not None and known.job_id != intent.job_id:
        raise ConflictError(
            f"schedule `{intent.name}` is that of a job",
            hint=f"`mainspring job reschedule {intent.name.removeprefix('job.')}` changes it",
        )
    if known.in_code == intent.in_code:
        return
    raise _written_in_code(intent.name) if known.in_code else _made_by_hand(intent.name)


async def _dag(connection: Connection, intent: Intent, tenant_id: int) -> DagRow:
    dag = await read_dag(connection, intent.dag, tenant_id=tenant_id)
    if dag.gone_at is not None:
        raise InputError(
            f"dag `{intent.dag}` is gone: no file defines it any more",
            hint="`mainspring dag list` shows what there is",
        )
    return dag


def no_schedule(name: str) -> NotFoundError:
    return NotFoundError(
        f"there is no schedule {shown(name)}", hint="`mainspring schedule list` shows what there is"
    )


def _written_in_code(name: str) -> ConflictError:
    return ConflictError(
        f"schedule `{name}` is written in the file of its dag",
        hint="change it there; `mainspring schedule pause` stops it meanwhile",
    )


def _made_by_hand(name: str) -> ConflictError:
    return ConflictError(
        f"there is a schedule `{name}` already, and no file has made it",
        hint=f"`mainspring schedule remove {name}`, or give the one in the file another name",
    )
