"""Audit: nothing open is forgotten.

Walks all tasks in slices and puts back what is neither in a queue, nor claimed, nor timed, nor
waiting for a parent. In a sound system it finds nothing; what it finds is a bug, is logged as
one, and is mended all the same.
"""

from __future__ import annotations

from datetime import datetime

import structlog

from mainspring.store.connection import Connection
from mainspring.store.duties import audit_open, mend_stuck
from mainspring.store.wakeups import Bell

log = structlog.get_logger(__name__)


class Audit:
    name = "audit"
    limit = 2000
    rest_seconds = 10.0

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._next = 0
        self._lanes: set[int] = set()
        self.mended = 0

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        audit = await audit_open(tx, self._next, limit)
        self._lanes = set()
        if audit.stuck:
            log.error("stuck tasks found and mended", tasks=audit.stuck[:20])
            self._lanes = await mend_stuck(tx, audit.stuck)
            self.mended += len(audit.stuck)
        finished_round = audit.last is None or audit.seen < limit
        self._next = 0 if finished_round or audit.last is None else audit.last + 1
        return 0 if finished_round else audit.seen

    def settle(self) -> None:
        self._bell.ready(self._lanes)
