"""A cron line, read: five fields, or six with seconds first, become sets of numbers and day rules.

    field         values            also
    second        0-59
    minute        0-59
    hour          0-23
    day of month  1-31              L, L-3 (last day, third before it), 15W (the weekday, Monday to
                                    Friday, nearest to the 15th within the month), LW
    month         1-12, JAN-DEC
    day of week   0-7, SUN-SAT      5L, FRIL (last Friday), 5#2, FRI#2 (second Friday); 0 and 7 are
                                    Sunday

Each field is a list of items with commas; an item is `*`, a value, a range `a-b`, or one of these
with a step: `*/n`, `a-b/n`, `a/n` (from a on). `?` is `*` where days are meant. `H` is a value that
is spread by a hash of the schedule's name and the field, so that a hundred schedules with `H * * *
*` do not start in the same minute, while each keeps its own; `H(a-b)` stays in a range, `H/n`
begins its steps somewhere in the first n. Where `H` chooses a day of the month it stays below 29.

If day of month and day of week are both restricted, either is enough, as in Vixie's cron: `0 0 13 *
FRI` is every Friday and every 13th. A field that begins with `*` does not restrict in this sense,
so `0 0 */2 * MON` is every Monday with an odd date.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import shown

LINE_LENGTH_MAX = 500

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Field(NamedTuple):
    name: str
    low: int
    high: int
    names: Mapping[str, int] = {}
    hash_high: int = 0
    """The largest value that `H` may choose; a 31st would skip months, or never come."""


SECOND = Field("second", 0, 59, hash_high=59)
MINUTE = Field("minute", 0, 59, hash_high=59)
HOUR = Field("hour", 0, 23, hash_high=23)
DAY = Field("day of month", 1, 31, hash_high=28)
MONTH = Field("month", 1, 12, {name: i for i, name in enumerate(MONTH_NAMES, 1)}, hash_high=12)
WEEKDAY = Field("day of week", 0, 7, {name: i for i, name in enumerate(DAY_NAMES)}, hash_high=6)
FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class TimeRule(NamedTuple):
    """Times of day, as sets of bits."""

    seconds: int
    minutes: int
    hours: int


class DayRule(NamedTuple):
    """Days. Sets are bits; tuples are sorted."""

    days: int
    before_last: tuple[int, ...]
    """How many days before the last one of the month; 0 is the last."""
    nearest: tuple[int, ...]
    """Days of the month whose nearest weekday is meant."""
    last_working: bool
    months: int
    weekdays: int
    nth: tuple[tuple[int, int], ...]
    """(weekday, n): the nth of them in the month."""
    last_weekdays: tuple[int, ...]
    either: bool
    """Whether day of month or day of week is enough."""


class CronLine(NamedTuple):
    text: str
    """The fields, six of them, in capitals."""
    times: TimeRule
    days: DayRule
    any_hour: bool
    """Whether the hour is a wildcard, so that the line follows elapsed time."""


def read_line(expression: str, name: str) -> CronLine:
    """The line's fields; `name` is the schedule's, for `H`."""
    reader = _Reader(expression, name)
    texts = _split(expression)
    second, minute, hour, day, month, weekday = texts
    days = reader.days(day)
    weekdays = reader.weekdays(weekday)
    return CronLine(
        " ".join(texts),
        TimeRule(reader.bits(SECOND, second), reader.bits(MINUTE, minute), reader.bits(HOUR, hour)),
        DayRule(
            *days,
            reader.bits(MONTH, month),
            *weekdays,
            either=not (day.startswith("*") or weekday.startswith("*")),
        ),
        any(item.startswith(("*", "H/")) for item in hour.split(",")),
    )


def spreads(expression: str) -> bool:
    """Whether some field holds `H`, so that the line means something else for each schedule."""
    return bool(re.search(r"(^|[\s,])H", expression.upper()))


def _split(expression: str) -> list[str]:
    line = expression.strip()
    if len(line) > LINE_LENGTH_MAX:
        raise InvalidSchedule("cron", line, f"is longer than {LINE_LENGTH_MAX} characters")
    if line.startswith("@"):
        if line.lower() == "@reboot":
            raise InvalidSchedule(
                "cron", line, "has no instant: nothing here boots", hint=f"use {_macros()}"
            )
        if line.lower() not in MACROS:
            raise InvalidSchedule("cron", line, "is not known", hint=f"use {_macros()}")
        line = MACROS[line.lower()]
    fields = line.upper().split()
    if len(fields) == 5:
        fields.insert(0, "0")
    if len(fields) != 6:
        raise InvalidSchedule(
            "cron",
            expression,
            f"has {len(fields)} fields instead of 5 or 6",
            hint="minute, hour, day of month, month, day of week; a sixth, seconds, goes first",
        )
    # `?` says that the other of the two day fields decides, which is what `*` does.
    for i in (3, 5):
        fields[i] = "*" if fields[i] == "?" else fields[i]
    return fields


def _macros() -> str:
    return ", ".join(f"`{name}`" for name in MACROS)


class _Reader:
    def __init__(self, expression: str, name: str) -> None:
        self._expression = expression
        self._name = name

    def bits(self, field: Field, text: str) -> int:
        """The set of values of a field without rules of its own."""
        bits = 0
        for item in self._items(field, text):
            bits |= self._item(field, item)
        return bits

    def days(self, text: str) -> tuple[int, tuple[int, ...], tuple[int, ...], bool]:
        bits, before_last, nearest, last_working = 0, set[int](), set[int](), False
        for item in self._items(DAY, text):
            if item == "L":
                before_last.add(0)
            elif item in ("LW", "WL"):
                last_working = True
            elif found := re.fullmatch(r"L-(\d{1,2})", item, re.ASCII):
                before = int(found[1])
                if not 1 <= before <= 30:
                    raise self._wrong(DAY, item, "counts 1 to 30 days back from the last")
                before_last.add(before)
            elif found := re.fullmatch(r"(\d{1,2})W", item, re.ASCII):
                nearest.add(self._value(DAY, found[1]))
            elif item.endswith("W"):
                raise self._wrong(DAY, item, "has no single day before its `W`")
            else:
                bits |= self._item(DAY, item)
        return bits, tuple(sorted(before_last)), tuple(sorted(nearest)), last_working

    def weekdays(self, text: str) -> tuple[int, tuple[tuple[int, int], ...], tuple[int, ...]]:
        bits, nth, last = 0, set[tuple[int, int]](), set[int]()
        for item in self._items(WEEKDAY, text):
            if item == "L":
                raise self._wrong(WEEKDAY, item, "does not say which day", hint="`5L` or `FRIL`")
            if found := re.fullmatch(r"(\w+)#(\w*)", item, re.ASCII):
                if found[2] not in ("1", "2", "3", "4", "5"):
                    raise self._wrong(WEEKDAY, item, "needs a number from 1 to 5 after `#`")
                nth.add((self._value(WEEKDAY, found[1]) % 7, int(found[2])))
            elif found := re.fullmatch(r"([0-9]|[A-Z]{3})L", item, re.ASCII):
                last.add(self._value(WEEKDAY, found[1]) % 7)
            else:
                bits |= self._item(WEEKDAY, item)
        # 7 is another name of Sunday.
        bits = (bits | bits >> 7) & 0b111_1111
        return bits, tuple(sorted(nth)), tuple(sorted(last))

    def _items(self, field: Field, text: str) -> list[str]:
        items = text.split(",")
        if "" in items:
            raise self._wrong(field, text, "has a comma with nothing beside it")
        return items

    def _item(self, field: Field, item: str) -> int:
        """The set of one item: `*`, a value, a range or `H`, perhaps with a step."""
        base, slash, step_text = item.partition("/")
        step = 1
        if slash:
            if not re.fullmatch(r"\d{1,4}", step_text, re.ASCII):
                raise self._wrong(field, item, "needs a number after `/`")
            step = int(step_text)
            if not 1 <= step <= field.high - field.low + 1:
                raise self._wrong(
                    field, item, f"needs a step from 1 to {field.high - field.low + 1}"
                )
        if base == "*":
            # A week has seven days, though `day of week` has eight names for them.
            low, high = field.low, 6 if field is WEEKDAY else field.high
        elif found := re.fullmatch(r"H(?:\((\w+)-(\w+)\))?", base, re.ASCII):
            return self._spread(field, item, found, step if slash else 0)
        elif "-" in base:
            low, high = self._range(field, item, base)
        else:
            low = self._value(field, base)
            high = field.high if slash else low
        return sum(1 << value for value in range(low, high + 1, step))

    def _range(self, field: Field, item: str, base: str) -> tuple[int, int]:
        first, _, last = base.partition("-")
        low, high = self._value(field, first), self._value(field, last)
        if field is WEEKDAY and last == "SUN":
            high = 7
        if low > high:
            raise self._wrong(
                field,
                item,
                "ends before it begins",
                hint=f"write two ranges: `{first}-{field.high},{field.low}-{last}`",
            )
        return low, high

    def _spread(self, field: Field, item: str, found: re.Match[str], step: int) -> int:
        low, high = field.low, field.hash_high
        if found[1]:
            low, high = self._range(field, item, f"{found[1]}-{found[2]}")
        key = f"{field.name}\0{self._name}".encode()
        number = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest())
        if high > field.hash_high:
            raise self._wrong(
                field, item, f"goes beyond {field.hash_high}, which `H` may not choose"
            )
        if not step:
            return 1 << (low + number % (high - low + 1))
        first = low + number % min(step, high - low + 1)
        return sum(1 << value for value in range(first, high + 1, step))

    def _value(self, field: Field, text: str) -> int:
        if text in field.names:
            return field.names[text]
        if not re.fullmatch(r"\d{1,4}", text, re.ASCII):
            names = f", nor one of {'/'.join(field.names)}" if field.names else ""
            raise self._wrong(field, text, f"is not a number{names}")
        value = int(text)
        if not field.low <= value <= field.high:
            raise self._wrong(field, text, f"is not between {field.low} and {field.high}")
        return value

    def _wrong(self, field: Field, text: str, reason: str, hint: str = "") -> InvalidSchedule:
        return InvalidSchedule(
            f"cron {shown(self._expression)}, {field.name}", text, reason, hint=hint
        )
