"""Queues: what waits, and their pauses."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mainspring.api.bounds import NAMED
from mainspring.api.calls import Call
from mainspring.api.pages import Page
from mainspring.api.resources.dags import PauseNote
from mainspring.api.routes import Example, Resource
from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.roles import Role
from mainspring.store import reading, shapes
from mainspring.store.connection import Connection

queues = Resource("queues", "Where ready tasks wait for a worker.")

QueueName = Annotated[str, Meta(max_length=200, description="A queue's name."), NAMED]

_QUEUE = Example(path={"queue": "default"})


@queues.get("/queues", needs=Role.VIEWER, shared=True)
async def list_queues(call: Call) -> Page[shapes.Lane]:
    """What waits and what runs, by queue and slot kind; queues where nothing does are left out."""
    lanes = await call.services.read(reading.list_lanes)
    return Page([shapes.lane_line(lane) for lane in lanes])


@queues.get("/pauses", needs=Role.VIEWER, shared=True)
async def list_pauses(call: Call) -> Page[shapes.PausedThing]:
    """Dags and queues that are paused; those that were paused first come first."""
    lines = await call.services.read(reading.list_paused)
    return Page([shapes.paused_thing(line) for line in lines])


@queues.get("/queues/{queue}", needs=Role.VIEWER, shared=True, example=_QUEUE)
async def show_queue(call: Call, queue: QueueName) -> shapes.QueueWhole:
    """One queue with the workers that serve it."""

    async def read(connection: Connection) -> shapes.QueueWhole:
        line = await _known(connection, queue)
        return shapes.queue_whole(
            queue,
            line.pause,
            await reading.list_lanes(connection),
            await reading.list_workers(connection),
        )

    return await call.services.read(read)


async def _known(connection: Connection, name: str) -> reading.QueueLine:
    known = {line.name: line for line in (await reading.read_queues(connection)).values()}
    if name not in known:
        raise NotFoundError(f"there is no queue {shown(name)}", hint=closest(name, list(known)))
    return known[name]


@queues.post(
    "/queues/{queue}/pause",
    needs=Role.OPERATOR,
    example=Example(path={"queue": "default"}, body={"note": "the disk is full"}),
)
async def pause_queue(call: Call, queue: QueueName, body: PauseNote) -> shapes.PauseChange:
    """Hold a queue: nothing of it is handed to a worker any more. What runs goes on."""
    await call.services.read(_known, queue)
    done = await call.services.client.pause_queue(queue, note=body.note, by=call.who)
    return shapes.paused(queue, done)


@queues.post("/queues/{queue}/resume", needs=Role.OPERATOR, example=_QUEUE)
async def resume_queue(call: Call, queue: QueueName) -> shapes.PauseChange:
    """End a queue's pause."""
    await call.services.read(_known, queue)
    return shapes.paused(queue, await call.services.client.resume_queue(queue))
