"""Nothing that was posted stays behind, whoever sends it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from mainspring.executors.channel import Channel
from mainspring.executors.frames import Log, Ready, reader_in_worker


class LockSeenBeforeItIsFree:
    """Does something in the last moment in which it is still held."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._act = act

    def acquire(self, blocking: bool = True) -> bool:
        return self._lock.acquire(blocking)

    def release(self) -> None:
        act, self._act = self._act, lambda: None
        act()
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.setblocking(False)
        yield Channel(ours), theirs


@pytest.mark.parametrize("send", [Channel.flush, Channel.flush_or_leave])
def test_who_leaves_just_before_the_sender_is_done_is_not_forgotten(
    ends: tuple[Channel, socket.socket], send: Callable[[Channel], None]
) -> None:
    channel, theirs = ends
    late = Log(1, b"the last word")

    def another_thread() -> None:
        channel.post(late)
        channel.flush_or_leave()

    channel._sending = LockSeenBeforeItIsFree(another_thread)  # type: ignore[assignment]
    channel.post(Ready())
    send(channel)
    assert reader_in_worker().feed(theirs.recv(65536)) == [Ready(), late]
