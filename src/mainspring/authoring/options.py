"""Checks of what authors write as options, with errors that name the option and the thing."""

from __future__ import annotations

from collections.abc import Iterable

from mainspring.domain.durations import Duration, parse_duration
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import listed, name_problem, shown

DESCRIPTION_LENGTH_MAX = 1_000


def checked_name(what: str, name: object, *, hint: str = "") -> str:
    if problem := name_problem(name):
        raise DefinitionError(f"the name {shown(name)} of {what} {problem}", hint=hint)
    assert isinstance(name, str)
    return name


def checked_seconds(what: str, value: Duration, *, positive: bool = False) -> float:
    try:
        seconds = parse_duration(value, what=what)
    except InputError as error:
        raise DefinitionError(error.message, hint=error.hint) from None
    if positive and seconds == 0:
        raise DefinitionError(f"{what}: must be longer than nothing")
    return seconds


def checked_whole(what: str, value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise DefinitionError(
            f"{what}: expected a whole number from {least} to {most}, got {shown(value)}"
        )
    return value


def checked_choice(what: str, value: object, choices: Iterable[str]) -> str:
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise DefinitionError(f"{what}: expected one of {listed(names)}, got {shown(value)}")
    return str(value)


def checked_line(what: str, value: object, length_max: int) -> str:
    text = checked_text(what, value, length_max)
    if text != text.strip() or len(text.splitlines()) > 1:
        raise DefinitionError(f"{what}: expected one line without space around it")
    return text


def first_line(text: str) -> str:
    """The first line of a docstring as a description: shortened and cleaned, never refused."""
    line = text.strip().partition("\n")[0].rstrip()
    line = line.encode("utf-8", "backslashreplace").decode().replace("\x00", "")
    return line if len(line) <= DESCRIPTION_LENGTH_MAX else f"{line[: DESCRIPTION_LENGTH_MAX - 1]}…"


def checked_text(what: str, value: object, length_max: int) -> str:
    if not isinstance(value, str):
        raise DefinitionError(f"{what}: expected text, got `{type(value).__name__}`")
    if len(value) > length_max:
        raise DefinitionError(f"{what}: longer than {length_max} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DefinitionError(f"{what}: holds a lone surrogate, which is not valid text") from None
    if "\x00" in value:
        raise DefinitionError(f"{what}: holds a NUL character, which the database cannot store")
    return value
