"""`mainspring run show`: one run, its tasks and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.client import Client
    from mainspring.domain.specs import DagSpec
    from mainspring.domain.states import TaskState
    from mainspring.store.dead_letters import Remark
    from mainspring.store.pauses import Pause
    from mainspring.store.reading import AttemptLine, RunLine, TaskLine

_ATTEMPTS_SHOWN = 30
_LARGE_SHOWN = 25
_RESULT_BYTES = 400


@click.command()
@click.argument("run")
@json_option
@home_option
def show(run: str, as_json: bool, home: Path | None) -> None:
    """One run: how it stands, its tasks, what went wrong."""
    from mainspring.cli.session import with_client

    with_client(home, _show, run, as_json)


async def _show(client: Client, reference: str, as_json: bool) -> None:
    from mainspring.cli.given import given_run
    from mainspring.cli.output import print_json
    from mainspring.store.reading import read_run
    from mainspring.store.run_documents import read_run_document

    run = await client.ask(read_run, await given_run(client, reference))
    if as_json:
        print_json(await client.ask(read_run_document, run))
    else:
        _print(await _read(client, run))


class _Picture(NamedTuple):
    run: RunLine
    spec: DagSpec
    parameters: dict[str, Any]
    counts: dict[TaskState, int]
    tasks: dict[int, TaskLine]
    """By node; of a large run only those that are worth a look."""
    attempts: Mapping[int, Sequence[AttemptLine]]
    """By task id."""
    problems: Sequence[AttemptLine]
    remarks: Mapping[int, Sequence[Remark]]
    """By task id."""
    pause: Pause | None
    """Of its dag."""
    backfill: int | None
    """The one that made it."""
    reruns: Sequence[int]
    """Runs that were made from it, on a later version."""

    @property
    def large(self) -> bool:
        from mainspring.cli.graphs import TREE_TASKS_MAX

        return self.run.tasks > TREE_TASKS_MAX


async def _read(client: Client, run: RunLine) -> _Picture:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.domain.states import TaskState
    from mainspring.store import backfills, dead_letters, reading
    from mainspring.store.shapes import by_task

    interesting = [TaskState.RUNNING, TaskState.BACKOFF, TaskState.PARKED, TaskState.FAILED]
    large = run.tasks > TREE_TASKS_MAX
    tasks = await client.ask(
        reading.list_tasks,
        run,
        states=interesting if large else None,
        limit=_LARGE_SHOWN if large else None,
        result_bytes=_RESULT_BYTES,
    )
    return _Picture(
        run=run,
        spec=await client.ask(reading.read_spec, run),
        parameters=msgspec.json.decode(await client.ask(reading.read_run_parameters, run.id)),
        counts=await client.ask(reading.count_tasks, run),
        tasks={task.node: task for task in tasks},
        attempts=by_task(await client.ask(reading.list_attempts, run)),
        problems=await client.ask(reading.list_problems, run),
        remarks=await client.ask(dead_letters.list_remarks, run),
        pause=(await client.ask(reading.read_dag_standing, run.dag)).pause,
        backfill=await client.ask(backfills.backfill_of_run, run.id),
        reruns=await client.ask(reading.list_reruns, run.id),
    )


def _print(picture: _Picture) -> None:
    from mainspring.cli.output import console, faint, heading, indented

    out = console()
    _print_header(picture)
    out.print()
    if picture.large:
        out.print(indented(counts_text(picture.counts)))
        if picture.tasks:
            out.print()
            out.print(indented(_task_table(picture)))
            out.print(faint("  `--json` lists all tasks"))
    else:
        out.print(indented(_task_table(picture)))
    lines = _attempt_table(picture)
    if lines is not None:
        out.print()
        out.print(heading("attempts"))
        out.print(indented(lines))
    _print_remarks(picture)
    _print_trace(picture)


def _print_header(picture: _Picture) -> None:
    from rich.text import Text

    from mainspring.cli.output import FAINT, console, pairs, state_text
    from mainspring.cli.words import lasted, moment_words, pause_words, safe, value_words
    from mainspring.domain.states import RUN

    run, out = picture.run, console()
    now = run.read_at
    out.print(
        Text.assemble(
            (f"run {run.id}", "bold"),
            "  ",
            state_text(RUN, run.state),
            "  ",
            (safe(run.dag), "bold"),
            (f" version {run.version}", FAINT),
        )
    )
    who = f", by {safe(run.created_by)}" if run.created_by else ""
    again = f", again after run {run.rerun_of}" if run.rerun_of else ""
    late = run.due_at > run.created_at
    stops = {
        "cancel": "stopped by request",
        "terminate": "stopped by request, at once",
        "deadline": "stopped at the run's time limit",
    }
    given = (f"{safe(name)}={value_words(value)}" for name, value in picture.parameters.items())
    out.print(
        pairs(
            [
                ("trigger", f"{run.trigger}{who}{again}"),
                ("backfill", str(picture.backfill) if picture.backfill else None),
                ("run again", _reruns_text(picture.reruns)),
                ("created", moment_words(run.created_at, now)),
                ("due", moment_words(run.due_at, now) if late else None),
                *_fire_words(run),
                ("started", moment_words(run.started_at, now) if run.started_at else None),
                ("took", lasted(run.started_at, run.finished_at, now)),
                ("stop", stops.get(run.stop or "")),
                (
                    "paused",
                    f"its dag, {pause_words(picture.pause, now)}"
                    if picture.pause and not run.closed
                    else None,
                ),
                ("parameters", "\n".join(given)),
                ("error", _error_text(picture)),
            ]
        )
    )


def _fire_words(run: RunLine) -> list[tuple[str, str | None]]:
    """Which fire it is for, and of which time."""
    from mainspring.cli.words import clock, moment_words, safe

    if run.fire_at is None:
        return []
    start = run.interval_start
    return [
        ("schedule", safe(run.schedule) if run.schedule else None),
        ("fire", moment_words(run.fire_at, run.read_at)),
        (
            "data interval",
            f"from {clock(start)} to {clock(run.fire_at)}" if start is not None else None,
        ),
    ]


def _reruns_text(reruns: Sequence[int]) -> str | None:
    if not reruns:
        return None
    return f"on the latest version, as run {', '.join(str(run_id) for run_id in reruns)}"


def _error_text(picture: _Picture) -> Text | None:
    from rich.text import Text

    from mainspring.cli.words import counted, error_words, safe

    if not picture.problems:
        return None
    problem = picture.problems[0]
    name = picture.spec.tasks[problem.task_id - picture.run.id].name
    why = error_words(problem.error.type, problem.error.message) if problem.error else problem.state
    more = len(picture.problems) - 1
    rest = f" (and {counted(more, 'other task')} failed)" if more else ""
    return Text(f"{safe(name)}: {why}{rest}", style="red")


def counts_text(counts: Mapping[TaskState, int]) -> Text:
    """`✓ succeeded 9,000   ● running 12`."""
    from rich.text import Text

    from mainspring.cli.output import state_text
    from mainspring.domain.states import TASK

    text = Text()
    for state, count in counts.items():
        text.append(state_text(TASK, state)).append(f" {count:,}   ")
    return text


def _task_table(picture: _Picture) -> Table:
    from mainspring.cli.graphs import Branch, tree
    from mainspring.cli.output import one_line, state_text, table
    from mainspring.cli.words import safe, shortened, size
    from mainspring.domain.durations import format_duration
    from mainspring.domain.states import TASK
    from mainspring.store.shapes import task_seconds

    told = any(task.progress_percent is not None for task in picture.tasks.values())
    last = "progress, result" if told else "result"
    lines = table("task", "state", "attempt", "took", "worker", last, right=["took"], fold=[last])
    branches = (
        [Branch(node, "", []) for node in picture.tasks] if picture.large else tree(picture.spec)
    )
    for branch in branches:
        task = picture.tasks[branch.node]
        seconds = task_seconds(task, picture.run.read_at)
        result = progress_words(task)
        if task.result is not None and task.result != b"null":
            result = shortened(task.result.decode("utf-8", "replace"), 60)
            if task.result_bytes and task.result_bytes > 1024:
                result = f"{shortened(result, 40)} ({size(task.result_bytes)})"
        lines.add_row(
            branch.lead + safe(task.name),
            state_text(TASK, task.state),
            attempt_words(task, picture.spec.tasks[task.node].retry.attempts),
            "" if seconds is None else format_duration(seconds),
            safe(task.worker or ""),
            one_line(result),
        )
    return lines


def progress_words(task: TaskLine) -> str:
    """`50 %, half way`; empty for what tells nothing of itself."""
    from mainspring.cli.words import shortened

    if task.progress_percent is None:
        return ""
    words = f"{task.progress_percent:.0f} %"
    return f"{words}, {shortened(task.progress_text, 60)}" if task.progress_text else words


def attempt_words(task: TaskLine, allowed: int) -> str:
    """`2 of 5`, with what was lost; empty for the only attempt that there is."""
    words = f"{task.attempt} of {allowed}" if allowed > 1 else ""
    lost = f"{task.lost} lost" if task.lost else ""
    return ", ".join(filter(None, [words, lost]))


def _attempt_table(picture: _Picture) -> Table | None:
    """The attempts of tasks that had more than one."""
    from mainspring.cli.output import state_text, table
    from mainspring.cli.words import ago, error_words, lasted, safe
    from mainspring.domain.states import ATTEMPT
    from mainspring.store.shapes import all_attempts

    now = picture.run.read_at
    lines = table("task", "attempt", "ended", "when", "took", "worker", "error", fold=["error"])
    shown = 0
    for task in picture.tasks.values():
        attempts = all_attempts(task, picture.attempts.get(task.id, ()))
        if len(attempts) < 2:
            continue
        for place, attempt in enumerate(attempts):
            if shown == _ATTEMPTS_SHOWN:
                return lines
            shown += 1
            lines.add_row(
                safe(task.name) if place == 0 else "",
                str(attempt.attempt),
                state_text(ATTEMPT, attempt.state),
                ago(attempt.finished_at, now) if attempt.finished_at else "",
                lasted(attempt.started_at, attempt.finished_at, now),
                safe(attempt.worker or ""),
                error_words(attempt.error.type, attempt.error.message) if attempt.error else "",
            )
    return lines if shown else None


_DEEDS = {
    "retried": "retried",
    "discarded": "discarded as a dead letter",
    "succeeded": "marked succeeded",
    "skipped": "marked skipped",
}


def _print_remarks(picture: _Picture) -> None:
    """What people did to tasks, and why."""
    from mainspring.cli.output import console, heading, indented, table
    from mainspring.cli.words import ago, safe

    if not picture.remarks:
        return
    lines = table("task", "deed", "when", "who", "note", fold=["note"])
    for task_id, remarks in sorted(picture.remarks.items()):
        for remark in remarks:
            lines.add_row(
                safe(picture.spec.tasks[task_id - picture.run.id].name),
                _DEEDS[remark.deed],
                ago(remark.at, picture.run.read_at),
                safe(remark.who),
                safe(remark.note),
            )
    out = console()
    out.print()
    out.print(heading("by hand"))
    out.print(indented(lines))


def _print_trace(picture: _Picture) -> None:
    from mainspring.cli.output import console, heading, indented
    from mainspring.cli.words import safe, safe_lines

    for problem in picture.problems[:1]:
        if problem.error and problem.error.trace:
            out = console()
            name = picture.spec.tasks[problem.task_id - picture.run.id].name
            out.print()
            out.print(heading(f"why {safe(name)} failed"))
            out.print(indented(safe_lines(problem.error.trace[-4000:]).rstrip()))
