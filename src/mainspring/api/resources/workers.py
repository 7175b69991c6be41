"""Workers: those that live, and what they have in hand."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Limit, Page
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store import reading, shapes

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
