"""A host child: the process in which user code runs.

    python -P -m mainspring.executors.host KIND SOCKET BOARD SLOTS WORKER SNAPSHOT

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

from mainspring.domain.lanes import SlotKind
from mainspring.executors.board import Board
from mainspring.executors.channel import Channel

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    kind, socket_fd, board_fd, slots, worker, snapshot = arguments
    die_with(int(worker))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _do_nothing)
    os.set_inheritable(int(socket_fd), False)
    # An installed application may lie in the folder that the worker was started in, as it may
    # for `python -m`.
    sys.path.insert(0, snapshot or os.getcwd())
    channel = Channel(socket.socket(fileno=int(socket_fd)))
    board = Board(int(board_fd), int(slots))
    os.close(int(board_fd))
    sys.argv[1:] = []
    serve(SlotKind(kind), channel, board, int(slots))


def serve(kind: SlotKind, channel: Channel, board: Board, slots: int) -> None:
    """Run jobs until the worker closes the socket."""
    match kind:
        case SlotKind.ASYNC:
            from mainspring.executors.host_async import AsyncHost

            AsyncHost(channel, board).serve()
        case SlotKind.THREAD:
            from mainspring.executors.host_thread import ThreadHost

            ThreadHost(channel, board, slots).serve()
        case SlotKind.PROCESS:
            from mainspring.executors.host_process import ProcessHost

            ProcessHost(channel, board).serve()
        case SlotKind.COMMAND:
            from mainspring.executors.host_command import CommandHost

            CommandHost(channel, board).serve()


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
