"""The kit passes our own executors, and finds those which break what workers rely on."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mainspring import task
from mainspring.plugins import found, loading
from mainspring.testing.conformance import check_executor
from tests.support.packages import install


@task
async def async_succeeds() -> None:
    print("well")


@task
async def async_fails() -> None:
    raise ValueError("no")


@task
async def async_lasts() -> None:
    await asyncio.sleep(1000)


@task(executor="thread")
def thread_succeeds() -> None:
    print("well")


@task(executor="thread")
def thread_fails() -> None:
    raise ValueError("no")


@task(executor="thread")
def thread_lasts() -> None:
    while True:
        time.sleep(0.01)


@task
def process_succeeds() -> None:
    print("well")


@task
def process_fails() -> None:
    raise ValueError("no")


@task
def process_lasts() -> None:
    time.sleep(1000)


@task(executor="command")
def command_succeeds() -> list[str]:
    return ["echo", "well"]


@task(executor="command")
def command_fails() -> list[str]:
    return ["false"]


@task(executor="command")
def command_lasts() -> list[str]:
    return ["sleep", "1000"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["async", "thread", "process", "command"])
def test_our_own_executors_conform(name: str) -> None:
    three = {word: globals()[f"{name}_{word}"] for word in ("succeeds", "fails", "lasts")}
    check_executor(**three)


BROKEN = """
from mainspring.executors.host_async import AsyncHost

class Deaf(AsyncHost):
    def stop(self, message): ...

class Mute(AsyncHost):
    def _answer(self, answer): ...

class Cheerful(AsyncHost):
    async def perform(self, call):
        try:
            return await super().perform(call)
        except ValueError:
            return b"null"

class Stillborn(AsyncHost):
    def serve(self): raise RuntimeError("no licence")

class Raising(AsyncHost): ...
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "finding", "patience_seconds"),
    [
        ("deaf", "did not stop when it was asked to", 120.0),
        ("mute", "these have not ended: `succeeds`", 5.0),
        ("cheerful", "`fails` ended as Succeeded", 120.0),
        ("stillborn", "no host process can be started", 120.0),
        ("raising", "RuntimeError: not today", 120.0),
    ],
)
def test_the_kit_finds_what_is_wrong(
    executor: str,
    finding: str,
    patience_seconds: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(
        tmp_path,
        "broken",
        f"""
        [mainspring.executors]
        {executor} = broken_hosts:{executor.capitalize()}
        """,
        broken_hosts=BROKEN,
        **{f"{executor}_tasks": tasks(executor)},
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    forget()
    try:
        module: Any = __import__(f"{executor}_tasks")
        if executor == "raising":
            (tmp_path / "broken_hosts.py").write_text("raise RuntimeError('not today')")
        with pytest.raises(AssertionError, match=finding):
            check_executor(
                succeeds=module.succeeds,
                fails=module.fails,
                lasts=module.lasts,
                patience_seconds=patience_seconds,
            )
    finally:
        sys.modules.pop("broken_hosts", None)
        forget()


def tasks(executor: str) -> str:
    return f"""
    import asyncio
    from mainspring import task

    @task(executor="{executor}")
    async def succeeds(): print("well")

    @task(executor="{executor}")
    async def fails(): raise ValueError("no")

    @task(executor="{executor}")
    async def lasts(): await asyncio.sleep(1000)
    """


def forget() -> None:
    found.find_plugins.cache_clear()
    found._declared.cache_clear()
    loading.load_plugin_named.cache_clear()
