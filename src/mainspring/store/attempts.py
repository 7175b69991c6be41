"""The road of an attempt: register, claim, renew, complete, log. Thin calls of `attempts.sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.dead_letters import likeness
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN, Lane, SlotKind
from mainspring.domain.outcomes import Decision
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

_REGISTER = statement("register_worker")
_CLAIM = statement("claim_attempts")
_RENEW = statement("renew_lease")
_COMPLETE = statement("complete_attempts")

_URGENT_FIRST = list(range(PRIORITY_MAX, PRIORITY_MIN - 1, -1))
_FROM_THE_START = (0,) * len(_URGENT_FIRST)

_encode = msgspec.json.Encoder().encode


class Reaped(Exception):
    """This worker's lease is gone: nothing that it holds is its own any more."""


class Claimed(msgspec.Struct, frozen=True):
    """A task in hand, with all that is needed to run it besides the spec and inputs."""

    claim_id: UUID
    task_id: int
    run_id: int
    version_id: int
    snapshot_id: int
    node: int
    lane: int
    priority: int
    position: int
    """Where in its lane it stood; 0 if it was granted."""
    term: int
    attempt: int
    lost: int
    generation: int
    epoch: int
    """In force when it was claimed: what fences over failovers is (epoch, term)."""
    due_at: datetime
    """When its run was due."""
    parameters: bytes | None
    """Of its run, JSON: None is {}, empty means that they are large and to be fetched."""
    many: bool
    """Whether its run has other tasks."""
    schedule_id: int | None = None
    """Of a run that a schedule has made; one for a fire of a backfill may have none."""
    fire_at: datetime | None = None
    interval_start: datetime | None = None
    attempts_max: int | None = None
    """What the run says instead of its tasks; None: as they say."""
    timeout_seconds: float | None = None


class Renewed(msgspec.Struct, frozen=True):
    now: datetime
    unknown_claims: list[UUID]
    stops: list[tuple[int, int, str]]
    """(task, term, kind of stop) of claimed tasks that somebody wants stopped, or has closed."""


class Completion(msgspec.Struct, frozen=True):
    """The end of one attempt, as its holder reports it."""

    task_id: int
    term: int
    claim_id: UUID
    run_id: int | None
    """Set for tasks of runs of many tasks, whose progress is to be made."""
    decision: Decision
    started_us: int | None
    finished_us: int
    chained: bool = False
    """Whether children may be granted straight to the completing worker."""


class Completed(msgspec.Struct, frozen=True):
    refused: dict[tuple[int, int], Literal["already_yours", "superseded"]]
    grants: list[Claimed]
    lanes: set[int]


class Held(msgspec.Struct, frozen=True):
    """What a claim of some worker still holds."""

    claim_id: UUID
    task_id: int
    term: int
    run_id: int
    version_id: int
    node: int
    attempt: int
    lost: int
    started_at: datetime | None
    many: bool


async def register_worker(
    connection: Connection,
    incarnation: UUID,
    *,
    name: str,
    host: str,
    pid: int,
    queues: Sequence[str],
    slots: Mapping[SlotKind, int],
    lease_seconds: float,
) -> int:
    """The worker's id; it has a lease from now on."""
    row = (
        await fetch(
            connection,
            _REGISTER,
            incarnation,
            name,
            host,
            pid,
            list(queues),
            _encode(slots).decode(),
            lease_seconds,
        )
    )[0]
    worker_id: int = row["id"]
    return worker_id


async def claim_attempts(
    connection: Connection,
    claim_id: UUID,
    worker_id: int,
    lane: int,
    limit: int,
    floors: Sequence[int] = _FROM_THE_START,
) -> list[Claimed]:
    """Take up to `limit` ready tasks of a lane. With a claim id used before, what it holds.

    `floors` holds, for each priority, the position below which it does not look.
    """
    try:
        rows = await fetch(
            connection,
            _CLAIM,
            claim_id,
            worker_id,
            lane,
            limit,
            _URGENT_FIRST,
            floors[::-1],
            Lane.of(lane).queue_id,
        )
    except asyncpg.ForeignKeyViolationError as error:
        raise Reaped from error
    return [_claimed(row, claim_id, row["many"]) for row in rows]


async def renew_lease(
    connection: Connection,
    worker_id: int,
    known_claims: Sequence[UUID],
    *,
    draining: bool,
    claims_known_after: timedelta,
) -> Renewed:
    rows = await fetch(
        connection, _RENEW, worker_id, list(known_claims), draining, claims_known_after
    )
    if not rows:
        raise Reaped
    stops = []
    for stop in rows[0]["stops"]:
        task_id, term, kind = stop.split(":")
        stops.append((int(task_id), int(term), kind))
    return Renewed(rows[0]["now"], rows[0]["unknown_claims"], stops)


async def mark_started(
    connection: Connection, worker_id: int, started: Sequence[tuple[int, int, int]]
) -> None:
    """`started` holds (task, term, µs since the epoch)."""
    ordered = sorted(started)
    await fetch(
        connection,
        statement("mark_started"),
        worker_id,
        [task_id for task_id, _, _ in ordered],
        [term for _, term, _ in ordered],
        [started_us for _, _, started_us in ordered],
    )


