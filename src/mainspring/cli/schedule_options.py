"""What is typed of a schedule, and what it means: options that its commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mainspring.domain.errors import InputError
from mainspring.domain.names import closest, shown

if TYPE_CHECKING:
    from mainspring.schedule.parsing import Written

_F = TypeVar("_F", bound=Callable[..., Any])

NONE = "none"
"""What is typed to take an option back."""

_LENGTHS = ("jitter", "interval", "grace", "max_age")
_COUNTS = ("max_count", "limit", "pause_after_failures")
_OVERLAPS = (
    *("allow_all", "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other"),
    "max=N",
)


def time_options(command: _F) -> _F:
    """When it fires."""
    for option in reversed(
        (
            click.option(
                "--cron", "lines", multiple=True, metavar="LINE", help="A cron line; repeatable."
            ),
            click.option(
                "--every",
                "lengths",
                multiple=True,
                metavar="TIME",
                help="An interval: 90m, 1h30m; repeatable.",
            ),
            click.option(
                "--phase", default="0s", metavar="TIME", help="Shifts `--every` by so much."
            ),
            click.option(
                "--at",
                "instants",
                multiple=True,
                metavar="INSTANT",
                help="One instant, or `now`; repeatable.",
            ),
            click.option(
                "--rrule", "rules", multiple=True, metavar="RULE", help="An RFC 5545 rule."
            ),
        )
    ):
        command = option(command)
    return command


def zone_options(command: _F) -> _F:
    """How it reads clocks, and from when until when."""
    for option in reversed(
        (
            click.option("--timezone", metavar="ZONE", help="An IANA zone. [default: UTC]"),
            click.option(
                "--dst-gap",
                type=click.Choice(["run_after_gap", "skip"]),
                help="When the clock leaves a time out. [default: run_after_gap]",
            ),
            click.option(
                "--dst-fold",
                type=click.Choice(["first", "last", "both"]),
                help="When the clock shows a time twice. [default: first]",
            ),
            click.option("--start", metavar="INSTANT", help="No fire before."),
            click.option("--end", metavar="INSTANT", help="No fire at this instant or after."),
        )
    ):
        command = option(command)
    return command


def policy_options(command: _F) -> _F:
    """What becomes of its fires."""
    for option in reversed(
        (
            click.option(
                "--exclude",
                multiple=True,
                metavar="CALENDAR",
                help="Leave out the days of this calendar; repeatable.",
            ),
            click.option(
                "--jitter", metavar="TIME", help="Start up to so much later. [default: 0s]"
            ),
            click.option(
                "--interval",
                metavar="TIME",
                help="Length of the data interval. [default: since the fire before]",
            ),
            click.option(
                "--overlap",
                metavar="POLICY",
                help=f"While earlier runs are open: {', '.join(_OVERLAPS)}. [default: allow_all]",
            ),
            click.option(
                "--misfire",
                type=click.Choice(["all", "last", "none", "from_now"]),
                help="Fires that were missed. [default: last]",
            ),
            click.option(
                "--grace", metavar="TIME", help="Later than this is missed. [default: 60s]"
            ),
            click.option(
                "--max-age", metavar="TIME", help="Missed fires that are older are let go."
            ),
            click.option(
                "--max-count", metavar="N", help="At most so many missed fires are made up for."
            ),
            click.option("--limit", metavar="N", help="Fire at most so many times."),
            click.option(
                "--pause-after-failures",
                metavar="N",
                help="Pause after so many failures in a row.",
            ),
        )
    ):
        command = option(command)
    return command


def given_times(given: Mapping[str, Any]) -> list[Written]:
    """Times in the order of their kinds; `now` stays a word."""
    from mainspring.cli.given import given_moment
    from mainspring.schedule.parsing import NOW, interval_from
    from mainspring.schedule.specs import CronSpec, RecurrenceSpec

    written: list[Written] = [CronSpec(line) for line in given["lines"]]
    written += [interval_from(length, given["phase"]) for length in given["lengths"]]
    written += [
        NOW if text == NOW else given_moment(text, "--at")
        for text in dict.fromkeys(given["instants"])
    ]
    written += [RecurrenceSpec(rule) for rule in given["rules"]]
    if not given["lengths"] and given["phase"] != "0s":
        raise InputError("`--phase` shifts an interval", hint="give the interval by `--every`")
    return written


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the spec that were typed; `none` takes one back."""
    from mainspring.cli.given import given_moment

    options = {
        name: given[name]
        for name in ("timezone", "dst_gap", "dst_fold", "misfire")
        if given.get(name) is not None
    }
    for name in ("start", "end"):
        if given.get(name) is not None:
            options[name] = None if given[name] == NONE else given_moment(given[name], f"--{name}")
    for name in _LENGTHS:
        if given.get(name) is not None:
            taken_back = 0 if name == "jitter" else None
            options[name] = taken_back if given[name] == NONE else given[name]
            if given[name] == NONE and name == "grace":
                raise InputError("`--grace` is a length of time", hint="write it like `60s`")
    for name in _COUNTS:
        if given.get(name) is not None:
            options[name] = _count(given[name], name)
    if given.get("exclude"):
        options["exclude"] = [] if given["exclude"] == (NONE,) else list(given["exclude"])
    if given.get("overlap") is not None:
        options |= _overlap(given["overlap"])
    return options


def _count(text: str, name: str) -> int | None:
    option = f"`--{name.replace('_', '-')}`"
    if text == NONE:
        return None
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 12):
        raise InputError(
            f"{option}: {shown(text)} is no whole number", hint=f"or `{NONE}` to take it back"
        )
    return int(text)


def _overlap(text: str) -> dict[str, Any]:
    """Also takes back how many runs an earlier policy allowed."""
    policy, equals, most = text.partition("=")
    if (
        equals
        and policy in ("max", "skip")
        and most.isascii()
        and most.isdigit()
        and len(most) < 10
    ):
        kept = "skip" if policy == "skip" else "buffer_all"
        return {"overlap": kept, "overlap_max": int(most)}
    if text not in _OVERLAPS[:-1]:
        near = closest(text, _OVERLAPS[:-1])
        raise InputError(
            f"`--overlap`: {shown(text)} is no policy",
            hint=near if near.startswith("did") else f"one of {', '.join(_OVERLAPS)}",
        )
    return {"overlap": text, "overlap_max": None}
