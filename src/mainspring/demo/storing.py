"""Stores the past that `past.py` tells, in the form in which finished runs are kept.

Rows go in by COPY, in the order of their ids, which is that of time. Of runs with thousands of
tasks the database makes the tasks itself. Whatever the engine would have written is written: tasks,
attempts, dead letters and who discarded them, logs, the ledger of fires, rollups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid5

import msgspec

from mainspring.demo.past import (
    ATTEMPT_COLUMNS,
    DAYS,
    TASK_COLUMNS,
    Dag,
    Happening,
    Scheduled,
    Teller,
    Told,
    Version,
    begin_of,
    happenings,
    most_fires,
    nodes_of,
)
from mainspring.domain.specs import DagSpec
from mainspring.schedule.calendars import Calendar
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection, fetch
from mainspring.store.filling import count_history, reserve_stretch, settle_history
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.schedule_changes import read_calendars

_BATCH = 10_000
_WORKERS = ("berlin-1", "berlin-2", "austin-1", "osaka-1")
_NAMES = UUID("5b0c3c26-32c6-4c26-9d0e-3f6a0a8b7a11")

Progress = Callable[[str, int, int], None]
"""Told what is being stored, how much of it is, and how much there will be."""

_decode_dag = msgspec.json.Decoder(DagSpec).decode
_decode_schedule = msgspec.json.Decoder(ScheduleSpec).decode


class Stored(msgspec.Struct, frozen=True):
    """What there is now."""

    dags: int
    runs: int
    tasks: int
    letters: int
    until: datetime


async def store_past(
    connection: Connection, *, runs: int, seed: int, until: datetime, progress: Progress
) -> Stored:
    """Three months of finished runs of all dags; all of them have ended by `until`."""
    dags = await _read_dags(connection, until)
    most = most_fires(dags, runs, until)
    await _backdate(connection, dags, most, until)
    told = happenings(dags, runs=runs, seed=seed, until=until)
    first = await reserve_stretch(connection, sum(each.tasks for each in told))
    workers = await _store_workers(connection, until)
    teller = Teller(seed=seed, until=until, workers=workers)
    next_id, made, letters, tasks = first, 0, 0, 0
    for start in range(0, len(told), _BATCH):
        batch = _Batch(until)
        for each in told[start : start + _BATCH]:
            if each.reason is None:
                run = teller.tell(each, next_id)
                batch.add(each, run)
                made += 1
                letters += len(run.letters)
                tasks += each.tasks
            else:
                batch.skip(each, next_id)
            next_id += each.tasks
        await batch.store(connection)
        progress("runs of the past", made, runs)
    progress("statistics", made, runs)
    await _set_fired(connection, first)
    await settle_history(connection)
    await count_history(connection, first, next_id, until)
    await connection.execute(
        "analyze mainspring.attempt, mainspring.problem, mainspring.fire, mainspring.rollup,"
        " mainspring.log"
    )
    return Stored(len(dags), made, tasks, letters, until)


# --- what there is -------------------------------------------------------------------------


async def _read_dags(connection: Connection, until: datetime) -> list[Dag]:
    """All dags with their versions and schedules; versions came one after another."""
    versions: dict[int, list[Version]] = {}
    rows = await fetch(
        connection,
        "select v.id, v.dag_id, v.number, v.snapshot_id, v.spec, d.name,"
        " count(*) over (partition by v.dag_id) as of,"
        " array(select n.lane from mainspring.node n where n.version_id = v.id"
        "  order by n.number) as lanes"
        " from mainspring.version v join mainspring.dag d on d.id = v.dag_id order by v.id",
    )
    names: dict[int, str] = {}
    for row in rows:
        names[row["dag_id"]] = row["name"]
        nodes, order = nodes_of(_decode_dag(row["spec"]), row["lanes"])
        share = (row["number"] - 1) / row["of"]
        since = until - timedelta(days=DAYS * (1 - share) + (1 if share == 0 else 0))
        known = versions.setdefault(row["dag_id"], [])
        known.append(Version(row["id"], row["snapshot_id"], since, nodes, order))
    calendars = {name: Calendar(spec) for name, spec in (await read_calendars(connection)).items()}
    schedules: dict[int, list[Scheduled]] = {}
    for row in await fetch(
        connection,
        "select id, dag_id, name, version, spec, parameters from mainspring.schedule order by id",
    ):
        spec = _decode_schedule(row["spec"])
        schedules.setdefault(row["dag_id"], []).append(
            Scheduled(
                row["id"],
                row["version"],
                Timetable(spec, row["name"], calendars),
                row["parameters"],
                spec.overlap == "skip",
            )
        )
    return [
        Dag(id, name, tuple(versions[id]), tuple(schedules.get(id, ())))
        for id, name in sorted(names.items())
    ]


async def _backdate(
    connection: Connection, dags: Sequence[Dag], most: int, until: datetime
) -> None:
    """Dags, versions and schedules are as old as their runs."""
    for dag in dags:
        for version in dag.versions:
            await connection.execute(
                "update mainspring.version set created_at = $2 where id = $1",
                *(version.id, version.since),
            )
        await connection.execute(
            "update mainspring.dag set created_at = $2, changed_at = $3 where id = $1",
            *(dag.id, dag.versions[0].since, dag.versions[-1].since),
        )
        for scheduled in dag.schedules:
            begin = begin_of(dag, scheduled, most, until)
            await connection.execute(
                "update mainspring.schedule set created_at = $2, changed_at = $2 where id = $1",
                *(scheduled.id, begin),
            )
            await connection.execute(
                "update mainspring.schedule_version set in_force_from = $2 where schedule_id = $1",
                *(scheduled.id, begin),
            )


async def _store_workers(connection: Connection, until: datetime) -> list[int]:
    """Those who ran it all; they are gone."""
    rows = await fetch(
        connection,
        "insert into mainspring.worker (incarnation, name, host, pid, queues, slots, started_at,"
        " ended_at, ending)"
        " select u.incarnation, u.name, u.name, 4000 + u.number, '{*}', '{\"async\":1000}', $3, $4,"
        " 'stopped'"
        " from unnest($1::uuid[], $2::text[]) with ordinality as u (incarnation, name, number)"
        " returning id",
        [uuid5(_NAMES, name) for name in _WORKERS],
        list(_WORKERS),
        until - timedelta(days=DAYS + 1),
        until,
    )
    return [row["id"] for row in rows]


async def _set_fired(connection: Connection, first: int) -> None:
    await connection.execute(
        "update mainspring.schedule_state s set fired = f.fired from ("
        " select schedule_id, count(*) as fired from mainspring.fire"
        " where id >= $1 and outcome = 'fired' group by 1) f where f.schedule_id = s.schedule_id",
        first,
    )


# --- rows ----------------------------------------------------------------------------------

_RUN_COLUMNS = (
    *("id", "created_at", "due_at", "started_at", "finished_at", "tenant_id", "dag_id"),
    *("version_id", "snapshot_id", "trigger", "state", "stop", "tasks", "failed_tasks"),
    *("created_by", "parameters", "schedule_id", "fire_at", "interval_start"),
)
_FIRE_COLUMNS = (
    *("id", "fire_at", "until_at", "next_at", "decided_at", "run_id", "schedule_id", "version"),
    *("count", "outcome", "reason"),
)
_PROBLEM_COLUMNS = (
    *("task_id", "run_id", "tenant_id", "dag_id", "term", "task", "failed_at", "discarded_at"),
    "likeness",
)


class _Batch:
    """Rows of some happenings, until they are stored."""

    def __init__(self, until: datetime) -> None:
        self._until = until
        self._runs: list[tuple[object, ...]] = []
        self._tasks: list[tuple[object, ...]] = []
        self._attempts: list[tuple[object, ...]] = []
        self._fires: list[tuple[object, ...]] = []
        self._problems: list[tuple[object, ...]] = []
        self._remarks: list[tuple[object, ...]] = []
        self._logs: list[tuple[object, ...]] = []
        self._large: list[tuple[Told, Version]] = []

    def add(self, what: Happening, run: Told) -> None:
        version = what.dag.version_at(what.at)
        schedule_id = None if what.schedule is None else what.schedule.id
        count = len(version.nodes)
        self._runs.append(
            (
                *(run.id, what.at, what.due_at, run.started_at, run.finished_at, DEFAULT_TENANT),
                *(what.dag.id, version.id, version.snapshot_id, what.trigger, run.state, run.stop),
                *(count, run.failed_tasks, what.by, what.parameters, schedule_id),
                *(what.fire_at, what.interval_start),
            )
        )
        if run.tasks:
            self._tasks.extend((*task, DEFAULT_TENANT, 0, 0, 1) for task in run.tasks)
        else:
            self._large.append((run, version))
        self._attempts.extend(run.attempts)
        self._logs.extend(
            (task_id, term, 0, at, content) for task_id, term, at, content in run.logs
        )
        for letter in run.letters:
            discarded = None
            if letter.discarded_by is not None:
                discarded = min(letter.failed_at + timedelta(hours=5), self._until)
                self._remarks.append(
                    (
                        letter.task_id,
                        letter.term,
                        "discarded",
                        discarded,
                        letter.discarded_by,
                        "it was repaired in another way",
                    )
                )
            self._problems.append(
                (
                    letter.task_id,
                    run.id,
                    DEFAULT_TENANT,
                    what.dag.id,
                    letter.term,
                    letter.task,
                    letter.failed_at,
                    discarded,
                    letter.likeness,
                )
            )
        if what.trigger == "schedule":
            self._fire(what, run.id, run.id)

    def skip(self, what: Happening, fire_id: int) -> None:
        self._fire(what, fire_id, None)

    def _fire(self, what: Happening, fire_id: int, run_id: int | None) -> None:
        assert what.schedule is not None
        outcome = "skipped" if run_id is None else "fired"
        self._fires.append(
            (
                fire_id,
                what.fire_at,
                what.until_at,
                what.next_at,
                what.at,
                run_id,
                what.schedule.id,
                what.schedule.version,
                what.count,
                outcome,
                what.reason,
            )
        )

    async def store(self, connection: Connection) -> None:
        async with connection.transaction():
            tasks = (*TASK_COLUMNS, "tenant_id", "index", "lost", "generation")
            for table, columns, records in (
                ("run_history", _RUN_COLUMNS, self._runs),
                ("task_history", tasks, self._tasks),
                ("attempt", ATTEMPT_COLUMNS, self._attempts),
                ("problem", _PROBLEM_COLUMNS, self._problems),
                ("remark", ("task_id", "term", "deed", "at", "who", "note"), self._remarks),
                ("log", ("task_id", "term", "start", "written_at", "content"), self._logs),
                ("fire", _FIRE_COLUMNS, self._fires),
            ):
                if records:
                    await connection.copy_records_to_table(
                        table, schema_name="mainspring", columns=columns, records=records
                    )
            for run, version in self._large:
                await _store_large(connection, run, version)


async def _store_large(connection: Connection, run: Told, version: Version) -> None:
    """The tasks of a run whose first task is before all others, and whose last is after them."""
    failed = [letter.task_id - run.id for letter in run.letters]
    length = (run.finished_at - run.started_at).total_seconds()
    await fetch(connection, _LARGE, run.id, version.id, run.started_at, length, failed)


# $1 run  $2 version  $3 begin  $4 seconds  $5 nodes that failed
_LARGE = """
with tasks as (
  select n.number, n.lane, n.priority, n.number = any ($5::int[]) as failed,
    l.last, (hashint8($1::bigint * 10007 + n.number) & 1023) / 1024.0 as chance
  from mainspring.node n, (select max(number) as last from mainspring.node where version_id = $2) l
  where n.version_id = $2),
times as (
  select *, number = last and cardinality($5) > 0 as doomed,
    $4::float8 * case when number = 0 then 0 when number = last then 0.95
      else 0.03 + 0.85 * number / last + 0.01 * chance end as begin,
    $4 * case when number = 0 then 0.03 when number = last then 0.05
      else 0.004 + 0.01 * chance end as length
  from tasks)
insert into mainspring.task_history (id, run_id, due_at, started_at, finished_at, tenant_id,
  version_id, node, index, lane, term, worker_id, state, priority, attempt, lost, generation,
  result)
select $1 + number, $1, $3::timestamptz + begin * interval '1 s' - interval '3 ms',
  case when not doomed then $3 + begin * interval '1 s' end,
  $3 + (begin + length) * interval '1 s', 1, $2, number, 0, lane,
  case when failed then 2 else 1 end,
  case when not doomed then (select min(id) from mainspring.worker) end,
  (case when failed then 'failed' when doomed then 'upstream_failed' else 'succeeded' end)
    ::mainspring.task_state,
  priority, case when failed then 2 else 1 end, 0, 1,
  case when not failed and not doomed then convert_to(number::text, 'UTF8') end
from times
"""
