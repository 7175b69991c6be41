"""Every order that makes a difference: depth first, each class of equal orders once.

Two steps of different sessions that can be swapped without changing anything give equal orders
(Mazurkiewicz traces), and only one of them is played. A statement sees nothing of a transaction
before its commit but its locks, so what can be swapped follows from the tables:

- Two statements, if they write and lock rows of different tables.
- A statement and a commit, if the statement looks at no table that the transaction has touched;
  and a roll back already if it writes and locks rows of others.
- Two ends. But nothing is swapped with an end while somebody waits for a lock.

Orders to leave out are found with sleep sets (Godefroid): when all that follows from letting one
session go first has been played, it sleeps until somebody does a step that cannot be swapped with
its own.

An end that frees several sessions at once leaves it to the server which of them goes first, so
with three sessions the same steps may lead elsewhere the second time. The search then goes on from
where it finds itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.fault.races.stepper import Ending, Step


class Strayed(Exception):
    """The same steps lead elsewhere again and again: then an order says nothing."""


_STRAYED_MAX = 100


@dataclass
class _Fork:
    steps: dict[int, Step]
    parked: bool
    asleep: set[int]
    chosen: int = 0
    explored: set[int] = field(default_factory=set)

    def asleep_after(self, number: int) -> set[int]:
        """Who sleeps on when this session has gone first."""
        return {
            other
            for other in self.asleep | self.explored
            if other != number and self._swappable(self.steps[other], self.steps[number])
        }

    def candidates(self) -> list[int]:
        return [
            number
            for number in sorted(self.steps)
            if number not in self.asleep | self.explored and not self._leads_nowhere(number)
        ]

    def _leads_nowhere(self, number: int) -> bool:
        """It would finish, and all others sleep."""
        return (
            self.steps[number].last
            and not self.parked
            and len(self.steps) > 1
            and self.asleep_after(number) == self.steps.keys() - {number}
        )

    def _swappable(self, one: Step, other: Step) -> bool:
        if self.parked and (one.ending or other.ending):
            return False
        if one.ending and other.ending:
            return True
        if one.ending is None and other.ending is None:
            return one.touches.isdisjoint(other.touches)
        end, statement = (one, other) if one.ending else (other, one)
        rolled_back = end.ending is Ending.ROLL_BACK
        seen = statement.touches if rolled_back else statement.reads
        return seen.isdisjoint(end.touches)


class Search:
    """Chooses who goes next, in one play after another."""

    def __init__(self, random: Random | None = None) -> None:
        """With `random`, branches are taken in an order of its own, for those who stop early."""
        self._random = random
        self._forks: list[_Fork] = []
        self._depth = 0
        self._strayed = 0

    def choose(self, steps: dict[int, Step], *, parked: bool) -> int | None:
        """Whom to let pass; None if nothing new can come of this play any more."""
        if self._depth < len(self._forks) and self._forks[self._depth].steps != steps:
            self._strayed += 1
            if self._strayed > _STRAYED_MAX:
                raise Strayed(f"from {self._forks[self._depth].steps} to {steps}")
            del self._forks[self._depth :]
        if self._depth == len(self._forks):
            before = self._forks[-1] if self._forks else None
            asleep = before.asleep_after(before.chosen) if before else set()
            fork = _Fork(steps, parked, asleep & steps.keys())
            candidates = fork.candidates()
            if not candidates:
                return None
            fork.chosen = self._pick(candidates)
            self._forks.append(fork)
        fork = self._forks[self._depth]
        self._depth += 1
        return fork.chosen

    def back(self) -> bool:
        """Begin the next play; False when there is none."""
        self._depth = 0
        while self._forks:
            fork = self._forks[-1]
            fork.explored.add(fork.chosen)
            if candidates := fork.candidates():
                fork.chosen = self._pick(candidates)
                return True
            self._forks.pop()
        return False

    def _pick(self, candidates: list[int]) -> int:
        return self._random.choice(candidates) if self._random else candidates[0]