async def record_progress(
    connection: Connection, told: Mapping[tuple[int, int], tuple[float, str]]
) -> None:
    """`told` holds percent and text by (task, term)."""
    ordered = sorted(told.items())
    await fetch(
        connection,
        statement("record_progress"),
        [task_id for (task_id, _), _ in ordered],
        [term for (_, term), _ in ordered],
        [percent for _, (percent, _) in ordered],
        [text for _, (_, text) in ordered],
    )


async def forget_progress(connection: Connection, limit: int) -> int:
    """What attempts told that are over; says how many rows went."""
    return len(await fetch(connection, statement("forget_progress"), limit))


async def complete_attempts(
    connection: Connection,
    worker_id: int,
    completions: Sequence[Completion],
    *,
    emptied: Sequence[UUID] = (),
    grant_claim: UUID | None = None,
    grant_slots: Mapping[int, int] | None = None,
    now: datetime | None = None,
) -> Completed:
    """Report ends. Children that become ready fill `grant_slots` (lane → free) under `grant_claim`.

    Repeating it with the same arguments, after an answer was lost, changes nothing and gives
    the same grants again.
    """
    items = sorted(completions, key=_task_id)
    decisions = [item.decision for item in items]
    errors = [decision.error for decision in decisions]
    slots = grant_slots or {}
    args: list[Any] = [
        worker_id,
        [item.task_id for item in items],
        [item.term for item in items],
        [item.claim_id for item in items],
        [item.run_id for item in items],
        [decision.state for decision in decisions],
        [decision.attempt for decision in decisions],
        [int(decision.charged) for decision in decisions],
        [int(decision.lost) for decision in decisions],
        [item.started_us for item in items],
        [item.finished_us for item in items],
        [round(decision.delay_seconds * 1_000_000) for decision in decisions],
        [decision.result for decision in decisions],
        [error and _encode(error) for error in errors],
        [item.chained for item in items],
        sorted({item.run_id for item in items if item.run_id is not None}),
        list(emptied),
        grant_claim,
        list(slots),
        list(slots.values()),
        now,
        [error and likeness(error) for error in errors] if any(errors) else [],
    ]
    rows = await fetch(connection, _COMPLETE, *args)
    grants = []
    lanes = set()
    refused_items = []
    for row in rows:
        match row["kind"]:
            case "refused":
                refused_items.append((row["id"], row["term"]))
            case "granted":
                assert grant_claim is not None
                grants.append(_claimed(row, grant_claim, True))
            case _:
                lanes.add(row["lane"])
    refused: dict[tuple[int, int], Literal["already_yours", "superseded"]] = {}
    if refused_items:
        refused = await _explain_refused(connection, worker_id, refused_items)
        if grant_claim is not None and "already_yours" in refused.values():
            # Asked before and the answer was lost: what was granted then is ours still.
            grants = await claim_attempts(connection, grant_claim, worker_id, 0, 0)
    return Completed(refused, grants, lanes)


async def read_claims(
    connection: Connection, worker_id: int, claims: Sequence[UUID] | None, limit: int
) -> list[Held]:
    rows = await fetch(
        connection,
        statement("read_claims"),
        worker_id,
        None if claims is None else list(claims),
        limit,
    )
    return [
        Held(
            row["claim_id"],
            row["id"],
            row["term"],
            row["run_id"],
            row["version_id"],
            row["node"],
            row["attempt"],
            row["lost"],
            row["started_at"],
            row["many"],
        )
        for row in rows
    ]


async def drop_claims(
    connection: Connection, worker_id: int, claims: Sequence[UUID] | None
) -> None:
    await fetch(
        connection, statement("drop_claims"), worker_id, None if claims is None else list(claims)
    )


async def end_worker(connection: Connection, worker_id: int, ending: str) -> None:
    await fetch(connection, statement("end_worker"), worker_id, ending)


async def _explain_refused(
    connection: Connection, worker_id: int, items: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Literal["already_yours", "superseded"]]:
    rows = await fetch(
        connection,
        statement("explain_refused"),
        worker_id,
        [task_id for task_id, _ in items],
        [term for _, term in items],
    )
    return {
        (row["id"], row["term"]): "already_yours" if row["already_yours"] else "superseded"
        for row in rows
    }


def _task_id(item: Completion) -> int:
    return item.task_id


def _claimed(row: asyncpg.Record, claim_id: UUID, many: bool) -> Claimed:
    return Claimed(
        claim_id,
        row["id"],
        row["run_id"],
        row["version_id"],
        row["snapshot_id"],
        row["node"],
        row["lane"],
        row["priority"],
        row["position"],
        row["term"],
        row["attempt"],
        row["lost"],
        row["generation"],
        row["epoch"],
        row["due_at"],
        row["parameters"],
        many,
        row["schedule_id"],
        row["fire_at"],
        row["interval_start"],
        row["attempts_max"],
        row["timeout_seconds"],
    )
