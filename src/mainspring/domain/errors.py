"""Every error that we raise on purpose.

    MainspringError          what happened, to which thing; `hint` says what to do next
    ├── DefinitionError      a dag that cannot be: cycle, duplicate name, bad option
    ├── InputError           a caller's mistake: wrong parameter, unknown name, too large
    │   └── ConflictError    same idempotency key with another body, rerun of what still runs
    ├── NotFoundError        the named thing does not exist
    ├── PluginError          a plug-in that is not there, or is of no use
    └── UnavailableError     the database or a process cannot be reached, or is too old or new

`code` is stable and meant for programs; the message is meant for people.
"""

from __future__ import annotations


class MainspringError(Exception):
    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class DefinitionError(MainspringError):
    code = "definition"


class InputError(MainspringError):
    code = "input"


class ConflictError(InputError):
    code = "conflict"


class NotFoundError(MainspringError):
    code = "not_found"


class PluginError(MainspringError):
    code = "plugin"


class UnavailableError(MainspringError):
    code = "unavailable"
