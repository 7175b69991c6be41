"""Races of two or three operations: all their orders, and one order by itself.

`play_operations` searches the orders of some operations in one world of an arena, `play_pair` does
so for a pair in every world where both have something to do, and `replay` is what kept orders
call. Each order that was played to its end must satisfy the oracle at once, and the promises, the
liveness and the number of ends when its batch is closed.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeAlias

from mainspring.store.connection import Connection
from tests.fault.races.arena import Arena, Case, Counts, Failure, check
from tests.fault.races.operations import OPERATIONS, Answer, Caller, Operation, Play
from tests.fault.races.oracle import Oracle
from tests.fault.races.search import Search
from tests.fault.races.states import read_state
from tests.fault.races.stepper import Ending, Step, Turn, Unexpected
from tests.fault.races.worlds import WORLDS, World

ENDINGS = (Ending.COMMIT, Ending.ROLL_BACK, Ending.UNKNOWN_COMMIT)

Limits: TypeAlias = Mapping[tuple[Ending, ...], int | None]
"""How many orders to play for each choice of endings; None for all."""

Choose = Callable[[dict[int, Step], bool], int | None]


@dataclass
class Report:
    counts: Counts = field(default_factory=Counts)
    failures: list[Failure] = field(default_factory=list)

    def __add__(self, other: Report) -> Report:
        return Report(self.counts + other.counts, self.failures + other.failures)

    def check(self) -> None:
        """Raise if there was a failure, with a test to keep."""
        check(self.failures)


class Order(NamedTuple):
    world: str
    operations: tuple[str, ...]
    endings: tuple[Ending, ...]
    order: tuple[int, ...] = ()

    def printed(self, reason: str) -> str:
        named = "_and_".join(self.operations).lower().replace(" ", "_")
        first = reason.splitlines()[0][:80].replace('"', "'")
        lines = [
            f"async def test_{named}_in_{self.world.replace(' ', '_')}(arena: Arena) -> None:",
            f'    """{first}"""',
            "    await replay(",
            "        arena,",
            f'        world="{self.world}",',
            f"        operations={_quoted(self.operations)},",
            f"        endings={_quoted(self.endings)},",
            f'        order="{" ".join(map(str, self.order))}",',
            "    )",
        ]
        return "\n".join(lines) + "\n"


def _quoted(words: Sequence[str]) -> str:
    return "(" + ", ".join(f'"{word}"' for word in words) + ")"


async def play_pair(
    url: str,
    first: str,
    second: str,
    *,
    worlds: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    disguise: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Report:
    """All orders of two operations, or `limit` of them for each choice of endings.

    In these worlds, or in all where both have something to do; a world with failures is the last
    one. While sessions race `disguise` is entered, and at no other time: to put a bug into a
    statement and see whether it is found. Failing orders are in the report.
    """
    report = Report()
    async with Arena.open(url) as arena:
        arena.disguise = disguise
        for world in worlds if worlds is not None else worlds_of(first, second):
            if report.failures:
                break
            report += await play_operations(
                arena, world, (first, second), endings=all_endings(2, limit), seed=seed
            )
            report.failures += await arena.failures()
    return report


def worlds_of(*operations: str) -> list[str]:
    return [name for name, spec in WORLDS.items() if set(operations) <= set(spec.operations)]


def pairs_of(world: str) -> Iterator[tuple[str, str]]:
    """All pairs of operations in a world, an operation with itself included."""
    return itertools.combinations_with_replacement(WORLDS[world].operations, 2)


def all_endings(sessions: int, limit: int | None = None) -> Limits:
    return dict.fromkeys(itertools.product(ENDINGS, repeat=sessions), limit)


async def play_operations(
    arena: Arena,
    world: str,
    operations: tuple[str, ...],
    *,
    endings: Limits,
    seed: int = 0,
) -> Report:
    """The orders of these operations in this world, for each choice of endings at most so many.

    What the oracle has said about them is in the report; the rest is asked with the arena's batch,
    by `arena.failures()`.
    """
    before, arena.counts = arena.counts, Counts()
    oracle = Oracle(arena, world, operations)
    failures = []
    for chosen, limit in endings.items():
        order = Order(world, operations, chosen)
        random = Random(f"{seed} {order}") if limit is not None else None
        failures += await _search(arena, oracle, order, random, limit)
    counts, arena.counts = arena.counts, before + arena.counts
    return Report(counts, failures)


async def replay(
    arena: Arena,
    *,
    world: str,
    operations: tuple[str, ...],
    endings: tuple[str, ...],
    order: str,
) -> list[str]:
    """Play one order and raise if anything is wrong with it; returns its trace."""
    steps = tuple(map(int, order.split()))
    case = Order(world, operations, tuple(map(Ending, endings)), steps)
    following = iter(steps)
    failure = await _play_and_ask(
        arena,
        Oracle(arena, world, operations),
        case,
        lambda possible, parked: next(following, None),
    )
    if isinstance(failure, _Redundant):
        raise ValueError(f"the order `{order}` ends before its operations do")
    if failure is None and next(following, None) is not None:
        raise ValueError(f"the order `{order}` goes on when its operations have ended")
    trace = list(arena.stepper.trace)
    check(([failure] if failure else []) + await arena.failures())
    return trace


async def _search(
    arena: Arena, oracle: Oracle, order: Order, random: Random | None, limit: int | None
) -> list[Failure]:
    search, failures, played = Search(random), [], 0
    more = True
    while more and (limit is None or played < limit):
        found = await _play_and_ask(
            arena,
            oracle,
            order,
            lambda possible, parked: search.choose(possible, parked=parked),
        )
        if isinstance(found, Failure):
            failures.append(found)
        played += found is not _REDUNDANT
        more = search.back()
    return failures


class _Redundant:
    """The play was given up: it would have been one that was played before."""


_REDUNDANT = _Redundant()


async def _play_and_ask(
    arena: Arena, oracle: Oracle, order: Order, choose: Choose
) -> Failure | _Redundant | None:
    """Race, and ask the oracle; the rest is asked when the batch is closed."""
    stepper, counts = arena.stepper, arena.counts
    steps: list[int] = []
    case = Case(lambda reason: order._replace(order=tuple(steps)).printed(reason))
    world = await arena.world(order.world, case)
    try:
        complete = await race(arena, case, _plans(world, order), choose, steps)
    except Unexpected as unexpected:
        return case.failure(str(unexpected))
    if not complete:
        return _REDUNDANT
    counts.orders += 1
    objection = await oracle.objection(stepper.played, await read_state(arena.keeper, world))
    return case.failure(objection) if objection else None


async def race(
    arena: Arena,
    case: Case,
    plans: Sequence[Sequence[Turn]],
    choose: Choose,
    steps: list[int],
) -> bool:
    """Let the sessions race as `choose` says, which is written into `steps`; False if it gives up.

    Raises Unexpected if an operation fails as none should.
    """
    stepper = arena.stepper
    with arena.disguise():
        try:
            await stepper.begin(plans)
            while possible := stepper.steps():
                number = choose(possible, bool(stepper.parked()))
                if number is None:
                    return False
                steps.append(number)
                await stepper.step(number)
            if stepper.parked():
                raise Unexpected(f"nobody can go on: {stepper.parked()} wait for ever")
        finally:
            case.trace = stepper.trace
            await stepper.abandon()
    arena.counts.steps += len(steps)
    arena.counts.with_waiting += stepper.waits > 0
    return True


def _plans(world: World, order: Order) -> list[list[Turn]]:
    return [
        turns_of(world, number + 1, OPERATIONS[name], ending)
        for number, (name, ending) in enumerate(zip(order.operations, order.endings, strict=True))
    ]


def turns_of(
    world: World, session: int, operation: Operation, ending: Ending, first_turn: int = 0
) -> list[Turn]:
    """The parts of an operation as turns of a session; the ending is that of its main part."""
    return [
        Turn(
            operation.name,
            _spoken(play, Caller(world, session, first_turn + part)),
            ending if part == operation.main else Ending.COMMIT,
            operation.refusals,
            settle=_settle(world) if world.lively else None,
        )
        for part, play in enumerate(operation.parts)
    ]


def _spoken(play: Play, caller: Caller) -> Callable[[Connection], Awaitable[object]]:
    async def spoken(connection: Connection) -> object:
        return await play(connection, caller)

    return spoken


def _settle(world: World) -> Callable[[object], None]:
    def settle(answer: object) -> None:
        assert isinstance(answer, Answer)
        answer.settle(world)

    return settle
