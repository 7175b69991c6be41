"""One supervisor per home, by `flock` on a file in the home.

The kernel drops the lock when its holder dies, so a crash leaves nothing to clean up. The file's
content, the holder's process id, is only for messages. A lock survives `fork` in the child's copy
of the descriptor; a forked worker that outlives a killed supervisor would keep the home locked, so
copies are closed in every forked child.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
import weakref
from pathlib import Path

from mainspring.embedded.errors import EmbeddedError

LOCK_NAME = "supervisor.lock"

# A reader that asks `is_held` holds a shared lock for microseconds; that is no second supervisor.
_PATIENCE_SECONDS = 0.5


class HomeLock:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._descriptor: int | None = None
        _LOCKS.add(self)

    @property
    def acquired(self) -> bool:
        return self._descriptor is not None

    def acquire(self) -> None:
        if self._descriptor is not None:
            return
        path = self._home / LOCK_NAME
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            self._lock(descriptor, path)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Delete the file while holding it: whoever waits on the old one finds it gone."""
        assert self.acquired
        (self._home / LOCK_NAME).unlink(missing_ok=True)
        self.release()

    def _lock(self, descriptor: int, path: Path) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
            if time.monotonic() > deadline:
                raise self._taken(descriptor)
            time.sleep(0.01)
        # `destroy` may have deleted the file between our open and our lock.
        try:
            same = os.path.samestat(os.fstat(descriptor), path.lstat())
        except FileNotFoundError:
            same = False
        if not same:
            raise EmbeddedError(
                f"the home {self._home} was deleted by another process just now", hint="try again"
            )

    def _taken(self, descriptor: int) -> EmbeddedError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
        if holder == str(os.getpid()):
            whose, stop_it = "this very process", "stop it first"
        else:
            whose, stop_it = f"process {holder}", f"stop it first (`kill {holder}`)"
        return EmbeddedError(
            f"the embedded PostgreSQL of {self._home} is already supervised by {whose}",
            hint=f"use the running one, {stop_it}, or choose another folder with `MAINSPRING_HOME`",
        )


def is_held(home: Path) -> bool:
    try:
        descriptor = os.open(home / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


_LOCKS: weakref.WeakSet[HomeLock] = weakref.WeakSet()


def _close_copies_in_forked_child() -> None:
    for lock in _LOCKS:
        lock.release()


os.register_at_fork(after_in_child=_close_copies_in_forked_child)
