"""Workers: those that live, and what they have in hand."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Limit, Page
from mainspring.api.routes import Example, Resource
from mainspring.domain.errors import NotFoundError
from mainspring.domain.roles import Role
from mainspring.store import reading, shapes
from mainspring.store.drains import Drained

workers = Resource("workers", "Processes that run tasks.")


@workers.get("/workers", needs=Role.VIEWER, shared=True)
async def list_workers(call: Call) -> Page[shapes.Worker]:
    """Living workers, by name."""
    lines = await call.services.read(reading.list_workers)
    return Page([shapes.worker_line(line) for line in lines])


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    worker: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Only what this worker has.")] | None
    ) = None
    limit: Limit = 100


@workers.get(
    "/workers/tasks", needs=Role.VIEWER, shared=True, example=Example(query={"limit": "10"})
)
async def list_in_hand(call: Call, query: Held) -> Page[shapes.InHand]:
    """What living workers have in hand; what they have held longest comes first.

    The first `limit` of it are told, without a `next`: it changes faster than one could turn pages.
    """
    lines = await call.services.read(
        reading.list_in_hand, worker_id=query.worker, limit=query.limit
    )
    return Page([shapes.in_hand(line) for line in lines])


WorkerName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=250,
        description="A living worker: its id, or its name if no other is called the same.",
    ),
]


class DrainWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stop: bool = False
    """Whether its process ends when nothing is left; otherwise it stays, until it is resumed."""
    note: Annotated[str, Meta(max_length=1000)] | None = None
    """Why, for those who will wonder."""


@workers.post(
    "/workers/{worker}/drain",
    needs=Role.OPERATOR,
    example=Example(path={"worker": "reports-1"}, body={"note": "its machine is to be updated"}),
)
async def drain_worker(call: Call, worker: WorkerName, body: DrainWish) -> shapes.DrainChange:
    """Let a worker finish what it runs. From the answer on it is given nothing more.

    What it has in hand and has not begun goes back to its queue.
    """
    done = await call.services.client.drain_worker(
        worker, stop=body.stop, note=body.note, by=call.who
    )
    return await _told(call, done)


@workers.post(
    "/workers/{worker}/resume",
    needs=Role.OPERATOR,
    example=Example(path={"worker": "reports-1"}),
)
async def resume_worker(call: Call, worker: WorkerName) -> shapes.DrainChange:
    """Let a worker claim again that was to drain.

    One that leaves by itself, as it was sent a signal, leaves nevertheless.
    """
    return await _told(call, await call.services.client.resume_worker(worker))


async def _told(call: Call, done: Drained) -> shapes.DrainChange:
    for line in await call.services.read(reading.list_workers):
        if line.id == done.id:
            return shapes.drained(done, line)
    raise NotFoundError("the worker has left meanwhile", hint="there is nothing left to ask of it")
