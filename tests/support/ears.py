"""One who listens to the stream over a bare socket, and what it knows from what it was told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec


class Told(msgspec.Struct, frozen=True):
    """One event."""

    id: str
    name: str
    data: dict[str, Any]


class Ear:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.last_id = ""
        self.beats = 0
        self._rest = b""
        self.over = False

    @classmethod
    async def open(
        cls, base: str, token: str, topics: str, *, last_id: str = "", more: str = ""
    ) -> Ear:
        host, _, port = base.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        ear = cls(reader, writer)
        resume = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        writer.write(
            f"GET /api/v1/stream?topics={quote(topics)}{more} HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {token}\r\n{resume}\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        ear.status = int(head[0].split()[1])
        ear.headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        return ear

    async def next(self) -> Told:
        """The next event; EOFError when there is none any more."""
        while True:
            while b"\n\n" not in self._rest:
                await self._read()
            block, _, self._rest = self._rest.partition(b"\n\n")
            if block.startswith(b"event: beat\n"):
                self.beats += 1
                continue
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
            self.last_id = fields["id"]
            return Told(fields["id"], fields["event"], json.loads(fields["data"]))

    async def until(self, wanted: Callable[[Told], bool]) -> Told:
        while not wanted(told := await self.next()):
            pass
        return told

    async def named(self, name: str) -> Told:
        return await self.until(lambda told: told.name == name)

    async def problem(self) -> dict[str, Any]:
        content = await self._reader.readexactly(int(self.headers["content-length"]))
        found: dict[str, Any] = json.loads(content)
        return found

    async def _read(self) -> None:
        if self.over:
            raise EOFError
        try:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            self._rest += (await self._reader.readexactly(size + 2))[:-2]
        except (asyncio.IncompleteReadError, ConnectionError):
            self.over = True
            raise EOFError from None
        self.over = size == 0

    def close(self) -> None:
        self._writer.close()
