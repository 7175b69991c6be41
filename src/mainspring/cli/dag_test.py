"""`mainspring dag test`: one run right here, without a database.

Tasks run one after the other, parents before children, in host children as they would on a
worker. What comes next is `mainspring.trial`'s to say; only the rests between attempts are cut.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
import msgspec

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import dags_option, json_option, parameter_options
from mainspring.domain.errors import DefinitionError, InputError, NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.specs import DagSpec
from mainspring.domain.states import AttemptState, RunState, TaskState
from mainspring.trial import Due, Report, Trial, Tried

if TYPE_CHECKING:
    from mainspring.authoring.context import RunFire
    from mainspring.bundles.report import FileProblem
    from mainspring.domain.states import Facts
    from mainspring.domain.uses import Use
    from mainspring.executors.hosts import Hosts
    from mainspring.executors.jobs import Ended

_REST_SECONDS_MAX = 1.0
_UNRUN_SHOWN = 20
_LOG_CHARACTERS_MAX = 1024 * 1024
"""How much of a task's output goes into the JSON document."""


@click.command()
@click.argument("name")
@parameter_options
@click.option(
    "--fire-at",
    metavar="TIME",
    help="Run as the dag's schedule would at this instant, with its parameters and data interval.",
)
@click.option("--schedule", metavar="NAME", help="Whose fire it is, if the dag has several.")
@dags_option
@json_option
def test(
    name: str,
    pairs: tuple[str, ...],
    params: str | None,
    fire_at: str | None,
    schedule: str | None,
    dags: Path | None,
    as_json: bool,
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
    given = _Given(pairs, params, _moment(fire_at), schedule)
    return asyncio.run(_test(folder.resolve(), name, given, as_json))


class _Given(NamedTuple):
    pairs: Sequence[str]
    params: str | None
    fire_at: datetime | None
    schedule: str | None


def _moment(fire_at: str | None) -> datetime | None:
    from mainspring.cli.words import parse_moment

    if fire_at is None:
        return None
    found = parse_moment(fire_at)
    if found is None:
        raise InputError(
            f"`--fire-at`: {shown(fire_at)} is no instant",
            hint="write it like `2026-11-15T02:00:00Z`",
        )
    return found


async def _test(folder: Path, name: str, given: _Given, as_json: bool) -> int:
    from mainspring.authoring.fires import fire_of
    from mainspring.cli.given import given_parameters
    from mainspring.domain.parameters import validate_parameters

    spec = await _read(folder, name)
    fire, scheduled = fire_of(spec, given.fire_at, given.schedule, None)
    parameters = validate_parameters(
        spec, {**scheduled, **given_parameters(spec, given.pairs, given.params)}
    )
    report = _Document(spec, parameters) if as_json else _Screen(spec)
    state = await _Tester(spec, folder, parameters, fire, report).run()
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


class _Told(Report, Protocol):
    """Who is told how it goes, and what tasks print."""

    def logged(self, node: int, term: int, data: bytes) -> None: ...


class _Tester:
    """Makes the attempts of a trial in hosts; the listener of these."""

    def __init__(
        self,
        spec: DagSpec,
        folder: Path,
        parameters: dict[str, Any],
        fire: RunFire | None,
        report: _Told,
    ) -> None:
        self._folder = folder
        self._report = report
        # A number that no run in a database has, and another one each time: whoever is given an
        # idempotency key of this run has not seen it before.
        run_id = time.time_ns() // 1000
        self._trial = Trial(
            spec,
            parameters,
            report,
            run_id=run_id,
            due_at=datetime.now(UTC) if fire is None else fire.fire_at,
            random=random.random,
            side_by_side=False,
            fire=fire,
        )
        self._end: asyncio.Future[Ended] | None = None

    async def run(self) -> RunState:
        from mainspring.executors.hosts import Hosts
        from mainspring.worker.slots import default_slots

        hosts = Hosts(self, slots=default_slots(), stop_grace_seconds=1.0)
        try:
            while True:
                before_seconds = self._trial.now_seconds
                due = self._trial.next()
                if due is None:
                    return self._trial.verdict
                await asyncio.sleep(min(due.at_seconds - before_seconds, _REST_SECONDS_MAX))
                ended = await self._attempt(hosts, due)
                started_us = ended.finished_us if ended.started_us is None else ended.started_us
                seconds = (ended.finished_us - started_us) / 1e6
                self._trial.ended(due, ended.outcome, seconds)
        finally:
            await hosts.close(kill=True)

    async def _attempt(self, hosts: Hosts, due: Due) -> Ended:
        from mainspring.executors.jobs import Job

        self._end = asyncio.get_running_loop().create_future()
        hosts.submit(
            [
                Job(
                    task_id=due.node,
                    term=due.attempt.term,
                    kind=due.task.kind,
                    snapshot=str(self._folder),
                    entry=due.task.entry,
                    attempt=due.attempt,
                    arguments=due.arguments,
                    timeout_seconds=due.task.timeout_seconds,
                    alone=due.lost > 0,
                )
            ]
        )
        return await self._end

    # --- what the hosts tell ---

    def started(self, task_id: int, term: int, started_us: int) -> None:
        pass

    def ended(self, ended: Sequence[Ended]) -> None:
        for end in ended:
            if self._end is not None and not self._end.done():
                self._end.set_result(end)

    def progressed(self, task_id: int, term: int, percent: float, text: str) -> None:
        pass

    def used(self, task_id: int, term: int, use: Use) -> None:
        pass

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        self._report.logged(task_id, term, data)


# --- on the screen, and as JSON -----------------------------------------------------------


class _Screen:
    def __init__(self, spec: DagSpec) -> None:
        from mainspring.cli.log_writer import LogWriter
        from mainspring.cli.output import console

        self._spec = spec
        self._out = console()
        self._width = min(max(len(task.name) for task in spec.tasks), 30)
        self._writer = LogWriter(lambda node: f"    {spec.tasks[node].name}", {})
        self._tried: dict[int, Tried] = {}
        self._unrun = 0

    def logged(self, node: int, term: int, data: bytes) -> None:
        from mainspring.store.logs import LogChunk

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
        from mainspring.store import shapes

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
