"""From a job to its function and from what happened to a message: the host's own part.

Imports run here, in the host, and are marked on the board: a module that crashes the process
or never returns is then blamed on the job that asked for it, and nothing else. Whatever user
code raises, `SystemExit` at import included, becomes an outcome; only a crash ends a host.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.domain.outcomes import Outcome
from mainspring.executors.board import OVER, Board
from mainspring.executors.frames import Done, Dropped, Ending, Forget, FromHost, Keep, Run

if TYPE_CHECKING:
    from mainspring.authoring.calling import AnyTask
    from mainspring.authoring.context import Attempt


class Stopped(BaseException):
    """Raised in user code to stop it; not an `Exception`, so that it is seldom swallowed."""


class Withdrawn(Exception):
    """The worker has taken the job back before it began."""


def whose(attempt: Attempt) -> bytes:
    """Under whose name progress stands on the board."""
    return f"{attempt.run_id}/{attempt.task}/{attempt.term}".encode()


class Call:
    """One job on its way through user code."""

    __slots__ = ("arguments", "begun_ns", "board", "run", "task")

    def __init__(self, run: Run, board: Board) -> None:
        self.run = run
        self.board = board
        self.begun_ns = 0
        self.task: AnyTask | None = None
        self.arguments: dict[str, Any] = {}

    def succeeded(self, result: bytes) -> FromHost:
        slot = self.run.slot
        self._over(slot)
        return Done(slot, self.begun_ns, time.monotonic_ns(), result)

    def _ended(self, outcome: Outcome) -> FromHost:
        slot = self.run.slot
        self._over(slot)
        return Ending(slot, self.begun_ns, time.monotonic_ns(), outcome)

    def _over(self, slot: int) -> None:
        if os.getpid() != self.board.process:
            # User code forked and the child came back; it is not a host, and the board is not its.
            os._exit(0)
        self.board.begun[slot] = OVER

    def raised(self, error: BaseException) -> FromHost:
        from mainspring.authoring.calling import outcome_of

        if isinstance(error, Withdrawn):
            return Dropped(self.run.slot)
        return self._ended(outcome_of(self.task, error, self.run.attempt.number))


class Calls:
    """Imports functions once and prepares calls of them."""

    def __init__(self, board: Board) -> None:
        # Only now: whoever imports this module to look at it does not need the author's SDK.
        from mainspring.authoring.calling import arguments_for, encode_result, resolve
        from mainspring.authoring.context import enter, report_to

        self._board = board
        self._tasks: dict[str, AnyTask] = {}
        self._importing = threading.Lock()
        """One at a time: the board has room to blame one job."""
        self._large_parameters: dict[int, bytes] = {}
        """By run, while jobs of theirs are here."""
        self._enter = enter
        self._resolve = resolve
        self._arguments_for = arguments_for
        self.encode = encode_result
        self._telling = threading.Lock()
        report_to(self._tell)

    def prepare(self, call: Call) -> Callable[..., Any]:
        """The function to be called with `call.arguments`; from here on the job runs."""
        run = call.run
        task = self._tasks.get(run.entry)
        if task is None:
            task = self._import(run)
        call.task = task
        self._enter(self._whole(run) if run.attempt.parameters == b"" else run)
        begun_ns = self._board.begin(run.slot)
        if not begun_ns:
            raise Withdrawn
        # Begun on the board, since the author's types may run code of theirs and crash; but a job
        # whose arguments do not fit has not reached its function.
        call.arguments = self._arguments_for(task, run.arguments)
        call.begun_ns = begun_ns
        return task.function

    def _import(self, run: Run) -> AnyTask:
        with self._importing:
            if self._board.withdrawn[run.slot]:
                raise Withdrawn
            self._board.import_begins(run.slot)
            # What a module does at its top level is for all attempts to come, and in none of them.
            self._enter(None)
            try:
                task = self._resolve(run.entry)
            finally:
                self._board.import_ends()
            self._tasks[run.entry] = task
            return task

    def _tell(self, run: Run, percent: float, text: str) -> None:
        # A copy of the host that user code forked has no side of the board.
        if os.getpid() == self._board.process:
            with self._telling:
                self._board.tell(run.slot, whose(run.attempt), percent, text)

    def keep(self, message: Keep | Forget) -> None:
        match message:
            case Keep(run_id=run_id, parameters=parameters):
                self._large_parameters[run_id] = parameters
            case Forget(run_id=run_id):
                del self._large_parameters[run_id]

    def _whole(self, run: Run) -> Run:
        """With the large parameters, which stay as long as somebody has this."""
        parameters = self._large_parameters[run.attempt.run_id]
        attempt = msgspec.structs.replace(run.attempt, parameters=parameters)
        return msgspec.structs.replace(run, attempt=attempt)
