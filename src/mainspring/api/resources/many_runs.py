"""Many runs at once: made of one dag, or stopped, run again and let go sooner.

What is done to many is bounded: by ids, or by a filter of which one request takes a page. What
cannot be done to one run is `left`, with the reason, and does not keep the others from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor
from mainspring.api.problems import field_refusal
from mainspring.api.resources.dags import DagName, dags, known_dag
from mainspring.api.resources.runs import (
    RunId,
    Runs,
    Trigger,
    page_of_runs,
    runs,
)
from mainspring.api.routes import Example
from mainspring.domain.errors import InputError, MainspringError, NotFoundError
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.roles import Role
from mainspring.domain.states import RunState
from mainspring.store import reading

__all__ = ["runs"]

RUNS_MAX = 10_000
"""How many one request may make."""
BULK_BYTES_MAX = 16 * 1024 * 1024
ACTED_ON_MAX = 500
"""How many one request may act on."""


# --- made ---------------------------------------------------------------------------------------


class NewRunOfMany(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parameters: dict[str, Any] = {}
    """By name; those that are left out have their defaults."""
    key: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    """With one, it is one run however often it is asked for; all have one, or none has."""


class NewRuns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    runs: Annotated[list[NewRunOfMany], Meta(min_length=1, max_length=RUNS_MAX)]
    run_at: Annotated[datetime, Meta(tz=True)] | None = None
    """Not before then."""


class RunsMade(msgspec.Struct, frozen=True):
    runs: list[int]
    """Their numbers, in the order of the request."""


@dags.post(
    "/dags/{dag}/runs/bulk",
    needs=Role.OPERATOR,
    status=201,
    body_bytes_max=BULK_BYTES_MAX,
    example=Example(
        path={"dag": "daily_sales"},
        body={"runs": [{"parameters": {"region": "eu"}}, {"parameters": {"region": "us"}}]},
    ),
)
async def create_runs(call: Call, dag: DagName, body: NewRuns) -> RunsMade:
    """Start many runs of a dag, all or none; an error says which of them cannot be."""
    keys = [each.key for each in body.runs if each.key is not None]
    if keys and len(keys) < len(body.runs):
        raise field_refusal("/runs", "some have a `key` and some have none")
    try:
        made = await call.services.client.enqueuer.enqueue_many(
            dag,
            [each.parameters for each in body.runs],
            body.run_at,
            keys or None,
            None,
            created_by=call.who,
        )
    except NotFoundError:
        await call.services.read(known_dag, dag)
        raise
    return RunsMade(made)


# --- acted on -----------------------------------------------------------------------------------


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Runs that all of this holds for."""

    dag: Annotated[str, Meta(max_length=200)] | None = None
    tag: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=20)] = []
    text: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """In the name of the dag."""
    state: RunState | None = None
    trigger: Trigger | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """By number, or by what holds for them."""

    runs: Annotated[list[RunId], Meta(max_length=ACTED_ON_MAX)] | None = None
    filter: Filter | None = None
    cursor: Cursor | None = None
    """With a filter: the `next` of the answer before."""
    limit: Annotated[int, Meta(ge=1, le=ACTED_ON_MAX)] = 100
    """With a filter: how many at most."""


class Left(msgspec.Struct, frozen=True):
    """A run that it could not be done to."""

    run: int
    code: str
    reason: str


class Done(msgspec.Struct, frozen=True):
    done: list[int]
    left: list[Left]
    next: str | None
    """Where to go on, if there may be more that the filter fits."""


class CancelChosen(Chosen, frozen=True, forbid_unknown_fields=True, kw_only=True):
    at_once: bool = False
    """Leave processes and commands no time to tidy up."""


@runs.post(
    "/runs/bulk/cancel",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"filter": {"dag": "daily_sales", "state": "queued"}}),
)
async def cancel_runs(call: Call, body: CancelChosen) -> Done:
    """Stop many runs."""

    async def cancel(run: int) -> None:
        if (await call.services.read(reading.read_run, run)).closed:
            raise InputError("it has ended")
        await call.services.client.cancel(run, at_once=body.at_once)

    return await _each(call, body, cancel)


class RerunChosen(Chosen, frozen=True, forbid_unknown_fields=True, kw_only=True):
    all: bool = False
    """All tasks, and not only those that failed or were cancelled."""


@runs.post(
    "/runs/bulk/rerun",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"filter": {"dag": "daily_sales", "state": "failed"}}),
)
async def rerun_runs(call: Call, body: RerunChosen) -> Done:
    """Run again what failed or was cancelled in many runs, each in the same run."""

    async def rerun(run: int) -> None:
        await call.services.client.rerun(run, all=body.all)

    return await _each(call, body, rerun)


class PriorityOfChosen(Chosen, frozen=True, forbid_unknown_fields=True, kw_only=True):
    priority: Annotated[int, Meta(ge=PRIORITY_MIN, le=PRIORITY_MAX)]
    """Higher goes sooner."""


@runs.post(
    "/runs/bulk/priority",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"filter": {"state": "queued"}, "priority": 9}),
)
async def set_priorities(call: Call, body: PriorityOfChosen) -> Done:
    """Give all tasks of many runs that no worker has yet another priority."""

    async def set_priority(run: int) -> None:
        await call.services.client.set_priority(run, body.priority)

    return await _each(call, body, set_priority)


async def _each(call: Call, chosen: Chosen, act: Callable[[int], Awaitable[None]]) -> Done:
    ids, following = await _chosen(call, chosen)
    done: list[int] = []
    left: list[Left] = []
    for run in ids:
        try:
            await act(run)
        except (InputError, NotFoundError) as error:
            left.append(_left(run, error))
        else:
            done.append(run)
    return Done(done, left, following)


def _left(run: int, error: MainspringError) -> Left:
    return Left(run, error.code, error.message)


async def _chosen(call: Call, chosen: Chosen) -> tuple[list[int], str | None]:
    if (chosen.runs is None) == (chosen.filter is None):
        raise field_refusal("/runs", "give `runs` or `filter`, one of them")
    if chosen.runs is not None:
        return list(dict.fromkeys(chosen.runs)), None
    assert chosen.filter is not None
    if chosen.filter == Filter():
        raise field_refusal("/filter", "names nothing", hint="say of which runs")
    query = Runs(**msgspec.structs.asdict(chosen.filter), limit=chosen.limit, cursor=chosen.cursor)
    page = await call.services.read(page_of_runs, query, chosen.filter.dag)
    return [run.id for run in page.items], page.next
