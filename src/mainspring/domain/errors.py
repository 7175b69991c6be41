"""Every error that we raise on purpose.

    MainspringError          what happened, to which thing; `hint` says what to do next
    ├── DefinitionError      a dag that cannot be: cycle, duplicate name, bad option
    ├── InputError           a caller's mistake: wrong parameter, unknown name, too large
    │   ├── ConflictError    it clashes with what is there, such as a rerun of what still runs
    │   │   ├── KeyConflict  same idempotency key with another body
    │   │   └── Outdated     it is no longer what the caller has seen
    │   └── InvalidSchedule  a schedule that cannot be: malformed, impossible, out of bounds
    ├── NotFoundError        the named thing does not exist
    ├── PluginError          a plug-in that is not there, or is of no use
    └── UnavailableError     the database or a process cannot be reached, or is too old or new

`code` is stable and meant for programs; the message is meant for people.
"""

from __future__ import annotations

from mainspring.domain.names import shown


class MainspringError(Exception):
    """Any of them: `message` says what happened, `hint` what to do, `code` is for programs."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class DefinitionError(MainspringError):
    """A dag that cannot be: a cycle, a name used twice, an option that makes no sense."""

    code = "definition"


class InputError(MainspringError):
    """A caller's mistake: a wrong parameter, a value that is too large."""

    code = "input"


class ConflictError(InputError):
    """It clashes with what is there: a key with another body, a rerun of what still runs."""

    code = "conflict"


class KeyConflict(ConflictError):
    """An idempotency key that was used for another request."""


class Outdated(ConflictError):
    """A change of a version that is no longer the current one."""


class InvalidSchedule(InputError):
    """A schedule that cannot be; `field` and `value` say which part of it, `reason` says why."""

    code = "invalid_schedule"

    def __init__(self, field: str, value: object, reason: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {shown(value)} {reason}", hint=hint)
        self.field = field
        self.value = value
        self.reason = reason


class NotFoundError(MainspringError):
    """The named thing does not exist."""

    code = "not_found"


class PluginError(MainspringError):
    """A plug-in that is not there, or is of no use; the message names its package."""

    code = "plugin"


class UnavailableError(MainspringError):
    """The database or a process cannot be reached, or is too old or too new."""

    code = "unavailable"
