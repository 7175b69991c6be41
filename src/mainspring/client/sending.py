"""One statement for all that was enqueued while the last one was under way.

A single caller sees one round trip; a hundred concurrent ones share a few statements. One bad
apple does not spoil the set: a set that the database refuses is halved until the refusal belongs
to one run. One that waits for a key which an open transaction holds steps aside for the others,
and asks again until that transaction is over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mainspring.client.creation import BYTES_MAX, RUNS_MAX, Creation, KeyHeld
from mainspring.client.link import Link
from mainspring.client.reserve import Ids
from mainspring.client.subjects import Draft
from mainspring.domain.errors import UnavailableError
from mainspring.store.runs import NewRun

_HELD_SECONDS = 0.1
"""How long a run steps aside whose key is held."""


class _Waiting(NamedTuple):
    draft: Draft
    answer: asyncio.Future[int]


class _Assigned(NamedTuple):
    run: NewRun
    waiting: _Waiting


class Sender:
    def __init__(self, link: Link, ids: Ids, made: Callable[[set[int]], None]) -> None:
        self._link = link
        self._ids = ids
        self._made = made
        """Told which lanes got ready tasks, after the commit."""
        self._queue: deque[_Waiting] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._closed = False
        self.statements = 0
        """How many sets were sent."""

    async def send(self, draft: Draft) -> int:
        """The id of the draft's run, once it is committed."""
        waiting = _Waiting(draft, asyncio.get_running_loop().create_future())
        self._add(waiting)
        return await waiting.answer

    async def close(self) -> None:
        """Finish what is under way; who waits for a key is told that it is over."""
        self._closed = True
        while self._sending is not None:
            await asyncio.wait([self._sending])

    def _add(self, waiting: _Waiting) -> None:
        if self._closed:
            _fail([waiting], UnavailableError("the client is closed"))
            return
        self._queue.append(waiting)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        batch: list[_Waiting] = []
        try:
            while batch := self._next_batch():
                try:
                    runs = await self._ids.assign([waiting.draft for waiting in batch])
                except Exception as error:
                    _fail(batch, error)
                    continue
                await self._create([_Assigned(*pair) for pair in zip(runs, batch, strict=True)])
        finally:
            self._sending = None
            # Only if this task was cancelled, with the loop itself, is anything left.
            _fail([*batch, *self._queue], UnavailableError("the client was stopped"))
            self._queue.clear()

    def _next_batch(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        while self._queue and len(batch) < RUNS_MAX and size < BYTES_MAX:
            waiting = self._queue.popleft()
            if not waiting.answer.done():
                batch.append(waiting)
                size += waiting.draft.size
        return batch

    async def _create(self, items: Sequence[_Assigned]) -> None:
        self.statements += 1
        try:
            created = await self._link.ask(Creation([item.run for item in items]))
        except UnavailableError as error:
            _fail([item.waiting for item in items], error)
        except Exception as error:
            # The statement was rolled back for certain; nothing of the set exists.
            if len(items) > 1:
                middle = len(items) // 2
                await self._create(items[:middle])
                await self._create(items[middle:])
            elif isinstance(error, KeyHeld):
                asyncio.get_running_loop().call_later(_HELD_SECONDS, self._add, items[0].waiting)
            else:
                _fail([items[0].waiting], error)
        else:
            for item, run_id in zip(items, created.ids, strict=True):
                if not item.waiting.answer.done():
                    item.waiting.answer.set_result(run_id)
            self._made(created.lanes)


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)
