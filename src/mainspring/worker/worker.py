"""A worker process: incarnations one after another, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence

import structlog

from mainspring.config import Config
from mainspring.domain.draining import Drain
from mainspring.domain.errors import MainspringError
from mainspring.domain.lanes import SlotKind
from mainspring.observe.measures import Measures
from mainspring.store.attempts import Reaped
from mainspring.worker.depot import Depot
from mainspring.worker.incarnation import Incarnation

log = structlog.get_logger(__name__)

DRAIN_SECONDS = 30.0
_HAND_BACK_SECONDS = 10.0


class Worker:
    def __init__(
        self,
        config: Config,
        build_depot: Callable[[str], Depot],
        *,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
        name: str | None = None,
        drain_seconds: float = DRAIN_SECONDS,
        measures: Measures,
    ) -> None:
        self._config = config
        self._build_depot = build_depot
        self._queues = queues
        self._slots = slots
        self._name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._drain_seconds = drain_seconds
        self._measures = measures
        self._stop = asyncio.Event()
        self._hard_stop = asyncio.Event()
        self._drain: Drain | None = None
        """What somebody wants of it, also when it was given up meanwhile and joins anew."""

    def stop(self) -> None:
        """First call: drain. Second: hand back at once."""
        (self._hard_stop if self._stop.is_set() else self._stop).set()

    async def run(self) -> None:
        while not self._stop.is_set():
            incarnation = Incarnation(
                self._config,
                self._build_depot(self._name),
                name=self._name,
                queues=self._queues,
                slots=self._slots,
                drain=self._drain,
                measures=self._measures,
            )
            try:
                await self._live(incarnation)
            finally:
                self._drain = incarnation.drain_wanted
                await incarnation.close()

    async def _live(self, incarnation: Incarnation) -> None:
        life = asyncio.create_task(incarnation.run())
        stop = asyncio.create_task(self._stop.wait())
        done = asyncio.create_task(incarnation.done.wait())
        try:
            await asyncio.wait([life, stop, done], return_when=asyncio.FIRST_COMPLETED)
            if not life.done():
                self._stop.set()
                await self._leave(incarnation, life)
            elif error := life.exception():
                _raise_unless_reaped(error)
                self._measures.add("mainspring_leases_lost_total")
                log.error("this worker was reaped; it stopped its tasks and joins anew")
        finally:
            for task in (life, stop, done):
                task.cancel()
            await asyncio.gather(life, stop, done, return_exceptions=True)

    async def _leave(self, incarnation: Incarnation, life: asyncio.Task[None]) -> None:
        """Drain, hurried by a second signal or ended by losing the lease."""
        log.info("worker drains", seconds=self._drain_seconds)
        drained = asyncio.create_task(incarnation.drain(self._drain_seconds))
        hurried = asyncio.create_task(self._hard_stop.wait())
        await asyncio.wait(
            [drained, hurried, life],
            # Beyond that the database is out of reach, and the lease ends by itself.
            timeout=self._drain_seconds + _HAND_BACK_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        try:
            if not drained.done() and not life.done():
                async with asyncio.timeout(_HAND_BACK_SECONDS):
                    await incarnation.hand_back("the worker was stopped")
            if not life.done():
                async with asyncio.timeout(_HAND_BACK_SECONDS):
                    await incarnation.leave()
        except TimeoutError:
            log.error("could not hand everything back; the engine will, when the lease is over")
        finally:
            for task in (drained, hurried):
                task.cancel()
            await asyncio.gather(drained, hurried, return_exceptions=True)


def _raise_unless_reaped(error: BaseException) -> None:
    if isinstance(error, BaseExceptionGroup):
        _, other = error.split(Reaped)
        if other is not None:
            raise _told(other)
    elif not isinstance(error, Reaped):
        raise error


def _told(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What somebody can act on, such as a token that is refused, rather than all that it ended."""
    ours, _ = group.split(MainspringError)
    first: BaseException | None = ours
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return group if first is None else first
