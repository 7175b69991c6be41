"""How often each operation was asked, and what it answered: how deep the requests went."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec


def tally_file(place: Path, seed: int) -> Path:
    """Where the fuzzer of this seed writes what it has counted."""
    return place / f"tally-{seed}.json"


class Tally(msgspec.Struct):
    answers: dict[str, dict[int, int]] = {}
    """By operation and status; 0 for those that were not answered at all."""
    slowest: dict[str, float] = {}
    """Seconds."""
    refusals: dict[str, dict[str, int]] = {}
    """How often each operation said what; the beginnings only."""

    def count(self, operation: str, status: int, times: int = 1) -> None:
        found = self.answers.setdefault(operation, {})
        found[status] = found.get(status, 0) + times

    def refuse(self, operation: str, reason: str, times: int = 1) -> None:
        found = self.refusals.setdefault(operation, {})
        found[reason] = found.get(reason, 0) + times

    def add(self, other: Tally) -> None:
        for operation, answers in other.answers.items():
            for status, times in answers.items():
                self.count(operation, status, times)
        for operation, reasons in other.refusals.items():
            for reason, times in reasons.items():
                self.refuse(operation, reason, times)
        for operation, seconds in other.slowest.items():
            self.slowest[operation] = max(seconds, self.slowest.get(operation, 0.0))

    @property
    def requests(self) -> int:
        return sum(sum(answers.values()) for answers in self.answers.values())

    def of_kind(self, operation: str, hundreds: int) -> int:
        answers = self.answers.get(operation, {})
        return sum(times for status, times in answers.items() if status // 100 == hundreds)

    @property
    def shallow(self) -> list[str]:
        """Operations that were asked, and of which no request was ever done."""
        return [
            operation
            for operation in self.answers
            if not self.of_kind(operation, 2) + self.of_kind(operation, 3)
        ]

    def lines(self) -> Iterator[str]:
        yield f"{'2xx':>7}{'3xx':>6}{'4xx':>7}{'5xx':>5}{'none':>5}{'max s':>7}  operation"
        for operation in sorted(self.answers, key=lambda each: each.split(" ")[::-1]):
            two, three, four, five, none = (self.of_kind(operation, n) for n in (2, 3, 4, 5, 0))
            slowest = self.slowest.get(operation, 0.0)
            yield f"{two:7}{three:6}{four:7}{five:5}{none:5}{slowest:7.2f}  {operation}"

    def reasons(self) -> Iterator[str]:
        """Why each operation refused most of what it refused."""
        for operation, found in self.refusals.items():
            yield operation
            for reason in sorted(found, key=lambda each: -found[each])[:12]:
                yield f"{found[reason]:7}  {reason}"
