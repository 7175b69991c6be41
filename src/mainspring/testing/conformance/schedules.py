"""Whether a plug-in's schedule answers as engines rely on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mainspring.domain.errors import InputError
from mainspring.plugins.shapes import Times, schedule_problem

_INSTANTS_MAX = 1_000


def check_schedule(
    schedule: type[Times],
    address: str = "",
    *,
    since: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    until: datetime = datetime(2031, 1, 1, tzinfo=UTC),
    wrong_address: str | None = None,
) -> list[datetime]:
    """Ask for the instants from `since` to `until`, at most a thousand, forwards and backwards.

    Both ways have to give the same, from an object that was asked before and from a new one.
    `wrong_address` makes no sense: it has to be refused, by `InputError`. Gives back the instants.
    """
    problem = schedule_problem(schedule)
    assert not problem, f"the schedule {problem}"
    times = schedule(address)
    forwards = _forwards(times, since, until)
    assert forwards, f"there is no instant between {since} and {until}"
    backwards = _backwards(times, since, forwards[-1])
    assert backwards == forwards, _difference(forwards, backwards)
    for instant in forwards:
        assert schedule(address).next_instant(instant - timedelta(seconds=1)) == instant, instant
        assert schedule(address).last_instant(instant) == instant, instant
    if wrong_address is not None:
        _check_wrong(schedule, wrong_address)
    return forwards


def _forwards(times: Times, since: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = since - timedelta(seconds=1)
    while len(found) < _INSTANTS_MAX:
        instant = times.next_instant(at)
        if instant is None or instant > until:
            break
        assert instant.tzinfo is not None, f"{instant} has no zone"
        assert not instant.microsecond, f"{instant} is not a whole second"
        assert instant > at, f"the next instant after {at} cannot be {instant}"
        found.append(instant)
        at = instant
    return found


def _backwards(times: Times, since: datetime, last: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = last
    while len(found) < _INSTANTS_MAX:
        instant = times.last_instant(at)
        if instant is None or instant < since:
            break
        assert instant <= at, f"the last instant up to {at} cannot be {instant}"
        found.append(instant)
        at = instant - timedelta(seconds=1)
    return found[::-1]


def _difference(forwards: list[datetime], backwards: list[datetime]) -> str:
    odd = sorted(set(forwards) ^ set(backwards))
    return f"asked forwards and backwards it gives other instants, first {odd[0]}"


def _check_wrong(schedule: type[Times], address: str) -> None:
    try:
        schedule(address)
    except InputError:
        return
    raise AssertionError("an address that makes no sense was accepted: raise `InputError`")
