"""Move logs: long logs of attempts that are over become objects, and what nobody needs goes.

Unlike the duties this does not step inside a transaction, which an upload would hold open for as
long as it takes. Without an object store, or as long as it cannot be used, logs stay where they
are; that is said once, in words, and tried again.
"""

from __future__ import annotations

import asyncio

import structlog

from mainspring.config import Config
from mainspring.domain.errors import InputError
from mainspring.logs.move import REMOVALS_MAX, move_log, remove_objects
from mainspring.logs.places import Places
from mainspring.objects import ObjectGone, StoreFailed
from mainspring.store.connection import Line
from mainspring.store.logs import SETTLED_SECONDS, find_long_logs

log = structlog.get_logger(__name__)

_REST_SECONDS = 2.0
_TROUBLE_REST_SECONDS_MAX = 60.0
_LOGS_PER_STEP = 20


class MoveLogs:
    def __init__(
        self, config: Config, line: Line, *, settled_seconds: float = SETTLED_SECONDS
    ) -> None:
        self._store = config.object_store
        self._places = Places(config.home)
        self._line = line
        self._settled_seconds = settled_seconds
        self._failures = 0

    async def run(self) -> None:
        """Step for ever."""
        while True:
            busy = await self.step()
            if self._failures:
                await asyncio.sleep(
                    min(_REST_SECONDS * 2**self._failures, _TROUBLE_REST_SECONDS_MAX)
                )
            elif not busy:
                await asyncio.sleep(_REST_SECONDS)

    async def step(self) -> bool:
        """Move some logs and remove some objects; whether there is more to do."""
        try:
            more = await self._move()
            more |= await remove_objects(self._line.call, self._places) == REMOVALS_MAX
        except (StoreFailed, ObjectGone, InputError) as error:
            if self._failures == 0:
                log.warning("logs stay in the database for now", why=str(error), hint=error.hint)
            self._failures += 1
            return False
        if self._failures:
            log.info("logs are moved again")
        self._failures = 0
        return more

    async def _move(self) -> bool:
        if self._store is None:
            return False
        found = await self._line.call(
            find_long_logs, _LOGS_PER_STEP, settled_seconds=self._settled_seconds
        )
        for each in found:
            moved = await move_log(self._line.call, self._places, self._store, each)
            if moved:
                log.debug("log moved", task=each.task_id, term=each.term, bytes=each.bytes)
        return len(found) == _LOGS_PER_STEP
