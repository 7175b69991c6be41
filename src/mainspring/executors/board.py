"""A page of memory that a host and its worker share: what has begun, what is withdrawn.

A host tells how its jobs stand by writing a number, not by sending a message. The worker can
thus read it when the host can no longer speak: killed in the middle of a batch, or stuck in
user code. That makes three promises cheap which otherwise cost a message for each task:

- after a crash we know exactly which jobs were running, which never began and which had ended;
- a long task is seen to run, and its time limit counted, though it blocks its event loop;
- a job that has not begun can be taken back.

Taking back needs no lock. The host writes `begun`, then reads `withdrawn`; the worker writes
`withdrawn`, waits `WITHDRAW_SECONDS`, then reads `begun`. If it is still unset, every later
beginning will see the withdrawal. Cells are aligned 8-byte integers, written whole.

One writer per cell: the host writes `begun` and `importing_*`, the worker the rest; it clears
a slot's cells before it gives the slot away again.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time

NOT_BEGUN = 0
OVER = -1
"""The job has ended; its answer may still be on the way."""

WITHDRAW_SECONDS = 0.05

_IMPORTING_SLOT, _IMPORTING_SINCE, _STOP, _HEADER_CELLS = 0, 1, 2, 8
_CELL_BYTES = 8


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
        for view in (self.begun, self.withdrawn, self._cells, self._view):
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

    @property
    def stop_asked(self) -> bool:
        return self._cells[_STOP] != 0

    # --- the worker ---

    def clear(self, slot: int) -> None:
        self.begun[slot] = NOT_BEGUN
        self.withdrawn[slot] = 0

    def ask_stop(self) -> None:
        """Tells a process host that the SIGTERM which follows is ours."""
        self._cells[_STOP] = 1

    def importing(self) -> tuple[int, int] | None:
        """The slot whose module is being imported, and since when."""
        since = self._cells[_IMPORTING_SINCE]
        return (self._cells[_IMPORTING_SLOT], since) if since else None


def _bytes_for(slots: int) -> int:
    return (_HEADER_CELLS + 2 * slots) * _CELL_BYTES
