"""What a reading of a bundle found; also what the reading child says to its parent.

A frame is its length, four bytes, big-endian, and then its JSON.
"""

from __future__ import annotations

import msgspec

from mainspring.domain.specs import DagSpec


class FileProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a file, or a dag in it, could not be read."""

    file: str
    """Relative to the bundle's folder, with `/`."""
    line: int | None
    message: str
    hint: str = ""


class BundleReport(msgspec.Struct, frozen=True):
    dags: list[DagSpec]
    """Sorted by name."""
    files: dict[str, str]
    """From a dag's name to its file."""
    problems: list[FileProblem]
    """Sorted by file and line. A dag with a problem is not among `dags`; all others are."""


# --- between `read` and `reader` -----------------------------------------------------------


class Order(msgspec.Struct, frozen=True):
    """To the child: read these files."""

    parent: int
    """The process to die with."""
    folder: str
    files: list[str]
    file_timeout_seconds: float


class FileStarted(msgspec.Struct, frozen=True, tag=True):
    """From the child, before a file: what happens next is that file's doing."""

    file: str


class FileRead(msgspec.Struct, frozen=True, tag=True):
    file: str
    dags: list[DagSpec]
    problems: list[FileProblem]


class Finished(msgspec.Struct, frozen=True, tag=True):
    pass


Message = FileStarted | FileRead | Finished

LENGTH_BYTES = 4


def frame(message: Message | Order) -> bytes:
    encoded = msgspec.json.encode(message)
    return len(encoded).to_bytes(LENGTH_BYTES, "big") + encoded
