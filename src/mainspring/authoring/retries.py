"""`RetryPolicy`: how often a task is tried and how long it rests between attempts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from mainspring.authoring.options import checked_choice, checked_seconds, checked_whole
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError
from mainspring.domain.names import shown
from mainspring.domain.specs import RetrySpec

ATTEMPTS_MAX = 10_000
ATTEMPTS_DEFAULT = 5

DelayFunction: TypeAlias = Callable[[int, BaseException], Duration | None]
"""From the attempt's number (from 1) and its error to the rest before the next attempt."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """How often a task is tried and how long it rests between attempts.

    >>> RetryPolicy(attempts=5, first="1s", cap="5m").spec.backoff
    'exponential'

    `attempts` counts all tries, the first one included. The rest is `first` and then grows by
    `factor` up to `cap`; with `backoff="fixed"` it stays `first`; with `delays` it is read from
    that list, whose last entry repeats; with `delay` it is what that function answers, or `first`
    if it answers None or raises. `jitter` is the share of a rest that is random, so that many
    tasks which failed together do not come back together. Exceptions of a class in `give_up_on`
    end the task at once.
    """

    attempts: int | None = None
    """5, or one more than there are `delays`."""
    backoff: Literal["fixed", "exponential"] | None = None
    first: Duration = "1s"
    factor: float = 2.0
    cap: Duration = "5m"
    jitter: float = 0.1
    delays: Sequence[Duration] | None = None
    delay: DelayFunction | None = None
    give_up_on: type[BaseException] | tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        _ = self.spec  # so that a mistake is reported where it was written

    @property
    def spec(self) -> RetrySpec:
        first_seconds = checked_seconds("`first`", self.first)
        backoff = self._backoff()
        cap_seconds = checked_seconds("`cap`", self.cap)
        if backoff == "exponential" and first_seconds > cap_seconds:
            raise DefinitionError(
                f"`first` ({self.first}) is longer than `cap` ({self.cap})",
                hint="raise `cap`, the longest rest between two attempts",
            )
        return RetrySpec(
            attempts=self._attempts(),
            backoff=backoff,
            first_seconds=first_seconds,
            factor=_checked_number("`factor`", self.factor, 1.0, 1000.0),
            cap_seconds=cap_seconds,
            jitter=_checked_number("`jitter`", self.jitter, 0.0, 1.0),
            delays_seconds=tuple(checked_seconds("`delays`", delay) for delay in self.delays or ()),
            give_up_on=tuple(map(_exception_name, _as_tuple(self.give_up_on))),
        )

    def _attempts(self) -> int:
        if self.attempts is not None:
            return checked_whole("`attempts`", self.attempts, 1, ATTEMPTS_MAX)
        return len(self.delays) + 1 if self.delays else ATTEMPTS_DEFAULT

    def _backoff(self) -> Literal["fixed", "exponential", "delays", "function"]:
        given = [name for name in ("backoff", "delays", "delay") if getattr(self, name) is not None]
        if len(given) > 1:
            raise DefinitionError(
                f"`{given[0]}` and `{given[1]}` both say how long to rest; give one of them"
            )
        if self.delay is not None:
            if not callable(self.delay):
                raise DefinitionError(
                    "`delay`: expected a function of the attempt's number and its error",
                    hint='for a fixed rest write `backoff="fixed", first=…`',
                )
            return "function"
        if self.delays is not None:
            if isinstance(self.delays, str) or not isinstance(self.delays, Sequence):
                raise DefinitionError('`delays`: expected a list such as ["1s", "10s", "1m"]')
            if not 1 <= len(self.delays) < ATTEMPTS_MAX:
                raise DefinitionError(f"`delays`: expected 1 to {ATTEMPTS_MAX - 1} entries")
            return "delays"
        chosen = "exponential" if self.backoff is None else self.backoff
        checked_choice("`backoff`", chosen, ("fixed", "exponential"))
        return chosen


def qualified_name(kind: type) -> str:
    """`package.module.Class`; classes of Python itself go by their bare name."""
    module, name = kind.__module__, kind.__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def _exception_name(kind: object) -> str:
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        raise DefinitionError(f"`give_up_on`: expected exception classes, got {shown(repr(kind))}")
    return qualified_name(kind)


def _as_tuple(kinds: object) -> tuple[object, ...]:
    return tuple(kinds) if isinstance(kinds, (tuple, list, set, frozenset)) else (kinds,)


def _checked_number(what: str, value: object, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise DefinitionError(
            f"{what}: expected a number from {least:g} to {most:g}, got {shown(value)}"
        )
    assert math.isfinite(value)
    return float(value)
