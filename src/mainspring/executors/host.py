"""A host child: the process in which user code runs.

    python -P -m mainspring.executors.host PLACE SOCKET BOARD SLOTS WORKER SNAPSHOT

PLACE, `module:class`, is the executor as its package's entry point names it; ours are found the
same way. The worker looks it up, once, so that hosts start without reading the metadata of all
installed packages.

The worker starts it as the leader of a session of its own. It dies with its worker: the kernel
kills it when the worker's thread that started it ends (Linux), and it leaves by itself at the
end of the socket. SIGINT and SIGTERM do nothing here, since a Ctrl-C in a terminal or a service
manager's stop reaches the whole tree and only the worker decides; they have handlers instead
of being ignored, so that programs started by user code get the default back.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

from mainspring.executors.board import Board
from mainspring.executors.channel import Channel
from mainspring.executors.frames import Log
from mainspring.plugins.loading import import_place
from mainspring.plugins.shapes import Executor, executor_problem

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    place, socket_fd, board_fd, slots, worker, snapshot = arguments
    die_with(int(worker))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _do_nothing)
    os.set_inheritable(int(socket_fd), False)
    channel = Channel(socket.socket(fileno=int(socket_fd)))
    # Before the snapshot is on the path: user code cannot take an executor's place.
    executor = executor_at(place, channel)
    # An installed application may lie in the folder that the worker was started in, as it may
    # for `python -m`.
    sys.path.insert(0, snapshot or os.getcwd())
    board = Board(int(board_fd), int(slots))
    os.close(int(board_fd))
    sys.argv[1:] = []
    executor(channel, board, int(slots)).serve()


def executor_at(place: str, channel: Channel) -> type[Executor]:
    """The class to serve with; if there is none, the worker is told why before this host ends."""
    try:
        executor: type[Executor] = import_place(place)
    except BaseException as error:
        _refuse(
            channel, f"the executor `{place}` cannot be loaded: {type(error).__name__}: {error}"
        )
    if problem := executor_problem(executor):
        _refuse(channel, f"the executor `{place}` {problem}")
    return executor


def _refuse(channel: Channel, why: str) -> NoReturn:
    channel.post(Log(0, why.encode("utf-8", "replace")))
    channel.flush()
    sys.exit(1)


def die_with(worker: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The worker may have died before the line above; then nobody would ever tell us.
    if os.getppid() != worker:
        os._exit(1)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass


if __name__ == "__main__":
    main(sys.argv[1:])
