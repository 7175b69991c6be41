"""The kit finds nothing in our own operators, and something in those that would not work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mainspring import task
from mainspring.operators import command, http, shell
from mainspring.operators.options import require_drawing
from mainspring.testing.conformance import check_operator


@task
def work(size: int) -> int:
    return size


def test_our_own_operators_conform() -> None:
    assert check_operator(command, ["uname", "-s"], name="ask").tasks[0].name == "ask"
    assert check_operator(shell, "uname -s", retries=2).tasks[0].retry.attempts == 3
    assert check_operator(http, "GET", "http://shop.example/").tasks[0].name == "http"


def draws_nothing() -> None:
    require_drawing("draws_nothing")


def forgets_the_result() -> None:
    require_drawing("forgets_the_result")
    work(1)


def works_at_once() -> Any:
    return work(1)


def draws_what_no_host_can_find() -> Any:
    require_drawing("draws_what_no_host_can_find")

    @task
    def inner() -> None: ...

    return inner()


@pytest.mark.parametrize(
    ("operator", "finding"),
    [
        (draws_nothing, "dag `conformance` is empty"),
        (forgets_the_result, "returned `NoneType`"),
        (works_at_once, "called outside of a dag it did something"),
        (draws_what_no_host_can_find, "a host cannot find its task"),
        (42, "is `int`, expected a function"),
    ],
)
def test_the_kit_finds_what_is_wrong(operator: Callable[..., Any], finding: str) -> None:
    with pytest.raises(AssertionError, match=finding):
        check_operator(operator)
