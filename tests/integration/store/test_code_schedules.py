"""The schedules of files in the database: put once, left alone, removed, and refused one by one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

import mainspring.plugins  # noqa: F401
from mainspring.domain.errors import ConflictError, PluginError
from mainspring.domain.parameters import parameter_spec
from mainspring.domain.specs import DagSpec, ScheduleInCode
from mainspring.schedule import plugged
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.code_schedules import InFile, Stored, store_code_schedules, written_in
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import Found, register_dags
from mainspring.store.schedule_changes import (
    Intent,
    create_schedule,
    pause_schedule,
    put_calendar,
    put_schedule,
    remove_schedule,
)
from mainspring.store.schedule_reading import ScheduleState, list_schedules, list_versions
from mainspring.store.versions import roll_back
from tests.support.factory import dag_of

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def in_code(name: str, when: str = "@daily", **options: Any) -> ScheduleInCode:
    parameters = options.pop("parameters", {})
    note = options.pop("note", "")
    return ScheduleInCode(
        name, msgspec.to_builtins(schedule_from(when, **options)), parameters, note
    )


def file_of(dag: str) -> str:
    return f"{dag.partition('.')[0]}.py"


class Folder:
    """A folder of dags, as an engine has read it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def read(
        self,
        dags: Mapping[str, Sequence[ScheduleInCode]],
        now: datetime = NOON,
        *,
        unread: Sequence[str] = (),
        connection: Connection | None = None,
    ) -> Stored:
        line = connection or self.connection
        specs = [
            msgspec.structs.replace(dag_of(name=name), schedules=tuple(some))
            for name, some in dags.items()
        ]
        return await self.store(specs, now, unread=unread, connection=line)

    async def store(
        self,
        specs: Sequence[DagSpec],
        now: datetime = NOON,
        *,
        unread: Sequence[str] = (),
        connection: Connection | None = None,
    ) -> Stored:
        line = connection or self.connection
        found = [Found(spec, file_of(spec.name), b"source") for spec in specs]
        registered = await register_dags(line, found, "snapshot")
        written: list[InFile] = [
            written_in(schedule, dag, known.dag_id)
            for dag, known in zip(found, registered, strict=True)
            for schedule in dag.spec.schedules
        ]
        return await store_code_schedules(line, written, unread_files=unread, now=now)

    async def names(self) -> list[str]:
        return [line.name for line in await list_schedules(self.connection)]

    async def versions(self, name: str) -> list[tuple[int, str]]:
        [line] = await list_schedules(self.connection, names=[name])
        found = await list_versions(self.connection, line.id)
        return [(each.number, each.changed_by) for each in found]

    async def picture(self) -> list[Any]:
        """Everything that a reading might have changed."""
        tables = ("schedule", "schedule_version", "schedule_state", "fire")
        return [
            await self.connection.fetch(f"select * from mainspring.{table} t order by t")
            for table in tables
        ]


@pytest.fixture
async def folder(connection: Connection) -> Folder:
    return Folder(connection)


async def test_what_a_file_says_is_put_in_its_name(folder: Folder) -> None:
    night = in_code("report.night", "0 2 * * *", timezone="Europe/Berlin", note="late")
    stored = await folder.read({"report": [in_code("report"), night]})
    assert (stored.put, stored.removed, stored.unfit) == (["report", "report.night"], [], [])
    first, second = await list_schedules(folder.connection)
    assert (first.name, second.name, second.note) == ("report", "report.night", "late")
    assert second.in_code
    assert second.next_fire_at == datetime(2026, 11, 16, 1, tzinfo=UTC)
    assert await folder.versions("report.night") == [(1, "report.py")]
    with pytest.raises(ConflictError, match="written in the file of its dag"):
        await remove_schedule(folder.connection, "report")


async def test_reading_the_same_again_changes_nothing(folder: Folder) -> None:
    dags = {"a": [in_code("a", "every 60s")], "b": [in_code("b.x", jitter="1m"), in_code("b.y")]}
    await folder.read(dags)
    before = await folder.picture()
    stored = await folder.read(dags, at(3600))
    assert (stored.put, stored.removed, stored.unfit) == ([], [], [])
    assert await folder.picture() == before


