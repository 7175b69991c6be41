"""Runs are made: on the client's own connection, or on one of the caller's.

On our own, a break is bridged and the question repeated with the same ids. The repetition looks
first whether the run exists: it may have run and left the hot tables since, and then nothing else
would stop a second one. On the caller's connection nothing is repeated; what breaks it breaks the
caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import asyncpg

from mainspring.domain.errors import ConflictError, InputError, UnavailableError
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import Created, Creating, NewRun, Question, create_runs, creating_runs
from mainspring.store.statements import statement

RUNS_MAX = 1000
BYTES_MAX = 16 * 1024 * 1024
"""The largest set in one statement."""


class KeyHeld(Exception):
    """A transaction that is not over yet holds an idempotency key."""


class Creation:
    """Makes a set of runs, all or none, however often it is asked to: give it to `Link.ask`."""

    def __init__(self, runs: Sequence[NewRun]) -> None:
        self._runs = runs
        self._asked = False

    async def __call__(self, connection: Connection) -> Created:
        repeated, self._asked = self._asked, True
        sets = list(in_sets(self._runs))
        try:
            if len(sets) == 1:
                return await _create(connection, self._runs, repeated)
            async with connection.transaction():
                return _joined([await _create(connection, each, repeated) for each in sets])
        except asyncpg.LockNotAvailableError:
            raise KeyHeld from None


async def _create(connection: Connection, runs: Sequence[NewRun], repeated: bool) -> Created:
    known: set[int] = set()
    if repeated:
        known = await _existing(connection, [run.id for run in runs])
    # A known key is answered with its run's id, so these are asked again.
    new = [run for run in runs if run.key or run.id not in known]
    if not new:
        return Created([run.id for run in runs], set(), set())
    created = await create_runs(connection, new)
    answered = iter(created.ids)
    ids = [next(answered) if run.key or run.id not in known else run.id for run in runs]
    missing = _unaccounted(new, created)
    if missing and missing - await _existing(connection, sorted(missing)):
        raise VersionGone(
            "the database no longer knows the dag that was enqueued: it was restored or made anew",
            hint="try again; the dag will be stored anew",
        )
    return Created(ids, created.lanes, created.made)


class VersionGone(UnavailableError):
    """What the registry remembers is not in the database."""


async def _existing(connection: Connection, ids: Sequence[int]) -> set[int]:
    rows = await fetch(connection, statement("existing_runs"), ids)
    return {row["id"] for row in rows}


def _unaccounted(runs: Sequence[NewRun], created: Created) -> set[int]:
    if len(created.made) == len(runs):
        return set()
    return {run.id for run in runs if not run.key and run.id not in created.made}


def creating_beside(runs: Sequence[NewRun]) -> Creating:
    """The talk that makes runs in the caller's transaction."""
    sets = list(in_sets(runs))
    if len(runs) == 1 or not any(run.key for run in runs):
        parts = []
        for each in sets:
            created = yield from creating_runs(each)
            if _unaccounted(each, created):
                raise InputError(
                    "the given connection leads to another database than the client's",
                    hint="give both the same database",
                )
            parts.append(created)
        return _joined(parts)
    # A conflict is found after the statement; what it made beside goes with it.
    yield Question("savepoint mainspring_enqueue")
    parts = []
    try:
        for each in sets:
            parts.append((yield from creating_runs(each)))
    except ConflictError:
        yield Question("rollback to savepoint mainspring_enqueue")
        yield Question("release savepoint mainspring_enqueue")
        raise
    yield Question("release savepoint mainspring_enqueue")
    return _joined(parts)


def in_sets(runs: Sequence[NewRun]) -> Iterator[Sequence[NewRun]]:
    """Runs in their order, in sets that one statement can carry."""
    begin = size = 0
    for place, run in enumerate(runs):
        more = 0 if run.parameters is None else len(run.parameters)
        if place - begin >= RUNS_MAX or (size and size + more > BYTES_MAX):
            yield runs[begin:place]
            begin, size = place, 0
        size += more
    if begin < len(runs):
        yield runs[begin:] if begin else runs


def _joined(parts: Sequence[Created]) -> Created:
    ids = [id for part in parts for id in part.ids]
    lanes: set[int] = set().union(*(part.lanes for part in parts))
    made: set[int] = set().union(*(part.made for part in parts))
    return Created(ids, lanes, made)
