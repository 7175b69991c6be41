"""The road of an attempt: register, claim, renew, complete, log. Thin calls of `attempts.sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.dead_letters import likeness
from mainspring.domain.draining import Drain
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN, Lane, SlotKind
from mainspring.domain.outcomes import Decision
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

_REGISTER = statement("register_worker")
_CLAIM = statement("claim_attempts")
_RENEW = statement("renew_lease")
_COMPLETE = statement("complete_attempts")

URGENT_FIRST = list(range(PRIORITY_MAX, PRIORITY_MIN - 1, -1))
_FROM_THE_START = (0,) * len(URGENT_FIRST)

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
    drain: Drain | None = None
    """Whether somebody wants the worker to claim no more."""


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
    drain: Drain | None = None,
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
            drain,
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
            URGENT_FIRST,
            floors[::-1],
            Lane.of(lane).queue_id,
        )
    except asyncpg.ForeignKeyViolationError as error:
        raise Reaped from error
    return [claimed_of(row, claim_id, row["many"]) for row in rows]


async def renew_lease(
    connection: Connection,
    worker_id: int,
    known_claims: Sequence[UUID],
    *,
    draining: bool,
    claims_known_after: timedelta,
    rates: Mapping[int, float] | None = None,
) -> Renewed:
    """`rates` holds how many attempts of each lane ended per second."""
    rows = await fetch(
        connection,
        _RENEW,
        worker_id,
        list(known_claims),
        draining,
        claims_known_after,
        rates_text(rates),
    )
    if not rows:
        raise Reaped
    row = rows[0]
    return Renewed(
        row["now"], row["unknown_claims"], stops_in(row["stops"]), drain_in(row["drain"])
    )


def rates_text(rates: Mapping[int, float] | None) -> str | None:
    return _encode(rates).decode() if rates else None


def drain_in(word: str | None) -> Drain | None:
    return None if word is None else Drain(word)


def stops_in(notes: Sequence[str]) -> list[tuple[int, int, str]]:
    """(task, term, kind of stop) of stop notes as statements give them."""
    stops = []
    for note in notes:
        task_id, term, kind = note.split(":")
        stops.append((int(task_id), int(term), kind))
    return stops


async def mark_started(
    connection: Connection, worker_id: int, started: Sequence[tuple[int, int, int]]
) -> None:
    """`started` holds (task, term, µs since the epoch)."""
    await mark_started_together(connection, [(*item, worker_id) for item in started])


async def mark_started_together(
    connection: Connection, started: Sequence[tuple[int, int, int, int]]
) -> None:
    """`started` holds (task, term, µs since the epoch, worker)."""
    ordered = sorted(started)
    await fetch(
        connection,
        statement("mark_started"),
        [worker_id for _, _, _, worker_id in ordered],
        [task_id for task_id, _, _, _ in ordered],
        [term for _, term, _, _ in ordered],
        [started_us for _, _, started_us, _ in ordered],
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
    slots = grant_slots or {}
    rows = await _complete(
        connection,
        [worker_id] * len(completions),
        sorted(completions, key=_task_id),
        workers=[worker_id],
        emptied=(list(emptied), [worker_id] * len(emptied)),
        offers=(
            [grant_claim] * len(slots),
            list(slots),
            list(slots.values()),
            [worker_id] * len(slots),
        ),
        now=now,
    )
    completed = _answer(rows)
    refused: dict[tuple[int, int], Literal["already_yours", "superseded"]] = {}
    grants = completed.grants.get(worker_id, [])
    if completed.refused:
        refused = (await explain_refused(connection, completed.refused))[worker_id]
        if grant_claim is not None and "already_yours" in refused.values():
            # Asked before and the answer was lost: what was granted then is ours still.
            grants = await claim_attempts(connection, grant_claim, worker_id, 0, 0)
    return Completed(refused, grants, completed.lanes)


class Ends(msgspec.Struct, frozen=True):
    """What one worker reports, as one of many."""

    worker_id: int
    completions: Sequence[Completion]
    emptied: Sequence[UUID] = ()
    grant_claim: UUID | None = None
    grant_slots: Mapping[int, int] = {}


class CompletedAll(msgspec.Struct, frozen=True):
    refused: list[tuple[int, int, int]]
    """(worker, task, term); `explain_refused` says why."""
    grants: dict[int, list[Claimed]]
    """By worker."""
    lanes: set[int]


async def complete_together(connection: Connection, reports: Sequence[Ends]) -> CompletedAll:
    """Report the ends of many workers in one statement; each of them at most once."""
    pairs = sorted(
        ((item, ends.worker_id) for ends in reports for item in ends.completions),
        key=lambda pair: pair[0].task_id,
    )
    offers = [
        (ends.grant_claim, lane, slots, ends.worker_id)
        for ends in reports
        if ends.grant_claim is not None
        for lane, slots in ends.grant_slots.items()
    ]
    emptied = [(claim_id, ends.worker_id) for ends in reports for claim_id in ends.emptied]
    rows = await _complete(
        connection,
        [worker_id for _, worker_id in pairs],
        [item for item, _ in pairs],
        workers=sorted({ends.worker_id for ends in reports}),
        emptied=([claim_id for claim_id, _ in emptied], [worker_id for _, worker_id in emptied]),
        offers=(
            [claim_id for claim_id, _, _, _ in offers],
            [lane for _, lane, _, _ in offers],
            [slots for _, _, slots, _ in offers],
            [worker_id for _, _, _, worker_id in offers],
        ),
        now=None,
    )
    return _answer(rows)


async def _complete(
    connection: Connection,
    holders: Sequence[int],
    items: Sequence[Completion],
    *,
    workers: Sequence[int],
    emptied: tuple[Sequence[UUID], Sequence[int]],
    offers: tuple[Sequence[UUID | None], Sequence[int], Sequence[int], Sequence[int]],
    now: datetime | None,
) -> list[asyncpg.Record]:
    """Items come sorted by task, each with its holder; offers are claims, lanes, slots, workers."""
    decisions = [item.decision for item in items]
    errors = [decision.error for decision in decisions]
    args: list[Any] = [
        holders,
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
        emptied[0],
        offers[0],
        offers[1],
        offers[2],
        now,
        [error and likeness(error) for error in errors] if any(errors) else [],
        workers,
        emptied[1],
        offers[3],
    ]
    return await fetch(connection, _COMPLETE, *args)


def _answer(rows: Sequence[asyncpg.Record]) -> CompletedAll:
    completed = CompletedAll([], {}, set())
    for row in rows:
        match row["kind"]:
            case "refused":
                completed.refused.append((row["worker_id"], row["id"], row["term"]))
            case "granted":
                grant = claimed_of(row, row["claim_id"], True)
                completed.grants.setdefault(row["worker_id"], []).append(grant)
            case _:
                completed.lanes.add(row["lane"])
    return completed


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


async def explain_refused(
    connection: Connection, items: Sequence[tuple[int, int, int]]
) -> dict[int, dict[tuple[int, int], Literal["already_yours", "superseded"]]]:
    """By worker, why its (worker, task, term) were refused."""
    rows = await fetch(
        connection,
        statement("explain_refused"),
        [worker_id for worker_id, _, _ in items],
        [task_id for _, task_id, _ in items],
        [term for _, _, term in items],
    )
    explained: dict[int, dict[tuple[int, int], Literal["already_yours", "superseded"]]] = {}
    for row in rows:
        explained.setdefault(row["worker_id"], {})[row["id"], row["term"]] = (
            "already_yours" if row["already_yours"] else "superseded"
        )
    return explained


def _task_id(item: Completion) -> int:
    return item.task_id


def claimed_of(row: asyncpg.Record, claim_id: UUID, many: bool) -> Claimed:
    """From a row of a statement that claims."""
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
