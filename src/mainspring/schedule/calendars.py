"""Shared calendars: days on which schedules that name them do not fire.

A calendar is a set of local dates. The schedule's zone decides which date an instant falls on, so
one calendar serves schedules around the world. Public holidays come from the package `holidays`,
which is an extra: `pip install 'mainspring[holidays]'`.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import closest
from mainspring.domain.specs import Spec

DATES_MAX = 10_000
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class CalendarSpec(Spec, frozen=True):
    """Days to leave out: any of these is enough."""

    dates: tuple[date, ...] = ()
    weekdays: tuple[str, ...] = ()
    """`saturday` or `sat`, and so on."""
    country: str | None = None
    """ISO 3166 code, such as `DE`: its public holidays."""
    subdivision: str | None = None
    """A part of the country with holidays of its own, such as `BY`."""


class Calendar:
    """A calendar that can be asked. Making one checks its spec."""

    def __init__(self, spec: CalendarSpec) -> None:
        if len(spec.dates) > DATES_MAX:
            raise InvalidSchedule(
                "dates", f"{len(spec.dates):,} dates", f"are more than {DATES_MAX:,}"
            )
        if spec == CalendarSpec():
            raise InvalidSchedule(
                "calendar", "{}", "leaves out no day", hint="give dates, weekdays or a country"
            )
        self.spec = spec
        self._dates = frozenset(spec.dates)
        self._weekdays = frozenset(_weekday(name) for name in spec.weekdays)
        self._holidays = _holidays(spec.country, spec.subdivision)

    def excludes(self, day: date) -> bool:
        return (
            day.weekday() in self._weekdays
            or day in self._dates
            or (self._holidays is not None and day in self._holidays)
        )

    def why(self, day: date) -> str:
        """What the day is, if the calendar knows a name for it."""
        return str(self._holidays.get(day) or "") if self._holidays is not None else ""


def _weekday(name: str) -> int:
    for number, full in enumerate(_WEEKDAYS):
        if name.lower() in (full, full[:3]):
            return number
    raise InvalidSchedule("weekdays", name, "is no day of the week", hint=closest(name, _WEEKDAYS))


def _holidays(country: str | None, subdivision: str | None) -> Any:
    if country is None:
        if subdivision is not None:
            raise InvalidSchedule("subdivision", subdivision, "needs a `country`")
        return None
    try:
        import holidays
    except ImportError:
        raise InvalidSchedule(
            "country",
            country,
            "needs the package `holidays`, which is not installed",
            hint="`pip install 'mainspring[holidays]'` for engine and command line",
        ) from None
    known = holidays.list_supported_countries()
    if country not in known:
        raise InvalidSchedule(
            "country",
            country,
            "is no country whose public holidays are known",
            hint="use its ISO 3166 code, such as `DE` or `US`",
        )
    if subdivision is not None and subdivision not in known[country]:
        raise InvalidSchedule(
            "subdivision",
            subdivision,
            f"is no part of `{country}` with holidays of its own",
            hint=closest(subdivision, known[country]),
        )
    return holidays.country_holidays(country, subdiv=subdivision)
