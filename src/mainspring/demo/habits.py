"""What is usual for each dag: how long its tasks take, how often they fail, and what they say then.

The past is made up by these, and the tasks themselves ask them when they run, so that what happens
now looks like what has happened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from mainspring.domain.outcomes import Error


class Habit(NamedTuple):
    """Of a dag, by a pattern of its name."""

    dag: str
    seconds: float
    """About how long a task takes."""
    risk: float
    """The share of attempts that fail."""
    errors: Sequence[str] = ("ConnectionError: the connection to db-{number} was lost",)
    skips: float = 0.0
    """The share of runs in which the last task but one finds nothing to do."""
    asked_daily: float = 0.0
    """How often a day somebody starts it, beside its schedule."""
    asked_by: Sequence[str] = ("anna", "tobias", "mei")


_TIMEOUT = "TimeoutError: no answer from {host} within 30 s"
_STATUS = "HTTPStatusError: {host} answered 503 Service Unavailable"
_DATA = "ValueError: row {number}: `amount` is empty"

HABITS = (
    Habit("order_placed", 0.7, 0.01, (_TIMEOUT, _STATUS), asked_daily=95, asked_by=("shop-api",)),
    Habit("refund", 1.1, 0.02, (_STATUS,), asked_daily=18, asked_by=("support-desk",)),
    Habit("erase_customer", 2.0, 0.01, asked_daily=6, asked_by=("privacy-portal",)),
    Habit("prices_*", 3.0, 0.006, (_TIMEOUT, _DATA), skips=0.12),
    Habit("stock_sync", 2.2, 0.004, (_TIMEOUT,)),
    Habit("cart_reminders", 6.0, 0.01, ("SMTPServerDisconnected: the mail server hung up",)),
    Habit("search_index", 14.0, 0.012, ("MemoryError: the segment {number} does not fit",)),
    Habit("fraud_scores", 1.4, 0.003, ("KeyError: 'score'",)),
    Habit("settle_*", 25.0, 0.03, (_STATUS, _DATA), asked_daily=0.1),
    Habit("ledger_check", 4.0, 0.008, ("AssertionError: the ledger is off by {number} cents",)),
    Habit("pay_sellers", 40.0, 0.02, (_TIMEOUT,)),
    Habit("warehouse_*", 4.5, 0.006, (_TIMEOUT, "OSError: scanner {number} is offline")),
    Habit("track_parcels", 2.8, 0.01, (_STATUS,), skips=0.05),
    Habit("plan_routes", 55.0, 0.02, ("RuntimeError: no route for van {number}",)),
    Habit("train_*", 95.0, 0.025, ("RuntimeError: CUDA out of memory: {number} MiB wanted",)),
    Habit("features", 20.0, 0.01, (_DATA,)),
    Habit("score_customers", 30.0, 0.015, (_DATA,)),
    Habit("vision_experiment", 60.0, 0.2, ("FloatingPointError: the loss is nan",), 0, 0.3),
    Habit("report_*", 18.0, 0.012, ("FileNotFoundError: exports/{number}.csv",), skips=0.04),
    Habit("month_end", 90.0, 0.03, (_DATA,)),
    Habit("backup_*", 70.0, 0.008, ("OSError: no space left on device",)),
    Habit("load_events", 12.0, 0.005, (_DATA, _TIMEOUT), asked_daily=0.1),
    Habit("check_quality", 5.0, 0.012, ("AssertionError: {number} rows without a customer",)),
    Habit("health_probe", 0.6, 0.002, (_STATUS,)),
    Habit("archive_logs", 16.0, 0.006, ("PermissionError: bucket logs-{number}",)),
    Habit("resize_pictures", 0.8, 0.0, ("OSError: picture {number} is truncated",), 0, 0.15),
    Habit("triage_tickets", 2.0, 0.006, (_STATUS,), skips=0.1),
    Habit("*", 8.0, 0.008),
)


def habit_of(dag: str) -> Habit:
    return next(habit for habit in HABITS if fnmatchcase(dag, habit.dag))


def usual_seconds(dag: str, task: str) -> float:
    """Some tasks of a dag are shorter than others, always the same ones."""
    return habit_of(dag).seconds * (0.35 + 1.5 * _share(f"{dag}/{task}"))


def error_of(dag: str, task: str, number: int) -> Error:
    """What an attempt says that fails; `number` is what differs from case to case."""
    errors = habit_of(dag).errors
    share = _share(f"{dag}/{task}")
    text = errors[int(share * 255) % len(errors)]
    kind, _, message = text.partition(": ")
    host = ("api.bank.example", "feed.prices.example", "db-3.internal")[int(share * 2.99)]
    message = message.format(number=number, host=host)
    trace = (
        "Traceback (most recent call last):\n"
        f'  File "{dag}.py", line {20 + number % 60}, in {task}\n'
        f"    return await act({task!r})\n"
        f"{kind}: {message}"
    )
    return Error(kind, message, trace, (kind, "Exception", "BaseException"))


def _share(text: str) -> float:
    """From 0 to 1, by what the text is."""
    return hashlib.sha256(text.encode()).digest()[0] / 255
