"""Where races take place: one database, some sessions, and one world after another.

Promises, liveness and the number of ends are asked of many worlds at once, when all slots are in
use. Whatever is wrong then has an id, and ids tell whose world it is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import asyncpg

from mainspring.store.connection import Connection, connect
from mainspring.store.ids import BLOCK_IDS
from tests.fault.races import finishing
from tests.fault.races.numbering import numbered
from tests.fault.races.stepper import Stepper
from tests.fault.races.worlds import SLOTS, Maker, World
from tests.support.invariants import violations

SESSIONS = 4
_BATCHES_BETWEEN_VACUUMS = 20

_FIRST_ID = 1_000_001
"""Ids of runs and tasks are above all other numbers that a broken promise could mention."""


@dataclass
class Case:
    """What is played in one world."""

    printed: Callable[[str], str]
    """Given what is wrong with it, a test that plays it again."""
    trace: list[str] = field(default_factory=list)

    def failure(self, reason: str) -> Failure:
        trace = "\n".join(f"    {line}" for line in self.trace)
        return Failure(f"{reason}\n{trace}", self.printed(reason))


@dataclass
class Counts:
    orders: int = 0
    """Played to the end by sessions in lock step."""
    with_waiting: int = 0
    """In how many orders and mixes somebody had to wait for a lock."""
    serial: int = 0
    """Played one operation after another, to know what may come out."""
    passed_by: int = 0
    """Orders explained only by an operation that takes with `skip locked` what it can get."""
    mixes: int = 0
    steps: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__dict__}
        )


@dataclass
class Failure:
    reason: str
    printed: str

    def __str__(self) -> str:
        return f"{self.reason}\n\n{self.printed}"


def check(failures: Sequence[Failure]) -> None:
    if failures:
        raise AssertionError(f"{len(failures)} orders failed; the first:\n\n{failures[0]}")


@dataclass
class Arena:
    stepper: Stepper
    keeper: Connection
    """Makes worlds, looks at them and finishes them; takes no part in the race."""
    bystander: Connection
    """Holds locks, where an operation is to pass by what is locked."""
    maker: Maker
    counts: Counts = field(default_factory=Counts)
    disguise: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while sessions race, and at no other time: for statements with a bug in them."""
    known_outcomes: dict[Hashable, object] = field(default_factory=dict)
    """What the oracle knows already."""
    _batch: dict[int, Case] = field(default_factory=dict)
    """The cases whose worlds are in use, by the first ids of their worlds."""
    _batches: int = 0
    _failures: list[Failure] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Arena]:
        names = [f"session {number + 1}" for number in range(SESSIONS)]
        connections = [await connect(url, name=name, stable_plans=True) for name in names]
        keeper = await connect(url, name="keeper", stable_plans=True)
        bystander = await connect(url, name="bystander")
        observer = await connect(url, name="observer")
        stepper = Stepper(url, observer, connections)
        await keeper.execute(finishing.SCHEMA)
        await keeper.execute(
            "select setval('mainspring.id_block', greatest(last_value, $1))"
            " from mainspring.id_block",
            _FIRST_ID,
        )
        try:
            with numbered():
                yield cls(stepper, keeper, bystander, Maker(keeper))
        finally:
            for connection in (*stepper.connections, keeper, bystander, observer):
                await connection.close()

    async def world(self, name: str, case: Case) -> World:
        """A fresh one for this case. The world before it is taken to be over."""
        if len(self._batch) == SLOTS:
            await self._close_batch()
        world = await self.maker.make(name, len(self._batch))
        self._batch[world.first_id] = case
        return world

    async def failures(self) -> list[Failure]:
        """What was wrong with the worlds since this was last asked."""
        await self._close_batch()
        failures, self._failures = self._failures, []
        return failures

    async def check(self) -> None:
        """Raise if anything was wrong with them, with a test to keep."""
        check(await self.failures())

    async def _close_batch(self) -> None:
        """Ask everything of all worlds in use, and take them away."""
        batch, self._batch = self._batch, {}
        problems = await self._problems()
        blamed: dict[int, list[str]] = {}
        for problem in problems:
            mentioned = {int(digits) for digits in re.findall(r"\d{7,}", problem)}
            for first_id in {(each - 1) // BLOCK_IDS * BLOCK_IDS + 1 for each in mentioned}:
                blamed.setdefault(first_id, []).append(problem)
        self._failures += [
            batch[first_id].failure("\n".join(found))
            for first_id, found in blamed.items()
            if first_id in batch
        ]
        if problems and not blamed.keys() & batch.keys():
            self._failures.append(Failure(f"nobody's world: {problems}", ""))

    async def _problems(self) -> list[str]:
        problems = await self._broken_promises()
        try:
            problems += await finishing.finish(self.keeper, reap=self._batches % 2 == 0)
        except asyncpg.PostgresError as error:
            problems.append(f"cannot be finished: {error!r}")
        problems = problems or await self._broken_promises()
        await finishing.empty(self.keeper)
        self._batches += 1
        if self._batches % _BATCHES_BETWEEN_VACUUMS == 0:
            await finishing.vacuum(self.keeper)
        return problems

    async def _broken_promises(self) -> list[str]:
        broken = await violations(self.keeper)
        return [f"{promise}: {', '.join(rows)}" for promise, rows in broken.items()]
