"""What tasks of the demo do: take their time, tell of it, and sometimes fail."""

from __future__ import annotations

import asyncio
import builtins
import random
from typing import TypeVar

from mainspring import Skip, context
from mainspring.demo.habits import error_of, habit_of, usual_seconds

_T = TypeVar("_T")

_STEPS = 20
_TOLD_SECONDS = 3.0
"""Tasks that take longer tell how far they are."""


async def act(words: str, result: _T, *, risky: bool = True) -> _T:
    """Work for about as long as usual, with a log in colours; `result` is what comes of it."""
    me = context()
    chance = random.Random(f"{me.run_id}/{me.task}/{me.generation}/{me.attempt}")
    habit = habit_of(me.dag)
    seconds = usual_seconds(me.dag, me.task) * chance.lognormvariate(0, 0.25)
    fails_at = chance.randrange(_STEPS) if risky and chance.random() < habit.risk else None
    print(f"\x1b[36mINFO\x1b[0m  {words}: attempt {me.attempt} of run {me.run_id}")
    steps = _STEPS if seconds > _TOLD_SECONDS else 4
    for step in range(steps):
        await asyncio.sleep(seconds / steps)
        if seconds > _TOLD_SECONDS:
            me.progress(100 * (step + 1) / steps, f"{words}, part {step + 1} of {steps}")
        print(f"\x1b[2mDEBUG part {step + 1} of {steps}\x1b[0m {chance.randint(80, 9000):,} rows")
        if chance.random() < 0.04:
            print(f"\x1b[33mWARN\x1b[0m  part {step + 1} took longer than usual")
        if fails_at is not None and step >= fails_at * steps // _STEPS:
            error = error_of(me.dag, me.task, chance.randrange(10_000))
            print(f"\x1b[1;31mERROR\x1b[0m {error.type}: {error.message}")
            raise _exception(error.type)(error.message)
    print(f"\x1b[32mDONE\x1b[0m  {words} in \x1b[1m{seconds:.1f} s\x1b[0m")
    return result


def nothing_new(share: float) -> None:
    """Now and then there is nothing to do."""
    me = context()
    if random.Random(f"{me.run_id}/{me.task}").random() < share:
        raise Skip("nothing has changed since the last run")


def _exception(name: str) -> type[Exception]:
    found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found
    return type(name, (Exception,), {})
