"""The schedules that files of dags define become what is stored, whenever a folder is read.

Every engine that has the folder does this, so whatever is found to be so already is left alone:
reading again changes nothing, and of two who read at once one makes each change. New ones are made
many at a time, as a folder may bring thousands; changes and removals settle what was due before and
come one by one.

What cannot be put, because a schedule made by hand has its name or its calendar is not there, is
told and left as it was. It does not keep the others from being put.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from mainspring.domain.errors import (
    ConflictError,
    InputError,
    MainspringError,
    NotFoundError,
    PluginError,
)
from mainspring.domain.specs import ScheduleInCode
from mainspring.schedule.specs import ScheduleSpec, check_spec
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import Found
from mainspring.store.reading import read_clock
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.schedule_changes import (
    Intent,
    KnownSchedule,
    NewSchedule,
    create_schedules,
    first_fire,
    put_code_schedule,
    read_calendars,
    remove_schedule,
)
from mainspring.store.statements import statement

_PER_COMMIT = 200


class InFile(msgspec.Struct, frozen=True):
    """A schedule, and where it is written."""

    intent: Intent
    dag_id: int
    file: str


class Unfit(msgspec.Struct, frozen=True):
    """One that could not be put, and why."""

    written: InFile
    message: str
    hint: str


class Stored(msgspec.Struct, frozen=True):
    put: list[str]
    removed: list[str]
    unfit: list[Unfit]
    lanes: frozenset[int]
    """Lanes that got tasks when what was due before was settled: whom to wake."""


_REFUSALS = (InputError, ConflictError, NotFoundError, PluginError)


def written_in(schedule: ScheduleInCode, dag: Found, dag_id: int) -> InFile:
    spec = msgspec.convert(schedule.spec, ScheduleSpec)
    intent = Intent(
        schedule.name, dag.spec.name, spec, schedule.parameters, schedule.note, in_code=True
    )
    return InFile(intent, dag_id, dag.file)


async def store_code_schedules(
    connection: Connection,
    written: Sequence[InFile],
    *,
    unread_files: Collection[str] = (),
    remove: bool = True,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Stored:
    """Put those that are new or have changed, and remove those that no file defines any more.

    A file that could not be read says nothing of its dags: their schedules stay. `remove=False` is
    for a part of what the files say.
    """
    single, twice = _namesakes(written)
    names = [each.intent.name for each in written]
    rows = await fetch(connection, statement("code_schedules"), tenant_id, names)
    known = {row["name"]: KnownSchedule(*list(row.values())[2:]) for row in rows}
    files = {row["name"]: row["file"] for row in rows}
    maker = _Maker(connection, now, tenant_id)
    maker.unfit += twice
    new = [each for each in single if each.intent.name not in known]
    changed = [
        each
        for each in single
        # Looked at again under a lock, if there seems to be something to do.
        if each.intent.name in known
        and not known[each.intent.name].is_already(each.intent, each.dag_id)
    ]
    changed += await maker.create(new)
    for each in changed:
        await maker.put(each)
    if remove:
        for name in sorted(known.keys() - set(names)):
            if known[name].in_code and not known[name].gone and files[name] not in unread_files:
                await maker.remove(name)
    return Stored(maker.done, maker.removed, maker.unfit, frozenset(maker.lanes))


def _namesakes(written: Sequence[InFile]) -> tuple[list[InFile], list[Unfit]]:
    """Those with a name of their own, and the others: which of two is meant is not ours to say."""
    homes: dict[str, list[InFile]] = {}
    for each in written:
        homes.setdefault(each.intent.name, []).append(each)
    single = [some[0] for some in homes.values() if len(some) == 1]
    twice = [
        Unfit(
            each,
            f"the schedule `{name}` is defined by the dags"
            f" {' and '.join(sorted(f'`{other.intent.dag}`' for other in some))}; neither is used",
            "give one of them another name",
        )
        for name, some in homes.items()
        if len(some) > 1
        for each in some
    ]
    return single, twice


class _Maker:
    """Makes the changes, and remembers what came of them."""

    def __init__(self, connection: Connection, now: datetime | None, tenant_id: int) -> None:
        self._connection = connection
        self._now = now
        self._tenant_id = tenant_id
        self.done: list[str] = []
        self.removed: list[str] = []
        self.unfit: list[Unfit] = []
        self.lanes: set[int] = set()

    async def create(self, new: Sequence[InFile]) -> list[InFile]:
        """Makes them many at a time; those that are to be put one by one come back."""
        if not new:
            return []
        connection, tenant_id = self._connection, self._tenant_id
        rolled_back = {
            row["id"] for row in await fetch(connection, statement("rolled_back_dags"), tenant_id)
        }
        # Their parameters were checked against the file, whose version is not the one in use.
        left = [each for each in new if each.dag_id in rolled_back]
        some = [each for each in new if each.dag_id not in rolled_back]
        calendars = await read_calendars(connection, tenant_id=tenant_id)
        for start in range(0, len(some), _PER_COMMIT):
            at = self._now or await read_clock(connection)
            fit: dict[str, InFile] = {}
            made: list[NewSchedule] = []
            for each in some[start : start + _PER_COMMIT]:
                try:
                    check_spec(each.intent.spec, calendars)
                    next_fire_at = first_fire(each.intent, calendars, at)
                except _REFUSALS as error:
                    self._tell(each, error)
                    continue
                made.append(NewSchedule(each.intent, each.dag_id, each.file, next_fire_at))
                fit[each.intent.name] = each
            ids = await create_schedules(connection, made, at, tenant_id=tenant_id)
            self.done += ids
            # Somebody else was quicker: to be compared with what they have made.
            left += [each for name, each in fit.items() if name not in ids]
        return left

    async def put(self, written: InFile) -> None:
        try:
            done = await put_code_schedule(
                self._connection,
                written.intent,
                by=written.file,
                now=self._now,
                tenant_id=self._tenant_id,
            )
        except _REFUSALS as error:
            self._tell(written, error)
            return
        if done is not None:
            self.done.append(written.intent.name)
            self.lanes |= done.lanes

    async def remove(self, name: str) -> None:
        try:
            gone = await remove_schedule(
                self._connection, name, from_code=True, now=self._now, tenant_id=self._tenant_id
            )
        except NotFoundError:
            return  # another engine was quicker
        self.removed.append(name)
        self.lanes |= gone.lanes

    def _tell(self, written: InFile, error: MainspringError) -> None:
        message = f"schedule `{written.intent.name}`: {error.message}"
        self.unfit.append(Unfit(written, message, error.hint))
