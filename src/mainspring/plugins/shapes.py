"""What a plug-in has to be: one protocol for each kind, and a look at what was loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol

from mainspring.domain.lanes import SlotKind
from mainspring.domain.names import listed
from mainspring.domain.notices import Notice


class Executor(Protocol):
    """How attempts run, in a host child: `@task(executor="name")`.

    The worker starts one host for each executor and snapshot (as many as there are slots if they
    are those of `process`), and the host makes one object of this class and calls `serve`, once.

    Few plug-ins begin from nothing. Derive from the executor whose slots are taken, and replace
    what is different: of `mainspring.executors.host_async: AsyncHost` that is `perform(call)`,
    which runs one attempt to its result, and `stop(message)`, if cancelling the coroutine is not
    enough; `mainspring.executors.host_command: CommandHost` is an example of that. What they
    derive from then keeps the promises of a host: one answer for each job, its output in its log,
    an end when the worker closes the socket. `mainspring.testing.conformance: check_executor`
    tries these.
    """

    slot_kind: ClassVar[str]
    """Whose slots it takes, and how it is stopped: `async`, `thread`, `process` or `command`."""

    def __init__(self, channel: Any, board: Any, slots: int) -> None:
        """`channel` and `board` are the two ways to the worker (`executors/channel.py`,
        `executors/board.py`); up to `slots` jobs come at a time.
        """

    def serve(self) -> None:
        """Say `Ready`, then run jobs until the worker closes the channel."""


class Operator(Protocol):
    """A ready-made task: `from mainspring.operators import name`.

    Called inside a dag's function, it draws a task (or a few) and returns the stand-in for the
    result. The task itself is an ordinary one, made by `@task` in the plug-in's module: hosts
    import it from there, so the package has to be installed wherever workers run.
    `mainspring.testing.conformance: check_operator` tries it.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Parameters and results may stand for any argument that is handed on to the task. By
        convention it takes the options of `@task` by their names, such as `name` and `retries`.
        """


class Notifier(Protocol):
    """Who is told when a run has ended: `@dag(notify=["name:address"])`.

    Made anew for each notice, in a process of its own beside the engine, where many work at once in
    threads. What raises, or takes longer than 30 s, is told again later; so is what nobody knows
    about, because the engine died. So the same notice may come twice, with the same `notice.key`.
    `mainspring.testing.conformance: check_notifier` tries it.
    """

    def __init__(self, address: str) -> None:
        """`address` is what stands behind the colon, perhaps nothing. Raises `InputError` if it
        makes no sense; that is also asked when the dag is read, where nothing may be reached.
        """

    def notify(self, notice: Notice) -> None:
        """Tell it, and return when it was heard."""


class ObjectStore(Protocol):
    """Where bytes go that are too many for the database: the name is the scheme of its URLs.

    Made with the URL, such as `name://place/prefix`, and without asking whether that is there.
    Keys are letters, digits, `-`, `.` and `/`. An object is written once, as a whole, and never
    changed; each method may be repeated. What could not be done now raises `UnavailableError`.
    `mainspring.testing.conformance: check_object_store` tries it.
    """

    def __init__(self, url: str) -> None: ...

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """All pieces or nothing is there under this key, and stays there when this returns.

        At most a few pieces are held in memory. A piece has less than 16 MB.
        """

    async def get(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, or up to the object's end; `NotFoundError` if there
        is no such object.
        """

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove these, at most 1,000 at a time. That one is not there is no error."""


class Times(Protocol):
    """When a schedule fires, if no cron line says it: `@dag(schedule="name:address")`.

    Asked again and again, by engines and command lines, and expected to answer the same for ever,
    in microseconds and without reaching out: an engine waits for the answer before it goes on.
    `mainspring.testing.conformance: check_schedule` tries it.
    """

    def __init__(self, address: str) -> None:
        """`address` is what stands behind the colon, perhaps nothing. Raises `InputError` if it
        makes no sense.
        """

    def next_instant(self, after: datetime) -> datetime | None:
        """The first one after this instant, with a zone and in whole seconds; None for none."""

    def last_instant(self, before: datetime) -> datetime | None:
        """The last one at this instant or before it; None for none."""


def executor_problem(loaded: object) -> str:
    """Why this cannot be an executor, or nothing; completes the sentence "it …"."""
    if not isinstance(loaded, type):
        return f"is `{type(loaded).__name__}`, expected a class"
    if not callable(getattr(loaded, "serve", None)):
        return "has no method `serve`"
    kind = getattr(loaded, "slot_kind", None)
    if not isinstance(kind, str) or kind not in tuple(SlotKind):
        return f"has the `slot_kind` {kind!r}, expected one of {listed(SlotKind)}"
    return ""


def operator_problem(loaded: object) -> str:
    """Why this cannot be an operator, or nothing; completes the sentence "it …"."""
    if not callable(loaded) or isinstance(loaded, type):
        return f"is `{_described(loaded)}`, expected a function"
    return ""


def notifier_problem(loaded: object) -> str:
    """Why this cannot be a notifier, or nothing; completes the sentence "it …"."""
    if not isinstance(loaded, type):
        return f"is `{type(loaded).__name__}`, expected a class"
    return "" if callable(getattr(loaded, "notify", None)) else "has no method `notify`"


def object_store_problem(loaded: object) -> str:
    """Why this cannot be an object store, or nothing; completes the sentence "it …"."""
    if not isinstance(loaded, type):
        return f"is `{type(loaded).__name__}`, expected a class"
    missing = [
        name for name in ("put", "get", "delete") if not callable(getattr(loaded, name, None))
    ]
    return f"lacks {listed(missing)}" if missing else ""


def schedule_problem(loaded: object) -> str:
    """Why this cannot be a schedule, or nothing; completes the sentence "it …"."""
    if not isinstance(loaded, type):
        return f"is `{type(loaded).__name__}`, expected a class"
    names = ("next_instant", "last_instant")
    missing = [name for name in names if not callable(getattr(loaded, name, None))]
    return f"lacks {listed(missing)}" if missing else ""


def _described(loaded: object) -> str:
    return "a class" if isinstance(loaded, type) else type(loaded).__name__
