"""A problem of the server as an error: of the same class as the one that was raised there.

except NotFoundError     catches it wherever it was raised; `problem` is what the server said
"""

from __future__ import annotations

import msgspec

from mainspring.domain.errors import (
    ConflictError,
    DefinitionError,
    InputError,
    MainspringError,
    NotFoundError,
    Outdated,
    PluginError,
    UnavailableError,
)
from mainspring.domain.problems import CONTENT_TYPE, Problem
from mainspring.http.requests import Reply


class Refused(MainspringError):
    """The server did not do it, and says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail, hint=problem.hint)
        self.code = problem.code
        self.problem = problem


class RefusedInput(Refused, InputError):
    """Something in the request is wrong; `problem.errors` says where."""


class RefusedConflict(Refused, ConflictError):
    """It clashes with what is there."""


class RefusedOutdated(Refused, Outdated):
    """It is no longer what the caller has seen; `problem.current` is what it is now."""


class RefusedNotFound(Refused, NotFoundError):
    """The named thing does not exist."""


class RefusedDefinition(Refused, DefinitionError):
    """A dag that cannot be."""


class RefusedPlugin(Refused, PluginError):
    """A plug-in that is not there, or is of no use."""


class RefusedNow(Refused, UnavailableError):
    """The server cannot do it now."""


_BY_CODE: dict[str, type[Refused]] = {
    "definition": RefusedDefinition,
    "plugin": RefusedPlugin,
}
_BY_STATUS: dict[int, type[Refused]] = {
    400: RefusedInput,
    404: RefusedNotFound,
    409: RefusedConflict,
    412: RefusedOutdated,
    413: RefusedInput,
    416: RefusedInput,
    422: RefusedInput,
    429: RefusedNow,
    503: RefusedNow,
}


def refusal_of(reply: Reply, server: str) -> MainspringError:
    """The error that an answer other than 2xx stands for."""
    problem = _problem(reply)
    if problem is None:
        return UnavailableError(
            f"what answers at {server} is no Mainspring server: it answered {reply.status}",
            hint="check that MAINSPRING_URL is right",
        )
    if reply.status == 401:
        return Refused(
            msgspec.structs.replace(
                problem,
                hint="set MAINSPRING_TOKEN to a token of that server;"
                " `mainspring token create` makes one there",
            )
        )
    kind = _BY_CODE.get(problem.code) or _BY_STATUS.get(reply.status, Refused)
    return kind(problem)


def _problem(reply: Reply) -> Problem | None:
    if not reply.headers.get("content-type", "").startswith(CONTENT_TYPE):
        return None
    try:
        return msgspec.json.decode(reply.content, type=Problem)
    except msgspec.MsgspecError:
        return None
