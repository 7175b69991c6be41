"""What was found out about one promise."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct):
    promise: str
    title: str
    exercised: int = 0
    """How often the evidence put it to the test. Never: then nothing was proven."""
    violations: list[str] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    """What else a reader should know, such as what was excused and why."""

    def broken(self, what: str) -> None:
        self.violations.append(what)

    @property
    def verdict(self) -> str:
        if self.violations:
            return "violated"
        return "ok" if self.exercised else "not exercised"
