"""Tasks that tell what they know of their attempt, from wherever they are."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import threading
from collections.abc import Callable
from typing import Any

from mainspring import DefinitionError, context, task
from mainspring.executors.calls import Calls


def told() -> dict[str, Any]:
    here = context()
    return {
        "run_id": here.run_id,
        "dag": here.dag,
        "task": here.task,
        "attempt": here.attempt,
        "generation": here.generation,
        "idempotency_key": here.idempotency_key,
        "attempt_key": here.attempt_key,
        "fencing_token": here.fencing_token,
        "due_at": here.due_at,
        "parameters": dict(here.parameters),
    }


@task(executor="process")
def ask(**arguments: Any) -> dict[str, Any]:
    return told()


@task(executor="thread")
def ask_in_thread(**arguments: Any) -> dict[str, Any]:
    return told()


@task
async def ask_async(**arguments: Any) -> dict[str, Any]:
    return told()


@task(executor="command")
def ask_command(names: list[str]) -> list[str]:
    """What the function knows, then what the program knows."""
    values = " ".join(f'"${name}"' for name in names)
    return ["sh", "-c", f"echo {context().idempotency_key} {values}"]


# --- the ways of a task to go on elsewhere --------------------------------------------------


@task
async def ask_everywhere_async() -> dict[str, Any]:
    await asyncio.sleep(0)
    after_await = told()
    return {
        "after an await": after_await,
        "in a task": await asyncio.create_task(_told_async()),
        "in a helper thread": await asyncio.to_thread(told),
    }


async def _told_async() -> dict[str, Any]:
    await asyncio.sleep(0)
    return told()


@task(executor="process")
def ask_in_a_forked_child() -> str:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, context().idempotency_key.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def ask_in_bare_threads() -> list[str]:
    """As Python starts threads, and with the context variables handed on."""
    answers: list[str] = []

    def ask() -> None:
        try:
            answers.append(context().idempotency_key)
        except DefinitionError as error:
            answers.append(error.hint)

    ways: list[Callable[[], None]] = [ask, lambda: handed_on.run(ask)]
    handed_on = contextvars.copy_context()
    for way in ways:
        thread = threading.Thread(target=way)
        thread.start()
        thread.join()
    return answers


@task(executor="process")
def ask_in_bare_threads_process() -> list[str]:
    return ask_in_bare_threads()


@task(executor="thread")
def ask_in_bare_threads_in_thread() -> list[str]:
    return ask_in_bare_threads()


@task
async def ask_in_bare_threads_async() -> list[str]:
    return ask_in_bare_threads()


@task
async def ask_in_turns_async(turns: int) -> list[str]:
    keys = []
    for _ in range(turns):
        keys.append(context().idempotency_key)
        await asyncio.sleep(0)
    return keys


# --- what the host keeps --------------------------------------------------------------------


def count_one(path: str) -> None:
    with open(path, "a") as file:
        file.write("x")


@task
async def size_and_place_async(begun: str, until: str) -> list[int]:
    """How large the parameters are and which object they are, with all jobs here at once."""
    count_one(begun)
    while not os.path.exists(until):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    json = context().parameters_json
    return [len(json), id(json)]


def runs_kept() -> list[int]:
    [calls] = [found for found in gc.get_objects() if isinstance(found, Calls)]
    return sorted(calls._large_parameters)


@task
async def runs_kept_async() -> list[int]:
    return runs_kept()


@task(executor="process")
def runs_kept_process() -> list[int]:
    return runs_kept()


@task(executor="thread")
def runs_kept_in_thread() -> list[int]:
    return runs_kept()
