"""Run ids in advance, so that making a run takes one round trip.

Ids come in blocks from a sequence. How many blocks are fetched follows the pace at which they
are used; what has lain here for ten minutes is thrown away, so that ids go roughly with time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from mainspring.client.link import Link
from mainspring.client.subjects import Draft
from mainspring.domain.errors import UnavailableError
from mainspring.store.connection import Connection, fetch
from mainspring.store.ids import BLOCK_IDS, KEPT_SECONDS
from mainspring.store.runs import NewRun
from mainspring.store.statements import statement

_PACE_SECONDS = 1.0
"""A fetch should last about this long."""
_BLOCKS_MAX = 100
"""Fetched ahead of use; a large set gets what it needs."""
_TRIES_MAX = 100
_ASSIGNED_AT_ONCE = 2000
"""Before others in the event loop get a turn."""


class Span:
    """Neighbouring ids."""

    __slots__ = ("end", "next", "since")

    def __init__(self, first: int, end: int, since: float) -> None:
        self.next = first
        self.end = end
        self.since = since


class Reserve:
    """Ids that nobody else has. Knows no clock: `now` is monotonic seconds."""

    def __init__(self) -> None:
        self._spans: list[Span] = []

    @property
    def left(self) -> int:
        return sum(span.end - span.next for span in self._spans)

    def add(self, firsts: Sequence[int], now: float) -> None:
        """Put blocks in; those that are neighbours become one span."""
        for first in firsts:
            last = self._spans[-1] if self._spans else None
            if last is not None and last.end == first and last.since == now:
                last.end += BLOCK_IDS
            else:
                self._spans.append(Span(first, first + BLOCK_IDS, now))

    def take(self, count: int, now: float) -> int | None:
        """The first of `count` neighbouring ids, or None if there are none."""
        spans = self._spans
        while spans and now - spans[0].since > KEPT_SECONDS:
            del spans[0]
        for place, span in enumerate(spans):
            if span.end - span.next >= count:
                first = span.next
                span.next += count
                if span.next == span.end:
                    del spans[place]
                return first
        return None


class Ids:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._reserve = Reserve()
        self._fetching = asyncio.Lock()
        self._ahead: asyncio.Task[None] | None = None
        self._blocks = 1
        self._fetched_at = 0.0

    async def assign(self, drafts: Sequence[Draft]) -> list[NewRun]:
        """The drafts as runs, each with its id."""
        runs = []
        firsts = await self.take([draft.tasks for draft in drafts])
        for first, draft in zip(firsts, drafts, strict=True):
            runs.append(
                NewRun(
                    first,
                    draft.version_id,
                    draft.snapshot_id,
                    "manual",
                    draft.parameters,
                    draft.due_at,
                    draft.created_by,
                    draft.key,
                    draft.body,
                )
            )
            if len(runs) % _ASSIGNED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return runs

    async def take(self, counts: Sequence[int]) -> list[int]:
        """For each count the first of so many neighbouring ids."""
        firsts = []
        now = time.monotonic()
        wanted = sum(counts)
        for count in counts:
            first = self._reserve.take(count, now)
            if first is None:
                first = await self._take_after_fetch(count, wanted)
                now = time.monotonic()
            wanted -= count
            firsts.append(first)
        if self._ahead is None and self._reserve.left < self._blocks * BLOCK_IDS // 4:
            self._ahead = asyncio.create_task(self._fetch_ahead())
        return firsts

    async def close(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)

    async def _take_after_fetch(self, count: int, wanted: int) -> int:
        async with self._fetching:
            for _ in range(_TRIES_MAX):
                first = self._reserve.take(count, time.monotonic())
                if first is not None:
                    return first
                # Neighbouring blocks are likely, not certain; only large dags need them.
                await self._fetch(wanted)
        raise AssertionError(f"no {count} neighbouring ids in {_TRIES_MAX} tries")

    async def _fetch_ahead(self) -> None:
        try:
            async with self._fetching:
                await self._fetch(0)
        except UnavailableError:
            pass  # Who needs an id and finds none asks by itself, and is told.
        finally:
            self._ahead = None

    async def _fetch(self, wanted: int) -> None:
        now = time.monotonic()
        if now - self._fetched_at < _PACE_SECONDS:
            self._blocks = min(self._blocks * 2, _BLOCKS_MAX)
        else:
            self._blocks = max(self._blocks // 2, 1)
        self._fetched_at = now
        blocks = max(self._blocks, -(-wanted // BLOCK_IDS))
        firsts = await self._link.ask(_reserve_blocks, blocks)
        self._reserve.add(firsts, time.monotonic())


async def _reserve_blocks(connection: Connection, blocks: int) -> list[int]:
    return [row["first"] for row in await fetch(connection, statement("reserve_ids"), blocks)]
