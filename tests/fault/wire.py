"""PostgreSQL's wire protocol, as far as somebody between client and server has to read it.

Pure: bytes in, frames and facts out. `Talk` follows one connection and knows which exchange is
under way, what it executes, and whether its end is a COMMIT of something written. An exchange is
what the server ends with one ReadyForQuery: a simple query, or everything up to a Sync.
"""

from __future__ import annotations

import functools
import re
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

SSL_REQUEST = 80877103
GSS_REQUEST = 80877104
CANCEL_REQUEST = 80877102
STARTUP = 3 << 16

_NAME = re.compile(r"\s*--\s*(?:name:\s*)?(\w+)\s*\n")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LOCK = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b", re.IGNORECASE)
_WRITE = re.compile(
    r"\b(?:insert|update|delete|merge|truncate|create|alter|drop|nextval|setval)\b", re.IGNORECASE
)
_COMMIT = re.compile(r"(?:commit|end)\b", re.IGNORECASE)


class Frame(NamedTuple):
    kind: bytes
    raw: bytes
    """The whole frame, its kind and length included."""

    @property
    def body(self) -> bytes:
        return self.raw[5:]


class Frames:
    """Cuts a stream into typed frames; what is not complete yet waits for the rest."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        data = self._rest + data if self._rest else data
        frames = []
        begin = 0
        while len(data) - begin >= 5:
            (length,) = struct.unpack_from("!i", data, begin + 1)
            end = begin + 1 + length
            if end > len(data):
                break
            frames.append(Frame(data[begin : begin + 1], data[begin:end]))
            begin = end
        self._rest = data[begin:]
        return frames


class Opening(NamedTuple):
    """A connection's first packet, which has no kind."""

    code: int
    raw: bytes

    @property
    def application_name(self) -> str:
        """As in the startup packet: names and values in turn, each ended by a zero byte."""
        words = self.raw[8:].split(b"\0")
        return (
            dict(zip(words[::2], words[1::2], strict=False))
            .get(b"application_name", b"")
            .decode("utf-8", "replace")
        )


def opening(length: bytes, rest: bytes) -> Opening:
    (code,) = struct.unpack_from("!i", rest)
    return Opening(code, length + rest)


# --- what statements do ------------------------------------------------------------------------


@functools.lru_cache(maxsize=1000)
def statement_name(text: str) -> str:
    """The name that our statements carry in their first line, or else their first words."""
    named = _NAME.match(text)
    return named[1] if named else " ".join(_COMMENT.sub(" ", text).split()[:3]).rstrip(";").lower()


@functools.lru_cache(maxsize=1000)
def writes(text: str) -> bool:
    """Whether a statement changes something, judged by its words; a lock changes nothing."""
    return _WRITE.search(_LOCK.sub(" ", _COMMENT.sub(" ", text))) is not None


@functools.lru_cache(maxsize=1000)
def is_commit(text: str) -> bool:
    return _COMMIT.match(_COMMENT.sub(" ", text).lstrip()) is not None


# --- one connection ----------------------------------------------------------------------------


@dataclass
class Exchange:
    texts: list[str] = field(default_factory=list)
    """What it executes."""
    writes: bool = False
    commits: bool = False
    """Whether its end, if all goes well, is the COMMIT of something written."""
    wrote: tuple[str, ...] = ()
    """The names of the statements that this COMMIT makes lasting."""
    failed: bool = False
    tag: str = ""
    """Of its last command, as the server said."""


class Talk:
    """Follows what both sides say. Told every frame, it knows where each exchange ends."""

    def __init__(self) -> None:
        self.status = b"I"
        """As the last ReadyForQuery said: idle, in a transaction, or in a failed one."""
        self._statements: dict[bytes, str] = {}
        self._portals: dict[bytes, str] = {}
        self._said = Exchange()
        self._pending: deque[Exchange] = deque()
        self._wrote: list[str] = []
        """Written in the transaction that is open now."""

    def asked(self, frame: Frame) -> Exchange | None:
        """The client said this; the exchange that it ends, if it ends one."""
        match frame.kind:
            case b"P":
                name, text = frame.body.split(b"\0", 2)[:2]
                self._statements[name] = text.decode("utf-8", "replace")
            case b"B":
                portal, name = frame.body.split(b"\0", 2)[:2]
                self._portals[portal] = self._statements.get(name, "")
            case b"E":
                portal = frame.body.partition(b"\0")[0]
                self._said.texts.append(self._portals.get(portal, ""))
            case b"Q":
                self._said.texts.append(frame.body.rstrip(b"\0").decode("utf-8", "replace"))
                return self._end()
            case b"S":
                return self._end()
        return None

    def answered(self, frame: Frame) -> Exchange | None:
        """The server said this; the exchange that it ends, if it ends one."""
        match frame.kind:
            case b"E" if self._pending:
                self._pending[0].failed = True
            case b"C" if self._pending:
                self._pending[0].tag = frame.body.rstrip(b"\0").decode("utf-8", "replace")
            case b"Z":
                self.status = frame.body[:1]
                if not self._pending:
                    return None  # The greeting of a new session.
                exchange = self._pending.popleft()
                if self.status == b"I":
                    self._wrote.clear()
                elif exchange.writes:
                    self._wrote += map(statement_name, exchange.texts)
                return exchange
        return None

    def committed(self, exchange: Exchange) -> bool:
        """Whether the exchange that just ended made something lasting, beyond doubt."""
        explicit = any(map(is_commit, exchange.texts))
        return (
            exchange.commits
            and not exchange.failed
            and self.status == b"I"
            and (not explicit or exchange.tag == "COMMIT")
        )

    @property
    def current(self) -> Exchange | None:
        """The exchange that the server is answering."""
        return self._pending[0] if self._pending else None

    def _end(self) -> Exchange:
        exchange, self._said = self._said, Exchange()
        exchange.writes = any(map(writes, exchange.texts))
        if any(map(is_commit, exchange.texts)):
            exchange.commits = bool(self._wrote)
            exchange.wrote = tuple(self._wrote)
        elif self.status == b"I" and exchange.writes:
            exchange.commits = True
            exchange.wrote = tuple(map(statement_name, exchange.texts))
        self._pending.append(exchange)
        return exchange
