"""What becomes of the fires that are due: pure decisions, of one schedule at one instant.

`decide_fires` takes a schedule as it stands and says which fires make a run, which wait in the
buffer, and which are skipped and why. Every nominal instant up to now gets exactly one of these,
in order, and the cursor passes each of them once. `decide_buffer` says which of those that wait
may start when runs have closed.

The fire that a schedule waits for was computed earlier, by the rules of then. It is taken at its
word: where a zone has new rules since, that fire happens once more by the old ones.

After downtime a schedule may have missed a million fires. Nothing here walks through what it
skips: a stretch of skips is one entry that knows how many it stands for. Of what it fires, a
decision takes at most `limit`; the schedule is then still due, and comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from mainspring.schedule.cron_fields import spreads
from mainspring.schedule.specs import CronSpec, Misfire, Overlap, ScheduleSpec
from mainspring.schedule.timetable import Fire, Timetable

_SECOND = timedelta(seconds=1)


class Outcome(StrEnum):
    FIRED = "fired"
    BUFFERED = "buffered"
    SKIPPED = "skipped"


class Reason(StrEnum):
    """Why a fire made no run."""

    OVERLAP = "overlap"
    EXCLUSION = "exclusion"
    PAUSE = "pause"
    MISFIRE = "misfire"
    LIMIT = "limit"
    REFUSED = "refused"
    """Its dag is gone, or does not take the schedule's parameters any more."""


REASONS = {
    Reason.OVERLAP: "an earlier run was still open",
    Reason.EXCLUSION: "a calendar excludes the day",
    Reason.PAUSE: "the schedule or its dag was paused",
    Reason.MISFIRE: "nobody was there in time",
    Reason.LIMIT: "it had fired as often as it may",
    Reason.REFUSED: "its run could not be made",
}
"""In words."""


class Standing(msgspec.Struct, frozen=True):
    """What a decision depends on, beside the spec."""

    next_fire_at: datetime
    fired: int = 0
    open_runs: int = 0
    """How many of its runs are open; 0 for a schedule that does not ask."""
    buffered: Sequence[int] = ()
    """Entries of the ledger that wait, oldest first."""
    hindrance: Reason | None = None
    """Why no run can be made at all, whatever the spec says."""


class Entry(msgspec.Struct):
    """One fire, or a stretch of fires that were skipped for one reason."""

    fire_at: datetime
    until_at: datetime
    count: int
    outcome: Outcome
    reason: Reason | None
    next_at: datetime | None
    """The nominal instant after it."""


class Decision(msgspec.Struct):
    entries: list[Entry]
    next_fire_at: datetime | None
    """None: no fire is left."""
    cursor_at: datetime
    dropped: list[int]
    """Entries of the buffer that a later fire has taken the place of."""
    fired: int


def decide_fires(
    spec: ScheduleSpec, timetable: Timetable, standing: Standing, now: datetime, *, limit: int = 100
) -> Decision:
    """What becomes of the fires from `standing.next_fire_at` to `now`, or of the first of them."""
    assert standing.next_fire_at <= now
    now = now.replace(microsecond=0)
    ledger = _Ledger(timetable)
    first = _skip_missed(spec, timetable, standing, now, ledger)
    fires = _Fires(spec, standing, ledger)
    fire = first
    while fire is not None and fire.at <= now and fires.fired < limit and fires.taken < 10 * limit:
        if spec.limit is not None and standing.fired + fires.fired >= spec.limit:
            ledger.skip_until(fire.at, now, Reason.LIMIT)
            fire = None
            break
        following = timetable.next_fire(fire.at)
        fires.take(fire, following)
        fire = following
    if spec.limit is not None and standing.fired + fires.fired >= spec.limit:
        fire = None
    cursor = ledger.entries[-1].until_at if ledger.entries else standing.next_fire_at - _SECOND
    return Decision(
        ledger.entries, None if fire is None else fire.at, cursor, fires.dropped, fires.fired
    )


def decide_buffer(spec: ScheduleSpec, standing: Standing) -> int:
    """How many of the fires that wait may start now."""
    if standing.hindrance is not None:
        return 0
    return max(0, min(len(standing.buffered), _room(spec) - standing.open_runs))


def is_tracked(spec: ScheduleSpec) -> bool:
    """Whether its fires depend on how its runs are doing."""
    return spec.overlap is not Overlap.ALLOW_ALL or spec.pause_after_failures is not None


def stands_alone(spec: ScheduleSpec) -> bool:
    """Whether its fires depend on more than its spec and the time: on its runs, on how many there
    were, or on its name."""
    return is_tracked(spec) or spec.limit is not None or depends_on_name(spec)


def depends_on_name(spec: ScheduleSpec) -> bool:
    lines = (when.expression for when in spec.when if isinstance(when, CronSpec))
    return spec.jitter_seconds > 0 or any(spreads(line) for line in lines)


class _Ledger:
    """Entries in order; skips of one reason that follow one another become one."""

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self.entries: list[Entry] = []

    def add(self, fire: Fire, outcome: Outcome, reason: Reason | None, after: Fire | None) -> None:
        next_at = None if after is None else after.at
        last = self.entries[-1] if self.entries else None
        if last is not None and reason is not None and last.reason is reason:
            last.until_at, last.next_at, last.count = fire.at, next_at, last.count + 1
        else:
            self.entries.append(Entry(fire.at, fire.at, 1, outcome, reason, next_at))

    def skip_until(self, begin: datetime, end: datetime, reason: Reason) -> None:
        """All fires from `begin`, which counts as one, to `end`."""
        last = self._timetable.last_fire(end)
        last_at = begin if last is None else max(begin, last.at)
        following = self._timetable.next_fire(last_at)
        next_at = None if following is None else following.at
        count = 1 + self._timetable.count_between(begin, last_at)
        self.entries.append(Entry(begin, last_at, count, Outcome.SKIPPED, reason, next_at))


