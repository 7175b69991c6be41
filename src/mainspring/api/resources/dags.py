"""Dags: which there are, their versions, their pauses, and runs that are made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mainspring.api.bounds import NAMED
from mainspring.api.calls import Call
from mainspring.api.pages import (
    Cursor,
    Fields,
    Limit,
    Page,
    check_fields,
    cursor_of,
    place_of,
    wanted,
)
from mainspring.api.repeating import used_otherwise
from mainspring.api.resources.runs import OneRun, RunId, RunsOfDag, page_of_runs, until_ended
from mainspring.api.routes import Example, Resource
from mainspring.api.version_code import Code, read_code
from mainspring.domain.differences import difference
from mainspring.domain.errors import KeyConflict, NotFoundError
from mainspring.domain.names import closest, name_problem, shown
from mainspring.domain.roles import Role
from mainspring.domain.specs import PAYLOAD_BYTES_MAX
from mainspring.store import reading, shapes
from mainspring.store.connection import Connection
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.run_documents import read_run_document
from mainspring.store.schedule_reading import glance_at_schedules
from mainspring.store.versions import VERSIONS_MAX, list_versions, read_version
from mainspring.store.versions import roll_back as roll_back_dag
from mainspring.store.wakeups import notify_dags

dags = Resource("dags", "Named graphs of tasks, their versions, and runs of them.")

DagName = Annotated[str, Meta(max_length=200, description="A dag's name."), NAMED]

VersionNumber = Annotated[int, Meta(ge=1, le=2**31 - 1, description="A version's number.")]

SCHEDULES_MAX = 100
"""How many schedules are shown next to one dag."""

_DAG = Example(path={"dag": "daily_sales"})


class Dags(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    owner: Annotated[str, Meta(max_length=200, description="Only dags of this owner.")] | None = (
        None
    )
    tag: Annotated[list[str], Meta(description="Only dags with this tag; several: with all.")] = []
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@dags.get("/dags", needs=Role.VIEWER, shared=True, example=Example(query={"tag": "sales"}))
async def list_dags(call: Call, query: Dags) -> Page[shapes.Dag]:
    """Dags, by name."""
    check_fields(shapes.Dag, query.fields)

    async def read(connection: Connection) -> Page[shapes.Dag]:
        lines = await reading.list_dags(
            connection,
            owner=query.owner,
            tags=query.tag,
            after=place_of("dag", query.cursor) or "",
            limit=query.limit,
        )
        schedules = await glance_at_schedules(
            connection, [line.name for line in lines], SCHEDULES_MAX
        )
        full = len(lines) == query.limit
        return Page(
            [shapes.dag_line(line, schedules.get(line.name, ())) for line in lines],
            cursor_of("dag", lines[-1].name) if full else None,
        )

    return await call.services.read(read)


@dags.get("/file-problems", needs=Role.VIEWER, shared=True)
async def list_file_problems(call: Call) -> Page[shapes.UnreadFile]:
    """Files of dags that could not be read, and why. What was read of them before is in force."""
    lines = await call.services.read(reading.list_file_problems)
    return Page([shapes.file_problem(line) for line in lines])


class OneDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fields: Fields | None = None


@dags.get("/dags/{dag}", needs=Role.VIEWER, shared=True, example=_DAG)
async def show_dag(call: Call, dag: DagName, query: OneDag) -> shapes.DagWhole:
    """One dag with its parameters and tasks, as a trigger uses it now."""
    check_fields(shapes.DagWhole, query.fields)

    async def read(connection: Connection) -> shapes.DagWhole:
        row = await known_dag(connection, dag)
        schedules = await glance_at_schedules(connection, [row.name], SCHEDULES_MAX)
        return shapes.dag_whole(
            row, schedules.get(row.name, ()), with_tasks=wanted(query.fields, "tasks")
        )

    return await call.services.read(read)


async def known_dag(connection: Connection, name: str) -> DagRow:
    """The dag of this name, or an error that knows the nearest one."""
    try:
        if name_problem(name):
            # Nothing can have that name, and a NUL could not even be asked for.
            raise NotFoundError(f"there is no dag {shown(name)}")
        return await read_dag(connection, name)
    except NotFoundError as error:
        known = await reading.list_dag_names(connection)
        raise NotFoundError(error.message, hint=closest(name, known) or error.hint) from None


class Versions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=VERSIONS_MAX, description="How many at most.")] = 50


@dags.get("/dags/{dag}/versions", needs=Role.VIEWER, shared=True, example=_DAG)
async def list_dag_versions(call: Call, dag: DagName, query: Versions) -> Page[shapes.Version]:
    """The versions of a dag, the newest first; the oldest are not told."""

    async def read(connection: Connection) -> Page[shapes.Version]:
        await known_dag(connection, dag)
        found = await list_versions(connection, dag, limit=query.limit)
        return Page([shapes.version_line(line) for line in found])

    return await call.services.read(read)


class TwoVersions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    before: Annotated[VersionNumber, Meta(description="The version to start from.")]
    after: Annotated[VersionNumber, Meta(description="The version to compare with.")]


@dags.get(
    "/dags/{dag}/diff",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"dag": "daily_sales"}, query={"before": "1", "after": "1"}),
)
async def diff_versions(call: Call, dag: DagName, query: TwoVersions) -> shapes.VersionsDiffer:
    """What changed in a dag from one version to another."""

    async def read(connection: Connection) -> shapes.VersionsDiffer:
        await known_dag(connection, dag)
        return shapes.VersionsDiffer(
            dag=dag,
            before=query.before,
            after=query.after,
            difference=difference(
                await read_version(connection, dag, query.before),
                await read_version(connection, dag, query.after),
            ),
        )

    return await call.services.read(read)


class OneFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: (
        Annotated[
            str, Meta(max_length=1000, description="The text of this file; else of the dag's own.")
        ]
        | None
    ) = None


@dags.get(
    "/dags/{dag}/versions/{version}/code",
    needs=Role.OPERATOR,
    shared=True,
    example=Example(path={"dag": "daily_sales", "version": "1"}),
)
async def show_code(call: Call, dag: DagName, version: VersionNumber, query: OneFile) -> Code:
    """The last code that a version was read from: its files, and the text of one.

    At most 512 KiB of a text are told. Code is for those who may act: a secret that somebody wrote
    into it cannot be told from the rest.
    """
    row = await call.services.read(known_dag, dag)
    return await read_code(call.services, row, version, query.file)


class ToVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: VersionNumber


@dags.post(
    "/dags/{dag}/rollback",
    needs=Role.OPERATOR,
    example=Example(path={"dag": "daily_sales"}, body={"version": 1}),
)
async def roll_back(call: Call, dag: DagName, body: ToVersion) -> shapes.VersionChange:
    """Let triggers of a dag use this version, with its code.

    Runs that exist stay on theirs. It holds until a file that concerns the dag changes: its own, or
    one that defines no other dag. The version that the folder has ends it at once.
    """
    await call.services.read(known_dag, dag)
    return shapes.rolled_back(await call.services.write(roll_back_dag, dag, body.version))


class Asked(msgspec.Struct, frozen=True):
    asked: bool


@dags.post("/dags/refresh", needs=Role.OPERATOR)
async def refresh_dags(call: Call) -> Asked:
    """Let engines ask their repositories of dags now, not in a while."""
    await call.services.write(notify_dags)
    return Asked(True)


class PauseNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    note: Annotated[str, Meta(max_length=1000)] | None = None
    """Why, for those who will wonder."""


@dags.post(
    "/dags/{dag}/pause",
    needs=Role.OPERATOR,
    example=Example(path={"dag": "daily_sales"}, body={"note": "the source is being moved"}),
)
async def pause_dag(call: Call, dag: DagName, body: PauseNote) -> shapes.PauseChange:
    """Hold a dag: none of its tasks is handed to a worker any more. What runs goes on."""
    await call.services.read(known_dag, dag)
    done = await call.services.client.pause_dag(dag, note=body.note, by=call.who)
    return shapes.paused(dag, done)


@dags.post("/dags/{dag}/resume", needs=Role.OPERATOR, example=_DAG)
async def resume_dag(call: Call, dag: DagName) -> shapes.PauseChange:
    """End a dag's pause: what waits goes on, in the order that it had."""
    await call.services.read(known_dag, dag)
    return shapes.paused(dag, await call.services.client.resume_dag(dag))


class NewRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parameters: dict[str, Any] = {}
    """By name; those that are left out have their defaults."""
    run_at: Annotated[datetime, Meta(tz=True)] | None = None
    """Not before then."""


@dags.post(
    "/dags/{dag}/runs",
    needs=Role.OPERATOR,
    status=201,
    repeats=True,
    body_bytes_max=PAYLOAD_BYTES_MAX + 65536,
    example=Example(
        path={"dag": "daily_sales"},
        body={"parameters": {"region": "eu"}},
        headers={"Idempotency-Key": "sales-of-november-15"},
    ),
)
async def create_run(call: Call, dag: DagName, body: NewRun) -> shapes.Run:
    """Start a run of a dag.

    With an `Idempotency-Key` it is one run, however often it is asked; the answer tells how the run
    stands.
    """
    client = call.services.client
    try:
        run_id = await client.enqueuer.start(dag, body.parameters, body.run_at, call.key, call.who)
    except KeyConflict:
        assert call.key is not None
        raise used_otherwise(call.key) from None
    except NotFoundError:
        # Once more, for an error that knows the nearest name.
        await call.services.read(known_dag, dag)
        raise
    return shapes.run_line(await call.services.read(reading.read_run, run_id))


@dags.get(
    "/dags/{dag}/runs",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"dag": "daily_sales"}, query={"limit": "2"}),
)
async def list_dag_runs(call: Call, dag: DagName, query: RunsOfDag) -> Page[shapes.Run]:
    """Runs of a dag, the newest first."""
    return await call.services.read(page_of_runs, query, dag)


async def _until_ended(call: Call, dag: str, run: int, query: OneRun) -> None:
    await until_ended(call, run, query)


@dags.get(
    "/dags/{dag}/runs/{run}",
    needs=Role.VIEWER,
    shared=True,
    waits=_until_ended,
    example=Example(path={"dag": "daily_sales", "run": "4097"}),
)
async def show_dag_run(call: Call, dag: DagName, run: RunId, query: OneRun) -> shapes.RunWhole:
    """One run of a dag, as `/runs/{run}` tells it."""

    async def read(connection: Connection) -> shapes.RunWhole:
        line = await reading.read_run(connection, run)
        if line.dag != dag:
            raise NotFoundError(
                f"run {run} is none of dag {shown(dag)}", hint=f"it is one of {shown(line.dag)}"
            )
        return await read_run_document(connection, line)

    return await call.services.read(read)
