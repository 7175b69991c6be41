"""Many runs at a glance: strips, the grid of a dag, and the timeline of a run."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Limit, Page, cursor_of, id_of, place_of
from mainspring.api.resources.dags import DagName, known_dag
from mainspring.api.resources.runs import RunId
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store.connection import Connection
from mainspring.store.grid import (
    STATES,
    Graph,
    Grid,
    Strip,
    Timeline,
    list_strips,
    read_graph,
    read_grid,
    read_timeline,
    runs_at_once,
)
from mainspring.store.reading import read_run

grid = Resource("grid", "Many runs at a glance, in few bytes.")

RUNS_MAX = 100


class Strips(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    runs: Annotated[int, Meta(ge=1, le=50, description="How many runs of each dag.")] = 14
    limit: Limit = 100
    cursor: Cursor | None = None


@grid.get("/strips", needs=Role.VIEWER, shared=True, example=Example(query={"runs": "3"}))
async def show_strips(call: Call, query: Strips) -> Page[Strip]:
    """The last runs of every dag, by name of the dag."""
    found = await call.services.read(_strips, query)
    full = len(found) == query.limit
    return Page(found, cursor_of("strip", found[-1].dag) if full else None)


async def _strips(connection: Connection, query: Strips) -> list[Strip]:
    after = place_of("strip", query.cursor) or ""
    return await list_strips(connection, runs=query.runs, after=after, limit=query.limit)


class OfVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    version: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Of this version; else of the newest.")]
        | None
    ) = None


@grid.get(
    "/dags/{dag}/graph",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"dag": "daily_sales"}),
)
async def show_graph(call: Call, dag: DagName, query: OfVersion) -> Graph:
    """The tasks of a dag and what they come after, parents before children."""

    async def read(connection: Connection) -> Graph:
        return await read_graph(connection, await known_dag(connection, dag), query.version)

    return await call.services.read(read)


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    runs: Annotated[
        int, Meta(ge=1, le=RUNS_MAX, description="How many runs; fewer, if they have many tasks.")
    ] = 25
    cursor: Cursor | None = None


@grid.get(
    "/dags/{dag}/grid",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"dag": "daily_sales"}, query={"runs": "2"}),
)
async def show_grid(call: Call, dag: DagName, query: Columns) -> Grid:
    """Runs of a dag, the newest first, with the state of each task as one character.

    The tasks are in the order of `/dags/{dag}/graph` for the run's version.
    """

    async def read(connection: Connection) -> Grid:
        row = await known_dag(connection, dag)
        limit = runs_at_once(row, query.runs)
        found = await read_grid(connection, row, before=id_of("run", query.cursor), limit=limit)
        full = len(found) == limit
        return Grid(
            dag=row.name,
            states=list(STATES),
            runs=found,
            next=cursor_of("run", found[-1].id) if full else None,
        )

    return await call.services.read(read)


@grid.get(
    "/runs/{run}/timeline", needs=Role.VIEWER, shared=True, example=Example(path={"run": "4097"})
)
async def show_timeline(call: Call, run: RunId) -> Timeline:
    """When each task of a run ran, in the order of its version's graph."""

    async def read(connection: Connection) -> Timeline:
        return await read_timeline(connection, await read_run(connection, run))

    return await call.services.read(read)
