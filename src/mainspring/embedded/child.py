"""Children that do not outlive us, however we end.

Linux: the kernel sends the child a signal when the thread that forked it ends (PR_SET_PDEATHSIG).
Three traps, each closed here. The signal is bound to the *thread*, so a child is forked from the
main thread or from one thread kept for nothing else. Changing the user id clears it, so it is set
after privileges were dropped (`preexec_fn` runs then). The parent may be gone before it is set, so
the child looks for its parent afterwards and leaves if that has changed.

Elsewhere: a shell waits at a pipe which only we hold open and signals the server at its end. A kill
in the microseconds between the server's start and the shell's first line leaves the server running;
the next start ends it (`leftovers.py`).
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from mainspring.embedded.account import ENVIRONMENT, Account

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1


def spawn_server(
    command: Sequence[str | Path], account: Account, *, output: int
) -> subprocess.Popen[bytes]:
    """Start a long-lived child, which gets SIGINT (a fast shutdown) when this process ends.

    A session of its own keeps Ctrl-C from stopping the database under those who are draining.
    """
    return _in_lasting_thread(
        lambda: subprocess.Popen(
            command,
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=0o077,
            user=account.user,
            group=account.group,
            extra_groups=account.extra_groups,
            preexec_fn=_signal_at_parents_end(signal.SIGINT),  # noqa: PLW1509
        )
    )


def run_tool(
    command: Sequence[str | Path], account: Account, *, text_input: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a short command to its end; it is killed if this process ends first."""
    return subprocess.run(
        command,
        check=False,
        cwd="/",
        env=ENVIRONMENT,
        input=text_input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=0o077,
        user=account.user,
        group=account.group,
        extra_groups=account.extra_groups,
        preexec_fn=_signal_at_parents_end(signal.SIGKILL),
    )


class Watchdog:
    """The way of systems without PR_SET_PDEATHSIG: send SIGINT to a process when we end."""

    def __init__(self, pid: int, account: Account) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", "read -r pid && cat >/dev/null && kill -INT $pid"],
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user=account.user,
            group=account.group,
            extra_groups=account.extra_groups,
        )
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{pid}\n".encode())
        self._shell.stdin.flush()

    def dismiss(self) -> None:
        """To be called before the process is reaped, while its pid cannot mean another one."""
        assert self._shell.stdin is not None
        # The whole session: `cat` must not be left holding the pipe, nor the shell see its end.
        try:
            os.killpg(self._shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._shell.wait()
        self._shell.stdin.close()


def needs_watchdog() -> bool:
    return sys.platform != "linux"


def _signal_at_parents_end(number: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    # Everything is looked up before the fork, since another thread may have held a lock then: the
    # child makes two system calls and takes no lock.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    arguments = (_PR_SET_PDEATHSIG, ctypes.c_ulong(number), *(ctypes.c_ulong(0),) * 3)
    parent = os.getpid()

    def in_child() -> None:
        if prctl(*arguments) != 0:
            os.write(2, b"FATAL: PR_SET_PDEATHSIG is not permitted on this system\n")
            os._exit(127)
        if os.getppid() != parent:
            os._exit(127)

    return in_child


def _in_lasting_thread(call: Callable[[], T]) -> T:
    if threading.current_thread() is threading.main_thread():
        return call()
    answer: Future[T] = Future()

    def fulfil() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    _lasting_thread_queue().put(fulfil)
    return answer.result()


_queue_of_process: tuple[int, queue.SimpleQueue[Callable[[], None]]] | None = None
_queue_guard = threading.Lock()


def _lasting_thread_queue() -> queue.SimpleQueue[Callable[[], None]]:
    """The queue of a daemon thread that never ends; a forked process needs one of its own."""
    global _queue_of_process  # noqa: PLW0603
    with _queue_guard:
        if _queue_of_process is None or _queue_of_process[0] != os.getpid():
            calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

            def serve() -> None:
                while True:
                    calls.get()()

            threading.Thread(target=serve, name="mainspring-embedded-fork", daemon=True).start()
            _queue_of_process = (os.getpid(), calls)
        return _queue_of_process[1]
