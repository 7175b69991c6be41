"""The calls of remote workers: `docs/reference/worker-protocol.md`, one route for each.

The worker in the path is its incarnation, an id that it has made and nobody can guess. Messages are
those of `mainspring/worker_protocol.py`, as JSON or as MessagePack. Whatever is asked twice is done
once, without a key: ids of claims are made by the worker, and every change is fenced by its term.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from mainspring import worker_protocol as protocol
from mainspring.api.answers import Answer
from mainspring.api.calls import Call
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role

BODY_BYTES_MAX = 16 * 1024 * 1024

remote_workers = Resource(
    "remote-workers",
    "The calls of workers that reach the database through this server; each is told in"
    " docs/reference/worker-protocol.md. A message may be MessagePack instead of JSON.",
)

Incarnation = Annotated[
    UUID, Meta(description="The worker's own id, made when it starts, and secret.")
]
SnapshotId = Annotated[
    int, Meta(ge=1, le=2**31 - 1, description="The number of a snapshot, as tasks tell it.")
]

_WORKER = {"worker": "6f1e8a52-0b6c-4f0e-9d2b-3d1f0a6a7c11"}
_CLAIM = "0c9e2f34-5a1b-4c7d-8e6f-112233445566"
_OF_A_WORKER: dict[str, Any] = {"needs": Role.WORKER, "refusals": (403, 410), "packed": True}
_POST: dict[str, Any] = {**_OF_A_WORKER, "repeats": True, "body_bytes_max": BODY_BYTES_MAX}


class Waiting(msgspec.Struct, frozen=True):
    wait_seconds: Annotated[
        float,
        Meta(ge=0, le=protocol.WAIT_SECONDS_MAX, description="How long to wait for one."),
    ] = 0.0


@remote_workers.put(
    "/workers/{worker}",
    **_OF_A_WORKER,
    example=Example(
        path=_WORKER, body={"name": "reports-1", "queues": ["default"], "slots": {"command": 4}}
    ),
)
async def join(call: Call, worker: Incarnation, body: protocol.Join) -> protocol.Joined:
    """Take a lease, for queues that the token is bound to."""
    return await call.services.gateway.join(worker, body, call.caller)


@remote_workers.delete("/workers/{worker}", **_OF_A_WORKER, example=Example(path=_WORKER))
async def leave(call: Call, worker: Incarnation) -> None:
    """Give the lease back, when everything in hand has been reported."""
    await call.services.gateway.leave(worker, call.caller)


@remote_workers.post(
    "/workers/{worker}/claims",
    **_POST,
    slow=True,
    example=Example(path=_WORKER, body={"claim": _CLAIM, "slots": {"async": 2}, "prepared": True}),
)
async def claim_tasks(call: Call, worker: Incarnation, body: protocol.Wish) -> protocol.Tasks:
    """Tasks for free slots, as soon as there is one."""
    # Nothing is claimed for a worker that does not wait for the answer any more.
    return await call.while_connected(call.services.gateway.claim(worker, body, call.caller))


@remote_workers.post(
    "/workers/{worker}/beats", **_POST, example=Example(path=_WORKER, body={"claims": [_CLAIM]})
)
async def renew_lease(call: Call, worker: Incarnation, body: protocol.Beat) -> protocol.Renewed:
    """Renew the lease, and learn what is to stop, and of claims that were not named."""
    return await call.services.gateway.renew(worker, body, call.caller)


@remote_workers.get(
    "/workers/{worker}/notes",
    **_OF_A_WORKER,
    slow=True,
    example=Example(path=_WORKER, query={"wait_seconds": "0.1"}),
)
async def await_note(call: Call, worker: Incarnation, query: Waiting) -> protocol.Note:
    """Wait until something in hand is to stop."""
    waited = call.services.gateway.notes(worker, query.wait_seconds, call.caller)
    return await call.while_connected(waited)


@remote_workers.post(
    "/workers/{worker}/ends",
    **_POST,
    example=Example(
        path=_WORKER,
        body={
            "ends": [
                {"task": 4098, "term": 1, "outcome": {"type": "Succeeded", "result": "bnVsbA=="}}
            ]
        },
    ),
)
async def report_ends(call: Call, worker: Incarnation, body: protocol.Ends) -> protocol.Ended:
    """Report how attempts ended, each under its term. The answer may bring the next tasks."""
    return await call.services.gateway.complete(worker, body, call.caller)


@remote_workers.post(
    "/workers/{worker}/logs",
    **_POST,
    example=Example(
        path=_WORKER,
        body={"chunks": [{"task": 4098, "term": 1, "start": 0, "content": "aGVsbG8K"}]},
    ),
)
async def append_logs(call: Call, worker: Incarnation, body: protocol.Chunks) -> None:
    """Append to the logs of attempts in hand."""
    await call.services.gateway.append_log(worker, body, call.caller)


@remote_workers.post(
    "/workers/{worker}/progress",
    **_POST,
    example=Example(
        path=_WORKER,
        body={"progress": [{"task": 4098, "term": 1, "percent": 40, "text": "2 of 5 files"}]},
    ),
)
async def tell_progress(call: Call, worker: Incarnation, body: protocol.Told) -> None:
    """Tell which attempts in hand have started, and how far they are."""
    await call.services.gateway.tell(worker, body, call.caller)


@remote_workers.post(
    "/workers/{worker}/returns",
    **_POST,
    example=Example(path=_WORKER, body={"claims": [_CLAIM], "reason": "no room for it"}),
)
async def return_claims(call: Call, worker: Incarnation, body: protocol.Return) -> None:
    """Hand claims back as a whole, uncharged."""
    await call.services.gateway.give_back(worker, body, call.caller)


@remote_workers.post(
    "/workers/{worker}/inputs",
    **_POST,
    example=Example(path=_WORKER, body={"versions": [], "parameters": []}),
)
async def read_inputs(call: Call, worker: Incarnation, body: protocol.Read) -> protocol.Found:
    """What tasks in hand are made of: specs, results of parents, large parameters."""
    return await call.services.gateway.read(worker, body, call.caller)


@remote_workers.get(
    "/workers/{worker}/snapshots/{snapshot}",
    **_OF_A_WORKER,
    produces="application/octet-stream",
    example=Example(path={**_WORKER, "snapshot": "1"}),
)
async def fetch_code(call: Call, worker: Incarnation, snapshot: SnapshotId) -> Answer:
    """The packed files that a task in hand is made of."""
    content = await call.services.gateway.fetch_snapshot(worker, snapshot, call.caller)
    return Answer(content, content_type=b"application/octet-stream")
