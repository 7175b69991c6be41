"""Notify: whoever a dag names is told how its runs ended, at least once.

A notice is made by the statement that moves a run to history, so that each end has its own, whoever
dies. Taking notices sets when they are taken again, and only what was told is deleted. So a notice
that nobody heard, or of which nobody knows, is told again later; after `ATTEMPTS_MAX` it is given
up, and the log says so.

It is no duty like the others: telling takes as long as it takes, and no transaction waits for it.
"""

from __future__ import annotations

import asyncio

import structlog

from mainspring.notifiers.telling import Told, tell
from mainspring.store.connection import Line
from mainspring.store.notices import ATTEMPTS_MAX, Due, forget_notices, take_notices

log = structlog.get_logger(__name__)

_BATCH = 20
_REST_SECONDS = 1.0


class Notify:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def run(self) -> None:
        while True:
            if await self.step() < _BATCH:
                await asyncio.sleep(_REST_SECONDS)

    async def step(self) -> int:
        """Tell what is due; how much that was."""
        due = await self._line.call(take_notices, _BATCH)
        if not due:
            return 0
        errors = await tell([Told(each.target, each.notice) for each in due])
        over: list[int] = []
        for each, error in zip(due, errors, strict=True):
            if not error or each.attempt >= ATTEMPTS_MAX:
                over.append(each.id)
            if error:
                _complain(each, error)
        await self._line.call(forget_notices, over)
        return len(due)


def _complain(due: Due, error: str) -> None:
    given_up = due.attempt >= ATTEMPTS_MAX
    log.warning(
        "a notice was given up" if given_up else "a notice was not told, and is told again later",
        run=due.notice.run_id,
        dag=due.notice.dag,
        # The address may be a secret.
        notifier=due.target.partition(":")[0],
        attempt=due.attempt,
        error=error,
    )
