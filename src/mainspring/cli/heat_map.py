"""When how much starts, at a glance: one mark for a minute, or for the busiest minute of an hour.

A short range has a row for each hour and a column for each minute; a longer one a row for each day,
or each week, and a column for each hour of the day. There a mark stands for the busiest minute in
it, not for the sum, because a spike is what hurts: sixty starts in one minute are another thing
than one in each. Marks grow with the number, so that colour only helps; a line below says which
mark stands for how many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.text import Text

from mainspring.schedule.bounds import DAY, moment_of
from mainspring.schedule.simulating import Load
from mainspring.schedule.zones import Zone

BARS = "▁▂▃▄▅▆▇█"
NONE = "·"
_STYLES = (*("green",) * 3, *("yellow",) * 3, *("red",) * 2)
_CHUNK = 15
"""Minutes. Clocks change on quarters of an hour."""
_BY_MINUTE_MAX = 26 * 60
_BY_DAY_MAX = 62 * 1440


class Row(NamedTuple):
    label: str
    cells: Sequence[int | None]
    """The most starts in a minute; None is not in the range."""
    starts: int


class Grid(NamedTuple):
    rows: Sequence[Row]
    columns: Sequence[str]
    """What stands above a cell; empty for most."""
    cell_width: int
    words: str
    """What a row and a mark are."""


def grid_of(load: Load, zone: Zone) -> Grid:
    """The load by hours and minutes, days and hours, or weeks and hours, as its length asks for."""
    length = len(load.minutes)
    if length <= _BY_MINUTE_MAX:
        columns = [f"{minute:02}" if minute % 10 == 0 else "" for minute in range(60)]
        rows = _rows(load, zone, _hour_row, lambda wall: wall % 60, 60)
        return Grid(rows, columns, 1, "hours by minutes; a mark is a minute")
    row, words = (
        (_day_row, "days by hours") if length <= _BY_DAY_MAX else (_week_row, "weeks by hours")
    )
    columns = [f"{hour:02}" if hour % 3 == 0 else "" for hour in range(24)]
    rows = _rows(load, zone, row, lambda wall: wall // 60 % 24, 24)
    return Grid(rows, columns, 2, f"{words}; a mark is the busiest minute in it")


def heat_map(grid: Grid) -> list[Text]:
    """The lines to print, with the legend."""
    scale = scale_for([cell for row in grid.rows for cell in row.cells if cell])
    width = max(len(row.label) for row in grid.rows)
    total = max(len(f"{row.starts:,}") for row in grid.rows)
    head = "".join(_spaced(grid))
    lines = [Text(f"{'':{width}}  {head}".rstrip(), style="bright_black")]
    for row in grid.rows:
        line = Text(f"{row.label:{width}}  ", style="bright_black")
        for cell in row.cells:
            line.append_text(_mark(cell, scale, grid.cell_width))
        line.append(f"  {row.starts:>{total},}" if row.starts else "", style="bright_black")
        lines.append(line)
    return [*lines, _legend(scale)]


def scale_for(counts: Sequence[int]) -> list[int]:
    """The most that each bar stands for: from the least of these to the most by equal ratios."""
    if not counts:
        return []
    least, most, steps = min(counts), max(counts), len(BARS) - 1
    return sorted({round(least * (most / least) ** (step / steps)) for step in range(steps + 1)})


def bar_of(count: int, scale: Sequence[int]) -> int:
    """Which bar stands for this number; the largest number has the highest."""
    level = bisect_left(scale, count) + 1
    return -(-level * len(BARS) // len(scale)) - 1


def _mark(cell: int | None, scale: Sequence[int], width: int) -> Text:
    if cell is None:
        return Text(" " * width)
    if cell == 0:
        return Text(NONE.ljust(width), style="bright_black")
    bar = bar_of(cell, scale)
    return Text(BARS[bar] * width, style=_STYLES[bar])


def _legend(scale: Sequence[int]) -> Text:
    line = Text("starts in a minute: ", style="bright_black").append(f"{NONE} 0")
    low = scale[0] if scale else 0
    for high in scale:
        bar = bar_of(high, scale)
        line.append("  ").append(BARS[bar], style=_STYLES[bar])
        line.append(f" {low:,}" if low == high else f" {low:,}-{high:,}")
        low = high + 1
    return line


def _spaced(grid: Grid) -> list[str]:
    """Heads of columns, each with the room of the columns without one after it."""
    heads: list[tuple[str, int]] = []
    for text in grid.columns:
        if text:
            heads.append((text, grid.cell_width))
        else:
            heads[-1] = heads[-1][0], heads[-1][1] + grid.cell_width
    return [text.ljust(room) for text, room in heads]


_RowOf = Callable[[int, int], tuple[object, str]]
"""From minutes that a wall clock shows since 1970, and its offset, to a row's key and label."""


def _hour_row(wall: int, offset: int) -> tuple[object, str]:
    # An hour that clocks show twice has two rows.
    return (wall // 60, offset), f"{moment_of(wall * 60):%a %d %H}h"


def _day_row(wall: int, _offset: int) -> tuple[object, str]:
    day = wall // 1440
    return day, f"{moment_of(day * DAY):%a %Y-%m-%d}"


def _week_row(wall: int, _offset: int) -> tuple[object, str]:
    monday = (wall // 1440 + 3) // 7 * 7 - 3
    return monday, f"{moment_of(monday * DAY):week of %Y-%m-%d}"


def _rows(
    load: Load, zone: Zone, row_of: _RowOf, column_of: Callable[[int], int], columns: int
) -> list[Row]:
    found: dict[object, tuple[str, list[int | None], int]] = {}
    first, end = load.first_minute, load.first_minute + len(load.minutes)
    minute = first
    while minute < end:
        ahead = min(end, (minute // _CHUNK + 1) * _CHUNK)
        offset = zone.offset_at(minute * 60) // 60
        chunk = load.minutes[minute - first : ahead - first]
        key, label = row_of(minute + offset, offset)
        label, cells, starts = found.get(key, (label, [None] * columns, 0))
        for wall, count in enumerate(chunk, minute + offset):
            column = column_of(wall)
            cells[column] = max(cells[column] or 0, count)
        found[key] = label, cells, starts + sum(chunk)
        minute = ahead
    return [Row(*row) for row in found.values()]
