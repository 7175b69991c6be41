"""Reading logs by byte range, from wherever they are.

Everything is counted in bytes of the log, so it does not matter that a log moves between two
questions: what is no longer in the database is then found in the object.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from mainspring.logs.frames import frame_of, unpack
from mainspring.logs.places import Places
from mainspring.store.connection import Connection
from mainspring.store.logs import LogLine, LogObject, list_logs, read_chunks

_P = ParamSpec("_P")
_T = TypeVar("_T")

_TASKS_PER_PAGE = 100


class Ask(Protocol):
    """How the database is asked: `Client.ask`, or `Line.call`."""

    async def __call__(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T: ...


class LogReader:
    def __init__(self, ask: Ask, places: Places) -> None:
        self._ask = ask
        self._places = places

    async def logs(self, first_id: int, below_id: int) -> AsyncIterator[LogLine]:
        """The logs of neighbouring tasks, in the order of tasks and tries."""
        for first in range(first_id, below_id, _TASKS_PER_PAGE):
            below = min(first + _TASKS_PER_PAGE, below_id)
            for line in await self._ask(list_logs, first, below):
                yield line

    async def pieces(self, log: LogLine, start: int, end: int) -> AsyncIterator[tuple[int, bytes]]:
        """What is there of a log between two bytes, each piece with its place; 2 MB at most."""
        if log.content is not None:
            if piece := log.content[start:end]:
                yield start, piece
            return
        at, moved = start, log.moved
        while moved is None and at < end:
            chunks = await self._ask(read_chunks, log.task_id, log.term, at, end)
            chunks = [chunk for chunk in chunks if chunk.start + len(chunk.content) > at]
            for chunk in chunks:
                begin = max(at, chunk.start)
                piece = chunk.content[begin - chunk.start : end - chunk.start]
                yield begin, piece
                at = begin + len(piece)
            if not chunks:
                now = await self._again(log)
                moved, end = now.moved, min(end, now.stored)
                if moved is None:
                    return
        if moved is not None:
            async for begin, piece in self._from_object(moved, at, min(end, log.stored)):
                yield begin, piece

    async def _again(self, log: LogLine) -> LogLine:
        """The same log as it is now."""
        lines = await self._ask(list_logs, log.task_id, log.task_id + 1)
        return next((line for line in lines if line.term == log.term), log)

    async def _from_object(
        self, moved: LogObject, start: int, end: int
    ) -> AsyncIterator[tuple[int, bytes]]:
        store = self._places.store(moved.store)
        while start < end:
            frame = frame_of(moved.frames, start)
            packed = await store.get(moved.key, frame.start, frame.end)
            content = unpack(packed)
            piece = content[start - frame.log_start : end - frame.log_start]
            assert piece, "a frame ends before the log does"
            yield start, piece
            start += len(piece)
