"""Snapshots: a bundle's tree under the name of its content.

A run pins a snapshot, so that what was read is what is executed, however the folder changes in
between. `cache/<digest>/` holds the files and never changes; it appears by a rename, complete or
not at all, so any number of processes may take and find snapshots without speaking to each other.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from mainspring import faults
from mainspring.bundles.tree import BYTES_MAX, TreeFile, files_in, too_large
from mainspring.domain.errors import InputError, UnavailableError

T = TypeVar("T")

_TRIES_MAX = 10
_PAUSE_SECONDS = 0.05
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = ".taking-"


class Snapshot(msgspec.Struct, frozen=True):
    digest: str
    path: Path


class _Changed(Exception):
    """The folder changed while it was read."""


def tree_digest(folder: Path) -> str:
    """SHA-256 over the sorted paths, executable bits and contents of the bundle's files."""
    return _unchanged(lambda: _digest(folder), folder)


def take_snapshot(folder: Path, cache: Path) -> Snapshot:
    """A snapshot of the folder as it is now; a copy is made only if the cache has none."""
    return _unchanged(lambda: _take(folder, cache), folder)


def find_snapshot(cache: Path, digest: str) -> Path | None:
    """The snapshot's folder, if the cache has it."""
    if not _DIGEST.fullmatch(digest):
        raise InputError(f"`{digest[:80]}` is not a snapshot's digest")
    path = cache / digest
    return path if path.is_dir() else None


def _take(folder: Path, cache: Path) -> Snapshot:
    digest = _digest(folder)
    if path := find_snapshot(cache, digest):
        return Snapshot(digest, path)
    path = cache / digest
    cache.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(cache)
    temporary = cache / f"{_TEMPORARY}{secrets.token_hex(8)}"
    try:
        _copy(folder, temporary)
        # Equal digests before and after: the copy is the folder at one moment, not a mixture.
        if _digest(temporary) != digest:
            raise _Changed
        faults.point("a snapshot is copied and not published")
        _publish(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Snapshot(digest, path)


def _publish(temporary: Path, path: Path) -> None:
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


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    read = 0
    for file in files_in(folder):
        content = _content(file)
        read += len(content)
        if read > BYTES_MAX:
            raise too_large(folder)
        path = os.fsencode(file.path)
        # With lengths, so that no two trees give the same bytes.
        digest.update(b"%d %d %d\n" % (len(path), file.executable, len(content)))
        digest.update(path)
        digest.update(content)
    return digest.hexdigest()


def _copy(folder: Path, target: Path) -> None:
    folders = {target}
    target.mkdir()
    for file in files_in(folder):
        copy = target / file.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        folders.update(parent for parent in copy.parents if target in parent.parents)
        with copy.open("xb") as stream:
            stream.write(_content(file))
            stream.flush()
            # A crash must not leave a complete name over empty files: nobody looks again.
            os.fsync(stream.fileno())
            # Read-only: a task that writes beside its code would change what others run.
            os.fchmod(stream.fileno(), 0o555 if file.executable else 0o444)
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
