"""Transactions in lock step: one statement at a time, in an order that is given.

A session has a connection of its own and plays turns. A turn is an operation of the product
inside one transaction, and an ending for it: commit, roll back, or an unknown COMMIT, whose
answer is dropped, so that the caller repeats the whole operation in a new transaction.

Product code is not touched: it is handed a connection with a gate before each statement, and waits
there until the stepper lets it pass. A step lets one session pass one gate, and is over when
everything stands still again: each session is back at a gate, has finished, or waits for a lock
whose holder stands still. Who waits for whom is asked of the server (`pg_blocking_pids`); no clock
decides anything. A session that waits goes on by itself, within the step that ends its blocker.

Sessions are numbered from 1. An order is the sequence of their numbers, one for each step.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, cast

import asyncpg

from mainspring.store.connection import GONE, Connection, connect

HEAD_START_SECONDS = 0.001
"""How long a statement may take before the observer is asked; most are done by then."""


class Ending(StrEnum):
    COMMIT = "commit"
    ROLL_BACK = "roll back"
    UNKNOWN_COMMIT = "unknown commit"
    """Committed, but the answer is lost: the caller repeats the operation."""
    KILL = "kill"
    """The connection is killed instead of the commit: the caller connects and repeats."""


class Step(NamedTuple):
    """What a session does when it is let through its gate."""

    name: str
    """Of the statement, or of the ending."""
    touches: frozenset[str] = frozenset()
    """The tables of which it writes or locks rows; of an ending, what its transaction touched."""
    reads: frozenset[str] = frozenset()
    """All tables that it looks at."""
    ending: Ending | None = None
    last: bool = False
    """Whether the session has finished after it."""


class Turn(NamedTuple):
    name: str
    play: Callable[[Connection], Awaitable[object]]
    """Returns what the caller is told."""
    ending: Ending = Ending.COMMIT
    refusals: tuple[type[Exception], ...] = ()
    """Errors that are an answer; the transaction is rolled back then."""
    settle: Callable[[object], None] | None = None
    """Called with the answer when it has reached the caller."""


@dataclass
class Played:
    """One transaction and what became of it."""

    session: int
    turn: int
    repeat: int
    told: object = None
    ended: str = "open"
    """committed, rolled back, killed, or refused."""
    overlapped: bool = False
    """Whether a statement of it ran while another session held a transaction in hand."""
    first_step: int = 0
    last_step: int = 0


class Unexpected(Exception):
    """An operation failed in a way that no caller should see."""


class _Abandoned(Exception):
    """The rest of this order is not played."""


class Stepper:
    """Plays turns of several sessions, one step at a time."""

    def __init__(self, url: str, observer: Connection, connections: list[Connection]) -> None:
        self.url = url
        self.observer = observer
        self.connections = connections
        """One per session; a killed one is replaced in this list."""
        self.moved = asyncio.Event()
        self.sessions: list[Session] = []
        self.played: list[Played] = []
        """In the order in which the transactions ended."""
        self.trace: list[str] = []
        self.step_number = 0
        self.waits = 0

    async def begin(self, plans: Sequence[Sequence[Turn]]) -> None:
        assert len(plans) <= len(self.connections), "too few connections"
        self.sessions = [Session(self, number + 1, plan) for number, plan in enumerate(plans)]
        self.played, self.trace, self.step_number, self.waits = [], [], 0, 0
        await self._stand_still()

    def steps(self) -> dict[int, Step]:
        """The sessions that stand at a gate, and what each would do next."""
        return {each.number: each.next for each in self.sessions if each.next is not None}

    def parked(self) -> list[int]:
        return [each.number for each in self.sessions if each.waits_for]

    async def step(self, number: int) -> None:
        session = self.sessions[number - 1]
        step = session.next
        assert step is not None, f"session {number} stands at no gate"
        before = set(self.parked())
        self.step_number += 1
        session.current.first_step = session.current.first_step or self.step_number
        if step.ending is None and any(other.holds for other in self.sessions if other != session):
            session.current.overlapped = True
        session.pass_gate()
        await self._stand_still()
        line = f"{number} {step.name}"
        if session.waits_for:
            self.waits += 1
            line += f": waits for {', '.join(map(str, sorted(session.waits_for)))}"
        elif session.failure is not None:
            line += f": {session.failure!r}"
        for freed in sorted(before - set(self.parked())):
            line += f"; {freed} goes on"
        self.trace.append(line)
        failures = [each.failure for each in self.sessions if each.failure is not None]
        if failures:
            await self.abandon()
            raise Unexpected(repr(failures[0])) from failures[0]

    async def abandon(self) -> None:
        """Roll back what is open; whoever waits is let go by that, and rolls back too."""
        for each in self.sessions:
            each.abandon()
        while not all(each.finished for each in self.sessions):
            self.moved.clear()
            await self.moved.wait()

    async def _stand_still(self) -> None:
        """Until nothing moves by itself any more."""
        numbers = {each.process: each.number for each in self.sessions}
        while True:
            if any(each.under_way and not each.waits_for for each in self.sessions):
                await self._movement()
            moving = [each for each in self.sessions if each.under_way]
            resting = {each.process for each in self.sessions if not each.under_way}
            blockers = await self._blockers(moving) if moving else {}
            for each in moving:
                found = _stuck(each.process, blockers, resting) if each.under_way else set()
                each.waits_for = {numbers[process] for process in found & numbers.keys()}
            if all(each.waits_for for each in moving):
                return

    async def _movement(self) -> None:
        """Until a session has come to its gate, or the observer had better be asked."""
        self.moved.clear()
        enough = asyncio.get_running_loop().call_later(HEAD_START_SECONDS, self.moved.set)
        await self.moved.wait()
        enough.cancel()

    async def _blockers(self, sessions: Sequence[Session]) -> dict[int, set[int]]:
        rows = await self.observer.fetch(
            "select process, pg_blocking_pids(process) as blockers"
            " from unnest($1::int[]) as process",
            [each.process for each in sessions],
        )
        return {row["process"]: set(row["blockers"]) for row in rows}


def _stuck(process: int, blockers: dict[int, set[int]], resting: set[int]) -> set[int]:
    """Whom it waits for, if that leads to a holder that stands still; nobody if it may move.

    A circle leads to nobody: the server will end one of those in it.
    """
    seen = {process}
    rest = [process]
    while rest:
        for blocker in blockers.get(rest.pop(), ()):
            if blocker in resting:
                return blockers[process]
            if blocker not in seen:
                seen.add(blocker)
                rest.append(blocker)
    return set()


class Session:
    def __init__(self, stepper: Stepper, number: int, turns: Sequence[Turn]) -> None:
        self.number = number
        self.next: Step | None = None
        self.finished = not turns
        self.failure: Exception | None = None
        self.holds = False
        """Whether its transaction has made a statement and is not over."""
        self.waits_for: set[int] = set()
        self.current = Played(number, 0, 0)
        self._touched: frozenset[str] = frozenset()
        self._stepper = stepper
        self._turns = turns
        self._gate: asyncio.Future[None] | None = None
        self._abandoned = False
        self.process = self.connection.get_server_pid()
        self._task = asyncio.create_task(self._play()) if turns else None

    @property
    def connection(self) -> Connection:
        return self._stepper.connections[self.number - 1]

    @property
    def under_way(self) -> bool:
        return not self.finished and self.next is None

    def pass_gate(self) -> None:
        assert self._gate is not None
        self.next = None
        self._gate.set_result(None)

    def abandon(self) -> None:
        self._abandoned = True
        if self.next is not None:
            self.pass_gate()

    async def pause(self, step: Step) -> None:
        """Stand at a gate until the stepper lets us pass."""
        if not self._abandoned:
            self._gate = asyncio.get_running_loop().create_future()
            self.next = step
            self.waits_for = set()
            self._stepper.moved.set()
            await self._gate
        if self._abandoned:
            raise _Abandoned
        if step.ending is None:
            self.holds = True
            self._touched |= step.touches

    async def _play(self) -> None:
        try:
            for number, turn in enumerate(self._turns):
                await self._play_turn(number, turn, last=number == len(self._turns) - 1)
        except _Abandoned:
            pass
        except Exception as failure:
            self.failure = failure
        finally:
            self.finished, self.holds, self.waits_for = True, False, set()
            self._stepper.moved.set()

    async def _play_turn(self, number: int, turn: Turn, *, last: bool) -> None:
        ending, repeat = turn.ending, 0
        while True:
            played = self.current = Played(self.number, number, repeat)
            final = ending in (Ending.COMMIT, Ending.ROLL_BACK)
            self._touched = frozenset()
            await self._play_once(turn, played, ending, last=last and final)
            self.holds = False
            played.last_step = self._stepper.step_number
            self._stepper.played.append(played)
            if played.ended == "refused" or final:
                if turn.settle is not None and played.ended == "committed":
                    turn.settle(played.told)
                return
            ending, repeat = Ending.COMMIT, repeat + 1

    async def _play_once(self, turn: Turn, played: Played, ending: Ending, *, last: bool) -> None:
        transaction = self.connection.transaction()
        await transaction.start()
        try:
            played.told = await turn.play(cast(Connection, Gated(self)))
            await self.pause(Step(ending.value, self._touched, ending=ending, last=last))
        except turn.refusals as refusal:
            played.told, played.ended = f"refused: {type(refusal).__name__}", "refused"
            await transaction.rollback()
            return
        except Exception:
            await _roll_back(transaction)
            raise
        match ending:
            case Ending.ROLL_BACK:
                await transaction.rollback()
                played.ended = "rolled back"
            case Ending.KILL:
                await self._die()
                played.ended = "killed"
            case _:
                await transaction.commit()
                played.ended = "committed"

    async def _die(self) -> None:
        """Have the server end our connection, and come back with another."""
        stepper, process = self._stepper, self.process
        observer = await connect(stepper.url, name="killer")
        await observer.execute("select pg_terminate_backend($1)", process)
        while await observer.fetchval(
            "select exists (select from pg_locks where pid = $1)"
            " or exists (select from pg_stat_activity where pid = $1)",
            process,
        ):
            pass
        await observer.close()
        self.connection.terminate()
        stepper.connections[self.number - 1] = await connect(
            stepper.url, name=f"session {self.number}", stable_plans=True
        )
        self.process = self.connection.get_server_pid()


async def _roll_back(transaction: asyncpg.transaction.Transaction) -> None:
    try:
        await transaction.rollback()
    except GONE:
        pass  # The connection is gone, and the transaction with it.


@dataclass
class Gated:
    """A connection that stands at its session's gate before each statement.

    It has what product code uses and no more, so that nothing passes beside the gate. Savepoints
    are let through: they wait for nobody and nobody waits for them.
    """

    session: Session = field(repr=False)

    async def fetch(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        await self.session.pause(step_of(sql))
        rows: list[asyncpg.Record] = await self.session.connection.fetch(sql, *args)
        return rows

    async def fetchval(self, sql: str, *args: Any) -> Any:
        await self.session.pause(step_of(sql))
        return await self.session.connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> str:
        await self.session.pause(step_of(sql))
        status: str = await self.session.connection.execute(sql, *args)
        return status

    def transaction(self) -> asyncpg.transaction.Transaction:
        return self.session.connection.transaction()


_NAME = re.compile(r"-- (\w+)\n")
_COMMENT = re.compile(r"--[^\n]*")
_MENTIONED = re.compile(r"\b(?:mainspring|races)\.(\w+)")
_WRITTEN = re.compile(r"\b(?:insert into|update|delete from) (?:mainspring|races)\.(\w+)")
_LOCKING = re.compile(r"\bfor (?:no key update|update|share|key share)\b")

_VIEWS = {
    "task_view": {"task", "task_history", "ready"},
    "run_view": {"run", "run_history", "task", "task_history", "ready"},
    "run_index": {"run", "run_history"},
}
_KEYS = {
    "insert into mainspring.claim": "lease",
    "delete from mainspring.lease": "claim",
    "insert into mainspring.schedule_version": "schedule",
}
"""What locks rows of another table, because of a foreign key."""


@functools.cache
def step_of(sql: str) -> Step:
    """Names a statement by its first line, and tells what it touches and what it looks at."""
    named = _NAME.match(sql)
    name = named[1] if named else " ".join(sql.split())[:40]
    text = _COMMENT.sub("", sql)
    read: set[str] = set()
    for table in _MENTIONED.findall(text):
        read |= _VIEWS.get(table, {table})
    touched = set(_WRITTEN.findall(text))
    for lock in _LOCKING.finditer(text):
        touched |= _locked(text[: lock.start()])
    touched |= {table for cause, table in _KEYS.items() if cause in text}
    return Step(name, frozenset(touched), frozenset(read | touched))


def _locked(text: str) -> set[str]:
    """The tables of the query that this text ends in; those of its subqueries are not locked."""
    query, depth = "", 0
    for character in reversed(text):
        depth += {")": 1, "(": -1}.get(character, 0)
        if depth < 0:
            break
        if depth == 0:
            query = character + query
    return set(_MENTIONED.findall(query))
