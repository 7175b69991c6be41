"""The shape of a duty, and the loop that runs one.

A duty is a file with one class: its settings and `step(tx, now, limit)`, which does at most
`limit` pieces of work inside the transaction that it is given and says how many it did. A duty
is a safety net or a clock, never the only thing that keeps a promise: every statement it makes
is guarded, so two engines that run the same duty by mistake cost time and nothing else.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Protocol

import structlog

from mainspring import faults
from mainspring.store.connection import Connection, Line

log = structlog.get_logger(__name__)


class Duty(Protocol):
    name: str
    rest_seconds: float
    """How long to rest when a step found less than `limit` to do."""
    limit: int

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int: ...

    def settle(self) -> None:
        """After the step's commit: tell others what it changed."""


async def run_duty(duty: Duty, line: Line) -> None:
    """Step for ever, resting when there is nothing to do."""
    while True:
        done = await line.call(_step, duty)
        faults.point("a duty's step is committed")
        duty.settle()
        if done < duty.limit:
            await asyncio.sleep(duty.rest_seconds)


async def _step(connection: Connection, duty: Duty) -> int:
    async with connection.transaction():
        return await duty.step(connection, None, duty.limit)
