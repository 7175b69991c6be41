"""The logs of one run, asked of the routes by byte range.

Everything is counted in bytes of the log. Where something was lost there is a hole, and a piece
begins after it: so each comes with its place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.http.requests import Reply
    from mainspring.store.shapes import Log

_LOOK_BACK_BYTES = 256 * 1024


class LogPieces:
    def __init__(self, client: HttpClient, run_id: int) -> None:
        self._runs = client.runs
        self._run_id = run_id

    def logs(self, task: str | None, *, short: bool = False) -> AsyncIterator[Log]:
        """In the order of tasks and tries; with `short`, those that are short come along."""
        return self._runs.each_log(self._run_id, task=task, content=short)

    async def pieces(self, log: Log, start: int, end: int) -> AsyncIterator[tuple[int, bytes]]:
        """What is there between two bytes, each piece with its place; 1 MiB at most."""
        if log.content is not None:
            if piece := log.content[start:end]:
                yield start, piece
            return
        while start < end:
            if end <= log.bytes:
                reply = await self._read(log, byte_range=(start, end))
                at, piece = start, reply.content
            else:
                at, piece = _placed(await self._read(log, offset=start))
            if not piece or at >= end:
                return
            yield at, piece[: end - at]
            start = at + len(piece)

    async def grown(self, log: Log, start: int, seconds: float) -> list[tuple[int, bytes]]:
        """What there is from a byte on; nothing if the log has ended, or this took too long."""
        at, piece = _placed(await self._read(log, offset=start, wait=seconds))
        return [(at, piece)] if piece else []

    async def start_of_last_lines(self, log: Log, lines: int) -> int:
        """Where the last so many lines begin, found from the end."""
        if lines == 0:
            return log.stored
        at, left, first = log.stored, lines, True
        while at > 0:
            begin = max(0, at - _LOOK_BACK_BYTES)
            block = b"".join([piece async for _, piece in self.pieces(log, begin, at)])
            # A newline at the very end ends the last line and begins none.
            place = len(block) - 1 if first and block.endswith(b"\n") else len(block)
            first = False
            while (place := block.rfind(b"\n", 0, place)) >= 0:
                left -= 1
                if left == 0:
                    return begin + place + 1
            at = begin
        return 0

    async def _read(
        self,
        log: Log,
        *,
        offset: int | None = None,
        wait: float | None = None,
        byte_range: tuple[int, int | None] | None = None,
    ) -> Reply:
        return await self._runs.read_log(
            self._run_id,
            log.task,
            log.attempt,
            term=log.term,
            offset=offset,
            wait=wait,
            byte_range=byte_range,
        )


def _placed(reply: Reply) -> tuple[int, bytes]:
    """It ends where the next one begins."""
    return int(reply.headers["mainspring-log-next"]) - len(reply.content), reply.content
