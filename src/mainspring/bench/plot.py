"""Lines of a plot in characters: an area of braille dots under a line, two dots a column."""

from __future__ import annotations

from collections.abc import Sequence

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Of a braille character, from the bottom: left column, right column."""
_BLANK = 0x2800


def area(values: Sequence[float | None], *, width: int, height: int, top: float) -> list[str]:
    """The values from left to right, filled from 0; `top` is the upper edge. Gaps stay blank."""
    levels = [
        None if value is None or top <= 0 else round(min(value / top, 1.0) * height * 4)
        for value in stretched(values, width * 2)
    ]
    lines = []
    for row in range(height - 1, -1, -1):
        line = ""
        for column in range(width):
            dots = _BLANK
            for side in (0, 1):
                level = levels[column * 2 + side]
                if level is not None:
                    # What is there at all is seen at the bottom.
                    filled = max(level, 1) - row * 4
                    for dot in range(max(0, min(filled, 4))):
                        dots |= _DOTS[side][dot]
            line += chr(dots)
        lines.append(line)
    return lines


def stretched(values: Sequence[float | None], count: int) -> list[float | None]:
    """The values spread over `count` places, each repeated or left out as room demands."""
    if not values:
        return [None] * count
    return [values[place * len(values) // count] for place in range(count)]


def nice_top(values: Sequence[float | None]) -> float:
    """The next round number above all values: 1, 2 or 5 with zeros, in steps between."""
    highest = max((value for value in values if value is not None), default=0.0)
    if highest <= 0:
        return 1.0
    size = 1.0
    while size * 10 <= highest:
        size *= 10
    while size > highest:
        size /= 10
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= highest)
