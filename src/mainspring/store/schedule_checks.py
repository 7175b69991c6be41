"""What `mainspring doctor` says of schedules: who fires them, how late, and which need somebody."""

from __future__ import annotations

from collections.abc import Sequence

from mainspring.domain.durations import format_duration
from mainspring.domain.words import counted, roughly, safe, shortened
from mainspring.store.checks import Check, Verdict
from mainspring.store.schedule_reading import EngineAtWork, HinderedSchedule, ShardStanding

ENGINE_SILENT_SECONDS = 5.0
LATE_SECONDS = 12.0
"""Somebody else stands in for an engine that froze within this."""
OFFSET_SECONDS_MAX = 0.5
_SHOWN = 5

_START = "start one with `mainspring engine`, or everything with `mainspring up`"


def shards_check(engines: Sequence[EngineAtWork], shards: Sequence[ShardStanding]) -> Check:
    """Who looks at which schedules, and how far behind each shard is."""
    living = [engine for engine in engines if engine.silent_seconds <= ENGINE_SILENT_SECONDS]
    ids = {engine.id for engine in living}
    held = [shard for shard in shards if shard.holder in ids]
    behind = max(shards, key=lambda shard: shard.lag_seconds, default=None)
    lag = behind.lag_seconds if behind is not None else 0.0
    due = sum(shard.due for shard in shards)
    late = f"; {counted(due, 'schedule')} due, the oldest for {roughly(lag)}" if due else ""
    details = {
        "engines": [
            {
                "name": engine.name,
                "started_at": engine.started_at,
                "silent_seconds": engine.silent_seconds,
                "shards": [shard.number for shard in shards if shard.holder == engine.id],
            }
            for engine in engines
        ],
        "shards": [
            {
                "number": shard.number,
                "holder": shard.holder_name if shard.holder is not None else None,
                "due": shard.due,
                "lag_seconds": shard.lag_seconds,
            }
            for shard in shards
        ],
    }
    if not living:
        found = f"nobody holds shards of schedules: nothing fires{late}"
        if silent := sorted(engines, key=lambda engine: engine.silent_seconds)[:1]:
            name, since = safe(silent[0].name), roughly(silent[0].silent_seconds)
            found += f"; `{name}` was not heard of for {since}"
        return Check("shards", Verdict.BROKEN, found, _START, len(shards), details)
    told = ", ".join(
        f"`{safe(engine.name)}` holds {_numbers(engine, shards)}" for engine in living[:_SHOWN]
    )
    told += f", and {len(living) - _SHOWN} more engines" if len(living) > _SHOWN else ""
    if lag > LATE_SECONDS:
        return Check(
            "shards",
            Verdict.WARNING,
            f"{told}{late}",
            "engines are behind: look at their logs and at the database's load, or start another"
            " one with `mainspring engine`",
            sum(shard.lag_seconds > LATE_SECONDS for shard in shards),
            details,
        )
    free = len(shards) - len(held)
    # Just after a start, or a death, they are on their way to somebody.
    settled = all(
        (engine.read_at - engine.started_at).total_seconds() > ENGINE_SILENT_SECONDS
        for engine in living
    )
    if free and settled:
        return Check(
            "shards",
            Verdict.WARNING,
            f"{told}; nobody holds {counted(free, 'shard')}{late}",
            "others stand in after a second; if it stays so, look at the engines' logs",
            free,
            details,
        )
    return Check("shards", Verdict.OK, f"{told}; no schedule is late", details=details)


def _numbers(engine: EngineAtWork, shards: Sequence[ShardStanding]) -> str:
    """`1-8, 12 (9 shards)`."""
    mine = [shard.number for shard in shards if shard.holder == engine.id]
    if not mine:
        return "no shard"
    spans: list[tuple[int, int]] = []
    for each in mine:
        if spans and spans[-1][1] == each - 1:
            spans[-1] = spans[-1][0], each
        else:
            spans.append((each, each))
    words = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
    return f"{'shard' if len(mine) == 1 else 'shards'} {words}"


def clock_check(offset: float) -> Check:
    """The database's clock is the clock; whose differs shows odd times, and signs wrong ones."""
    details = {"offset_seconds": offset}
    away = format_duration(round(abs(offset), 3))
    if abs(offset) > OFFSET_SECONDS_MAX:
        side = "ahead of" if offset > 0 else "behind"
        return Check(
            "clock",
            Verdict.WARNING,
            f"the database's clock is {away} {side} this machine's",
            "schedules go by the database's clock; let both machines follow a time server",
            details=details,
        )
    return Check("clock", Verdict.OK, f"{away} from the database's clock", details=details)


def schedules_check(count: int, paused: int, hindered: Sequence[HinderedSchedule]) -> Check:
    some = f", {paused:,} paused" if paused else ""
    if not hindered:
        return Check("schedules", Verdict.OK, f"{counted(count, 'schedule')}{some}")
    told = "; ".join(f"`{safe(each.name)}`: {_trouble(each)}" for each in hindered[:_SHOWN])
    more = f"; and {len(hindered) - _SHOWN:,} more" if len(hindered) > _SHOWN else ""
    first = safe(hindered[0].name)
    return Check(
        "schedules",
        Verdict.WARNING,
        f"{counted(count, 'schedule')}{some}; {told}{more}",
        f"`mainspring schedule show {first}` tells more; when that is mended,"
        f" `mainspring schedule resume {first}`"
        if hindered[0].paused_at is not None
        else f"`mainspring schedule show {first}` tells more",
        len(hindered),
        [
            {
                "name": each.name,
                "dag": each.dag,
                "paused_at": each.paused_at,
                "pause_note": each.pause_note,
                "refused": each.refused,
                "missing_calendars": each.calendars,
            }
            for each in hindered
        ],
    )


def _trouble(schedule: HinderedSchedule) -> str:
    words = []
    if schedule.paused_at is not None and schedule.paused_by == "mainspring":
        words.append(f"paused itself, since {shortened(schedule.pause_note or 'it failed', 200)}")
    if schedule.refused:
        gone = f"dag `{safe(schedule.dag)}` is gone"
        fits = f"dag `{safe(schedule.dag)}` does not take its parameters"
        words.append(f"its fires are refused: {gone if schedule.dag_gone else fits}")
    if schedule.calendars:
        names = ", ".join(f"`{safe(name)}`" for name in schedule.calendars[:3])
        words.append(f"there is no calendar {names}")
    return ", ".join(words)
