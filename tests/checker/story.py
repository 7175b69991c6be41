"""The journal, retold: what became of each task, and who held it from when until when.

A task is *held* while it is stored as ready and a claim names it under its current term. The
product calls that running. Between two transactions nothing changes, so it is enough to look at
each task that a transaction touched, before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from tests.checker.journal import Journal, Move, Transaction
from tests.checker.rows import AttemptRow, ClaimRow, PastTaskRow, ReadyRow, RemarkRow, TaskRow
from tests.checker.states import MARKED_AS


class Moment(NamedTuple):
    """A task between two transactions."""

    row: TaskRow | None
    past: PastTaskRow | None
    """Its row in history."""
    queued: int
    """How many rows stand for it in queues."""
    holders: tuple[str, ...]
    """Claims that hold it."""

    @property
    def known(self) -> TaskRow | PastTaskRow | None:
        """Its row, wherever that is."""
        return self.row or self.past

    @property
    def shown(self) -> str | None:
        """Its state as people see it; None when it is not there."""
        if self.row is not None and self.row.state == "ready" and not self.queued:
            return "running"
        return None if self.known is None else self.known.state


class Change(NamedTuple):
    """What one transaction did to one task."""

    transaction: Transaction
    task_id: int
    before: Moment
    after: Moment
    ended: tuple[AttemptRow, ...]
    """Attempts of it that were put on record."""
    found: bool
    """It was there when the journal began."""
    marks: Mapping[int, RemarkRow]
    """Tasks that the transaction closed by hand, by what it said."""

    @property
    def marked(self) -> RemarkRow | None:
        return self.marks.get(self.task_id)

    @property
    def reopened(self) -> bool:
        before, after = self.before.known, self.after.known
        return before is not None and after is not None and after.generation > before.generation


class Holding(msgspec.Struct):
    """A worker's right to one attempt."""

    task_id: int
    term: int
    attempt: int
    generation: int
    claim_id: str
    worker_id: int
    since: Transaction
    until: Transaction | None = None
    ended: AttemptRow | None = None
    """How it ended, unless in success."""

    @property
    def pair(self) -> tuple[int, int]:
        return self.task_id, self.term


class Void(NamedTuple):
    """A claim named a task, under a term, which was not there to be claimed."""

    transaction: Transaction
    claim: ClaimRow
    task_id: int
    term: int


class Story(msgspec.Struct, frozen=True):
    changes: list[Change]
    holdings: dict[int, list[Holding]]
    """By task, in the order of their beginnings."""
    void: list[Void]

    def under(self, task_id: int, term: int) -> Holding | None:
        """The (last) holding of a task under a term."""
        of_term = [held for held in self.holdings.get(task_id, ()) if held.term == term]
        return of_term[-1] if of_term else None


def retell(journal: Journal) -> Story:
    world = _World()
    story = Story([], {}, [])
    live: dict[tuple[int, str], Holding] = {}
    for transaction in journal.transactions:
        touched = sorted(_touched(transaction.moves))
        ended = _ended(transaction.moves)
        found = transaction.moves[0].kind == "F"
        marks = _marks(transaction.moves)
        before = {task_id: world.moment(task_id) for task_id in touched}
        world.apply(transaction.moves)
        for task_id in touched:
            after = world.moment(task_id)
            if before[task_id] != after or task_id in ended:
                change = Change(
                    transaction,
                    task_id,
                    before[task_id],
                    after,
                    tuple(ended.get(task_id, ())),
                    found,
                    marks,
                )
                story.changes.append(change)
                _follow(change, world, live, story)
        for claim in _granted(transaction.moves):
            for task_id, term in claim.pairs:
                if claim.id not in world.moment(task_id).holders:
                    story.void.append(Void(transaction, claim, task_id, term))
    return story


def _follow(
    change: Change, world: _World, live: dict[tuple[int, str], Holding], story: Story
) -> None:
    """End holdings and begin them. Under another term it is another one."""
    before, after = change.before, change.after
    for claim_id in before.holders:
        held = live[change.task_id, claim_id]
        if claim_id not in after.holders or after.row is None or after.row.term != held.term:
            held.until = change.transaction
            held.ended = next((end for end in change.ended if end.term == held.term), None)
            del live[change.task_id, claim_id]
    for claim_id in after.holders:
        if (change.task_id, claim_id) not in live:
            assert after.row is not None
            held = Holding(
                change.task_id,
                after.row.term,
                after.row.attempt,
                after.row.generation,
                claim_id,
                world.claims[claim_id].worker_id,
                change.transaction,
            )
            live[change.task_id, claim_id] = held
            story.holdings.setdefault(change.task_id, []).append(held)


class _World:
    """The tables as far as they say where tasks are."""

    def __init__(self) -> None:
        self.claims: dict[str, ClaimRow] = {}
        self._tasks: dict[int, TaskRow] = {}
        self._past: dict[int, PastTaskRow] = {}
        self._queued: dict[int, set[int]] = defaultdict(set)
        self._named: dict[tuple[int, int], list[str]] = defaultdict(list)

    def moment(self, task_id: int) -> Moment:
        row = self._tasks.get(task_id)
        holders: tuple[str, ...] = ()
        if row is not None and row.state == "ready":
            holders = tuple(self._named.get((task_id, row.term), ()))
        queued = len(self._queued.get(task_id, ()))
        return Moment(row, self._past.get(task_id), queued, holders)

    def apply(self, moves: Iterable[Move]) -> None:
        for move in moves:
            match move.before:
                case TaskRow() as task:
                    self._tasks.pop(task.id, None)
                case PastTaskRow() as past:
                    self._past.pop(past.id, None)
                case ReadyRow() as ready:
                    self._queued[ready.task_id].discard(ready.position)
                case ClaimRow() as claim:
                    self._forget(claim)
            match move.after:
                case TaskRow() as task:
                    self._tasks[task.id] = task
                case PastTaskRow() as past:
                    self._past[past.id] = past
                case ReadyRow() as ready:
                    self._queued[ready.task_id].add(ready.position)
                case ClaimRow() as claim:
                    self.claims[claim.id] = claim
                    for pair in claim.pairs:
                        self._named[pair].append(claim.id)

    def _forget(self, claim: ClaimRow) -> None:
        self.claims.pop(claim.id, None)
        for pair in claim.pairs:
            rest = [claim_id for claim_id in self._named[pair] if claim_id != claim.id]
            self._named[pair] = rest
            if not rest:
                del self._named[pair]


def _touched(moves: Iterable[Move]) -> set[int]:
    touched: set[int] = set()
    for move in moves:
        for row in (move.before, move.after):
            match row:
                case TaskRow() | PastTaskRow():
                    touched.add(row.id)
                case ReadyRow() | AttemptRow():
                    touched.add(row.task_id)
                case ClaimRow():
                    touched.update(row.task_ids)
    return touched


def _ended(moves: Iterable[Move]) -> dict[int, list[AttemptRow]]:
    ended: dict[int, list[AttemptRow]] = {}
    for move in moves:
        if isinstance(move.after, AttemptRow) and move.kind == "I":
            ended.setdefault(move.after.task_id, []).append(move.after)
    return ended


def _marks(moves: Iterable[Move]) -> dict[int, RemarkRow]:
    return {
        move.after.task_id: move.after
        for move in moves
        if isinstance(move.after, RemarkRow) and move.kind == "I" and move.after.deed in MARKED_AS
    }


def _granted(moves: Iterable[Move]) -> Iterable[ClaimRow]:
    for move in moves:
        if isinstance(move.after, ClaimRow) and move.kind == "I":
            yield move.after
