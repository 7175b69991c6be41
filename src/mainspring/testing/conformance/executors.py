"""Whether an executor keeps the promises of a host, tried in real host children."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mainspring.authoring.context import Attempt
from mainspring.authoring.tasks import Task
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Failed, Outcome, Succeeded, TimedOut
from mainspring.domain.uses import Use
from mainspring.executors.hosts import Hosts
from mainspring.executors.jobs import Ended, Job

AnyTask = Task[..., Any]

_AT_ONCE = 20
_SLOTS = 4
_GRACE_SECONDS = 5.0
_TIMEOUT_SECONDS = 0.5


def check_executor(
    *,
    succeeds: AnyTask,
    fails: AnyTask,
    lasts: AnyTask,
    folder: Path | None = None,
    patience_seconds: float = 120.0,
) -> None:
    """Run three tasks of yours, which need no arguments, by your executor.

    All are made with `@task(executor="yours")`. `succeeds` prints a line and ends well, `fails`
    does not, and `lasts` goes on until it is stopped. Many at once each end once; what is printed
    comes as the log of whoever printed it; a task that is cancelled, or takes too long, stops
    within five seconds, and those beside it do not notice. `folder` is put first on the path of
    the hosts; it is the one that your tasks were imported from if it is not given. Whatever has
    not come after `patience_seconds` never will.
    """
    tasks = {"succeeds": succeeds, "fails": fails, "lasts": lasts}
    for name, task in tasks.items():
        assert isinstance(task, Task), f"`{name}` is not a task: put `@task(executor=…)` above it"
    assert len({(task.spec.executor, task.spec.kind) for task in tasks.values()}) == 1, (
        "the three tasks are to run by the same executor"
    )
    asyncio.run(_check(succeeds, fails, lasts, folder or _folder_of(succeeds), patience_seconds))


async def _check(
    succeeds: AnyTask, fails: AnyTask, lasts: AnyTask, folder: Path, patience_seconds: float
) -> None:
    trial = _Trial(succeeds.spec.kind, folder)
    try:
        async with asyncio.timeout(patience_seconds):
            await _check_ends(trial, succeeds, fails)
            await _check_stops(trial, succeeds, lasts)
    except TimeoutError:
        told = ", ".join(f"`{name}`" for name in trial.waited_for())
        raise AssertionError(f"after {patience_seconds:g} s these have not ended: {told}") from None
    finally:
        await trial.hosts.close(kill=True)


async def _check_ends(trial: _Trial, succeeds: AnyTask, fails: AnyTask) -> None:
    jobs = [trial.start(fails if n % 4 == 3 else succeeds) for n in range(_AT_ONCE)]
    for number, job in enumerate(jobs):
        outcome = await trial.end_of(job)
        if number % 4 == 3:
            assert isinstance(outcome, Failed), f"`fails` ended as {outcome}"
            assert outcome.error.message, "a failure says nothing: what happened, to which thing?"
        else:
            assert isinstance(outcome, Succeeded), f"`succeeds` ended as {outcome}"
            assert trial.logs.get(job), "nothing that `succeeds` printed came as its log"


async def _check_stops(trial: _Trial, succeeds: AnyTask, lasts: AnyTask) -> None:
    cancelled, bystander = trial.start(lasts), trial.start(lasts)
    late = trial.start(lasts, timeout_seconds=_TIMEOUT_SECONDS)
    await trial.start_of(cancelled)
    await trial.start_of(bystander)
    hosts = set(trial.hosts.processes())
    trial.hosts.stop(cancelled, 1, Cancelled("by the conformance kit"))
    stopped = await trial.end_of(cancelled)
    assert isinstance(stopped, Cancelled), f"a task that was cancelled ended as {stopped}"
    outcome = await trial.end_of(late)
    assert isinstance(outcome, TimedOut), f"a task that took too long ended as {outcome}"
    if lasts.spec.kind is not SlotKind.PROCESS:
        assert set(trial.hosts.processes()) == hosts, (
            "a task did not stop when it was asked to, so that its host was killed, with all"
            " others in it"
        )
        assert bystander not in trial.ends, "with the cancelled task another one has ended"
    assert isinstance(await trial.end_of(trial.start(succeeds)), Succeeded)
    trial.hosts.stop(bystander, 1, Cancelled("by the conformance kit"))
    await trial.end_of(bystander)


class _Trial:
    """Hosts, and what they tell."""

    def __init__(self, kind: SlotKind, folder: Path) -> None:
        self.hosts = Hosts(self, slots={kind: _SLOTS}, stop_grace_seconds=_GRACE_SECONDS)
        self.ends: dict[int, Outcome] = {}
        self.logs: dict[int, bytes] = {}
        self._folder = folder
        self._numbers = itertools.count(1)
        self._names: dict[int, str] = {}
        self._begun: set[int] = set()
        self._changed = asyncio.Event()
        self._twice: list[str] = []

    def start(self, task: AnyTask, *, timeout_seconds: float | None = None) -> int:
        number = next(self._numbers)
        self._names[number] = task.name
        due_at = datetime.now(UTC)
        attempt = Attempt(number, "conformance", task.name, 1, 1, 1, 1, due_at, None)
        spec = task.spec
        job = Job(
            *(number, 1, spec.kind, str(self._folder), spec.entry, attempt),
            timeout_seconds=timeout_seconds,
            executor=spec.executor,
        )
        self.hosts.submit([job])
        return number

    async def start_of(self, number: int) -> None:
        while number not in self._begun and number not in self.ends:
            await self._more()
        assert number in self._begun, f"`lasts` ended by itself, as {self.ends[number]}"

    async def end_of(self, number: int) -> Outcome:
        while number not in self.ends:
            await self._more()
        assert not self._twice, f"these ended twice: {self._twice}"
        return self.ends[number]

    def waited_for(self) -> list[str]:
        return [name for number, name in self._names.items() if number not in self.ends]

    async def _more(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # --- what the hosts tell ------------------------------------------------------------------

    def started(self, task_id: int, term: int, started_us: int) -> None:
        self._begun.add(task_id)
        self._changed.set()

    def progressed(self, task_id: int, term: int, percent: float, text: str) -> None:
        """No promise is made of it."""

    def used(self, task_id: int, term: int, use: Use) -> None:
        """Nor of this."""

    def ended(self, ended: Sequence[Ended]) -> None:
        for item in ended:
            if item.task_id in self.ends:
                self._twice.append(self._names[item.task_id])
            self.ends[item.task_id] = item.outcome
        self._changed.set()

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        self.logs[task_id] = self.logs.get(task_id, b"") + data


def _folder_of(task: AnyTask) -> Path:
    """From where its module was imported."""
    name = task.spec.entry.partition(":")[0]
    file = sys.modules[name].__file__
    assert file is not None
    levels = name.count(".") + (Path(file).stem == "__init__")
    return Path(file).resolve().parents[levels]
