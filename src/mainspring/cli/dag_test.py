"""`mainspring dag test`: one run right here, without a database.

Tasks run one after the other, parents before children, in host children as they would on a
worker. Retry policies are honoured; only the rests between attempts are cut short.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
import msgspec

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import dags_option, json_option, parameter_options
from mainspring.domain.bindings import arguments_of
from mainspring.domain.errors import DefinitionError, InputError, NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.outcomes import Error, Failed, Outcome, decide
from mainspring.domain.specs import DagSpec, in_order, parents_of
from mainspring.domain.states import AttemptState, RunState, TaskState

if TYPE_CHECKING:
    from mainspring.bundles.report import FileProblem
    from mainspring.domain.states import Facts
    from mainspring.executors.hosts import Hosts
    from mainspring.executors.jobs import Ended

_REST_SECONDS_MAX = 1.0
_UNRUN_SHOWN = 20
_GENERATION = 1
_EPOCH = 0
"""Below that of any database: what is fenced refuses a trial once it has seen a real run."""
_LOG_CHARACTERS_MAX = 1024 * 1024
"""How much of a task's output goes into the JSON document."""


@click.command()
@click.argument("name")
@parameter_options
@dags_option
@json_option
def test(
    name: str, pairs: tuple[str, ...], params: str | None, dags: Path | None, as_json: bool
) -> int:
    """Run dag NAME once, here and without a database: to see that it works.

    Tasks run one after the other; rests between attempts are cut to a second.
    """
    from mainspring.config import load_config

    folder = load_config(dags=dags).dags
    if folder is None:
        raise InputError("which folder of dags?", hint="give `--dags DIR`, or set MAINSPRING_DAGS")
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`")
    return asyncio.run(_test(folder.resolve(), name, pairs, params, as_json))


async def _test(
    folder: Path, name: str, pairs: Sequence[str], params: str | None, as_json: bool
) -> int:
    from mainspring.cli.given import given_parameters
    from mainspring.domain.parameters import validate_parameters

    spec = await _read(folder, name)
    parameters = validate_parameters(spec, given_parameters(spec, pairs, params))
    report = _Document(spec, parameters) if as_json else _Screen(spec)
    state = await Trial(spec, folder, parameters, report).run()
    report.over(state)
    return DONE if state is RunState.SUCCEEDED else FAILED


async def _read(folder: Path, name: str) -> DagSpec:
    from mainspring.bundles.read import read_bundle

    report = await read_bundle(folder)
    for spec in report.dags:
        if spec.name == name:
            return spec
    if report.problems:
        raise DefinitionError(
            f"there is no dag {shown(name)} among the files that could be read;"
            f" this one could not: {_problem_words(report.problems[0])}",
            hint=report.problems[0].hint,
        )
    raise NotFoundError(
        f"there is no dag {shown(name)} in `{folder}`",
        hint=closest(name, [spec.name for spec in report.dags]),
    )


def _problem_words(problem: FileProblem) -> str:
    place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    return f"{place}: {problem.message.strip().splitlines()[0]}"


class Tried(msgspec.Struct, frozen=True):
    """One attempt, as it went."""

    attempt: int
    state: AttemptState
    seconds: float
    error: Error | None


class Report(Protocol):
    """Who is told how it goes."""

    def logged(self, node: int, term: int, data: bytes) -> None: ...

    def tried(self, node: int, tried: Tried) -> None: ...

    def rests(self, node: int, delay_seconds: float) -> None: ...

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None: ...

    def over(self, state: RunState) -> None: ...


class Trial:
    """One run of a dag in this process; the listener of its hosts."""

    def __init__(
        self, spec: DagSpec, folder: Path, parameters: dict[str, Any], report: Report
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._parameters = parameters
        self._report = report
        # A number that no run in a database has, and another one each time: whoever is given an
        # idempotency key of this run has not seen it before.
        self._run_id = time.time_ns() // 1000
        self._due_at = datetime.now(UTC)
        self._results: dict[int, bytes] = {}
        self._states: dict[int, TaskState] = {}
        self._end: asyncio.Future[Ended] | None = None

    async def run(self) -> RunState:
        """How the run ends: the same rules as in the database."""
        from mainspring.executors.hosts import Hosts
        from mainspring.worker.slots import default_slots

        parents = parents_of(self._spec)
        hosts = Hosts(self, slots=default_slots(), stop_grace_seconds=1.0)
        try:
            for node in in_order(self._spec):
                before = {self._states[parent] for parent in parents[node]}
                if before & {TaskState.FAILED, TaskState.UPSTREAM_FAILED}:
                    self._close(node, TaskState.UPSTREAM_FAILED)
                elif TaskState.SKIPPED in before:
                    self._close(node, TaskState.SKIPPED)
                else:
                    await self._run_task(hosts, node)
        finally:
            await hosts.close(kill=True)
        bad = {TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
        return RunState.FAILED if bad & set(self._states.values()) else RunState.SUCCEEDED

    async def _run_task(self, hosts: Hosts, node: int) -> None:
        """Attempts, until the policy says that it is over."""
        task = self._spec.tasks[node]
        attempt, lost, term = 1, 0, 1
        while True:
            outcome, seconds = await self._attempt(hosts, node, attempt, term, alone=lost > 0)
            decision = decide(outcome, task, attempt, lost, random.random())
            self._report.tried(node, Tried(attempt, decision.attempt, seconds, decision.error))
            if decision.state not in (TaskState.BACKOFF, TaskState.READY):
                if decision.result is not None:
                    self._results[node] = decision.result
                self._close(node, decision.state, decision.result)
                return
            attempt, lost, term = attempt + decision.charged, lost + decision.lost, term + 1
            if decision.delay_seconds:
                self._report.rests(node, decision.delay_seconds)
                await asyncio.sleep(min(decision.delay_seconds, _REST_SECONDS_MAX))

    async def _attempt(
        self, hosts: Hosts, node: int, attempt: int, term: int, *, alone: bool
    ) -> tuple[Outcome, float]:
        from mainspring.authoring.context import Attempt
        from mainspring.executors.jobs import Job

        task = self._spec.tasks[node]
        try:
            arguments = arguments_of(task, self._parameters, self._results.__getitem__)
        except InputError as error:
            return Failed(Error("InputError", error.message), retry=False), 0.0
        self._end = asyncio.get_running_loop().create_future()
        hosts.submit(
            [
                Job(
                    node,
                    term,
                    task.kind,
                    str(self._folder),
                    task.entry,
                    Attempt(
                        self._run_id,
                        self._spec.name,
                        task.name,
                        attempt,
                        _GENERATION,
                        _EPOCH,
                        term,
                        self._due_at,
                        msgspec.json.encode(self._parameters),
                    ),
                    arguments,
                    task.timeout_seconds,
                    alone=alone,
                )
            ]
        )
        ended = await self._end
        started_us = ended.finished_us if ended.started_us is None else ended.started_us
        return ended.outcome, (ended.finished_us - started_us) / 1e6

    def _close(self, node: int, state: TaskState, result: bytes | None = None) -> None:
        self._states[node] = state
        self._report.ended(node, state, result)

    # --- what the hosts tell ---

    def started(self, task_id: int, term: int, started_us: int) -> None:
        pass

    def ended(self, ended: Sequence[Ended]) -> None:
        for end in ended:
            if self._end is not None and not self._end.done():
                self._end.set_result(end)

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        self._report.logged(task_id, term, data)


# --- on the screen, and as JSON -----------------------------------------------------------


class _Screen:
    def __init__(self, spec: DagSpec) -> None:
        from mainspring.cli.logs import LogWriter
        from mainspring.cli.output import console

        self._spec = spec
        self._out = console()
        self._width = min(max(len(task.name) for task in spec.tasks), 30)
        self._writer = LogWriter(lambda node: f"    {spec.tasks[node].name}", {})
        self._tried: dict[int, Tried] = {}
        self._unrun = 0

    def logged(self, node: int, term: int, data: bytes) -> None:
        from mainspring.store.reading import LogChunk

        self._writer.write(LogChunk(node, term, 0, data))
        self._writer.flush()

    def tried(self, node: int, tried: Tried) -> None:
        from mainspring.cli.words import error_words, safe_lines
        from mainspring.domain.states import ATTEMPT

        self._writer.end_line(node)
        self._tried[node] = tried
        if tried.state is AttemptState.SUCCEEDED or tried.error is None:
            return
        allowed = self._spec.tasks[node].retry.attempts
        which = f", attempt {tried.attempt} of {allowed}" if allowed > 1 else ""
        words = error_words(tried.error.type, tried.error.message)
        self._say(node, ATTEMPT.facts[tried.state], f"{which}: {words}")
        if tried.error.trace:
            for text in safe_lines(tried.error.trace[-4000:]).rstrip().splitlines():
                self._out.print(f"    {text}", style="bright_black")

    def rests(self, node: int, delay_seconds: float) -> None:
        from mainspring.domain.durations import format_duration

        cut = ", shortened to 1 s" if delay_seconds > _REST_SECONDS_MAX else ""
        delay = format_duration(delay_seconds)
        self._out.print(f"    next attempt in {delay}{cut}", style="bright_black")

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None:
        from mainspring.cli.words import shortened
        from mainspring.domain.durations import format_duration
        from mainspring.domain.states import TASK

        tried = self._tried.get(node)
        if tried is None:
            self._unrun += 1
            if self._unrun <= _UNRUN_SHOWN:
                self._say(node, TASK.facts[state], "")
        elif state is not TaskState.FAILED:  # there, the last attempt has told it
            words = f" in {format_duration(tried.seconds)}"
            if state is TaskState.SKIPPED and tried.error and tried.error.message:
                words += f": {shortened(tried.error.message, 200)}"
            if result is not None and result != b"null":
                words += f" → {shortened(result[:1000].decode('utf-8', 'replace'), 200)}"
            self._say(node, TASK.facts[state], words)

    def over(self, state: RunState) -> None:
        from mainspring.cli.output import faint, state_text
        from mainspring.cli.words import counted
        from mainspring.domain.states import RUN

        if self._unrun > _UNRUN_SHOWN:
            self._out.print(
                faint(f"  {counted(self._unrun - _UNRUN_SHOWN, 'task')} more never ran")
            )
        self._out.print()
        self._out.print(state_text(RUN, state).append(f" {self._spec.name}", style="bold"))

    def _say(self, node: int, facts: Facts, words: str) -> None:
        from rich.text import Text

        from mainspring.cli.output import STYLES, mark_text
        from mainspring.cli.words import safe

        line = Text().append(mark_text(facts.tone))
        line.append(f" {safe(self._spec.tasks[node].name):{self._width}}  ", style="bold")
        line.append(facts.label.lower(), style=STYLES[facts.tone]).append(words)
        self._out.print(line, no_wrap=True, overflow="ellipsis")


class _Document:
    def __init__(self, spec: DagSpec, parameters: dict[str, Any]) -> None:
        self._spec = spec
        self._parameters = parameters
        self._attempts: dict[int, list[dict[str, Any]]] = {}
        self._logs: dict[int, str] = {}
        self._tasks: list[dict[str, Any]] = []

    def logged(self, node: int, term: int, data: bytes) -> None:
        so_far = self._logs.get(node, "")
        if len(so_far) < _LOG_CHARACTERS_MAX:
            self._logs[node] = so_far + data.decode("utf-8", "replace")

    def tried(self, node: int, tried: Tried) -> None:
        from mainspring.cli import shapes

        self._attempts.setdefault(node, []).append(
            {
                "attempt": tried.attempt,
                "state": tried.state,
                "duration_seconds": tried.seconds,
                "error": tried.error and shapes.error(tried.error),
            }
        )

    def rests(self, node: int, delay_seconds: float) -> None:
        pass

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None:
        self._tasks.append(
            {
                "name": self._spec.tasks[node].name,
                "state": state,
                "result": msgspec.Raw(result) if result is not None else None,
                "attempts": self._attempts.get(node, []),
                "log": self._logs.get(node, ""),
            }
        )

    def over(self, state: RunState) -> None:
        from mainspring.cli.output import print_json

        print_json(
            {
                "dag": self._spec.name,
                "state": state,
                "parameters": self._parameters,
                "tasks": self._tasks,
            }
        )
