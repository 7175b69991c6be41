"""What may come out: whatever the same operations come to, one after another, in some order.

The oracle plays them in copies of the same world, each in a transaction that is alone, and reads
the state that they leave and what their callers are told. A race is sound if it ended like one of
these orders, in which nothing comes before what had ended when it began. What was rolled back is
left out; what was repeated after an unknown COMMIT is played twice, as it was, and nobody has heard
the first answer.

There is one exemption, for operations that take with `skip locked` what they can get: claims pass
by rows of `ready`, wake-ups and deadlines by timers, archive and retention by runs, moves by
schedules and backfills, if another transaction has them in hand. Such an operation, if another
transaction was under way when it ran, may also come out as it does when it is alone and somebody
holds a lock on some of these rows.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from mainspring.store.connection import Connection
from tests.fault.races.arena import Arena, Case
from tests.fault.races.operations import OPERATIONS, Answer, Caller, Operation
from tests.fault.races.states import State, differences, read_state
from tests.fault.races.stepper import Played
from tests.fault.races.worlds import World

_LOCKED_ROWS_MAX = 2

_LOCK = """
select from mainspring.{table} where ctid = (
  select ctid from mainspring.{table} where {column} >= $1 and {column} < $2 {condition}
  order by {column} offset $3 limit 1)
for update
"""
_LOCKS = {
    "ready": _LOCK.format(table="ready", column="task_id", condition=""),
    "run": _LOCK.format(table="run", column="id", condition=""),
    "run_history": _LOCK.format(table="run_history", column="id", condition=""),
    "schedule": """
select from mainspring.schedule_state where $2::bigint > $1 and $3::int = 0 and schedule_id = (
  select id from mainspring.schedule where name = $1::bigint || '.tick')
for update
""",
    "backfill": """
select from mainspring.backfill where $2::bigint > $1 and $3::int = 0
  and note = $1::bigint || '.backfill'
for update
""",
    **{
        kind: _LOCK.format(table="timer", column="subject", condition=f"and kind = '{kind}'")
        for kind in ("backoff", "start", "deadline")
    },
}


class Instance(NamedTuple):
    """One transaction of a serial play."""

    session: int
    turn: int
    repeat: int
    passes_by: tuple[int, ...] = ()
    """Which rows somebody has locked meanwhile, as numbers in their order."""


Told = dict[tuple[int, int], object]
"""The last answer to each turn of each session."""


class Outcome(NamedTuple):
    state: State
    told: Told


class Oracle:
    """Knows what may come out of some operations in some world."""

    def __init__(self, arena: Arena, world: str, operations: Sequence[str]) -> None:
        self.world = world
        self.operations = [OPERATIONS[name] for name in operations]
        self._arena = arena

    async def objection(self, played: Sequence[Played], state: State) -> str | None:
        """Why this cannot be, or None if some serial order ends like it."""
        took_place = [each for each in played if each.ended in ("committed", "refused")]
        found = Outcome(state, {(each.session, each.turn): _told(each) for each in took_place})
        actual = tuple(map(_instance, took_place))
        sequences = serial_orders(took_place)
        for sequence in itertools.chain([actual], sequences):
            if await self._outcome(sequence) == found:
                return None
        passers = {
            _instance(each)
            for each in took_place
            if each.overlapped and self._operation(each).passes_by
        }
        for variant in _passing_by(sequences, passers):
            if await self._outcome(variant) == found:
                self._arena.counts.passed_by += 1
                return None
        expected = await self._outcome(actual)
        assert expected is not None
        return "\n".join(["no serial order ends like this", *_compared(expected, found)])

    def _operation(self, played: Played) -> Operation:
        return self.operations[played.session - 1]

    async def _outcome(self, sequence: tuple[Instance, ...]) -> Outcome | None:
        """Played once in an arena, also if other operations take part that left no trace."""
        known = self._arena.known_outcomes
        names = tuple(self.operations[each.session - 1].name for each in sequence)
        question = (self.world, names, sequence)
        if question not in known:
            known[question] = await self.play(sequence)
        outcome = known[question]
        assert outcome is None or isinstance(outcome, Outcome)
        return outcome

    async def play(self, sequence: tuple[Instance, ...]) -> Outcome | None:
        """None if there are no such rows to be locked."""
        arena = self._arena
        arena.counts.serial += 1
        names = [self.operations[each.session - 1].name for each in sequence]
        case = Case(lambda reason: f"# one after another in `{self.world}`: {', '.join(names)}\n")
        world = await arena.world(self.world, case)
        told: Told = {}
        connection = arena.stepper.connections[0]
        for each in sequence:
            operation = self.operations[each.session - 1]
            caller = Caller(world, each.session, each.turn)
            async with _locked(arena.bystander, world, operation, each.passes_by) as locked:
                if not locked:
                    return None
                told[each.session, each.turn] = await _alone(connection, operation, caller)
        return Outcome(await read_state(arena.keeper, world), told)


def _told(played: Played) -> object:
    return played.told.told if isinstance(played.told, Answer) else played.told


async def _alone(connection: Connection, operation: Operation, caller: Caller) -> object:
    try:
        async with connection.transaction():
            answer: Answer = await operation.parts[caller.turn](connection, caller)
            return answer.told
    except operation.refusals as refusal:
        return f"refused: {type(refusal).__name__}"


@asynccontextmanager
async def _locked(
    bystander: Connection, world: World, operation: Operation, rows: tuple[int, ...]
) -> AsyncIterator[bool]:
    """Hold locks on those rows; False if one of them does not exist."""
    if not rows:
        yield True
        return
    transaction = bystander.transaction()
    await transaction.start()
    try:
        sql = _LOCKS[operation.passes_by]
        found = [
            await bystander.fetch(sql, world.first_id, world.id_of(99) + 1, row) for row in rows
        ]
        yield all(found)
    finally:
        await transaction.rollback()


def _instance(played: Played) -> Instance:
    return Instance(played.session, played.turn, played.repeat)


def serial_orders(played: Sequence[Played]) -> list[tuple[Instance, ...]]:
    """All orders in which nothing comes before what had ended when it began."""
    if not played:
        return [()]
    return [
        (_instance(first), *others)
        for first in played
        if all(first.first_step <= other.last_step for other in played)
        for others in serial_orders([other for other in played if other is not first])
    ]


def _passing_by(
    sequences: Sequence[tuple[Instance, ...]], passers: set[Instance]
) -> list[tuple[Instance, ...]]:
    """These sequences with every choice of rows that the passers pass by; few rows come first."""
    rows = range(_LOCKED_ROWS_MAX)
    choices = [
        locked
        for count in range(_LOCKED_ROWS_MAX + 1)
        for locked in itertools.combinations(rows, count)
    ]
    variants = [
        variant
        for sequence in (sequences if passers else ())
        for variant in itertools.product(
            *(
                [each._replace(passes_by=locked) for locked in choices]
                if each in passers
                else [each]
                for each in sequence
            )
        )
    ]
    return sorted(variants, key=lambda variant: sum(len(each.passes_by) for each in variant))


def _compared(expected: Outcome, found: Outcome) -> list[str]:
    lines = differences(expected.state, found.state)
    for caller in sorted(expected.told.keys() | found.told.keys()):
        answers = expected.told.get(caller), found.told.get(caller)
        if answers[0] != answers[1]:
            lines += [f"- told {caller}: {answers[0]}", f"+ told {caller}: {answers[1]}"]
    return lines