async def test_an_edited_schedule_is_a_new_version_that_settles_the_old_one(
    folder: Folder,
) -> None:
    await folder.read({"a": [in_code("a", "every 60s", misfire="all")]})
    stored = await folder.read({"a": [in_code("a", "every 90s", misfire="all")]}, at(130))
    assert stored.put == ["a"]
    assert stored.lanes, "somebody has to be woken for the runs of before"
    assert await folder.versions("a") == [(2, "a.py"), (1, "a.py")]
    fires = await fetch(folder.connection, "select fire_at from mainspring.fire order by 1")
    assert [row["fire_at"] for row in fires] == [at(60), at(120)]
    [line] = await list_schedules(folder.connection)
    assert line.next_fire_at == at(180)


@pytest.mark.parametrize(
    "changed",
    [
        in_code("a", note="other words"),
        in_code("a", overlap="skip"),
        in_code("a", parameters={"n": 2}),
    ],
)
async def test_any_part_of_it_may_change(folder: Folder, changed: ScheduleInCode) -> None:
    spec = msgspec.structs.replace(dag_of(name="a"), parameters=(parameter_spec("n", int, 1),))
    await folder.store([msgspec.structs.replace(spec, schedules=(in_code("a"),))])
    assert (await folder.store([msgspec.structs.replace(spec, schedules=(changed,))])).put == ["a"]


async def test_what_somebody_paused_stays_paused_whatever_the_file_says(folder: Folder) -> None:
    await folder.read({"a": [in_code("a")]})
    await pause_schedule(folder.connection, "a", by="me", note="not now", now=at(1))
    for second, said in enumerate((in_code("a"), in_code("a", "@hourly"))):
        await folder.read({"a": [said]}, at(10 + second))
        [line] = await list_schedules(folder.connection)
        assert (line.state, line.next_fire_at) == (ScheduleState.PAUSED, None)
    await folder.read({"a": []}, at(20))
    assert await folder.names() == []
    await folder.read({"a": [in_code("a")]}, at(30))
    [line] = await list_schedules(folder.connection)
    assert (line.state, line.pause_note) == (ScheduleState.PAUSED, "not now")


async def test_what_no_file_defines_any_more_is_removed_unless_its_file_is_unread(
    folder: Folder,
) -> None:
    await folder.read({name: [in_code(name)] for name in "abc"})
    stored = await folder.read({"a": []}, at(1), unread=["b.py"])
    assert stored.removed == ["a", "c"]
    assert await folder.names() == ["b"]
    # It comes back as the next version of the same schedule.
    await folder.read({"a": [in_code("a")], "b": [in_code("b")]}, at(2))
    assert await folder.names() == ["a", "b"]
    assert [number for number, _ in await folder.versions("a")] == [2, 1]


async def test_a_schedule_made_by_hand_keeps_its_name_and_the_rest_is_put(folder: Folder) -> None:
    await folder.read({"a": []})
    await create_schedule(
        folder.connection, Intent("a", "a", schedule_from("every 60s")), by="me", now=NOON
    )
    dags = {"a": [in_code("a"), in_code("a.night")], "b": [in_code("b")]}
    stored = await folder.read(dags)
    assert stored.put == ["a.night", "b"]
    [unfit] = stored.unfit
    assert unfit.written.file == "a.py"
    assert unfit.message == "schedule `a`: there is a schedule `a` already, and no file has made it"
    assert [number for number, _ in await folder.versions("a")] == [1]
    with pytest.raises(ConflictError):
        await put_schedule(
            folder.connection, Intent("b", "b", schedule_from("@daily")), by="me", now=NOON
        )
    await remove_schedule(folder.connection, "a", now=at(1))
    assert (await folder.read(dags, at(2))).put == ["a"]


async def test_an_unknown_calendar_holds_back_only_the_schedule_that_names_it(
    folder: Folder,
) -> None:
    dags = {"a": [in_code("a", exclude="holidays")], "b": [in_code("b")]}
    stored = await folder.read(dags)
    assert stored.put == ["b"]
    assert "`holidays` is not a calendar" in stored.unfit[0].message
    await put_calendar(folder.connection, "holidays", CalendarSpec(weekdays=("sat", "sun")))
    assert (await folder.read(dags)).put == ["a"]
    # One that is there stays as it was while what the file says cannot be.
    changed = {**dags, "a": [in_code("a", exclude="elsewhere")]}
    stored = await folder.read(changed, at(1))
    assert (stored.put, stored.removed, len(stored.unfit)) == ([], [], 1)
    assert await folder.names() == ["a", "b"]


