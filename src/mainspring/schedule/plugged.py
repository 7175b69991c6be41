"""Instants that a plug-in knows, for rules that neither cron nor RRULE can say: `easter:-2 09:00`.

The plug-in is asked for the next and for the last instant and is not believed: an answer on the
wrong side would let a schedule stand still or run back, so it is an error that names the plug-in.
This package knows nothing of entry points; `mainspring.plugins` says how they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from mainspring.domain.errors import InputError, InvalidSchedule, MainspringError, PluginError
from mainspring.schedule.bounds import (
    FIRST_INSTANT,
    LAST_INSTANT,
    NEVER,
    NEVER_BEFORE,
    moment_of,
    seconds_of,
)


def _none(name: str) -> Any:
    raise PluginError(f"there is no schedule `{name}`: plug-ins were not asked for")


_load: Callable[[str], Any] = _none


def load_schedules_by(load: Callable[[str], Any]) -> None:
    """How a class is found by its name; told once, by `mainspring.plugins`."""
    global _load  # noqa: PLW0603
    _load = load


class Plugged:
    """The instants of a plug-in, as a source of a timetable."""

    def __init__(self, name: str, address: str) -> None:
        self._name = name
        try:
            self._times = _load(name)(address)
        except InputError as error:
            raise InvalidSchedule(name, address, f"cannot be: {error.message}") from error
        except MainspringError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def next(self, instant: int) -> int:
        if instant > LAST_INSTANT:
            return NEVER
        after = max(instant, FIRST_INSTANT) - 1
        found = self._asked(self._times.next_instant, after)
        if found is None or found > LAST_INSTANT:
            return NEVER
        if found <= after:
            raise PluginError(
                f"schedule `{self._name}` gave {moment_of(found).isoformat()} as the next instant"
                f" after {moment_of(after).isoformat()}"
            )
        return found

    def previous(self, instant: int) -> int:
        if instant < FIRST_INSTANT:
            return NEVER_BEFORE
        before = min(instant, LAST_INSTANT)
        found = self._asked(self._times.last_instant, before)
        if found is None or found < FIRST_INSTANT:
            return NEVER_BEFORE
        if found > before:
            raise PluginError(
                f"schedule `{self._name}` gave {moment_of(found).isoformat()} as the last instant"
                f" up to {moment_of(before).isoformat()}"
            )
        return found

    def count(self, low: int, high: int) -> int:
        number, found = 0, self.next(low)
        while found <= high:
            number, found = number + 1, self.next(found + 1)
        return number

    def _asked(self, question: Callable[[datetime], object], instant: int) -> int | None:
        try:
            answer = question(moment_of(instant))
        except Exception as error:
            raise self._failed(error) from error
        if answer is None:
            return None
        if not isinstance(answer, datetime) or answer.tzinfo is None or answer.microsecond:
            raise PluginError(
                f"schedule `{self._name}` gave {answer!r}, expected an instant with a zone and"
                " whole seconds, or None"
            )
        return seconds_of(answer.astimezone(UTC))

    def _failed(self, error: Exception) -> PluginError:
        words = f"{type(error).__name__}: {error}".rstrip(": ")
        return PluginError(
            f"schedule `{self._name}` failed: {words}",
            hint="`mainspring plugins list` names its package",
        )
