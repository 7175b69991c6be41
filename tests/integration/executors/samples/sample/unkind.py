"""Tasks that break the host's own means: its descriptors, its process, its silence."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from mainspring import task


def told(path: str, text: object = "now") -> None:
    """Appears whole, so that whoever waits for it can read it."""
    Path(f"{path}.new").write_text(str(text))
    os.replace(f"{path}.new", path)


def wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.005)


async def wait_for_async(path: str) -> None:
    while not os.path.exists(path):  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def connection_to_the_worker() -> socket.socket:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            connection = socket.socket(fileno=os.dup(int(name)))
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if struct.unpack("iII", peer)[0] == os.getppid():
                return connection
            connection.close()
    raise AssertionError("no connection to the worker")


# --- the socket ---------------------------------------------------------------------------


def close_all(begun: str) -> None:
    """As old recipes for daemons do."""
    told(begun)
    os.closerange(3, 256)


@task(executor="process")
def close_all_process(begun: str) -> None:
    close_all(begun)
    time.sleep(3600)


@task(executor="thread")
def close_all_in_thread(begun: str) -> None:
    close_all(begun)


@task(executor="process")
def scribble_process(begun: str) -> None:
    told(begun)
    connection_to_the_worker().sendall(b"hello, world\n" * 100)
    time.sleep(3600)


@task
async def shut_async(begun: str) -> None:
    """The worker sees the end of the connection, but the process stays."""
    connection_to_the_worker().shutdown(socket.SHUT_WR)
    told(begun)
    time.sleep(3600)  # noqa: ASYNC251


# --- forks --------------------------------------------------------------------------------


def come_back_twice(child_back: str, until: str) -> str:
    """Both copies return from the task; the child first."""
    if os.fork() == 0:
        told(child_back)
        return "child"
    wait_for(until)
    return "parent"


@task(executor="process")
def fork_process(child_back: str, until: str) -> str:
    return come_back_twice(child_back, until)


@task(executor="thread")
def fork_in_thread(child_back: str, until: str) -> str:
    return come_back_twice(child_back, until)


@task
async def fork_async(child_back: str, until: str) -> str:
    if os.fork() == 0:
        told(child_back)
        return "child"
    await wait_for_async(until)
    return "parent"


def flood(lines: int) -> None:
    for _ in range(lines):
        print("x" * 1023)


@task(executor="thread")
def print_in_a_forked_child_in_thread(lines: int) -> str:
    child = multiprocessing.get_context("fork").Process(target=flood, args=(lines,))
    child.start()
    flood(lines)
    child.join()
    return f"ended with {child.exitcode}"


# --- ends ---------------------------------------------------------------------------------


@task
async def exit_when_stopped_async(begun: str) -> None:
    told(begun)
    try:
        await asyncio.sleep(3600)
    finally:
        os._exit(9)


@task
async def wait_quietly_async(begun: str, until: str = "") -> str:
    told(begun)
    await wait_for_async(until or "/nowhere")
    return "done"


@task(executor="process")
def leave_programs(folder: str) -> None:
    """Programs left running, by a task that has ended: in our session, in theirs, adopted."""
    sleep = ["sleep", "3600"]
    children = [
        subprocess.Popen(sleep),
        subprocess.Popen(sleep, process_group=0),
        subprocess.Popen(sleep, start_new_session=True),
    ]
    for number, child in enumerate(children):
        told(f"{folder}/left-{number}", child.pid)
    daemon = ["sh", "-c", "setsid sleep 3600 >/dev/null 2>&1 & echo $!"]
    told(f"{folder}/left-3", subprocess.check_output(daemon, text=True))


@task(executor="process")
def leave_programs_and_wait(folder: str) -> None:
    leave_programs.function(folder)
    time.sleep(3600)


@task(executor="thread")
def leave_a_thread_in_thread(begun: str) -> int:
    """Not a daemon, so Python waits for it at its end."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()
    told(begun)
    return os.getpid()
