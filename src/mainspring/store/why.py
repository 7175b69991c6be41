"""Why a run, or one task of it, stands where it stands; `explain` finds the words."""

from __future__ import annotations

from datetime import datetime

from mainspring.domain.states import TaskState
from mainspring.store import reading
from mainspring.store.connection import Connection
from mainspring.store.explain import Cause, explain, roots, told
from mainspring.store.pauses import Pause
from mainspring.store.reading import RunLine
from mainspring.store.shapes import Shape


class Why(Shape, frozen=True, kw_only=True):
    """Why a run or a task stands where it stands, and what would move it on."""

    run: int
    dag: str
    task: str | None
    state: str
    """Of the run, or of the task if one was asked about."""
    headline: str
    causes: list[Cause]
    more: int
    """Causes that are not told."""
    dag_pause: Pause | None
    dag_gone_at: datetime | None


async def read_why(connection: Connection, run: RunLine, task: str | None) -> Why:
    situation = await reading.read_situation(connection, run)
    node = None if task is None else reading.node_named(situation.spec, run.id, task)
    some = [situation.tasks[root] for root in told(situation, roots(situation, node))]
    waiting = [each.id for each in some if each.state is TaskState.READY]
    explanation = explain(
        situation,
        node,
        await reading.last_attempts(connection, [each.id for each in some]),
        await reading.count_ahead(connection, waiting) if waiting else {},
    )
    return Why(
        run=run.id,
        dag=run.dag,
        task=None if node is None else situation.tasks[node].name,
        state=run.state if node is None else situation.tasks[node].state,
        headline=explanation.headline,
        causes=explanation.causes,
        more=explanation.more,
        dag_pause=situation.dag.pause,
        dag_gone_at=situation.dag.gone_at,
    )
