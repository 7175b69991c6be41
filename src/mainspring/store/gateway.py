"""The calls of many workers as one statement each. Thin calls of `gateway.sql`.

Reports of many workers are `complete_together` in `store/attempts.py`: there is one door out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.draining import Drain
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.store.attempts import (
    URGENT_FIRST,
    Claimed,
    claimed_of,
    drain_in,
    rates_text,
    stops_in,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement


class Seat(msgspec.Struct, frozen=True):
    """Room for one task: a free slot of a worker that waits, and the claim it would be under."""

    claim_id: UUID
    worker_id: int


class Served(msgspec.Struct, frozen=True):
    tasks: dict[UUID, list[Claimed]]
    """By claim."""
    reaped: set[int]
    """Workers that have no lease."""
    drained: set[int]
    """Workers that are to claim no more."""


class Living(msgspec.Struct, frozen=True):
    """A worker that has a lease."""

    id: int
    queues: list[str]
    slots: dict[SlotKind, int]
    lease_seconds: float


class Joining(msgspec.Struct, frozen=True):
    """A worker that joins."""

    incarnation: UUID
    name: str
    host: str
    pid: int
    queues: Sequence[str]
    slots: Mapping[SlotKind, int]
    lease_seconds: float
    drain: Drain | None = None


class Beating(msgspec.Struct, frozen=True):
    """A worker that renews."""

    worker_id: int
    known_claims: Sequence[UUID]
    draining: bool
    known_after_seconds: float
    rates: Mapping[int, float] = {}


class RenewedTogether(msgspec.Struct, frozen=True):
    now: datetime
    unknown_claims: list[UUID]
    stops: list[tuple[int, int, str]]
    drain: Drain | None


async def join_together(
    connection: Connection, joining: Sequence[Joining]
) -> Mapping[UUID, Living]:
    """By incarnation; those that have ended are missing."""
    rows = await fetch(
        connection,
        statement("join_together"),
        [one.incarnation for one in joining],
        [one.name for one in joining],
        [one.host for one in joining],
        [one.pid for one in joining],
        [",".join(one.queues) for one in joining],
        [msgspec.json.encode(one.slots).decode() for one in joining],
        [one.lease_seconds for one in joining],
        [one.drain for one in joining],
    )
    return {row["incarnation"]: _living(row) for row in rows}


async def claim_together(
    connection: Connection, seats: Sequence[Seat], lane: int, floors: Sequence[int]
) -> Served:
    """Ready tasks of a lane for seats, in their order. A known claim gives what it holds."""
    rows = await fetch(
        connection,
        statement("claim_together"),
        [seat.claim_id for seat in seats],
        [seat.worker_id for seat in seats],
        list({seat.claim_id for seat in seats}),
        sorted({seat.worker_id for seat in seats}),
        lane,
        Lane.of(lane).queue_id,
        URGENT_FIRST,
        floors[::-1],
    )
    served = Served({}, set(), set())
    for row in rows:
        if row["id"] is None:
            (served.drained if row["drains"] else served.reaped).add(row["worker_id"])
        else:
            claim_id = row["claim_id"]
            task = claimed_of(row, claim_id, row["many"])
            served.tasks.setdefault(claim_id, []).append(task)
    return served


async def renew_together(
    connection: Connection, beats: Sequence[Beating]
) -> Mapping[int, RenewedTogether]:
    """By worker; those that were reaped are missing."""
    ordered = sorted(beats, key=lambda beat: beat.worker_id)
    rows = await fetch(
        connection,
        statement("renew_together"),
        [beat.worker_id for beat in ordered],
        [beat.draining for beat in ordered],
        [beat.known_after_seconds for beat in ordered],
        [claim_id for beat in ordered for claim_id in beat.known_claims],
        [rates_text(beat.rates) for beat in ordered],
    )
    return {
        row["worker_id"]: RenewedTogether(
            row["now"], row["unknown_claims"], stops_in(row["stops"]), drain_in(row["drain"])
        )
        for row in rows
    }


async def read_stops(connection: Connection, workers: Sequence[int]) -> set[int]:
    """Those of the workers that are to hear of something: a stop, a drain or its end."""
    rows = await fetch(connection, statement("read_stops"), list(workers))
    return {row["worker_id"] for row in rows if row["stops"] or row["unheard"]}


async def read_hands(
    connection: Connection, workers: Sequence[int]
) -> Mapping[int, Sequence[Claimed]]:
    """By worker, all that its claims hold."""
    rows = await fetch(connection, statement("read_hands"), list(workers))
    hands: dict[int, list[Claimed]] = {worker_id: [] for worker_id in workers}
    for row in rows:
        hands[row["worker_id"]].append(claimed_of(row, row["claim_id"], row["many"]))
    return hands


async def find_worker(connection: Connection, incarnation: UUID) -> Living | None:
    """None if there is no such worker, or none any more."""
    rows = await fetch(connection, statement("find_worker"), incarnation)
    if not rows:
        return None
    return _living(rows[0])


def _living(row: asyncpg.Record) -> Living:
    slots = msgspec.json.decode(row["slots"], type=dict[SlotKind, int])
    return Living(row["id"], list(row["queues"]), slots, row["seconds"])


async def ended_tokens(connection: Connection, tokens: Sequence[int]) -> set[int]:
    """Those of the tokens that were revoked or have expired."""
    rows = await fetch(connection, statement("ended_tokens"), list(tokens))
    return {row["id"] for row in rows}
