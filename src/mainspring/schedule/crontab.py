"""A crontab, read: what each of its lines means, and which cannot be taken over, and why.

    # a comment                         belongs to the entry that follows without an empty line
    MAILTO=ops@example.com              a variable, for all entries below it
    CRON_TZ=Europe/Berlin               the zone of all entries below it
    30 2 * * MON-FRI  backup --all      five fields, in a system crontab a user, and a command
    @daily  backup                      a name for five fields

It is read as cron reads it: the command is the rest of the line; in it an unescaped `%` ends the
command, and what follows is its standard input, with further `%` as ends of lines; `\\%` is a `%`.
Variables are not expanded. Beyond Vixie's cron, cronie's random values (`0~30`) become `H(0-30)`,
its `RANDOM_DELAY` becomes jitter, and its `-` before a line, which only hushes a log, is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mainspring.domain.errors import InputError, InvalidSchedule
from mainspring.domain.names import shown
from mainspring.schedule.cron_fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Field
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import CronSpec, ScheduleSpec
from mainspring.schedule.zones import zone_named

LINES_MAX = 100_000
LINE_LENGTH_MAX = 20_000
_COMMENT_LENGTH_MAX = 20_000
_FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)

_VARIABLE = re.compile(
    r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s='"#][^\s='"]*))\s*=\s*(.*?)\s*""", re.DOTALL
)
_RANDOM = re.compile(r"(\w*)~(\w*)(/\w+)?", re.ASCII)
_USER = re.compile(r"[\w.@+:/-]{1,100}\$?")
_ABOUT_CRON = {"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "LOGNAME", "USER"}
_ZONES = {"CRON_TZ", "TZ"}


class CrontabEntry(NamedTuple):
    """A line that can be taken over."""

    line: int
    text: str
    """As it is written."""
    when: str
    """The cron line, in our dialect."""
    spec: ScheduleSpec
    user: str | None
    """In a system crontab."""
    command: str
    stdin: str | None
    """What the command is given to read; None: nothing."""
    variables: Mapping[str, str]
    comment: str
    notes: Sequence[str]
    """What is not as it was under cron."""


class RefusedLine(NamedTuple):
    line: int
    text: str
    reason: str
    hint: str = ""


class Crontab(NamedTuple):
    entries: Sequence[CrontabEntry]
    refused: Sequence[RefusedLine]
    comments: Sequence[tuple[int, str]]
    """Those that belong to no entry, each with its line."""


def read_crontab(text: str, *, timezone: str, system: bool = False) -> Crontab:
    """What the text means; `timezone` is that of entries before any `CRON_TZ` or `TZ`."""
    zone_named(timezone)
    lines = text.removeprefix("\ufeff").split("\n")
    if len(lines) > LINES_MAX:
        raise InputError(f"the crontab has more than {LINES_MAX:,} lines")
    reader = _Reader(timezone, system)
    for number, line in enumerate(lines, 1):
        reader.read(number, line.rstrip("\r"))
    reader.leave_comments()
    return Crontab(reader.entries, reader.refused, reader.comments)


class _Reader:
    """What holds at a line: the variables, the zone, and the comment just above."""

    def __init__(self, timezone: str, system: bool) -> None:
        self.entries: list[CrontabEntry] = []
        self.refused: list[RefusedLine] = []
        self.comments: list[tuple[int, str]] = []
        self._default_zone = timezone
        self._system = system
        self._variables: dict[str, str] = {}
        self._unknown_zones: dict[str, int] = {}
        """Variables whose value is no zone, with their line: nothing below it can be read."""
        self._comment: list[tuple[int, str]] = []

    def read(self, number: int, line: str) -> None:
        stripped = line.strip()
        if not stripped:
            self.leave_comments()
        elif stripped.startswith("#"):
            self._comment.append((number, stripped.lstrip("#").strip()))
        else:
            try:
                _check(line)
                if found := _variable(line):
                    # A comment above it stays with the entry that follows.
                    self._set(number, *found)
                else:
                    self._enter(number, stripped)
                    self._comment.clear()
            except InputError as error:
                self.leave_comments()
                self.refused.append(RefusedLine(number, stripped, error.message, error.hint))

    def leave_comments(self) -> None:
        """What stands above belongs to no entry."""
        self.comments += self._comment
        self._comment = []

    def _set(self, number: int, name: str, value: str) -> None:
        if "=" in name:
            raise InputError(f"sets a variable of the name {shown(name)}, which cannot be")
        if name in _ZONES:
            self._unknown_zones[name] = number
            if value:
                zone_named(value)
            del self._unknown_zones[name]
        if name == "RANDOM_DELAY" and not re.fullmatch(r"\d{0,6}", value, re.ASCII):
            raise InvalidSchedule(name, value, "is no number of minutes")
        self._variables[name] = value

    def _enter(self, number: int, line: str) -> None:
        notes: list[str] = []
        text = line
        if text.startswith("-") and len(text) > 1:
            text = text[1:].lstrip()
            notes.append("the `-` before it, which keeps cron from logging, means nothing here")
        when, rest = _split_when(text)
        if when.lower() == "@reboot":
            raise InvalidSchedule(
                "cron",
                when,
                "has no instant: it is when a machine starts, which nobody here sees",
                hint="let the machine's own services start it, such as systemd",
            )
        user = None
        if self._system:
            user, _, rest = _partition(rest)
            if not user:
                raise InputError(
                    "has no user after the times",
                    hint="a crontab of a user has none: leave out `--system`",
                )
            if not _USER.fullmatch(user):
                raise InputError(
                    f"{shown(user)} is no user", hint="leave out `--system` if there is none"
                )
            notes.append(f"ran as user {shown(user)}; tasks run as the user of their worker")
        command, stdin = _command(rest)
        if not command:
            raise InputError(
                "has no command",
                hint="" if self._system else "give `--system` if this is a system crontab",
            )
        if stdin is not None:
            notes.append("what follows `%` is given to the command as its standard input")
        self.entries.append(
            CrontabEntry(
                number,
                line,
                _dialect(when),
                self._spec(when, notes),
                user,
                command,
                stdin,
                self._own_variables(notes),
                "\n".join(text for _, text in self._comment).strip()[:_COMMENT_LENGTH_MAX],
                notes,
            )
        )

    def _spec(self, when: str, notes: list[str]) -> ScheduleSpec:
        """Cron makes up for nothing, and starts a command however many are running."""
        for line in self._unknown_zones.values():
            raise InputError(f"has no zone: what line {line} says is none")
        zone = self._variables.get("CRON_TZ") or self._variables.get("TZ")
        if zone and not self._variables.get("CRON_TZ"):
            notes.append("`TZ` is taken for the zone of its times, too, which not every cron does")
        delay = int(self._variables.get("RANDOM_DELAY") or 0)
        return schedule_from(
            CronSpec(_dialect(when)),
            timezone=zone or self._default_zone,
            misfire="none",
            jitter=f"{delay}m" if delay else 0,
        )

    def _own_variables(self, notes: list[str]) -> dict[str, str]:
        """Those that are for the command, and not for cron."""
        kept = {
            name: value
            for name, value in self._variables.items()
            if name not in _ABOUT_CRON | {"CRON_TZ", "RANDOM_DELAY"}
        }
        if self._variables.get("MAILTO"):
            notes.append("`MAILTO` is left out: see `notify` of `@dag`")
        return kept


def _check(line: str) -> None:
    if "\x00" in line:
        raise InputError("holds a NUL character")
    if len(line) > LINE_LENGTH_MAX:
        raise InputError(f"is longer than {LINE_LENGTH_MAX:,} characters")


def _variable(line: str) -> tuple[str, str] | None:
    """A name and a value, if the line sets a variable."""
    found = _VARIABLE.fullmatch(line)
    if found is None:
        return None
    name = next(group for group in found.groups()[:3] if group is not None)
    value = found[4]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return (name, value) if name else None


def _split_when(line: str) -> tuple[str, str]:
    """The times, and what follows them."""
    if line.startswith("@"):
        when, _, rest = _partition(line)
        return when, rest
    fields, rest = [], line
    for _ in _FIELDS:
        field, _, rest = _partition(rest)
        fields.append(field)
    if not fields[-1]:
        raise InputError(
            "is neither a variable nor five fields and a command",
            hint="write it like `30 2 * * * backup`",
        )
    return " ".join(fields), rest


def _partition(text: str) -> tuple[str, str, str]:
    """The first word, the space after it, and the rest."""
    found = re.fullmatch(r"(\S*)(\s*)(.*)", text, re.DOTALL)
    assert found is not None
    return found[1], found[2], found[3]


def _command(text: str) -> tuple[str, str | None]:
    """The command, and its standard input if an unescaped `%` says that it has one."""
    parts = [""]
    # A backslash takes the next character with it, and goes away only before a `%`.
    for piece in re.findall(r"\\.|.", text, re.DOTALL):
        if piece == "%":
            parts.append("")
        else:
            parts[-1] += "%" if piece == "\\%" else piece
    command = parts[0].strip()
    if len(parts) == 1:
        return command, None
    stdin = "\n".join(parts[1:])
    # Cron ends what it hands over with an end of line.
    return command, stdin if not stdin or stdin.endswith("\n") else stdin + "\n"


def _dialect(when: str) -> str:
    """With `H` for values that cronie chooses at random when it starts."""
    if when.startswith("@") or "~" not in when:
        return when
    pairs = zip(_FIELDS, when.split(), strict=True)
    return " ".join(
        ",".join(_spread(field, item) for item in text.split(",")) for field, text in pairs
    )


def _spread(field: Field, item: str) -> str:
    found = _RANDOM.fullmatch(item)
    if found is None:
        return item
    first, last, step = found[1], found[2], found[3] or ""
    if not first and not last:
        return f"H{step}"
    return f"H({first or field.low}-{last or field.hash_high}){step}"
