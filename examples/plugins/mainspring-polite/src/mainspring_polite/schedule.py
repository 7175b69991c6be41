"""`quiet:23:00 Europe/London`: at this time of the night, but never on the eve of a working day.

What neither a cron line nor a rule can say in one: Friday and Saturday nights, and every night of
the last week of December.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mainspring import InputError

_ADDRESS = re.compile(r"(\d\d:\d\d) (\S+)")


class QuietNights:
    def __init__(self, address: str) -> None:
        found = _ADDRESS.fullmatch(address)
        try:
            if found is None:
                raise ValueError
            self._time, self._zone = time.fromisoformat(found[1]), ZoneInfo(found[2])
        except (ValueError, ZoneInfoNotFoundError):
            raise InputError(
                f"`{address}` is not a time and a zone", hint="write `quiet:23:00 Europe/London`"
            ) from None

    def next_instant(self, after: datetime) -> datetime | None:
        return self._walk(after, 1)

    def last_instant(self, before: datetime) -> datetime | None:
        return self._walk(before, -1)

    def _walk(self, start: datetime, step: int) -> datetime:
        """There is such a night in every week."""
        day = start.astimezone(self._zone).date() - timedelta(days=step)
        while True:
            instant = datetime.combine(day, self._time, self._zone).astimezone(UTC)
            quiet = day.weekday() in (4, 5) or (day.month == 12 and day.day > 24)
            if quiet and (instant > start if step > 0 else instant <= start):
                return instant
            day += timedelta(days=step)
