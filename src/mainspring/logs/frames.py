"""A log as an object: gzip frames, one after the other, each readable alone.

Every frame but the last holds FRAME_BYTES of the log, so the frame of a byte is found by division,
and its place in the object by the list of where frames end. The whole is an ordinary `.gz` file.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

FRAME_BYTES = 1024 * 1024
_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS


class Frame(NamedTuple):
    """One frame of an object."""

    log_start: int
    """The first byte of the log that it holds."""
    start: int
    end: int
    """Its place in the object."""


def pack(piece: bytes) -> bytes:
    """One frame; the same for the same piece, whoever packs it."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return packer.compress(piece) + packer.flush()


def unpack(frame: bytes) -> bytes:
    return zlib.decompress(frame, _GZIP)


def frame_of(ends: Sequence[int], byte: int) -> Frame:
    """The frame that holds a byte of the log."""
    number = byte // FRAME_BYTES
    return Frame(number * FRAME_BYTES, ends[number - 1] if number else 0, ends[number])
