"""Hosts with a listener that remembers, and ways to wait for what it is told."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mainspring.authoring.context import Attempt
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Outcome, Succeeded
from mainspring.domain.uses import Use
from mainspring.executors.hosts import Hosts
from mainspring.executors.jobs import Ended, Job

SAMPLES = str(Path(__file__).parent / "samples")
SLOTS = {
    SlotKind.ASYNC: 100,
    SlotKind.THREAD: 8,
    SlotKind.PROCESS: 2,
    SlotKind.COMMAND: 8,
}
ATTEMPT = Attempt(
    run_id=1,
    dag="trial",
    task="sample",
    number=1,
    generation=1,
    epoch=1,
    term=1,
    due_at=datetime(2026, 11, 15, tzinfo=UTC),
    parameters=None,
)


class Memory:
    """A listener that keeps all it is told and checks the promises that hold at any time."""

    def __init__(self) -> None:
        self.ends: dict[int, Ended] = {}
        self.logs: defaultdict[int, bytearray] = defaultdict(bytearray)
        self.begun: dict[int, int] = {}
        self.progress: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
        self.uses: dict[int, Use] = {}
        self.log_calls = 0
        self.keep_logs = True
        self._changed = asyncio.Event()

    def started(self, task_id: int, term: int, started_us: int) -> None:
        assert task_id not in self.ends
        assert task_id not in self.begun
        self.begun[task_id] = started_us
        self._changed.set()

    def ended(self, ended: Sequence[Ended]) -> None:
        for item in ended:
            assert item.task_id not in self.ends, "ended twice"
            assert item.started_us is None or item.started_us <= item.finished_us
            self.ends[item.task_id] = item
        self._changed.set()

    def progressed(self, task_id: int, term: int, percent: float, text: str) -> None:
        assert task_id in self.begun, "progress of what has not begun"
        self.progress[task_id].append((percent, text))
        self._changed.set()

    def used(self, task_id: int, term: int, use: Use) -> None:
        assert task_id not in self.ends, "it is told before the end"
        self.uses[task_id] = use

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        assert task_id not in self.ends, "logged after its end"
        assert 0 < len(data) <= 64 * 1024
        self.log_calls += 1
        if self.keep_logs:
            self.logs[task_id] += data
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that the listener is told."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()


class Trial:
    """Submits jobs by the name of their function."""

    def __init__(self, hosts: Hosts, memory: Memory) -> None:
        self.hosts = hosts
        self.memory = memory
        self._numbers = itertools.count(1)

    def start(
        self,
        name: str,
        *,
        module: str = "sample.plain",
        kind: SlotKind | None = None,
        timeout: float | None = None,
        apart: bool = False,
        alone: bool = False,
        snapshot: str = SAMPLES,
        attempt: Attempt = ATTEMPT,
        large_parameters: bytes | None = None,
        **arguments: Any,
    ) -> int:
        job = self.job(
            name,
            module=module,
            kind=kind,
            timeout=timeout,
            apart=apart,
            alone=alone,
            snapshot=snapshot,
            attempt=attempt,
            large_parameters=large_parameters,
            **arguments,
        )
        self.hosts.submit([job])
        return job.task_id

    def job(
        self,
        name: str,
        *,
        module: str = "sample.plain",
        kind: SlotKind | None = None,
        timeout: float | None = None,
        apart: bool = False,
        alone: bool = False,
        snapshot: str = SAMPLES,
        attempt: Attempt = ATTEMPT,
        large_parameters: bytes | None = None,
        **arguments: Any,
    ) -> Job:
        return Job(
            task_id=next(self._numbers),
            term=1,
            kind=kind or kind_of(name),
            snapshot=snapshot,
            entry=f"{module}:{name}",
            attempt=attempt,
            arguments=msgspec.json.encode(arguments),
            timeout_seconds=timeout,
            apart=apart,
            alone=alone,
            large_parameters=large_parameters,
        )

    async def start_of(self, number: int) -> None:
        """Wait until the job is reported as started, some 0.3 s after it was."""
        await self.memory.until(lambda: number in self.memory.begun)

    async def end_of(self, number: int) -> Outcome:
        await self.memory.until(lambda: number in self.memory.ends)
        return self.memory.ends[number].outcome

    async def run(self, name: str, **options: Any) -> Outcome:
        return await self.end_of(self.start(name, **options))

    async def result_of(self, name: str, **options: Any) -> Any:
        outcome = await self.run(name, **options)
        assert isinstance(outcome, Succeeded), outcome
        return msgspec.json.decode(outcome.result)

    def log_of(self, number: int) -> bytes:
        return bytes(self.memory.logs[number])


def kind_of(name: str) -> SlotKind:
    """The samples are named after their kind."""
    if name.endswith("_in_thread"):
        return SlotKind.THREAD
    if name.endswith("command"):
        return SlotKind.COMMAND
    if "async" in name or name in ("noop", "never", "speak_in_turns", "speak_then_block"):
        return SlotKind.ASYNC
    return SlotKind.PROCESS


@asynccontextmanager
async def open_trial(**options: Any) -> AsyncIterator[Trial]:
    memory = Memory()
    hosts = Hosts(memory, **{"slots": SLOTS, "stop_grace_seconds": 1.0, **options})
    trial = Trial(hosts, memory)
    try:
        yield trial
    finally:
        pids = hosts.processes()
        await hosts.close(kill=True)
        assert hosts.running() == 0
        assert hosts.processes() == []
        assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    return state_of(pid) not in ("", "Z", "X")


def state_of(pid: int) -> str:
    """The letter that `ps` shows; empty when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


async def until(condition: Callable[[], object]) -> None:
    """Wait for something outside of this process that sends no signal: a file, a state."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def exists(path: Path | str) -> str:
    await until(lambda: os.path.exists(path) and os.path.getsize(path))
    return Path(path).read_text()
