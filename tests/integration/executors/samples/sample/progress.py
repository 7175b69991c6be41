"""Tasks that tell how far they are, and wait for a file before they go on."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time

from mainspring import context, task


def _wait(gate: str) -> None:
    while not os.path.exists(gate):
        time.sleep(0.01)


@task(executor="process")
def tell(gate: str) -> None:
    context().progress(50, "half way")
    _wait(gate)


@task(executor="thread")
def tell_in_thread(gate: str) -> None:
    context().progress(50, "half way")
    _wait(gate)


@task
async def tell_async(gate: str) -> None:
    context().progress(50, "half way")
    while not os.path.exists(gate):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@task
async def tell_async_and_block(gate: str) -> None:
    context().progress(50, "half way")
    _wait(gate)


@task(executor="process")
def tell_without_end(gate: str) -> int:
    count = 0
    while not os.path.exists(gate):
        count += 1
        context().progress(count % 100, "x" * (count % 300))
    return count


@task(executor="thread")
def leave_a_teller_in_thread(gate: str) -> None:
    here = context()

    def tell() -> None:
        while not os.path.exists(gate):
            here.progress(13, "a ghost")
            time.sleep(0.001)

    threading.Thread(target=tell, daemon=True).start()


@task(executor="thread")
def wait_in_thread(gate: str) -> None:
    _wait(gate)


@task(executor="process")
def tell_from_a_fork(gate: str) -> None:
    here = context()
    here.progress(10, "parent")
    child = os.fork()
    if child == 0:
        here.progress(90, "child")
        os._exit(0)
    os.waitpid(child, 0)
    _wait(gate)


@task(executor="process")
def keep_a_copy() -> list[object]:
    here = context()
    here.log.info("before")
    copy = pickle.loads(pickle.dumps(here))
    copy.progress(1)
    return [copy == here, copy.report is None]


@task(executor="process")
def speak() -> None:
    context().log.warning("%s of %s", 3, 5, extra={"colour": "red"})


@task
async def speak_async() -> None:
    context().log.info("quietly")
    context().log.debug("too quietly")