class _Fires:
    """Fires one after the other, each under the overlap policy with those before it."""

    def __init__(self, spec: ScheduleSpec, standing: Standing, ledger: _Ledger) -> None:
        self._spec = spec
        self._standing = standing
        self._ledger = ledger
        self._open = standing.open_runs
        self._waiting = len(standing.buffered)
        self.dropped: list[int] = []
        self.fired = 0
        self.taken = 0

    def take(self, fire: Fire, following: Fire | None) -> None:
        outcome, reason = self._outcome(fire)
        self._ledger.add(fire, outcome, reason, following)
        if outcome is Outcome.FIRED:
            self._open += 1
            self.fired += 1
        if outcome is Outcome.BUFFERED:
            self._waiting += 1
            self.fired += 1
        self.taken += 1

    def _outcome(self, fire: Fire) -> tuple[Outcome, Reason | None]:
        if fire.excluded is not None:
            return Outcome.SKIPPED, Reason.EXCLUSION
        if self._standing.hindrance is not None:
            return Outcome.SKIPPED, self._standing.hindrance
        overlap = self._spec.overlap
        if overlap is Overlap.ALLOW_ALL or (self._open < _room(self._spec) and not self._waiting):
            return Outcome.FIRED, None
        match overlap:
            case Overlap.SKIP:
                return Outcome.SKIPPED, Reason.OVERLAP
            case Overlap.BUFFER_ALL:
                return Outcome.BUFFERED, None
            case Overlap.BUFFER_ONE:
                if self._waiting:
                    return Outcome.SKIPPED, Reason.OVERLAP
                return Outcome.BUFFERED, None
            case Overlap.CANCEL_OTHER | Overlap.TERMINATE_OTHER:
                return self._replace()
            case _:
                assert_never(overlap)

    def _replace(self) -> tuple[Outcome, Reason | None]:
        """The latest waits for the end of what runs; one that waited before it is passed over."""
        if self._waiting > len(self._standing.buffered) - len(self.dropped):
            # It is of this very decision: an entry that is not written yet.
            waiting = next(
                e for e in reversed(self._ledger.entries) if e.outcome is Outcome.BUFFERED
            )
            waiting.outcome, waiting.reason = Outcome.SKIPPED, Reason.OVERLAP
        else:
            self.dropped.extend(self._standing.buffered[len(self.dropped) :])
        self.fired -= self._waiting
        self._waiting = 0
        return Outcome.BUFFERED, None


def _room(spec: ScheduleSpec) -> int:
    """How many runs may be open at a time."""
    match spec.overlap:
        case Overlap.ALLOW_ALL:
            return 1 << 31
        case _:
            return spec.overlap_max or 1


def _skip_missed(
    spec: ScheduleSpec, timetable: Timetable, standing: Standing, now: datetime, ledger: _Ledger
) -> Fire | None:
    """Skip what the misfire policy gives up; the first fire that it does not."""
    begin = standing.next_fire_at
    first = timetable.fire_at(begin)
    in_grace_from = now - timedelta(seconds=spec.grace_seconds)
    if begin >= in_grace_from:
        return first
    resume = _resume_at(spec, timetable, begin, in_grace_from, now)
    if resume > begin:
        ledger.skip_until(begin, resume - _SECOND, Reason.MISFIRE)
        return timetable.next_fire(resume - _SECOND)
    return first


def _resume_at(
    spec: ScheduleSpec,
    timetable: Timetable,
    begin: datetime,
    in_grace_from: datetime,
    now: datetime,
) -> datetime:
    """From when on fires are not given up."""
    match spec.misfire:
        case Misfire.FROM_NOW:
            return now + _SECOND
        case Misfire.NONE:
            return in_grace_from
        case Misfire.LAST:
            last = _last_that_counts(timetable, now)
            if last is None or last < begin:
                return now + _SECOND
            return min(in_grace_from, last)
        case Misfire.ALL:
            resume = begin
            if spec.max_age_seconds is not None:
                resume = max(resume, now - timedelta(seconds=spec.max_age_seconds))
            if spec.max_count is not None:
                resume = max(resume, _newest(timetable, spec.max_count, begin, now))
            return min(resume, in_grace_from)
        case _:
            assert_never(spec.misfire)


def _last_that_counts(timetable: Timetable, now: datetime) -> datetime | None:
    """The last fire that no calendar excludes, if one of the last hundred is that."""
    at = now
    for _ in range(100):
        fire = timetable.last_fire(at)
        if fire is None or fire.excluded is None:
            return None if fire is None else fire.at
        at = fire.at - _SECOND
    return None


def _newest(timetable: Timetable, count: int, begin: datetime, now: datetime) -> datetime:
    """The first of the last `count` fires."""
    at = now
    for _ in range(count):
        fire = timetable.last_fire(at)
        if fire is None or fire.at <= begin:
            return begin
        at = fire.at - _SECOND
    return at + _SECOND
