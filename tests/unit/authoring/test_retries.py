from __future__ import annotations

from typing import Any

import pytest

from mainspring import DefinitionError, RetryPolicy
from mainspring.domain.specs import RetrySpec


class Refused(Exception):
    pass


def test_a_policy_becomes_plain_data() -> None:
    policy = RetryPolicy(
        attempts=7, backoff="exponential", first="2s", factor=3, cap="1m", jitter=0.5
    )
    assert policy.spec == RetrySpec(
        attempts=7,
        backoff="exponential",
        first_seconds=2.0,
        factor=3.0,
        cap_seconds=60.0,
        jitter=0.5,
    )


def test_without_options_rests_grow_from_one_second_to_five_minutes() -> None:
    spec = RetryPolicy().spec
    assert (spec.attempts, spec.backoff) == (5, "exponential")
    assert (spec.first_seconds, spec.cap_seconds) == (1.0, 300.0)


def test_a_list_of_delays_says_how_many_attempts_there_are() -> None:
    spec = RetryPolicy(delays=["1s", 10, "1m"]).spec
    assert (spec.backoff, spec.delays_seconds, spec.attempts) == ("delays", (1.0, 10.0, 60.0), 4)
    assert RetryPolicy(delays=[1], attempts=9).spec.attempts == 9


def test_a_delay_function_stays_with_the_code() -> None:
    assert RetryPolicy(delay=lambda attempt, error: attempt).spec.backoff == "function"


def test_exceptions_to_give_up_on_go_by_their_qualified_names() -> None:
    assert RetryPolicy(give_up_on=(ValueError, Refused)).spec.give_up_on == (
        "ValueError",
        f"{__name__}.Refused",
    )
    assert RetryPolicy(give_up_on=ValueError).spec.give_up_on == ("ValueError",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attempts": 0}, "`attempts`: expected a whole number from 1"),
        ({"attempts": "3"}, "`attempts`: expected a whole number"),
        ({"backoff": "linear"}, "`backoff`: expected one of `fixed` and `exponential`"),
        ({"first": "soon"}, "`first`: `soon` is not a length of time"),
        ({"first": "10m"}, "is longer than `cap`"),
        ({"factor": 0.5}, "`factor`: expected a number from 1"),
        ({"factor": float("nan")}, "`factor`"),
        ({"cap": -1}, "`cap`: a length of time cannot be negative"),
        ({"jitter": 2}, "`jitter`: expected a number from 0 to 1"),
        ({"delays": []}, "`delays`: expected 1 to"),
        ({"delays": "1s"}, "`delays`: expected a list"),
        ({"delays": ["x"]}, "`delays`: `x` is not"),
        ({"delays": [1], "backoff": "fixed"}, "`backoff` and `delays` both"),
        ({"delays": [1], "delay": print}, "`delays` and `delay` both"),
        ({"delay": 3}, "`delay`: expected a function"),
        ({"give_up_on": ("ValueError",)}, "expected exception classes"),
        ({"give_up_on": (int,)}, "expected exception classes"),
    ],
)
def test_wrong_policies_are_refused_where_they_are_written(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        RetryPolicy(**options)
