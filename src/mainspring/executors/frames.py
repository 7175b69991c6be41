"""The messages between a worker and its host children, several to a frame.

A frame is four bytes of length (big endian) and a msgpack array of messages. Batching is what
makes a task cost microseconds instead of a system call on each side, so both ends send what
has piled up as one frame, and a lone message at once.

A job is named by its `slot`, a small number that the worker hands out per host and takes back
only with the answer; the stream is in order, so a slot never means two jobs at a time.
Times are `time.monotonic_ns()`, which all processes of a machine share; the worker turns them
into wall clock once a frame, so that a clock step cannot end a task before it began.

A frame that cannot be decoded raises `BrokenFrame`: user code has scribbled on our socket,
and the host is not to be trusted any more.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from mainspring.authoring.context import Attempt
from mainspring.domain.outcomes import Outcome

FRAME_BYTES_MAX = 1 << 30
BATCH_BYTES = 256 * 1024
"""A sender cuts a frame after about this much payload; one message may be larger."""
LOG_CHUNK_BYTES = 64 * 1024

_LENGTH = struct.Struct(">I")


class BrokenFrame(Exception):
    """The other side sent what is not a frame."""


# --- worker to host -----------------------------------------------------------------------


class Run(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    slot: int
    entry: str
    arguments: bytes
    attempt: Attempt


class Stop(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Stop the job softly; the worker kills the host when the grace is over."""

    slot: int
    grace_seconds: float


class Keep(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Large parameters of a run: told once, before the first of its jobs here that may ask."""

    run_id: int
    parameters: bytes


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """No job of the run is left here."""

    run_id: int


ToHost = Run | Stop | Keep | Forget


# --- host to worker -----------------------------------------------------------------------


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """The host has started; no user code was imported yet."""


class Done(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Succeeded: the plain road, kept small."""

    slot: int
    started_ns: int
    finished_ns: int
    result: bytes


class Ending(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Ended in any other way."""

    slot: int
    started_ns: int
    """0 if the function was not reached."""
    finished_ns: int
    outcome: Outcome


class Dropped(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """Not run, because it was withdrawn on the board before it began."""

    slot: int


class Log(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    slot: int
    data: bytes


class Used(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """What a job used that has lasted; told before its answer, by hosts that can know."""

    slot: int
    cpu_seconds: float
    peak_bytes: int
    """0 if it is not known."""


FromHost = Ready | Done | Ending | Dropped | Log | Used


# --- frames -------------------------------------------------------------------------------

_encoder = msgspec.msgpack.Encoder()
_to_host = msgspec.msgpack.Decoder(list[ToHost])
_from_host = msgspec.msgpack.Decoder(list[FromHost])

Message = TypeVar(
    "Message", Run | Stop | Keep | Forget, Ready | Done | Ending | Dropped | Log | Used
)


def frame_of(messages: Sequence[ToHost] | Sequence[FromHost]) -> bytearray:
    frame = bytearray(_LENGTH.size)
    _encoder.encode_into(messages, frame, _LENGTH.size)
    _LENGTH.pack_into(frame, 0, len(frame) - _LENGTH.size)
    return frame


class FrameReader(Generic[Message]):
    """Turns the bytes of a stream, cut anywhere, into messages."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[list[Message]]) -> None:
        self._decoder: msgspec.msgpack.Decoder[list[Message]] = decoder
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        size = len(data)
        if not self._rest and size > _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data)
            if size == length + _LENGTH.size:
                return self._decode(memoryview(data)[_LENGTH.size :])
        return self._feed_parts(data)

    def _feed_parts(self, data: bytes) -> list[Message]:
        rest = self._rest
        rest += data
        messages: list[Message] = []
        position = 0
        with memoryview(rest) as view:
            while len(view) - position >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(view, position)
                if length > FRAME_BYTES_MAX:
                    raise BrokenFrame(f"a frame of {length} bytes")
                end = position + _LENGTH.size + length
                if end > len(view):
                    break
                with view[position + _LENGTH.size : end] as body:
                    messages += self._decode(body)
                position = end
        del rest[:position]
        return messages

    def _decode(self, body: memoryview) -> list[Message]:
        try:
            messages: list[Message] = self._decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise BrokenFrame(str(error)) from error
        return messages


def reader_in_host() -> FrameReader[ToHost]:
    return FrameReader(_to_host)


def reader_in_worker() -> FrameReader[FromHost]:
    return FrameReader(_from_host)
