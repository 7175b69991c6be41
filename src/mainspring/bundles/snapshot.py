"""Snapshots: a bundle's tree under the name of its content.

A run pins a snapshot, so that what was read is what is executed, however the folder changes in
between. `cache/<digest>/` holds the files and never changes; it appears by a rename, complete or
not at all, so any number of processes may take and find snapshots without speaking to each other.
The database keeps the same files packed, and a cache that lacks them gets them from there.

Whoever uses a snapshot holds it, by a shared lock on its folder that ends with the process. What
nobody holds may be pruned from the cache; it comes back when it is wanted.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from mainspring import faults
from mainspring.bundles.pack import PACKED_BYTES_MAX, DamagedError, pack, unpack
from mainspring.bundles.tree import BYTES_MAX, Entry, TreeFile, files_in, too_large
from mainspring.domain.errors import InputError, MainspringError, UnavailableError

T = TypeVar("T")

_TRIES_MAX = 10
_PAUSE_SECONDS = 0.05
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = ".taking-"


class Snapshot(msgspec.Struct, frozen=True):
    digest: str
    path: Path


class HeldSnapshot:
    """A snapshot in the cache that stays there until `release`, or until this is forgotten."""

    def __init__(self, digest: str, path: Path, handle: int) -> None:
        self.digest = digest
        self.path = path
        self.release = weakref.finalize(self, os.close, handle)


class _Changed(Exception):
    """The folder changed while it was read."""


def tree_digest(folder: Path) -> str:
    """SHA-256 over the sorted paths, executable bits and contents of the bundle's files."""
    return _unchanged(lambda: _digest(folder), folder)


def take_snapshot(folder: Path, cache: Path) -> Snapshot:
    """A snapshot of the folder as it is now; a copy is made only if the cache has none."""
    return _unchanged(lambda: _take(folder, cache), folder)


def mend_snapshot(snapshot: Snapshot, folder: Path, cache: Path) -> bool:
    """Take it again if what is in the cache is no longer what it was; whether that was so.

    Dags are imported from it, and what they do then is their authors' business, but nobody else
    may get to run what they made of it.
    """
    with contextlib.suppress(MainspringError):
        if tree_digest(snapshot.path) == snapshot.digest:
            return False
    shutil.rmtree(snapshot.path, ignore_errors=True)
    if take_snapshot(folder, cache).digest != snapshot.digest:
        raise UnavailableError("the folder of dags changed while it was read")
    return True


def find_snapshot(cache: Path, digest: str) -> Path | None:
    """The snapshot's folder, if the cache has it."""
    if not _DIGEST.fullmatch(digest):
        raise InputError(f"`{digest[:80]}` is not a snapshot's digest")
    path = cache / digest
    return path if path.is_dir() else None


def hold_snapshot(cache: Path, digest: str) -> HeldSnapshot | None:
    """The snapshot, if the cache has it, safe from being pruned while it is held."""
    path = find_snapshot(cache, digest)
    if path is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    held = HeldSnapshot(digest, path, handle)
    # Waits for one who is pruning it, and then it is gone, or another has come in its place.
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not _is_still(path, handle):
        held.release()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return held


def pack_snapshot(folder: Path, *, bytes_max: int | None = PACKED_BYTES_MAX) -> bytes:
    """A snapshot's folder as bytes, to be kept for its runs."""
    return pack(_entries(folder), bytes_max=bytes_max)


def restore_snapshot(content: bytes, cache: Path, digest: str) -> None:
    """Put packed bytes into the cache as the snapshot of this digest, if that is what they are."""
    entries = unpack(content)
    found = digest_of(entries)
    if found != digest:
        raise DamagedError(f"its files have the digest {found[:12]}")
    try:
        with _temporary(cache) as temporary:
            _write(entries, temporary)
            _publish(temporary, cache / digest)
    except OSError as error:
        raise UnavailableError(
            f"the snapshot {digest[:12]} cannot be written to `{cache}`: {error.strerror}"
        ) from None


def prune_cache(cache: Path, keep: int) -> list[str]:
    """Remove snapshots that nobody holds, except those held last; says which."""
    pruned: list[str] = []
    for path in _by_use(cache)[keep:]:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(path, handle):
                condemned = cache / f"{_TEMPORARY}{secrets.token_hex(8)}"
                path.rename(condemned)
                shutil.rmtree(condemned, ignore_errors=True)
                pruned.append(path.name)
        except OSError:
            continue  # somebody holds it, or prunes it as well
        finally:
            os.close(handle)
    return pruned


