"""Runs come in (`create_runs`) and are stopped (`stop_runs`)."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from mainspring.domain.errors import ConflictError
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

Trigger = Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
Stop = Literal["cancel", "deadline"]

DEFAULT_TENANT = 1


class NewRun(msgspec.Struct, frozen=True):
    """A run to be made. Its id is reserved by the caller: sending it twice makes one run."""

    id: int
    version_id: int
    snapshot_id: int
    trigger: Trigger = "manual"
    parameters: bytes | None = None
    """JSON object, complete with defaults; None for none."""
    due_at: datetime | None = None
    created_by: str | None = None
    key: str | None = None
    """Idempotency key: one run per key and tenant."""
    body: bytes = b""
    """What the key stands for, as the caller gave it; another body under one key is a conflict."""
    rerun_of: int | None = None


class Created(msgspec.Struct, frozen=True):
    ids: list[int]
    """The run of each request, in order; an older run's where the key was known."""
    lanes: set[int]
    """Lanes that got ready tasks: whom to wake."""
    made: set[int]
    """Those of `ids` that did not exist before."""


async def create_runs(
    connection: Connection,
    runs: Sequence[NewRun],
    *,
    tenant_id: int = DEFAULT_TENANT,
    now: datetime | None = None,
) -> Created:
    """Make the runs that do not exist yet; ConflictError, and none, if a key has another body."""
    if len(runs) > 1 and any(run.key for run in runs):
        # A conflict is found after the statement; what it made beside goes with it.
        async with connection.transaction():
            return await _create_runs(connection, runs, tenant_id, now)
    return await _create_runs(connection, runs, tenant_id, now)


async def stop_runs(
    connection: Connection, run_ids: Sequence[int], stop: Stop, *, now: datetime | None = None
) -> int:
    """Stop runs: unclaimed tasks are closed, claimed ones get a note. Says how many got one.

    Three statements, because each must see what was committed while the one before it waited
    for its locks.
    """
    async with connection.transaction():
        locked = await fetch(connection, statement("lock_runs"), sorted(run_ids))
        ids = [row["id"] for row in locked]
        tasks = [row["id"] for row in await fetch(connection, statement("lock_tasks"), ids)]
        row = (await fetch(connection, statement("stop_tasks"), ids, stop, tasks, now))[0]
        noted: int = row["noted"]
        return noted


async def _create_runs(
    connection: Connection, runs: Sequence[NewRun], tenant_id: int, now: datetime | None
) -> Created:
    steps = creating_runs(runs, tenant_id=tenant_id, now=now)
    question = next(steps)
    while True:
        rows = await fetch(connection, question.sql, *question.arguments)
        try:
            question = steps.send(rows)
        except StopIteration as end:
            created: Created = end.value
            return created


class Question(NamedTuple):
    """A statement that waits for its rows."""

    sql: str
    arguments: tuple[Any, ...] = ()


Creating: TypeAlias = Generator[Question, Sequence[Iterable[Any]], Created]


def creating_runs(
    runs: Sequence[NewRun], *, tenant_id: int = DEFAULT_TENANT, now: datetime | None = None
) -> Creating:
    """The talk with the database that makes runs, for whatever connection carries it.

    Send each question's rows back in. ConflictError, if a key has another body, comes after the
    statement: what it made beside is the caller's to undo.
    """
    digests = [hashlib.sha256(run.body).digest() if run.key else None for run in runs]
    rows = yield Question(
        statement("create_runs"),
        (
            [run.id for run in runs],
            [run.version_id for run in runs],
            [run.snapshot_id for run in runs],
            tenant_id,
            [run.trigger for run in runs],
            [run.parameters for run in runs],
            [run.due_at for run in runs],
            [run.created_by for run in runs],
            [run.key for run in runs],
            digests,
            [run.rerun_of for run in runs],
            now,
        ),
    )
    made = {id for kind, id in rows if kind == "run"}
    lanes = {lane for kind, lane in rows if kind == "lane"}
    ids = [run.id for run in runs]
    if keys := [run.key for run in runs if run.key and run.id not in made]:
        # The loser reads the winner in a statement of its own: its snapshot was too old.
        rows = yield Question(statement("read_keys"), (tenant_id, keys))
        held = {key: (run_id, bytes(digest)) for key, run_id, digest in rows}
        for place, (run, digest) in enumerate(zip(runs, digests, strict=True)):
            if run.key and run.id not in made:
                ids[place], known = held[run.key]
                if known != digest:
                    raise ConflictError(
                        f"idempotency key `{run.key}` was used for another request"
                        f" (run {ids[place]})",
                        hint="use a new key, or repeat exactly what was asked before",
                    )
    return Created(ids, lanes, made)
