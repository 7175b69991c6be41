"""The code of runs: snapshots in this worker's cache, fetched from the depot when they are new.

What is needed first comes from the cache, else from the worker's own dags folder if that is the
same, else from the database, or from the object that it names. A snapshot is fetched once, however
many tasks wait for it. The worker holds what it uses, so that nobody prunes it from the cache; what
its hosts have left for long is let go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

import msgspec
import structlog

from mainspring.bundles.pack import DamagedError
from mainspring.bundles.snapshot import (
    HeldSnapshot,
    hold_snapshot,
    prune_cache,
    restore_snapshot,
    take_snapshot,
    tree_digest,
)
from mainspring.config import SNAPSHOTS_CACHED, Config
from mainspring.domain.errors import MainspringError, UnavailableError
from mainspring.objects import ObjectGone, StoreFailed
from mainspring.store.dags import APP_SNAPSHOT
from mainspring.worker.depot import Reading

log = structlog.get_logger(__name__)

_MISSING_DELAY_SECONDS = 5.0
_REFUSED_DELAY_SECONDS = 60.0
"""What is damaged, or finds no room here, is not fetched again for that long."""


class Missing(msgspec.Struct, frozen=True):
    """Why this worker does not have the code, and when it may be asked again."""

    reason: str
    delay_seconds: float


class Code:
    def __init__(
        self, config: Config, depot: Reading, in_use: Callable[[], Collection[str]]
    ) -> None:
        self._cache = config.snapshots
        self._dags = config.dags
        self._depot = depot
        self._in_use = in_use
        self._held: dict[int, HeldSnapshot | None] = {}
        """None stands for the code of applications, which is installed."""
        self._missing: dict[int, tuple[Missing, float]] = {}
        """With the instant until which it is not looked for again."""
        self._learning = asyncio.Lock()

    async def learn(self, snapshot_ids: Collection[int]) -> None:
        """Find the code of snapshots that are new to this worker."""
        if all(snapshot_id in self._held for snapshot_id in snapshot_ids):
            return
        async with self._learning:
            now = time.monotonic()
            unknown = {
                snapshot_id
                for snapshot_id in snapshot_ids
                if snapshot_id not in self._held and now >= self._missing_until(snapshot_id)
            }
            if unknown:
                digests = await self._depot.read_snapshots(sorted(unknown))
                for snapshot_id in sorted(unknown):
                    await self._find(snapshot_id, digests[snapshot_id])
                await self._let_go(snapshot_ids)

    def of(self, snapshot_id: int) -> str | Missing:
        """The folder of a snapshot; empty for the code of applications."""
        if snapshot_id in self._held:
            held = self._held[snapshot_id]
            return "" if held is None else str(held.path)
        if snapshot_id in self._missing:
            return self._missing[snapshot_id][0]
        return Missing("its code was let go just now", 0.0)

    async def _find(self, snapshot_id: int, digest: str) -> None:
        if digest == APP_SNAPSHOT:
            self._held[snapshot_id] = None
            return
        held = await asyncio.to_thread(self._here, digest)
        if held is None:
            try:
                held = await self._fetched(snapshot_id, digest)
            except MainspringError as error:
                log.error("code cannot be used", snapshot=digest, error=error.message)
                self._miss(snapshot_id, Missing(error.message, _REFUSED_DELAY_SECONDS))
                return
        if held is None:
            self._miss(
                snapshot_id,
                Missing(
                    f"neither this worker nor the database has the code of snapshot {digest[:12]}:"
                    " bring the dags folder back as it was, or trigger a new run",
                    _MISSING_DELAY_SECONDS,
                ),
            )
            return
        self._held[snapshot_id] = held
        self._missing.pop(snapshot_id, None)

    def _here(self, digest: str) -> HeldSnapshot | None:
        held = hold_snapshot(self._cache, digest)
        if held is None and self._dags is not None:
            try:
                if tree_digest(self._dags) == digest:
                    take_snapshot(self._dags, self._cache)
                    held = hold_snapshot(self._cache, digest)
            except MainspringError:
                return None
        return held

    async def _fetched(self, snapshot_id: int, digest: str) -> HeldSnapshot | None:
        try:
            content = await self._depot.fetch_snapshot(snapshot_id)
        except (ObjectGone, StoreFailed) as error:
            raise UnavailableError(
                f"the code of snapshot {digest[:12]} cannot be fetched: {error.message}",
                hint=error.hint,
            ) from None
        if content is None:
            return None
        try:
            await asyncio.to_thread(restore_snapshot, content, self._cache, digest)
        except DamagedError as error:
            raise DamagedError(
                f"the stored code of snapshot {digest[:12]} is damaged and was not used:"
                f" {error.message}"
            ) from None
        log.info("code fetched", snapshot=digest, bytes=len(content))
        return await asyncio.to_thread(hold_snapshot, self._cache, digest)

    def _miss(self, snapshot_id: int, missing: Missing) -> None:
        # A little less than tasks are told to wait, so that they find it looked for again.
        until = time.monotonic() + missing.delay_seconds / 2
        self._missing[snapshot_id] = (missing, until)

    def _missing_until(self, snapshot_id: int) -> float:
        return self._missing[snapshot_id][1] if snapshot_id in self._missing else 0.0

    async def _let_go(self, wanted: Collection[int]) -> None:
        """Of what no host needs, the oldest; then the cache is pruned."""
        surplus = len(self._held) - SNAPSHOTS_CACHED
        if surplus > 0:
            in_use = self._in_use()
            for snapshot_id, held in list(self._held.items()):
                if held is None or snapshot_id in wanted or str(held.path) in in_use:
                    continue
                del self._held[snapshot_id]
                held.release()
                surplus -= 1
                if surplus <= 0:
                    break
        await asyncio.to_thread(prune_cache, self._cache, SNAPSHOTS_CACHED)
