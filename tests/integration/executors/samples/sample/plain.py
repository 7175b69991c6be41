"""Tasks as an author writes them, one for each promise that the tests look at."""

# ruff: noqa: ASYNC110, ASYNC251

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from mainspring import Fail, Retry, Skip, task

logger = logging.getLogger("sample")


def touch(path: str) -> None:
    Path(path).write_text(str(os.getpid()))


# --- ends ---------------------------------------------------------------------------------


@task(executor="process")
def add(a: int, b: int = 1) -> int:
    return a + b


@task(executor="thread")
def add_in_thread(a: int, b: int = 1) -> int:
    return a + b


@task
async def add_async(a: int, b: int = 1) -> int:
    return a + b


@task
async def noop() -> None:
    pass


@task(executor="process")
def noop_process() -> None:
    pass


@task(executor="process")
def fail(how: str) -> Any:
    match how:
        case "raise":
            raise ValueError("no such region")
        case "exit":
            sys.exit(3)
        case "retry":
            raise Retry("later", after=7)
        case "fail":
            raise Fail("hopeless")
        case "skip":
            raise Skip("nothing to do")
        case "result":
            return object()
    return None


@task
async def fail_async(how: str) -> Any:
    return fail.function(how)


@task(executor="thread")
def fail_in_thread(how: str) -> Any:
    return fail.function(how)


@task
async def pid_async() -> int:
    return os.getpid()


@task(executor="process")
def pid_process() -> int:
    return os.getpid()


@task(executor="process")
def environment() -> dict[str, str]:
    return dict(os.environ)


# --- dying --------------------------------------------------------------------------------


def die(how: str) -> None:
    match how:
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)


@task(executor="process")
def die_process(how: str) -> None:
    die(how)


@task(executor="process")
def die_with_forked_child(path: str) -> None:
    """The child inherits the host's socket and keeps it open."""
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    touch(path)
    os._exit(3)


@task
async def die_async(how: str, after: str = "") -> None:
    while after and not os.path.exists(after):
        await asyncio.sleep(0.01)
    die(how)


@task(executor="thread")
def die_in_thread(how: str) -> None:
    die(how)


# --- staying ------------------------------------------------------------------------------


@task
async def wait_async(begun: str, until: str = "") -> str:
    touch(begun)
    while not (until and os.path.exists(until)):
        await asyncio.sleep(0.01)
    return "done"


@task
async def cleanup_async(begun: str, cleaned: str) -> None:
    touch(begun)
    try:
        await asyncio.sleep(3600)
    finally:
        touch(cleaned)


@task
async def block_async(begun: str, until: str = "") -> str:
    """Blocks the event loop."""
    touch(begun)
    while not (until and os.path.exists(until)):
        time.sleep(0.01)
    return "done"


@task
async def stubborn_async(begun: str) -> None:
    touch(begun)
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


@task(executor="thread")
def wait_in_thread(begun: str, until: str = "") -> str:
    touch(begun)
    while not (until and os.path.exists(until)):
        time.sleep(0.01)
    return "done"


@task(executor="thread")
def block_in_thread(begun: str) -> None:
    """One call that no exception can interrupt."""
    touch(begun)
    threading.Lock().acquire()
    threading.Event().wait()
    time.sleep(3600)


@task(executor="process")
def wait_process(begun: str, until: str = "", cleaned: str = "") -> str:
    touch(begun)
    try:
        while not (until and os.path.exists(until)):
            time.sleep(0.01)
    finally:
        if cleaned:
            touch(cleaned)
    return "done"


@task(executor="process")
def stubborn_process(begun: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    touch(begun)
    time.sleep(3600)


@task(executor="process")
def leave_children(folder: str) -> None:
    """Children of every kind: plain, in a group of its own, in a session of its own."""
    kinds: list[dict[str, Any]] = [{}, {"process_group": 0}, {"start_new_session": True}]
    for number, options in enumerate(kinds):
        child = subprocess.Popen(["sleep", "3600"], **options)
        Path(folder, f"child-{number}").write_text(str(child.pid))
    touch(f"{folder}/begun")
    threading.Thread(target=time.sleep, args=(3600,)).start()
    time.sleep(3600)


@task(executor="process")
def count_forever(path: str) -> None:
    """Shows by a growing file whether it is running."""
    with open(path, "ab", buffering=0) as file:
        while True:
            file.write(b".")
            time.sleep(0.01)


# --- logs ---------------------------------------------------------------------------------


def speak() -> None:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    logger.info("to the log")
    logger.debug("to nobody")
    sys.stdout.buffer.write(b"bytes \xff\x00\n")
    sys.stdout.buffer.flush()


@task(executor="process")
def speak_process() -> None:
    speak()
    subprocess.run(["echo", "from a program"], check=True)
    os.write(1, b"raw \xfe\x00 no newline")


@task
async def speak_async() -> None:
    speak()
    await asyncio.to_thread(print, "from a helper thread")


@task(executor="thread")
def speak_in_thread() -> None:
    speak()


@task
async def speak_in_turns(who: str, lines: int) -> None:
    for number in range(lines):
        print(f"{who} {number}")
        await asyncio.sleep(0)


@task(executor="process")
def speak_then_wait(until: str) -> None:
    print("a line")
    print("a piece of a line", end="", flush=True)
    while not os.path.exists(until):
        time.sleep(0.01)


@task
async def speak_then_block(until: str) -> None:
    print("a line")
    print("a piece of a line", end="")
    while not os.path.exists(until):
        time.sleep(0.01)


@task(executor="process")
def flood_process(megabytes: int) -> None:
    line = "x" * 1023 + "\n"
    for _ in range(megabytes * 1024):
        sys.stdout.write(line)


@task
async def flood_async(megabytes: int) -> None:
    line = "x" * 1023 + "\n"
    for _ in range(megabytes * 1024):
        sys.stdout.write(line)


@task(executor="process")
def die_speaking() -> None:
    print("last words")
    os._exit(3)


# --- commands -----------------------------------------------------------------------------


@task(executor="command")
def command(vector: list[str]) -> list[str]:
    return vector


@task(executor="command")
def bad_command() -> Any:
    return "ls -l"


# --- memory -------------------------------------------------------------------------------

_kept: list[bytes] = []


@task(executor="process")
def keep(megabytes: int) -> int:
    _kept.append(bytes(bytearray(os.urandom(1)) * (megabytes << 20)))
    return os.getpid()


@task
async def echo_async(value: str) -> str:
    return value


@task(executor="thread")
def noop_in_thread() -> None:
    pass


@task
def nap_process(seconds: float) -> None:
    time.sleep(seconds)
