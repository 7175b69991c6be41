"""What a run has come to, for tests to assert on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.outcomes import Error
from mainspring.domain.states import AttemptState, RunState, TaskState


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """One attempt, as it went."""

    number: int
    state: AttemptState
    error: Error | None
    began_seconds: float
    """Since the run's beginning; in memory, in virtual time."""
    seconds: float
    called: bool
    """Whether the task's own function was called, and not a fake in its place."""
    log: str
    progress: tuple[tuple[float, str], ...] = ()
    """What it told by `context().progress`; of runs in memory only."""


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """One task of the run."""

    name: str
    state: TaskState
    result: Any
    """As JSON data, which is what the next task is given; None unless it succeeded."""
    tries: tuple[AttemptResult, ...]
    """Every attempt; none if the task was never reached."""

    @property
    def attempts(self) -> int:
        """How often it was tried, fakes included."""
        return len(self.tries)

    @property
    def calls(self) -> int:
        """How often its own function was called."""
        return sum(tried.called for tried in self.tries)

    @property
    def error(self) -> Error | None:
        """Why its last attempt did not succeed: `type`, `message` and `trace`."""
        return self.tries[-1].error if self.tries else None

    @property
    def log(self) -> str:
        """What it printed and logged, in all attempts."""
        return "".join(tried.log for tried in self.tries)

    @property
    def began_seconds(self) -> float | None:
        """When its first attempt began, since the run's beginning; None if it never did."""
        return self.tries[0].began_seconds if self.tries else None

    @property
    def ended_seconds(self) -> float | None:
        """When its last attempt ended."""
        return self.tries[-1].began_seconds + self.tries[-1].seconds if self.tries else None


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run that is over. Its tasks are found by name: `result["load"]`."""

    dag: str
    state: RunState
    parameters: Mapping[str, Any]
    tasks: Mapping[str, TaskResult] = field(repr=False)
    order: list[str]
    """The tasks that were tried, in the order in which they began."""
    elapsed_seconds: float
    """In memory, in virtual time: rests and sleeps."""

    def __getitem__(self, name: str) -> TaskResult:
        try:
            return self.tasks[name]
        except KeyError:
            raise NotFoundError(
                f"dag {shown(self.dag)} has no task {shown(name)}", hint=closest(name, self.tasks)
            ) from None

    def __iter__(self) -> Iterator[TaskResult]:
        return iter(self.tasks.values())

    @property
    def states(self) -> dict[str, TaskState]:
        """The state of every task, by name."""
        return {task.name: task.state for task in self}
