"""What programs are told of dead letters; the conventions are those of `shapes.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from mainspring.domain.dead_letters import common_words
from mainspring.store.dead_letters import Discarded, Group, Letter
from mainspring.store.shapes import Shape, TaskError, error


class LetterExample(Shape, frozen=True, kw_only=True):
    """The letter of a group that failed last."""

    run: int
    error: TaskError


class LetterGroup(Shape, frozen=True, kw_only=True):
    """Dead letters of one task of a dag that look alike."""

    id: str
    dag: str
    task: str
    error_type: str
    message: str
    count: int
    first_at: datetime
    last_at: datetime
    example: LetterExample


class DeadLetter(Shape, frozen=True, kw_only=True):
    """A task that failed for good."""

    group: str
    run: int
    dag: str
    task: str
    attempt: int | None
    failed_at: datetime
    error: TaskError


class DiscardedLetter(DeadLetter, frozen=True, kw_only=True):
    """A dead letter that somebody took off the list."""

    discarded_at: datetime
    discarded_by: str
    note: str


class LettersLeft(Shape, frozen=True, kw_only=True):
    """Letters of a run that could not be retried, and why."""

    run: int
    tasks: list[str]
    reason: str
    hint: str


class LettersRetried(Shape, frozen=True, kw_only=True):
    """How many dead letters run again. `ended` says why there are more of them, if there are."""

    retried: int
    left: list[LettersLeft]
    ended: str | None


class LettersDiscarded(Shape, frozen=True, kw_only=True):
    """How many dead letters were taken off the list."""

    discarded: int
    left: list[LettersLeft]
    ended: str | None


class SomeRetried(LettersRetried, frozen=True, kw_only=True):
    """What one request came to. `next` is the `cursor` of the request that goes on, if need be."""

    next: str | None


class SomeDiscarded(LettersDiscarded, frozen=True, kw_only=True):
    """What one request came to. `next` is the `cursor` of the request that goes on, if need be."""

    next: str | None


def group_id(likeness: UUID) -> str:
    return f"e-{likeness.hex[:8]}"


def letter_group(group: Group) -> LetterGroup:
    return LetterGroup(
        id=group_id(group.likeness),
        dag=group.dag,
        task=group.task,
        error_type=group.error.type,
        message=common_words(group.error.message),
        count=group.letters,
        first_at=group.first_at,
        last_at=group.last_at,
        example=LetterExample(run=group.run_id, error=error(group.error)),
    )


def dead_letter(letter: Letter) -> DeadLetter:
    return DeadLetter(**_letter_fields(letter))


def discarded_letter(each: Discarded) -> DiscardedLetter:
    return DiscardedLetter(
        **_letter_fields(each.letter),
        discarded_at=each.at,
        discarded_by=each.who,
        note=each.note,
    )


def _letter_fields(letter: Letter) -> dict[str, Any]:
    return {
        "group": group_id(letter.likeness),
        "run": letter.run_id,
        "dag": letter.dag,
        "task": letter.task,
        "attempt": letter.attempt,
        "failed_at": letter.failed_at,
        "error": error(letter.error),
    }
