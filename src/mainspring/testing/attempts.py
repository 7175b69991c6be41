"""One attempt in this process: fakes, arguments, the call, and its end as an outcome.

It goes the road that a host goes, with the same conversions of arguments and results, so that a
value which cannot travel as JSON fails here too. Only what stops a test is let through: an
interrupt from the keyboard, and pytest's own `skip` and `fail`.
"""

from __future__ import annotations

import contextvars
import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from mainspring.authoring.calling import (
    AnyTask,
    arguments_for,
    command_of,
    encode_result,
    outcome_of,
)
from mainspring.authoring.commands import Command
from mainspring.authoring.context import context, enter
from mainspring.domain import outcomes
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Error, Outcome, Succeeded
from mainspring.executors.calls import Stopped
from mainspring.testing.clock import Clock, follow, run_coroutine
from mainspring.testing.logs import Log
from mainspring.trial import Due


class Lost(Exception):
    """Given in `fail`: the worker or the process under the attempt is gone."""

    def __init__(self, message: str = "the worker was not heard of again") -> None:
        super().__init__(message)


class TimedOut(Exception):
    """Given in `fail`: the attempt took longer than the task's timeout."""

    def __init__(self, message: str = "took too long") -> None:
        super().__init__(message)


Failure = BaseException | type[BaseException]


@dataclass
class Fakes:
    """What happens in place of tasks, by name."""

    results: Mapping[str, Any]
    fail: dict[str, Failure | list[Failure]]

    def failure_of(self, name: str) -> Failure | None:
        """The exception for the attempt that begins now."""
        failures = self.fail.get(name)
        if isinstance(failures, list):
            return failures.pop(0) if failures else None
        return failures


@dataclass(frozen=True)
class Made:
    """How an attempt went."""

    outcome: Outcome
    seconds: float
    called: bool
    log: str
    progress: tuple[tuple[float, str], ...]


def make_attempt(task: AnyTask, due: Due, fakes: Fakes, folder: Path) -> Made:
    """`folder` is that of the dags, for commands that run relative to it."""
    timeout, left = due.task.timeout_seconds, due.left_seconds
    limits = [limit for limit in (timeout, left) if limit is not None]
    clock = Clock(min(limits) if limits else None)
    call = _Call(task, due, fakes, clock, folder)
    # In a context of its own: what a task sets there is not seen by the next one.
    outcome = contextvars.copy_context().run(call.outcome)
    if clock.stopped:
        outcome = _stopped(due)
    return Made(outcome, clock.seconds, call.called, call.log.text, tuple(call.progress))


def _stopped(due: Due) -> Outcome:
    from mainspring.executors.verdicts import timed_out

    timeout, left = due.task.timeout_seconds, due.left_seconds
    if timeout is None or (left is not None and left < timeout):
        return Cancelled("the run's timeout passed")
    return timed_out(timeout)


class _Call:
    def __init__(self, task: AnyTask, due: Due, fakes: Fakes, clock: Clock, folder: Path) -> None:
        self.called = False
        self.log = Log()
        self.progress: list[tuple[float, str]] = []
        self._task = task
        self._due = due
        self._fakes = fakes
        self._clock = clock
        self._folder = folder

    def outcome(self) -> Outcome:
        name, number = self._due.task.name, self._due.attempt.number
        enter(self._due)
        enter(replace(context(), report=self._progressed))
        follow(self._clock)
        try:
            failure = self._fakes.failure_of(name)
            if failure is not None:
                raise failure
            if name in self._fakes.results and not callable(self._fakes.results[name]):
                return Succeeded(encode_result(self._fakes.results[name]))
            with self.log.recording():
                return Succeeded(self._called())
        except Lost as lost:
            return outcomes.Lost(Error("Lost", str(lost)))
        except TimedOut as late:
            return outcomes.TimedOut(Error("TimedOut", str(late)))
        except BaseException as error:
            if _stops_the_test(error):
                raise
            return outcome_of(self._task, error, number)

    def _progressed(self, percent: float, text: str) -> None:
        self.progress.append((percent, text))

    def _called(self) -> bytes:
        arguments = arguments_for(self._task, self._due.arguments)
        fake = self._fakes.results.get(self._due.task.name)
        function: Callable[..., Any] = self._task.function
        if fake is not None:
            function = fake
        self.called = fake is None
        value = function(**arguments)
        if inspect.iscoroutine(value):
            value = run_coroutine(value, self._clock)
        if fake is None and self._due.task.kind is SlotKind.COMMAND:
            return self._run_command(command_of(self._task, value))
        return encode_result(value)

    def _run_command(self, wanted: Command) -> bytes:
        """Programs know no virtual time: they take what they take, up to the attempt's limit."""
        from mainspring.executors.environment import environment_for_commands
        from mainspring.executors.host_command import CommandFailed
        from mainspring.executors.verdicts import ending_of

        vector = list(wanted.arguments)
        try:
            ended = subprocess.run(
                vector,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=environment_for_commands(context(), wanted.env),
                cwd=None if wanted.cwd is None else self._folder / wanted.cwd,
                timeout=self._clock.limit_seconds,
            )
        except subprocess.TimeoutExpired:
            assert self._clock.limit_seconds is not None
            self._clock.seconds, self._clock.stopped = self._clock.limit_seconds, True
            raise Stopped("stopped") from None
        except (OSError, ValueError) as error:
            raise CommandFailed(f"cannot start `{vector[0]}`: {error}") from None
        out, err = (part.decode("utf-8", "replace") for part in (ended.stdout, ended.stderr))
        self.log.write(out + err)
        if ended.returncode != 0:
            words = f"`{vector[0]}` {ending_of(ended.returncode)}"
            raise CommandFailed(f"{words}: {err.strip()}" if err.strip() else words)
        lines = [line for line in out.split("\n") if line.strip()]
        return msgspec.json.encode(lines[-1].rstrip("\r") if lines else None)


def _stops_the_test(error: BaseException) -> bool:
    pytest_outcomes = sys.modules.get("_pytest.outcomes")
    if pytest_outcomes is not None and isinstance(error, pytest_outcomes.OutcomeException):
        return True
    return isinstance(error, KeyboardInterrupt)
