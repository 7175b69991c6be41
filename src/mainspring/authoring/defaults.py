"""`TaskDefaults`: what a dag says for all of its tasks, and the check of what either may say.

Options are turned into the fields of a `TaskSpec` that they stand for, and only those which
somebody wrote. So a task's own options go before its dag's, and the stored graph is explicit:
nothing is looked up when a run executes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mainspring.authoring.options import (
    checked_choice,
    checked_name,
    checked_seconds,
    checked_whole,
)
from mainspring.authoring.retries import ATTEMPTS_MAX, RetryPolicy
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN, SlotKind

LOST_MAX = 1000

Fields = dict[str, Any]
"""Of a `TaskSpec`, by name."""


class TaskDefaults(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What holds for all tasks of a dag, unless a task says otherwise.

    >>> TaskDefaults(retries=2, timeout="10m").fields["timeout_seconds"]
    600.0

    The options are those of `@task`. `executor` is for plain functions that do not choose one;
    async functions, commands and operators stay what they are.
    """

    retries: int | None = None
    retry: RetryPolicy | None = None
    timeout: Duration | None = None
    queue: str | None = None
    priority: int | None = None
    executor: Literal["process", "thread"] | None = None
    max_lost: int | None = None
    on_lost: Literal["retry", "fail"] | None = None

    def __post_init__(self) -> None:
        _ = self.fields  # so that a mistake is reported where it was written

    @property
    def fields(self) -> Fields:
        what = "`TaskDefaults`"
        fields = task_fields(
            what,
            retry=shared_policy(what, self.retries, self.retry),
            timeout=self.timeout,
            queue=self.queue,
            priority=self.priority,
            max_lost=self.max_lost,
            on_lost=self.on_lost,
        )
        if self.executor is not None:
            chosen = checked_choice(f"{what}: `executor`", self.executor, ("process", "thread"))
            fields["kind"] = SlotKind(chosen)
        return fields


def task_fields(
    what: str,
    *,
    retry: RetryPolicy | None,
    timeout: Duration | None,
    queue: str | None,
    priority: int | None,
    max_lost: int | None,
    on_lost: str | None,
) -> Fields:
    """The fields for those options that are given, checked."""
    fields: Fields = {}
    if retry is not None:
        fields["retry"] = retry.spec
    if timeout is not None:
        seconds = checked_seconds(f"{what}: `timeout`", timeout, positive=True)
        fields["timeout_seconds"] = seconds
    if queue is not None:
        fields["queue"] = checked_name(f"the queue of {what}", queue)
    if priority is not None:
        fields["priority"] = checked_whole(
            f"{what}: `priority`", priority, PRIORITY_MIN, PRIORITY_MAX
        )
    if max_lost is not None:
        fields["max_lost"] = checked_whole(f"{what}: `max_lost`", max_lost, 1, LOST_MAX)
    if on_lost is not None:
        fields["on_lost"] = checked_choice(f"{what}: `on_lost`", on_lost, ("retry", "fail"))
    return fields


def checked_policy(what: str, retries: int | None, retry: RetryPolicy | None) -> RetryPolicy | None:
    if retries is not None and retry is not None:
        raise DefinitionError(f"{what}: `retries` and `retry` both say how often; give one of them")
    if retries is not None:
        checked_whole(f"{what}: `retries`", retries, 0, ATTEMPTS_MAX - 1)
        return RetryPolicy(attempts=retries + 1)
    given: object = retry
    if given is not None and not isinstance(given, RetryPolicy):
        raise DefinitionError(
            f"{what}: `retry`: expected a `RetryPolicy`, got `{type(given).__name__}`",
            hint="for a number of retries write `retries=…`",
        )
    return retry


def shared_policy(what: str, retries: int | None, retry: RetryPolicy | None) -> RetryPolicy | None:
    """A policy that is not given to the task's function itself, so it has to be plain data."""
    policy = checked_policy(what, retries, retry)
    if policy is not None and policy.delay is not None:
        # A host finds that function with the task, and knows nothing of the dag.
        raise DefinitionError(
            f"{what}: `retry`: a `delay` function cannot be given here",
            hint="give it to the function: `@task(retry=…)`",
        )
    return policy
