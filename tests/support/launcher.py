"""Commands that start at once: forked from a process that has imported everything already.

Half a second of every command is Python reading modules, and crash points make for hundreds of
commands. `Launcher` keeps one process with all of Mainspring loaded and nothing else: no event
loop, no thread, no connection. For each command it forks a keeper, which forks the command and
tells how it ended. What is forked is a real process, in a session of its own, with the environment
and the crash point that were asked for; hosts, guards and readers are its own children as ever.

When whoever launched is gone, so is the launcher.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

_ANSWER_BYTES = 4096


class _Order(msgspec.Struct, frozen=True):
    words: list[str]
    environment: dict[str, str]
    folder: str


class Launched:
    """A command under way; as much of a `Popen` as anybody here needs.

    One thread may wait for it while another asks how it is. Whoever hears of its end tells the
    other by `returncode`; the line stays open, since its end of file wakes who still waits.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._hearing = threading.Lock()
        self._heard = b""
        while b"\n" not in self._heard:
            self._hear()
        # A quick command may have ended by now, and its end has come along.
        first, _, self._heard = self._heard.partition(b"\n")
        self.pid = int(first)

    def __del__(self) -> None:
        self._line.close()

    def poll(self) -> int | None:
        with self._hearing:
            while self.returncode is None and select.select([self._line], [], [], 0)[0]:
                self._hear()
            return self.returncode

    @property
    def returncode(self) -> int | None:
        status, ended, _ = self._heard.partition(b".")
        return int(status) if ended else None

    def wait(self, timeout: float | None = None) -> int:
        while (status := self.poll()) is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        """Also while another thread waits for it."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _hear(self) -> None:
        heard = self._line.recv(_ANSWER_BYTES)
        if not heard:
            raise ConnectionError("the launcher is gone")
        self._heard += heard


class Launcher:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mainspring-launcher-")
        self._path = str(Path(self._folder.name) / "socket")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the launcher did not start")

    def start(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: int | None = None,
        folder: Path | None = None,
    ) -> Launched:
        """`mainspring` with these words, in our folder or another.

        What it prints goes to `output`, or where ours goes.
        """
        line = socket.socket(socket.AF_UNIX)
        line.connect(self._path)
        order = msgspec.json.encode(_Order([*words], {**environment}, str(folder or Path.cwd())))
        line.sendall(len(order).to_bytes(4, "big"))
        descriptors = [1, 2] if output is None else [output, output]
        socket.send_fds(line, [order[:1]], descriptors)
        line.sendall(order[1:])
        return Launched(line)

    async def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
    ) -> tuple[int, str]:
        """How `mainspring` with these words ended, and all that it said."""
        with tempfile.TemporaryFile() as told:
            command = self.start(words, environment, output=told.fileno(), folder=folder)
            status = await asyncio.to_thread(command.wait)
            told.seek(0)
            return status, told.read().decode(errors="replace")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


# --- the other side ------------------------------------------------------------------------------


def _serve(path: str) -> None:
    import mainspring

    for module in pkgutil.walk_packages(mainspring.__path__, "mainspring."):
        # `bench` and users' tests bring what no command here needs.
        if not module.name.endswith(".__main__") and ".testing" not in module.name:
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            _forget_ended_keepers()
            return
        line, _ = listener.accept()
        _forget_ended_keepers()
        if os.fork() == 0:
            listener.close()
            _keep(line)
        line.close()


def _forget_ended_keepers() -> None:
    """Awaited, not ignored: so the time that commands took is in the account of their launcher."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(line: socket.socket) -> NoReturn:
    """Start the command, and tell its pid and its end."""
    size = int.from_bytes(_received(line, 4), "big")
    first, descriptors, _, _ = socket.recv_fds(line, 1, 2)
    order = msgspec.json.decode(first + _received(line, size - 1), type=_Order)
    pid = os.fork()
    if pid == 0:
        line.close()
        _become(order, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    # Whoever asked may be gone by then; that is no reason to speak up.
    try:
        line.sendall(b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        line.sendall(b"%d." % os.waitstatus_to_exitcode(status))
    finally:
        os._exit(0)


def _become(order: _Order, descriptors: Sequence[int]) -> NoReturn:
    from mainspring import faults
    from mainspring.cli import run_command

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for place, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(order.environment)
    # As `python -m mainspring` would have it.
    os.chdir(order.folder)
    sys.path[0] = order.folder
    sys.argv = ["mainspring", *order.words]
    status = 1
    try:
        # Read when the module was imported, which was long ago.
        faults._armed = faults._plan(os.environ.pop(faults.VARIABLE, None))
        status = run_command()
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _received(line: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = line.recv(size - len(received))
        if not part:
            os._exit(1)
        received += part
    return received


if __name__ == "__main__":
    _serve(sys.argv[1])
