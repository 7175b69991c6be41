"""Runs come in (`create_runs`), are stopped (`stop_runs`) and opened again (`reopen_run`)."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from mainspring.domain.errors import InputError, KeyConflict, NotFoundError
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.reruns import (
    Standing,
    TaskStanding,
    check_opening,
    unmet_among,
    was_opened,
    with_descendants,
    without_doomed,
)
from mainspring.domain.states import TaskState
from mainspring.store.connection import Connection, fetch
from mainspring.store.history import bring_back_run
from mainspring.store.statements import statement

Trigger = Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
Stop = Literal["cancel", "terminate", "deadline"]

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


class Reopened(msgspec.Struct, frozen=True):
    nodes: list[int]
    """The numbers of the tasks that were opened, in order."""
    lanes: set[int]
    """Lanes that got ready tasks: whom to wake."""


class Deed(msgspec.Struct, frozen=True):
    """Who does something by hand, and why."""

    who: str
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.note) > NOTE_LENGTH_MAX:
            raise InputError(f"a note has at most {NOTE_LENGTH_MAX:,} characters")
        if "\x00" in self.note + self.who:
            raise InputError("a note may not hold a NUL character")


class _Repeated(Exception):
    """It was done before; what was looked at for it is left as it was."""

    def __init__(self, answer: Reopened) -> None:
        self.answer = answer


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


async def read_standing(connection: Connection, run_id: int) -> Standing:
    """How a run stands, open or in history: what a rerun is chosen from."""
    return await _standing(connection, "read_standing", run_id)


async def lock_standing(connection: Connection, run_id: int) -> Standing:
    """The same of a run that is held, with its tasks locked."""
    return await _standing(connection, "lock_standing", run_id)


async def reopen_run(
    connection: Connection,
    run_id: int,
    generations: Mapping[int, int],
    *,
    retried: Deed | None = None,
    now: datetime | None = None,
) -> Reopened:
    """Open tasks of a run again, with all that comes after them; ConflictError if it cannot be.

    Dead letters that are `retried` leave closed what another failure keeps closed.

    `generations` says which tasks, by number, and in which generation each of them was seen. That
    makes it repeatable: when all of them are one generation further, nothing is changed and the
    answer is the same. A run that went to history is brought back.

    Many statements, because each must see what was committed while the one before it waited for
    its locks.
    """
    assert generations
    try:
        async with connection.transaction():
            await hold_run(connection, run_id)
            standing = await lock_standing(connection, run_id)
            choose = with_descendants if retried is None else without_doomed
            nodes = choose(standing, generations)
            unmet = unmet_among(standing, nodes)
            ready = [node for node in nodes if unmet[node] == 0]
            answer = Reopened(nodes, {standing.tasks[node].lane for node in ready})
            if was_opened(standing, generations):
                raise _Repeated(answer)
            check_opening(standing, generations, nodes)
            ids, counts = [run_id + node for node in nodes], [unmet[node] for node in nodes]
            if retried is not None:
                chosen = [run_id + node for node in sorted(generations)]
                await add_remarks(connection, chosen, "retried", retried)
            await fetch(connection, statement("reopen_tasks"), run_id, ids, counts, now)
            # By itself, since a statement moves a row once.
            await fetch(connection, statement("ready_tasks"), ids)
            return answer
    except _Repeated as repeated:
        return repeated.answer


async def add_remarks(connection: Connection, task_ids: Sequence[int], deed: str, by: Deed) -> None:
    """Say who did what to these tasks, under their locks and before their terms rise."""
    await fetch(connection, statement("add_remarks"), task_ids, deed, by.who, by.note)


async def hold_run(connection: Connection, run_id: int) -> None:
    """Lock a run, brought back from history if it is there; NotFoundError if it is nowhere."""
    while not (
        await fetch(connection, statement("lock_runs"), [run_id])
        or await bring_back_run(connection, run_id)
    ):
        # Between the two looks it may have moved. One look at both places tells.
        if not await fetch(connection, statement("existing_runs"), [run_id]):
            raise _not_found(run_id)


async def _standing(
    connection: Connection, name: Literal["read_standing", "lock_standing"], run_id: int
) -> Standing:
    rows = await fetch(connection, statement(name), run_id)
    if not rows:
        raise _not_found(run_id)
    tasks = [
        TaskStanding(
            row["name"],
            row["lane"],
            TaskState(row["state"]),
            row["generation"],
            row["before"],
            row["term"],
        )
        for row in rows
    ]
    return Standing(run_id, rows[0]["stopped"], tasks)


def _not_found(run_id: int) -> NotFoundError:
    return NotFoundError(
        f"there is no run {run_id}", hint="`mainspring run list` shows what there is"
    )


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
    creating = Question(
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
    made: set[int] = set()
    lanes: set[int] = set()
    held: dict[str, tuple[int, bytes]] = {}
    lost: set[str] | None = None
    while lost is None or not lost <= held.keys():
        # A second time only if retention let a key go between the two questions: it is free now.
        rows = yield creating
        made |= {id for kind, id in rows if kind == "run"}
        lanes |= {lane for kind, lane in rows if kind == "lane"}
        lost = {run.key for run in runs if run.key and run.id not in made}
        if lost:
            # The loser reads the winner in a statement of its own: its snapshot was too old.
            rows = yield Question(statement("read_keys"), (tenant_id, sorted(lost)))
            held = {key: (run_id, bytes(digest)) for key, run_id, digest in rows}
    ids = [run.id for run in runs]
    for place, (run, digest) in enumerate(zip(runs, digests, strict=True)):
        if run.key and run.id not in made:
            ids[place], known = held[run.key]
            if known != digest:
                raise KeyConflict(
                    f"idempotency key `{run.key}` was used for another request (run {ids[place]})",
                    hint="use a new key, or repeat exactly what was asked before",
                )
    return Created(ids, lanes, made)
