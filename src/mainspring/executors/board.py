"""A page of memory that a host and its worker share: what has begun, what is withdrawn.

A host tells how its jobs stand by writing a number, not by sending a message. The worker can
thus read it when the host can no longer speak: killed in the middle of a batch, or stuck in
user code. That makes three promises cheap which otherwise cost a message for each task:

- after a crash we know exactly which jobs were running, which never began and which had ended;
- a long task is seen to run, and its time limit counted, though it blocks its event loop;
- a job that has not begun can be taken back;
- a task may tell its progress a million times a second, and only the last word is ever read.

Taking back needs no lock. The host writes `begun`, then reads `withdrawn`; the worker writes
`withdrawn`, waits `WITHDRAW_SECONDS`, then reads `begun`. If it is still unset, every later
beginning will see the withdrawal. Cells are aligned 8-byte integers, written whole.

One writer per cell: the host writes `begun`, `importing_*` and `told`, the worker the rest; it
clears a slot's cells before it gives the slot away again.

What a task told lies beside its cell, under a checksum which covers whose words they are. So
words that are half written, or come from a thread that a job before has left behind, are nobody's.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
import zlib

NOT_BEGUN = 0
OVER = -1
"""The job has ended; its answer may still be on the way."""

WITHDRAW_SECONDS = 0.05

_IMPORTING_SLOT, _IMPORTING_SINCE, _STOP, _HEADER_CELLS = 0, 1, 2, 8
_CELL_BYTES = 8
_WORDS = struct.Struct("<IHd")
"""Checksum, length of the text, percent; then the text."""
_WORDS_BYTES = 256
TEXT_BYTES_MAX = _WORDS_BYTES - _WORDS.size


class Board:
    def __init__(self, fd: int, slots: int) -> None:
        self.process = os.getpid()
        """Whose side of the board this is; a forked copy has no side."""
        self._memory = mmap.mmap(fd, _bytes_for(slots))
        self._view = memoryview(self._memory)
        self._cells = self._view.cast("q")
        self.begun = self._cells[_HEADER_CELLS : _HEADER_CELLS + slots]
        """Per slot: NOT_BEGUN, OVER, or the monotonic nanoseconds at which it began."""
        self.withdrawn = self._cells[_HEADER_CELLS + slots : _HEADER_CELLS + 2 * slots]
        self.told = self._cells[_HEADER_CELLS + 2 * slots : _HEADER_CELLS + 3 * slots]
        """Per slot: how often its job has told its progress."""
        self._words_at = (_HEADER_CELLS + 3 * slots) * _CELL_BYTES

    @staticmethod
    def memory_for(slots: int) -> int:
        """A file descriptor of new memory, all zero, without a name."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("mainspring-board", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.ftruncate(fd, _bytes_for(slots))
        return fd

    def close(self) -> None:
        for view in (self.begun, self.withdrawn, self.told, self._cells, self._view):
            view.release()
        self._memory.close()

    # --- the host ---

    def begin(self, slot: int) -> int:
        """Mark the job as begun; returns the time, or 0 if it must not run."""
        now = time.monotonic_ns()
        self.begun[slot] = now
        if self.withdrawn[slot]:
            self.begun[slot] = NOT_BEGUN
            return 0
        return now

    def import_begins(self, slot: int) -> None:
        self._cells[_IMPORTING_SLOT] = slot
        self._cells[_IMPORTING_SINCE] = time.monotonic_ns()

    def import_ends(self) -> None:
        self._cells[_IMPORTING_SINCE] = 0

    def tell(self, slot: int, whose: bytes, percent: float, text: str) -> None:
        """How far the job is, in its own words; one thread at a time."""
        words = text.encode()[:TEXT_BYTES_MAX]
        at = self._words_at + slot * _WORDS_BYTES
        checksum = _checksum(whose, percent, words)
        _WORDS.pack_into(self._view, at, checksum, len(words), percent)
        self._view[at + _WORDS.size : at + _WORDS.size + len(words)] = words
        self.told[slot] += 1

    @property
    def stop_asked(self) -> bool:
        return self._cells[_STOP] != 0

    # --- the worker ---

    def clear(self, slot: int) -> None:
        self.begun[slot] = NOT_BEGUN
        self.withdrawn[slot] = 0
        self.told[slot] = 0

    def progress(self, slot: int, whose: bytes) -> tuple[float, str] | None:
        """What that job told last; None if it did not, or is telling at this very moment."""
        at = self._words_at + slot * _WORDS_BYTES
        checksum, length, percent = _WORDS.unpack_from(self._view, at)
        words = bytes(self._view[at + _WORDS.size : at + _WORDS.size + min(length, TEXT_BYTES_MAX)])
        if checksum != _checksum(whose, percent, words):
            return None
        return percent, words.decode("utf-8", "ignore")

    def ask_stop(self) -> None:
        """Tells a process host that the SIGTERM which follows is ours."""
        self._cells[_STOP] = 1

    def importing(self) -> tuple[int, int] | None:
        """The slot whose module is being imported, and since when."""
        since = self._cells[_IMPORTING_SINCE]
        return (self._cells[_IMPORTING_SLOT], since) if since else None


def _checksum(whose: bytes, percent: float, words: bytes) -> int:
    return zlib.crc32(b"%b\0%b%b" % (whose, struct.pack("<d", percent), words))


def _bytes_for(slots: int) -> int:
    # Memory that nobody has written to costs nothing.
    return (_HEADER_CELLS + 3 * slots) * _CELL_BYTES + slots * _WORDS_BYTES
