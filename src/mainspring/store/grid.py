"""Many runs at a glance, in few bytes: strips of the last runs, and a dag's tasks run by run.

Tasks are told in the order of `in_order`: parents before children. Names and edges belong to a
version and never change, so they are asked for once (`Graph`); what changes is told as one
character for each task, the place of its state in `STATES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mainspring.domain.durations import lasted_seconds
from mainspring.domain.specs import DagSpec, in_order, parents_of
from mainspring.domain.states import RunState, TaskState
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import DagRow, read_versions
from mainspring.store.reading import RunLine, read_spec
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.shapes import Shape
from mainspring.store.statements import statement
from mainspring.store.versions import read_version

STATES = tuple(TaskState)
CELLS_MAX = 30_000
"""How many tasks of runs one answer holds, about."""
_BEYOND = 2**63 - 1
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_CELLS = dict(zip(STATES, _DIGITS, strict=False))


class StripRun(Shape, frozen=True, kw_only=True):
    id: int
    state: RunState
    created_at: datetime
    duration_seconds: float | None


class Strip(Shape, frozen=True, kw_only=True):
    """The last runs of a dag, the newest first."""

    dag: str
    runs: list[StripRun]


class Graph(Shape, frozen=True, kw_only=True):
    """The tasks of a version, parents before children; `after` holds places in `tasks`."""

    dag: str
    version: int
    tasks: list[str]
    after: list[list[int]]


class GridRun(Shape, frozen=True, kw_only=True):
    """A run, and its tasks in the order of its version's graph: a character for each."""

    id: int
    version: int
    state: RunState
    trigger: str
    created_at: datetime
    fire_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    cells: str


class Grid(Shape, frozen=True, kw_only=True):
    """Runs of a dag, the newest first. A cell is the place of a state in `states`, in base 36."""

    dag: str
    states: list[TaskState]
    runs: list[GridRun]
    next: str | None


class Timeline(Shape, frozen=True, kw_only=True):
    """When a run's tasks ran, in the order of its version's graph, in seconds after `since`."""

    run: int
    dag: str
    version: int
    state: RunState
    since: datetime
    now: float
    states: list[TaskState]
    cells: str
    started: list[float | None]
    finished: list[float | None]
    attempts: list[int]


async def list_strips(
    connection: Connection,
    *,
    runs: int,
    after: str = "",
    limit: int,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Strip]:
    """Of all dags, by name."""
    found: dict[str, list[StripRun]] = {}
    rows = await fetch(connection, statement("page_strips"), tenant_id, after, limit, runs)
    for row in rows:
        of_dag = found.setdefault(row["dag"], [])
        if row["id"] is not None:
            of_dag.append(
                StripRun(
                    id=row["id"],
                    state=RunState(row["state"]),
                    created_at=row["created_at"],
                    duration_seconds=lasted_seconds(
                        row["started_at"], row["finished_at"], row["read_at"]
                    ),
                )
            )
    return [Strip(dag=dag, runs=runs_of) for dag, runs_of in found.items()]


async def read_graph(connection: Connection, dag: DagRow, version: int | None) -> Graph:
    """Of this version, or of the one that a trigger uses now."""
    spec = dag.spec if version is None else await read_version(connection, dag.name, version)
    order = in_order(spec)
    place = {number: at for at, number in enumerate(order)}
    parents = parents_of(spec)
    return Graph(
        dag=dag.name,
        version=dag.version if version is None else version,
        tasks=[spec.tasks[number].name for number in order],
        after=[[place[before] for before in parents[number]] for number in order],
    )


async def read_grid(
    connection: Connection,
    dag: DagRow,
    *,
    before: int | None,
    limit: int,
    tenant_id: int = DEFAULT_TENANT,
) -> list[GridRun]:
    """The newest first."""
    rows = await fetch(
        connection,
        statement("page_grid"),
        tenant_id,
        dag.id,
        _BEYOND if before is None else before,
        limit,
        list(STATES),
    )
    orders = await _orders(connection, dag, {row["version_id"] for row in rows})
    return [
        GridRun(
            id=row["id"],
            version=row["version"],
            state=RunState(row["state"]),
            trigger=row["trigger"],
            created_at=row["created_at"],
            fire_at=row["fire_at"],
            started_at=row["started_at"],
            finished_at=row["finished_at"],
            duration_seconds=lasted_seconds(row["started_at"], row["finished_at"], row["read_at"]),
            cells=arranged(row["cells"] or "", orders[row["version_id"]]),
        )
        for row in rows
    ]


def runs_at_once(dag: DagRow, wanted: int) -> int:
    """Fewer runs of a dag with many tasks."""
    return max(1, min(wanted, CELLS_MAX // len(dag.spec.tasks)))


async def _orders(
    connection: Connection, dag: DagRow, version_ids: set[int]
) -> dict[int, list[int] | None]:
    """The order of the tasks of each version; None if it is that of their numbers."""
    others = sorted(version_ids - {dag.version_id})
    specs: dict[int, DagSpec] = await read_versions(connection, others) if others else {}
    return {id: _order(spec) for id, spec in {**specs, dag.version_id: dag.spec}.items()}


def _order(spec: DagSpec) -> list[int] | None:
    order = in_order(spec)
    return None if order == list(range(len(order))) else order


def arranged(cells: str, order: Sequence[int] | None) -> str:
    """Cells by number, in this order. Those of tasks that are no more are left as they are."""
    if order is None or len(order) != len(cells):
        return cells
    return "".join([cells[number] for number in order])


async def read_timeline(connection: Connection, run: RunLine) -> Timeline:
    order = in_order(await read_spec(connection, run))
    since = run.started_at or min(run.due_at, run.read_at)
    [row] = await fetch(connection, statement("read_timeline"), run.id, run.tasks, since)
    place = {node: at for at, node in enumerate(row["nodes"])}
    places = [place[node] for node in order if node in place]

    def arranged_as(name: str) -> list[Any]:
        values = row[name]
        return [values[at] for at in places]

    return Timeline(
        run=run.id,
        dag=run.dag,
        version=run.version,
        state=run.state,
        since=since,
        now=round((run.read_at - since).total_seconds(), 3),
        states=list(STATES),
        cells="".join([_CELLS[TaskState(state)] for state in arranged_as("states")]),
        started=arranged_as("started"),
        finished=arranged_as("finished"),
        attempts=arranged_as("attempts"),
    )
