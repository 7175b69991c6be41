"""Calls of many workers as one statement.

One statement is in flight; what comes meanwhile is the next set. Of each worker there is at most
one call in a set, so that a call and its repetition never meet in one statement. A set that fails
is asked again call by call, so that only who caused it hears of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import msgspec
import structlog

from mainspring.domain.errors import MainspringError
from mainspring.store.attempts import Reaped

_Q = TypeVar("_Q")
_A = TypeVar("_A")

log = structlog.get_logger(__name__)


class Asked(msgspec.Struct, Generic[_Q], frozen=True):
    worker_id: int
    question: _Q


class Sets(Generic[_Q, _A]):
    def __init__(
        self,
        name: str,
        answer: Callable[[Sequence[Asked[_Q]]], Awaitable[Sequence[_A | Exception]]],
        *,
        weight: Callable[[_Q], int],
        weight_max: int,
    ) -> None:
        """`answer` gives an answer to each call of a set, or the error that it deserves."""
        self._name = name
        self._answer = answer
        self._weight = weight
        self._weight_max = weight_max
        self._waiting: list[tuple[Asked[_Q], asyncio.Future[_A]]] = []
        self._wanted = asyncio.Event()

    async def ask(self, worker_id: int, question: _Q) -> _A:
        future: asyncio.Future[_A] = asyncio.get_running_loop().create_future()
        self._waiting.append((Asked(worker_id, question), future))
        self._wanted.set()
        return await future

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            batch = self._next()
            if not self._waiting:
                self._wanted.clear()
            if batch:
                await self._settle(batch)

    def _next(self) -> list[tuple[Asked[_Q], asyncio.Future[_A]]]:
        """As many calls as one statement should hold, each worker's first."""
        batch: list[tuple[Asked[_Q], asyncio.Future[_A]]] = []
        rest: list[tuple[Asked[_Q], asyncio.Future[_A]]] = []
        workers: set[int] = set()
        weight = 0
        for asked, future in self._waiting:
            if future.done():
                continue  # Whoever asked is gone.
            own = self._weight(asked.question)
            if asked.worker_id in workers or (batch and weight + own > self._weight_max):
                rest.append((asked, future))
            else:
                batch.append((asked, future))
                workers.add(asked.worker_id)
                weight += own
        self._waiting = rest
        return batch

    async def _settle(self, batch: Sequence[tuple[Asked[_Q], asyncio.Future[_A]]]) -> None:
        try:
            answers = await self._answer([asked for asked, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                if not isinstance(error, MainspringError | Reaped):
                    log.exception("a call failed", call=self._name, worker=batch[0][0].worker_id)
                _give(batch[0][1], error)
            else:
                log.warning("a set failed and is asked one by one", call=self._name)
                for one in batch:
                    await self._settle([one])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            _give(future, answer)


def _give(future: asyncio.Future[_A], answer: _A | Exception) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
