"""The years for which schedules are exact: 1970 to 2099, in UTC, to the second.

Instants are whole seconds since 1970 throughout this package; only its edges speak `datetime`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

FIRST_INSTANT: Final = 0
LAST_INSTANT: Final = 4_102_444_799
"""2099-12-31T23:59:59Z."""

DAY: Final = 86_400
NEVER: Final = 1 << 60
"""Later than anything: what a search forward gives when there is nothing left to find."""
NEVER_BEFORE: Final = -NEVER
"""Earlier than anything, for searches backward."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def seconds_of(moment: datetime) -> int:
    """Whole seconds since 1970, rounded down."""
    return (moment - _EPOCH) // _SECOND


def moment_of(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