async def test_a_plug_in_that_is_gone_keeps_nobody_from_mending_or_removing_its_schedules(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    easter = "easter:-2 09:00"
    dags = {"a": [in_code("a", easter)], "b": [in_code("b", easter)]}
    await folder.read(dags)

    def gone(name: str) -> None:
        raise PluginError(f"there is no schedule `{name}`")

    monkeypatch.setattr(plugged, "_load", gone)
    # The engine pauses what it cannot compute.
    for name in "ab":
        await pause_schedule(folder.connection, name, by="mainspring", now=at(1))
    stored = await folder.read({"a": [in_code("a")], "b": []}, at(60))
    assert (stored.put, stored.removed, stored.unfit) == (["a"], ["b"], [])
    # And what it cannot make is told.
    [unfit] = (await folder.read({"a": [in_code("a")], "b": dags["b"]}, at(61))).unfit
    assert unfit.message == "schedule `b`: there is no schedule `easter`"


async def test_two_dags_that_give_one_name_to_two_schedules_put_neither(folder: Folder) -> None:
    stored = await folder.read(
        {"a": [in_code("a.b")], "a.b": [in_code("a.b")], "c": [in_code("c")]}
    )
    assert stored.put == ["c"]
    assert {unfit.written.intent.dag for unfit in stored.unfit} == {"a", "a.b"}
    assert "neither is used" in stored.unfit[0].message


async def test_a_dag_that_was_rolled_back_has_the_schedules_of_the_folder(folder: Folder) -> None:
    plain = dag_of(name="a")
    taking = msgspec.structs.replace(plain, parameters=(parameter_spec("n", int, 1),))
    await folder.store([plain])
    await folder.store([taking])
    await fetch(
        folder.connection,
        "insert into mainspring.snapshot_content (snapshot_id, content)"
        " select id, '' from mainspring.snapshot",
    )
    await roll_back(folder.connection, "a", 1)
    fits = in_code("a.fits")
    unfit = in_code("a.unfit", parameters={"n": 2})
    stored = await folder.store([msgspec.structs.replace(taking, schedules=(fits, unfit))])
    assert stored.put == ["a.fits"]
    # What it would be fired with does not fit the version in use.
    assert "takes no parameters" in stored.unfit[0].message


async def test_a_thousand_new_schedules_take_few_statements(folder: Folder) -> None:
    dags = {f"d{n:04}": [in_code(f"d{n:04}", "H H * * *")] for n in range(1000)}
    await folder.read(dict.fromkeys(dags, ()))
    asked = 0

    def count(_: object) -> None:
        nonlocal asked
        asked += 1

    rows = await fetch(folder.connection, "select id, name from mainspring.dag")
    ids = {row["name"]: row["id"] for row in rows}
    written = [
        written_in(schedule, Found(dag_of(name=dag), file_of(dag), None), ids[dag])
        for dag, some in dags.items()
        for schedule in some
    ]
    folder.connection.add_query_logger(count)
    assert len((await store_code_schedules(folder.connection, written, now=NOON)).put) == 1000
    assert asked < 20
    asked = 0
    assert not (await store_code_schedules(folder.connection, written, now=NOON)).put
    assert asked == 1


@pytest.mark.parametrize("seed", range(3))
async def test_engines_that_read_at_once_make_each_change_once(
    folder: Folder, database_url: str, seed: int
) -> None:
    """Whatever the folder becomes, and however many read it, what is stored is what it says."""
    chance = random.Random(seed)
    others = [await connect(database_url, name=f"engine {n}") for n in range(3)]
    said: dict[str, str] = {}
    versions: dict[str, int] = {}
    for step in range(12):
        for name in "abcde":
            deed = chance.choice(["keep", "keep", "edit", "remove"])
            if deed == "edit":
                when = f"every {chance.randint(60, 99)}s"
                if said.get(name) != when:
                    said[name] = when
                    versions[name] = versions.get(name, 0) + 1
            elif deed == "remove":
                said.pop(name, None)
        dags = {
            name: [in_code(name, said[name], misfire="none", grace=0)] if name in said else []
            for name in "abcde"
        }
        stored = await asyncio.gather(
            *(folder.read(dags, at(10 * step), connection=other) for other in others)
        )
        assert not [each.unfit for each in stored if each.unfit]
        put = [name for each in stored for name in each.put]
        assert len(put) == len(set(put))
        lines = await list_schedules(folder.connection)
        assert {line.name: line.version for line in lines} == {
            name: versions[name] for name in said
        }
        assert {line.name: line.spec.when for line in lines} == {
            name: schedule_from(when).when for name, when in said.items()
        }
    for other in others:
        await other.close()
