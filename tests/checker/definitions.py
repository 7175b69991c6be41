"""What the dags ask for, read from the stored versions: graphs, policies, kinds of slots.

The defaults stand here because a stored spec leaves out what has its default value.
"""

from __future__ import annotations

from functools import cached_property

import msgspec


class RetryRule(msgspec.Struct, frozen=True):
    attempts: int = 1
    backoff: str = "fixed"
    first_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 300.0
    jitter: float = 0.0
    delays_seconds: tuple[float, ...] = ()

    def least_rest_seconds(self, attempt: int) -> float | None:
        """The shortest rest after this failed attempt; None if the author's code decides it."""
        match self.backoff:
            case "fixed":
                rest = self.first_seconds
            case "exponential":
                rest = self.first_seconds
                for _ in range(attempt - 1):
                    rest = min(rest * self.factor, self.cap_seconds)
            case "delays":
                delays = self.delays_seconds
                rest = delays[min(attempt, len(delays)) - 1] if delays else 0.0
            case _:
                return None
        return rest * (1.0 - self.jitter)


class TaskRule(msgspec.Struct, frozen=True):
    name: str
    kind: str = "process"
    queue: str = "default"
    retry: RetryRule = RetryRule()
    max_lost: int = 3
    on_lost: str = "retry"


class Definition(msgspec.Struct, frozen=True, dict=True):
    """One version of a dag."""

    name: str
    tasks: tuple[TaskRule, ...]
    edges: tuple[tuple[int, int], ...] = ()

    @cached_property
    def nodes(self) -> dict[str, int]:
        return {task.name: node for node, task in enumerate(self.tasks)}

    @cached_property
    def parents(self) -> list[list[int]]:
        parents: list[list[int]] = [[] for _ in self.tasks]
        for before, after in self.edges:
            parents[after].append(before)
        return parents

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.tasks]
        for before, after in self.edges:
            children[before].append(after)
        return children
