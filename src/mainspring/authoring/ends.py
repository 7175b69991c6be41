"""What a task may raise to say how its attempt ended.

All three are ordinary exceptions, so that `finally` and context managers do their work. An
`except Exception` around them in the task swallows them like any other.
"""

from __future__ import annotations

from mainspring.domain.durations import Duration, parse_duration


class Retry(Exception):
    """Not this time: try again, after `after` if it is given, else as the retry policy says.

    It counts as an attempt, and it is tried again even if `give_up_on` would name it.
    """

    def __init__(self, message: str = "", *, after: Duration | None = None) -> None:
        super().__init__(message or "asked to be tried again")
        self.after_seconds = None if after is None else parse_duration(after, what="`after`")


class Fail(Exception):
    """Hopeless: the task fails now, whatever its retry policy says."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "asked to fail")


class Skip(Exception):
    """Nothing to do: the task, and the tasks that need it, are skipped."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
