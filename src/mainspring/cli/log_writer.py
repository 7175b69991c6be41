"""Chunks of logs in, text out.

What comes out is text: bytes that are no UTF-8 become `�`, NUL becomes `␀`, and on a terminal
every other control character is shown instead of obeyed.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mainspring.cli.words import safe_lines

if TYPE_CHECKING:
    from mainspring.store.logs import LogChunk

_LINE_CHARACTERS_MAX = 64 * 1024
"""A longer line of one of several tasks is broken, so that the others are not held up."""


class LogWriter:
    """Chunks in, safe text out.

    With `prefix_of`, lines are prefixed by what it says of their task and written whole, so that
    the lines of several tasks do not mix. Without, everything is written as it comes.
    """

    def __init__(
        self,
        prefix_of: Callable[[int], str] | None,
        labels: Mapping[tuple[int, int], str],
        *,
        terminal: bool | None = None,
    ) -> None:
        self._prefix_of = prefix_of
        self._labels = labels
        self._terminal = sys.stdout.isatty() if terminal is None else terminal
        self._decoders: dict[tuple[int, int], codecs.IncrementalDecoder] = {}
        self._rests: dict[int, str] = {}
        self._prefixes: dict[int, str] = {}
        self._last: tuple[int, int] | None = None
        self._at_line_start = True
        self.written = False

    def write(self, chunk: LogChunk) -> None:
        self.written = True
        key = (chunk.task_id, chunk.term)
        if key != self._last:
            self._turn_to(key)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        self._put(chunk.task_id, decoder.decode(chunk.content))

    def flush(self) -> None:
        sys.stdout.flush()

    def end_line(self, task_id: int) -> None:
        """A prefixed line that was begun and will not go on."""
        if rest := self._rests.pop(task_id, ""):
            self._put_line(task_id, rest)
        self.flush()

    def close(self) -> None:
        """What was begun and not ended: half characters, lines without an end."""
        for (task_id, _), decoder in self._decoders.items():
            if rest := decoder.decode(b"", True):
                self._put(task_id, rest)
        for task_id in list(self._rests):
            self.end_line(task_id)
        if not self._at_line_start and self._terminal:
            sys.stdout.write("\n")
        sys.stdout.flush()

    def _turn_to(self, key: tuple[int, int]) -> None:
        if self._last and self._last[0] == key[0] and self._rests.get(key[0]):
            # A new attempt begins on a line of its own.
            self.end_line(key[0])
        self._last = key
        if self._prefix_of is None and self._terminal and len(self._labels) > 1:
            line = "" if self._at_line_start else "\n"
            label = self._labels.get(key, f"term {key[1]}")
            sys.stdout.write(f"{line}── {label} ──\n")
            self._at_line_start = True

    def _put(self, task_id: int, text: str) -> None:
        if self._prefix_of is None:
            if text:
                sys.stdout.write(self._visible(text))
                self._at_line_start = text.endswith("\n")
            return
        lines = (self._rests.pop(task_id, "") + text).split("\n")
        for line in lines[:-1]:
            self._put_line(task_id, line)
        if len(lines[-1]) > _LINE_CHARACTERS_MAX:
            self._put_line(task_id, lines[-1])
        else:
            self._rests[task_id] = lines[-1]

    def _put_line(self, task_id: int, line: str) -> None:
        sys.stdout.write(f"{self._prefix(task_id)} │ {self._visible(line)}\n")

    def _prefix(self, task_id: int) -> str:
        if task_id not in self._prefixes:
            assert self._prefix_of is not None
            self._prefixes[task_id] = self._prefix_of(task_id)
        return self._prefixes[task_id]

    def _visible(self, text: str) -> str:
        if self._terminal:
            return safe_lines(text.replace("\r\n", "\n"))
        return text.replace("\x00", "␀")
