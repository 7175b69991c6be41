"""Shift: the tasks of a dag follow its last pause or resume, all of them.

Who pauses or resumes a dag moves its tasks at once. This is the net below that: for the command
that died half-way, and for runs that were made, or opened again, by transactions which had begun
before the pause or resume and ended after it. Walks the open runs of such dags in slices, for as
long as such a transaction may be left.
"""

from __future__ import annotations

import time
from datetime import datetime

import msgspec

from mainspring.store.connection import Connection
from mainspring.store.pauses import Shifting, end_shift, shift_slice, shifting_dags
from mainspring.store.wakeups import Bell

_SETTLED_SECONDS = 2.0
"""A transaction may take its number some instants after it has looked at the dag."""


class _Walk(msgspec.Struct):
    shifting: Shifting
    known_since: float
    after_run: int = 0
    last: bool = False
    """Whether all that could slip past was over when this walk began."""


class Shift:
    name = "shift"
    limit = 500
    rest_seconds = 1.0

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._walks: dict[int, _Walk] = {}
        self._round: list[int] = []
        """The dags that are to be walked before the next rest."""
        self._lanes: set[int] = set()

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        """One slice of one dag: of two, tasks would be locked out of the order of their ids."""
        self._lanes = set()
        self._walks = {dag.dag_id: self._walk(dag) for dag in await shifting_dags(tx)}
        self._round = [dag_id for dag_id in self._round or self._walks if dag_id in self._walks]
        if self._round and not await self._go_on(tx, self._walks[self._round[0]], limit):
            del self._round[0]
        return limit if self._round else 0

    def settle(self) -> None:
        self._bell.ready(self._lanes)

    def _walk(self, found: Shifting) -> _Walk:
        walk = self._walks.get(found.dag_id)
        if walk is None or walk.shifting.by != found.by:
            walk = _Walk(found, time.monotonic())
        if walk.after_run == 0:
            settled = time.monotonic() - walk.known_since >= _SETTLED_SECONDS
            walk.last = found.over and settled
        return walk

    async def _go_on(self, tx: Connection, walk: _Walk, limit: int) -> bool:
        """Whether there is more to walk."""
        dag = walk.shifting
        done = await shift_slice(
            tx, dag.dag_id, walk.after_run, tenant_id=dag.tenant_id, runs=limit
        )
        self._lanes |= done.lanes
        walk.after_run = done.last or 0
        if done.last is None and walk.last:
            await end_shift(tx, dag)
        return done.last is not None
