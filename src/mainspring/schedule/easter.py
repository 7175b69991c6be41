"""`easter:-2 09:00 Europe/Berlin`: so many days before or after Easter Sunday, each year.

A plug-in like any other, declared in our `pyproject.toml`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from mainspring.domain.errors import InputError
from mainspring.schedule.zones import zone_named

_ADDRESS = re.compile(r"([+-]?\d{1,3})?\s*(?:(\d\d):(\d\d))?\s*(\S+/\S+|UTC)?")


class Easter:
    def __init__(self, address: str) -> None:
        found = _ADDRESS.fullmatch(address.strip())
        if found is None or int(found[2] or 0) > 23 or int(found[3] or 0) > 59:
            raise InputError(
                f"`{address}` does not say days from Easter, a time and a zone",
                hint="write it like `easter:-2 09:00 Europe/Berlin`",
            )
        self._days = int(found[1] or 0)
        self._hour, self._minute = int(found[2] or 0), int(found[3] or 0)
        zone_named(found[4] or "UTC")
        self._zone = ZoneInfo(found[4] or "UTC")

    def next_instant(self, after: datetime) -> datetime | None:
        years = range(max(after.year - 1, 1583), 2102)
        return next((found for year in years if (found := self._in(year)) > after), None)

    def last_instant(self, before: datetime) -> datetime | None:
        years = range(min(before.year + 1, 2101), 1583, -1)
        return next((found for year in years if (found := self._in(year)) <= before), None)

    def _in(self, year: int) -> datetime:
        from dateutil.easter import easter

        day = easter(year) + timedelta(days=self._days)
        local = datetime(day.year, day.month, day.day, self._hour, self._minute, tzinfo=self._zone)
        return local.astimezone(UTC)
