"""From what a wall clock shows to instants, through gaps and folds.

A pattern names wall-clock times and knows nothing of zones. A zone is a row of segments within
which wall clock and elapsed time go together, so a search finds its segment, asks the pattern
there, and goes on to the next one if the answer lies beyond. What the two options ask for is said
by where a segment begins and ends *for the pattern*: `first` takes the repeated hour from the later
segment, `last` from the earlier one. A gap has no segment; if something in it matches, the instant
at its end fires.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple, Protocol

from mainspring.schedule.bounds import NEVER, NEVER_BEFORE
from mainspring.schedule.zones import Zone, zone_named


class Pattern(Protocol):
    """Wall-clock times, as seconds since 1970 began on that clock."""

    def next(self, wall: int) -> int:
        """The first one at or after `wall`, or `NEVER`."""

    def previous(self, wall: int) -> int:
        """The last one at or before `wall`, or `NEVER_BEFORE`."""

    def count(self, low: int, high: int) -> int:
        """How many from `low` to `high`, both included."""


class Gap(NamedTuple):
    """The wall-clock times from `low` up to, not including, `high` do not exist."""

    low: int
    high: int


class ClockChanges(NamedTuple):
    """When a pattern should fire that meets a gap or a fold."""

    run_after_gap: bool
    first: bool
    last: bool


_ELAPSED = ClockChanges(run_after_gap=False, first=True, last=True)
"""Whenever the clock shows a time that matches, and only then."""


class Walls:
    """The segments of a zone, as patterns with these rules for clock changes may see them."""

    __slots__ = ("gaps", "highs", "lows", "offsets", "starts")

    def __init__(self, zone: Zone, changes: ClockChanges) -> None:
        self.starts, self.offsets = zone.starts, zone.offsets
        self.lows = [NEVER_BEFORE]
        self.highs: list[int] = []
        self.gaps: list[Gap | None] = [None]
        for i in range(1, len(self.starts)):
            start, before, after = self.starts[i], self.offsets[i - 1], self.offsets[i]
            folded = after < before
            self.highs.append(start + (before if not folded or changes.first else after))
            # With `first`, the second pass is shown only if `last` is wanted too.
            self.lows.append(start + (after if not folded or changes.last else before))
            self.gaps.append(None if folded else Gap(start + before, start + after))
        self.highs.append(NEVER)


@lru_cache(maxsize=1024)
def walls_of(zone: str, changes: ClockChanges) -> Walls:
    return Walls(zone_named(zone), changes)


class ZonedSource:
    """The instants of a pattern in a zone; without `changes` it follows elapsed time."""

    __slots__ = ("_changes", "_fires_after_gap", "_walls", "pattern")

    def __init__(self, pattern: Pattern, zone: str, changes: ClockChanges | None) -> None:
        self.pattern = pattern
        self._changes = changes
        self._walls = walls_of(zone, changes or _ELAPSED)
        self._fires_after_gap = changes is not None and changes.run_after_gap

    def next(self, instant: int) -> int:
        """The first fire at or after this instant, or `NEVER`."""
        walls = self._walls
        i = bisect_right(walls.starts, instant) - 1
        if instant == walls.starts[i] and self._matches_in_gap(i):
            return instant
        wall = max(instant + walls.offsets[i], walls.lows[i])
        found = self.pattern.next(wall)
        while found >= walls.highs[i]:
            i += 1
            if i == len(walls.starts):
                return NEVER
            gap = walls.gaps[i]
            if gap is not None and self._fires_after_gap and found < gap.high:
                return walls.starts[i]
            # The answer stands, unless the clock went back or it lies where nothing is shown.
            here = walls.lows[i]
            if here < wall or found < here:
                found = self.pattern.next(here)
            wall = here
        return found - walls.offsets[i]

    def previous(self, instant: int) -> int:
        """The last fire at or before this instant, or `NEVER_BEFORE`."""
        walls = self._walls
        i = bisect_right(walls.starts, instant) - 1
        wall = min(instant + walls.offsets[i], walls.highs[i] - 1)
        found = self.pattern.previous(wall)
        while found < walls.lows[i]:
            gap = walls.gaps[i]
            if gap is not None and self._fires_after_gap and found >= gap.low:
                return walls.starts[i]
            i -= 1
            here = walls.highs[i] - 1
            if here > wall or found > here:
                found = self.pattern.previous(here)
            wall = here
        # Nothing is before the first segment's beginning, so the loop ends there at the latest.
        return NEVER_BEFORE if found == NEVER_BEFORE else found - walls.offsets[i]

    def count(self, low: int, high: int) -> int:
        """How many fires from `low` to `high`, both included."""
        walls, pattern = self._walls, self.pattern
        i = bisect_right(walls.starts, low) - 1
        total = 0
        while True:
            start, offset = walls.starts[i], walls.offsets[i]
            if low <= start <= high and self._matches_in_gap(i):
                # The time at the gap's end may be one of the pattern's own, counted below.
                total += pattern.next(start + offset) != start + offset
            low_wall = max(low + offset, walls.lows[i])
            high_wall = min(high + offset, walls.highs[i] - 1)
            if low_wall <= high_wall:
                total += pattern.count(low_wall, high_wall)
            i += 1
            if i == len(walls.starts) or walls.starts[i] > high:
                return total
            low = walls.starts[i]

    def moved_from(self, instant: int) -> int | None:
        """The time in a gap that made it fire at this instant, if nothing else did."""
        walls = self._walls
        i = bisect_right(walls.starts, instant) - 1
        gap = walls.gaps[i]
        if gap is None or instant != walls.starts[i] or not self._matches_in_gap(i):
            return None
        return self.pattern.next(gap.low) if self.pattern.next(gap.high) != gap.high else None

    def skipped_between(self, low: int, high: int) -> list[int]:
        """Wall-clock times that gaps from `low` to `high` swallow, the first of each gap."""
        if self._changes is None or self._fires_after_gap:
            return []
        walls = self._walls
        segments = range(bisect_right(walls.starts, low - 1), bisect_right(walls.starts, high))
        gaps = [gap for i in segments if (gap := walls.gaps[i]) is not None]
        return [found for gap in gaps if (found := self.pattern.next(gap.low)) < gap.high]

    def _matches_in_gap(self, i: int) -> bool:
        gap = self._walls.gaps[i]
        return gap is not None and self._fires_after_gap and self.pattern.next(gap.low) < gap.high
