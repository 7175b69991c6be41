"""Notifiers run in a child of the engine, which lives as long as one batch of notices.

    python -P -m mainspring.notifiers.telling SECONDS

It takes notices on stdin and answers on stdout with an error for each, empty where there was none.
Each notice has a thread, and whoever has not ended in time is told to be late. So a notifier that
hangs, crashes or grows costs its batch an attempt, and the engine nothing. The child does not get
the way into the database.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence

import msgspec

from mainspring.domain.errors import MainspringError
from mainspring.domain.notices import Notice, split_target
from mainspring.plugins import Kind, load_plugin_named

BATCH_SECONDS = 30.0
_GRACE_SECONDS = 10.0
_WITHHELD = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATABASE_URL_FILE")
_ERROR_LENGTH = 500


class Told(msgspec.Struct, frozen=True):
    target: str
    """`notifier:address`."""
    notice: Notice


async def tell(batch: Sequence[Told], *, seconds: float = BATCH_SECONDS) -> list[str]:
    """Why each notice of the batch was not told; empty for those that were."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "mainspring.notifiers.telling", str(seconds)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=_environment(os.environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds + _GRACE_SECONDS):
            answer, _ = await child.communicate(msgspec.json.encode(batch))
        return msgspec.json.decode(answer, type=list[str])
    except TimeoutError:
        return [f"the notifiers took longer than {seconds:g} s"] * len(batch)
    except msgspec.DecodeError:
        return [f"the process of the notifiers ended with {child.returncode}"] * len(batch)
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            await child.wait()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in _WITHHELD}


def main() -> None:
    seconds = float(sys.argv[1])
    batch = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Told])
    # What notifiers print is for the engine's log.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    errors = [f"took longer than {seconds:g} s"] * len(batch)
    ended: queue.Queue[tuple[int, str]] = queue.Queue()
    for number, told in enumerate(batch):
        work = threading.Thread(target=_tell, args=(number, told, ended), daemon=True)
        work.start()
    until = time.monotonic() + seconds
    for _ in batch:
        try:
            number, error = ended.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            break
        errors[number] = error
    answers.write(msgspec.json.encode(errors))
    answers.flush()
    os._exit(0)


def _tell(number: int, told: Told, ended: queue.Queue[tuple[int, str]]) -> None:
    error = ""
    try:
        name, address = split_target(told.target)
        load_plugin_named(Kind.NOTIFIER, name)(address).notify(told.notice)
    except MainspringError as failure:
        error = failure.message
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"
    ended.put((number, error[:_ERROR_LENGTH]))


if __name__ == "__main__":
    main()
