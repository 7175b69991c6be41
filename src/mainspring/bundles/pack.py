"""A tree as one piece of bytes, to be kept for its runs: a gzipped tar of its files.

Packing leaves out what the tree's digest leaves out: times, owners, folders. Unpacking believes
nothing. It happens in memory, within the limits of a tree, and gives files only, whose paths stay
below the folder that they are written to. Whether they are the right ones is told by their digest,
before anything is written.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable

from mainspring.bundles.tree import BYTES_MAX, FILES_MAX, IGNORE_FILE, Entry
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown

PACKED_BYTES_MAX = 20 * 1024 * 1024
"""Of what is kept in the database; more needs an object store."""
_TAR_BYTES_MAX = BYTES_MAX + FILES_MAX * 2048
"""Headers and padding included; a tree beyond it is refused when it is packed."""
_FILE_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_LARGEST_SHOWN = 3


class DamagedError(InputError):
    """What is kept of a snapshot is not what was put there."""


def pack(entries: Iterable[Entry], *, bytes_max: int | None = PACKED_BYTES_MAX) -> bytes:
    """The same entries give the same bytes, on one release of zlib.

    Without `bytes_max` there is still the limit of a tree.
    """
    sizes: list[tuple[int, str]] = []
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as zipped:
        with _open(zipped, "w") as tar:
            for entry in entries:
                info = tarfile.TarInfo(entry.path)
                info.size = len(entry.content)
                info.mode = 0o755 if entry.executable else 0o644
                tar.addfile(info, io.BytesIO(entry.content))
                sizes.append((info.size, entry.path))
        tar_bytes = zipped.tell()
    content = packed.getvalue()
    if tar_bytes > _TAR_BYTES_MAX or (bytes_max is not None and len(content) > bytes_max):
        raise _too_large(len(content), sizes)
    return content


def unpack(content: bytes) -> list[Entry]:
    """The entries in the order of their paths; DamagedError for anything that `pack` never made."""
    try:
        return _unpack(content)
    except DamagedError:
        raise
    except Exception as error:
        # Hostile bytes find many ways to upset a reader of archives; all mean the same to us.
        raise DamagedError(f"it cannot be unpacked: {str(error) or type(error).__name__}") from None


def _unpack(content: bytes) -> list[Entry]:
    entries: list[Entry] = []
    total = 0
    bounded = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(content), mode="rb"))
    with _open(bounded, "r|") as tar:
        for info in tar:
            path = _checked_path(info)
            # In their order, so that none comes twice.
            if entries and path <= entries[-1].path:
                raise DamagedError(f"{shown(path)} is out of order")
            total += info.size
            if total > BYTES_MAX or len(entries) >= FILES_MAX:
                raise DamagedError("it holds more than a bundle may")
            stream = tar.extractfile(info)
            assert stream is not None, "it is a file"
            found = stream.read()
            if len(found) != info.size:
                raise DamagedError(f"{shown(path)} is cut off")
            entries.append(Entry(path, bool(info.mode & 0o100), found))
    bounded.drain()
    return entries


def _checked_path(info: tarfile.TarInfo) -> str:
    if info.type not in _FILE_TYPES:
        raise DamagedError(f"{shown(info.name)} is no file")
    parts = info.name.split("/")
    if "\0" in info.name or any(part in ("", ".", "..") for part in parts):
        raise DamagedError(f"{shown(info.name)} is no path within a bundle")
    return info.name


def _open(stream: gzip.GzipFile | _Bounded, mode: str) -> tarfile.TarFile:
    # Names are bytes to the file system; this keeps those that are no text.
    return tarfile.open(  # type: ignore[call-overload,no-any-return]
        fileobj=stream,
        mode=mode,
        format=tarfile.GNU_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    )


class _Bounded:
    """A stream that ends in an error before it becomes a flood."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = _TAR_BYTES_MAX

    def read(self, size: int) -> bytes:
        found = self._stream.read(min(size, self._left + 1))
        self._left -= len(found)
        if self._left < 0:
            raise DamagedError("it holds more than a bundle may")
        return found

    def drain(self) -> None:
        """To the end, where the checksum is."""
        while self.read(64 * 1024):
            pass


def _too_large(packed_bytes: int, sizes: list[tuple[int, str]]) -> InputError:
    largest = ", ".join(
        f"{shown(path)} ({_megabytes(size)})"
        for size, path in sorted(sizes, reverse=True)[:_LARGEST_SHOWN]
    )
    return InputError(
        f"the folder of dags takes {_megabytes(packed_bytes)} when it is packed, and"
        f" {_megabytes(PACKED_BYTES_MAX)} is the most that the database keeps for its runs",
        hint=f"keep data elsewhere, or list it in `{IGNORE_FILE}`, or name an object store in"
        f" MAINSPRING_OBJECTS; the largest: {largest}",
    )


def _megabytes(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MiB"