def digest_of(entries: Iterable[Entry]) -> str:
    """SHA-256 over the entries, which come in the order of their paths."""
    digest = hashlib.sha256()
    for entry in entries:
        path = os.fsencode(entry.path)
        # With lengths, so that no two trees give the same bytes.
        digest.update(b"%d %d %d\n" % (len(path), entry.executable, len(entry.content)))
        digest.update(path)
        digest.update(entry.content)
    return digest.hexdigest()


def _take(folder: Path, cache: Path) -> Snapshot:
    digest = _digest(folder)
    if path := find_snapshot(cache, digest):
        return Snapshot(digest, path)
    path = cache / digest
    with _temporary(cache) as temporary:
        _copy(folder, temporary)
        # Equal digests before and after: the copy is the folder at one moment, not a mixture.
        if _digest(temporary) != digest:
            raise _Changed
        _publish(temporary, path)
    return Snapshot(digest, path)


@contextlib.contextmanager
def _temporary(cache: Path) -> Iterator[Path]:
    """A name for a folder that is made whole before it is seen; what is left of it goes."""
    cache.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(cache)
    temporary = cache / f"{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _publish(temporary: Path, path: Path) -> None:
    faults.point("a snapshot is copied and not published")
    try:
        temporary.rename(path)
    except OSError:
        # Somebody else was quicker; theirs has the same content, as its name says.
        if not path.is_dir():
            raise
    else:
        _sync_folder(path.parent)


def _remove_leftovers(cache: Path) -> None:
    """What takers left behind that were killed; nobody takes an hour."""
    for temporary in cache.glob(f"{_TEMPORARY}*"):
        try:
            age_seconds = time.time() - temporary.stat().st_mtime
        except OSError:
            continue  # its taker has just finished
        if age_seconds > 3600:
            shutil.rmtree(temporary, ignore_errors=True)


def _by_use(cache: Path) -> list[Path]:
    """The snapshots in the cache, those held last first."""
    used: list[tuple[float, Path]] = []
    for path in cache.glob("*"):
        if _DIGEST.fullmatch(path.name):
            with contextlib.suppress(OSError):
                used.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(used, reverse=True)]


def _is_still(path: Path, handle: int) -> bool:
    """Whether the folder that was opened is the one that is there."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except OSError:
        return False


def _digest(folder: Path) -> str:
    return digest_of(_entries(folder))


def _entries(folder: Path) -> Iterator[Entry]:
    read = 0
    for file in files_in(folder):
        content = _content(file)
        read += len(content)
        if read > BYTES_MAX:
            raise too_large(folder)
        yield Entry(file.path, file.executable, content)


def _copy(folder: Path, target: Path) -> None:
    _write(_entries(folder), target)


def _write(entries: Iterable[Entry], target: Path) -> None:
    folders = {target}
    target.mkdir()
    for entry in entries:
        copy = target / entry.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        folders.update(parent for parent in copy.parents if target in parent.parents)
        with copy.open("xb") as stream:
            stream.write(entry.content)
            stream.flush()
            # A crash must not leave a complete name over empty files: nobody looks again.
            os.fsync(stream.fileno())
            # Read-only: a task that writes beside its code would change what others run.
            os.fchmod(stream.fileno(), 0o555 if entry.executable else 0o444)
    for made in folders:
        _sync_folder(made)


def _content(file: TreeFile) -> bytes:
    try:
        with open(file.absolute, "rb") as stream:
            return stream.read(BYTES_MAX + 1)
    except FileNotFoundError:
        raise _Changed from None
    except OSError as error:
        raise UnavailableError(f"the bundle's file `{file.path}` cannot be read: {error}") from None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unchanged(action: Callable[[], T], folder: Path) -> T:
    """What the action gives, tried again while the folder changes under it."""
    for _ in range(_TRIES_MAX):
        try:
            return action()
        except _Changed:
            time.sleep(_PAUSE_SECONDS)
    raise UnavailableError(
        f"the bundle folder `{folder}` keeps changing while it is read",
        hint="write files elsewhere and move them in, or keep data out of the folder",
    )
