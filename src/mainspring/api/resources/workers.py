"""Workers: those that live, and what they have in hand."""

from __future__ import annotations

from mainspring.api.calls import Call
from mainspring.api.pages import Page
from mainspring.api.routes import Resource
from mainspring.domain.roles import Role
from mainspring.store import reading, shapes

workers = Resource("workers", "Processes that run tasks.")


@workers.get("/workers", needs=Role.VIEWER, shared=True)
async def list_workers(call: Call) -> Page[shapes.Worker]:
    """Living workers, by name."""
    lines = await call.services.read(reading.list_workers)
    return Page([shapes.worker_line(line) for line in lines])
