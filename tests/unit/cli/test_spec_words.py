"""What an author wrote, in words."""

from __future__ import annotations

from datetime import date
from typing import Literal

import pytest

from mainspring.cli.spec_words import retry_words, task_words, type_words
from mainspring.domain.parameters import schema_of
from mainspring.domain.specs import RetrySpec, TaskSpec


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str, "text"),
        (int, "integer"),
        (bool, "boolean"),
        (date, "date"),
        (date | None, "date or none"),
        (list[int], "list of integer"),
        (dict[str, float], "map to number"),
        (Literal["a", "b"], 'one of "a", "b"'),
    ],
)
def test_types_are_told_shortly(annotation: object, words: str) -> None:
    assert type_words(schema_of(annotation)) == words


def test_no_type_is_anything() -> None:
    assert type_words({}) == "anything"


@pytest.mark.parametrize(
    ("retry", "words"),
    [
        (RetrySpec(), ""),
        (RetrySpec(attempts=3), "up to 3 attempts, 1 s apart"),
        (
            RetrySpec(attempts=5, backoff="exponential", jitter=0.1),
            "up to 5 attempts, resting 1 s, then ×2 up to 5 min, jitter 10%",
        ),
        (
            RetrySpec(attempts=3, backoff="delays", delays_seconds=(1, 60)),
            "up to 3 attempts, resting 1 s, 1 min",
        ),
        (
            RetrySpec(attempts=2, give_up_on=("builtins.ValueError",)),
            "up to 2 attempts, 1 s apart, giving up on ValueError",
        ),
    ],
)
def test_retries_are_told_in_words(retry: RetrySpec, words: str) -> None:
    assert retry_words(retry) == words


def test_only_what_is_unusual_about_a_task_is_told() -> None:
    assert task_words(TaskSpec("t", "m:f")) == ""
    task = TaskSpec("t", "m:f", timeout_seconds=600, priority=9, on_lost="fail")
    assert task_words(task) == "timeout 10 min; priority 9; at most once"
