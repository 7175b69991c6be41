"""`mainspring run show`: one run, its tasks and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.domain.states import TaskState
    from mainspring.http import HttpClient
    from mainspring.store.shapes import Attempt, RunWhole, Task

_ATTEMPTS_SHOWN = 30
_LARGE_SHOWN = 25
_RESULT_BYTES = 4096


@click.command()
@click.argument("run")
@json_option
@home_option
def show(run: str, as_json: bool, home: Path | None) -> None:
    """One run: how it stands, its tasks, what went wrong."""
    from mainspring.cli.session import with_http

    with_http(home, _show, run, as_json)


async def _show(client: HttpClient, reference: str, as_json: bool) -> None:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.named import clock, named_run
    from mainspring.cli.output import print_json

    run_id = await named_run(client, reference)
    if as_json:
        print_json(await client.runs.show(run_id))
    else:
        run = await read_picture(client, run_id, TREE_TASKS_MAX, _LARGE_SHOWN)
        _print(_Picture(run, await clock(client)))


async def read_picture(
    client: HttpClient,
    run_id: int,
    whole_max: int,
    tasks_max: int,
    *,
    wait: float | None = None,
) -> RunWhole:
    """A run with all its tasks; if these are many, with those only that move or failed."""
    from mainspring.domain.states import TaskState

    moving = [TaskState.RUNNING, TaskState.BACKOFF, TaskState.PARKED, TaskState.FAILED]
    run = await client.runs.show(run_id, wait=wait, tasks_max=whole_max, result_bytes=_RESULT_BYTES)
    if run.task_count <= whole_max:
        return run
    return await client.runs.show(
        run_id, task_state=moving, tasks_max=tasks_max, result_bytes=_RESULT_BYTES
    )


class _Picture(NamedTuple):
    run: RunWhole
    now: datetime

    @property
    def large(self) -> bool:
        from mainspring.cli.graphs import TREE_TASKS_MAX

        return self.run.task_count > TREE_TASKS_MAX


def _print(picture: _Picture) -> None:
    from mainspring.cli.output import console, faint, heading, indented

    out = console()
    _print_header(picture)
    out.print()
    if picture.large:
        out.print(indented(counts_text(picture.run.task_counts)))
        if picture.run.tasks:
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
    _print_trace(picture.run)


def _print_header(picture: _Picture) -> None:
    from rich.text import Text

    from mainspring.cli.output import FAINT, console, pairs, state_text
    from mainspring.cli.words import moment_words, pause_words, safe, took, value_words
    from mainspring.domain.states import RUN

    run, now, out = picture.run, picture.now, console()
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
    parameters = msgspec.json.decode(run.parameters, type=dict[str, Any])
    given = (f"{safe(name)}={value_words(value)}" for name, value in parameters.items())
    out.print(
        pairs(
            [
                ("trigger", f"{run.trigger}{who}{again}"),
                ("backfill", str(run.backfill) if run.backfill else None),
                ("run again", _reruns_text(run.reruns)),
                ("created", moment_words(run.created_at, now)),
                ("due", moment_words(run.due_at, now) if late else None),
                *_fire_words(run, now),
                ("started", moment_words(run.started_at, now) if run.started_at else None),
                ("took", took(run.duration_seconds)),
                ("stop", stops.get(run.stop or "")),
                (
                    "paused",
                    f"its dag, {pause_words(run.dag_pause, now)}"
                    if run.dag_pause and not RUN.facts[run.state].closed
                    else None,
                ),
                ("parameters", "\n".join(given)),
                ("error", _error_text(run)),
            ]
        )
    )


def _fire_words(run: RunWhole, now: datetime) -> list[tuple[str, str | None]]:
    """Which fire it is for, and of which time."""
    from mainspring.cli.words import clock, moment_words, safe

    if run.fire_at is None:
        return []
    start = run.data_interval.start if run.data_interval else None
    return [
        ("schedule", safe(run.schedule) if run.schedule else None),
        ("fire", moment_words(run.fire_at, now)),
        (
            "data interval",
            f"from {clock(start)} to {clock(run.fire_at)}" if start is not None else None,
        ),
    ]


def _reruns_text(reruns: Sequence[int]) -> str | None:
    if not reruns:
        return None
    return f"on the latest version, as run {', '.join(str(run_id) for run_id in reruns)}"


def _error_text(run: RunWhole) -> Text | None:
    from rich.text import Text

    from mainspring.cli.words import counted, error_words, safe

    if run.failed_task is None:
        return None
    why = error_words(run.error.type, run.error.message) if run.error else "failed"
    more = run.failed_tasks - 1
    rest = f" (and {counted(more, 'other task')} failed)" if more > 0 else ""
    return Text(f"{safe(run.failed_task)}: {why}{rest}", style="red")


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
    from mainspring.cli.graphs import Branch, drawn, tree
    from mainspring.cli.output import one_line, state_text, table
    from mainspring.cli.words import safe, took
    from mainspring.domain.states import TASK

    tasks = picture.run.tasks
    told = any(task.progress is not None for task in tasks)
    last = "progress, result" if told else "result"
    # Only what has a process to itself tells what it used.
    used = ["used"] if any(use_words(each) for task in tasks for each in task.attempts) else []
    names = ("task", "state", "attempt", "took", *used, "worker", last)
    lines = table(*names, right=["took"], fold=[last])
    plain = [Branch(place, "", []) for place in range(len(tasks))]
    for branch in plain if picture.large else tree(drawn(tasks)):
        task = tasks[branch.node]
        lines.add_row(
            branch.lead + safe(task.name),
            state_text(TASK, task.state),
            attempt_words(task),
            took(task.duration_seconds),
            *([use_words(task.attempts[-1]) if task.attempts else ""] if used else []),
            safe(task.worker or ""),
            one_line(_result_words(task) or progress_words(task)),
        )
    return lines


def _result_words(task: Task) -> str:
    from mainspring.cli.words import shortened, size

    result, length = bytes(task.result), task.result_bytes or 0
    if result == b"null":
        return f"({size(length)})" if length > _RESULT_BYTES else ""
    if length <= 1024:
        return shortened(result.decode("utf-8", "replace"), 60)
    return f"{shortened(result.decode('utf-8', 'replace'), 40)} ({size(length)})"


def progress_words(task: Task) -> str:
    """`50 %, half way`; empty for what tells nothing of itself."""
    from mainspring.cli.words import shortened

    if task.progress is None:
        return ""
    words = f"{task.progress.percent:.0f} %"
    return f"{words}, {shortened(task.progress.text, 60)}" if task.progress.text else words


def use_words(attempt: Attempt) -> str:
    """`1.2 s CPU, 85 MiB`; empty if it is not known."""
    from mainspring.cli.words import size, took

    if attempt.cpu_seconds is None:
        return ""
    words = f"{took(attempt.cpu_seconds)} CPU"
    return words if attempt.peak_bytes is None else f"{words}, {size(attempt.peak_bytes)}"


def attempt_words(task: Task) -> str:
    """`2 of 5`, with what was lost; empty for the only attempt that there is."""
    words = f"{task.attempt} of {task.attempts_max}" if task.attempts_max > 1 else ""
    lost = f"{task.lost} lost" if task.lost else ""
    return ", ".join(filter(None, [words, lost]))


def _attempt_table(picture: _Picture) -> Table | None:
    """The attempts of tasks that had more than one."""
    from mainspring.cli.output import state_text, table
    from mainspring.cli.words import ago, error_words, safe, took
    from mainspring.domain.states import ATTEMPT

    several = [task for task in picture.run.tasks if len(task.attempts) > 1]
    used = ["used"] if any(use_words(each) for task in several for each in task.attempts) else []
    names = ("task", "attempt", "ended", "when", "took", *used, "worker", "error")
    lines = table(*names, fold=["error"])
    shown = 0
    for task in several:
        for place, attempt in enumerate(task.attempts):
            if shown == _ATTEMPTS_SHOWN:
                return lines
            shown += 1
            lines.add_row(
                safe(task.name) if place == 0 else "",
                str(attempt.attempt),
                state_text(ATTEMPT, attempt.state),
                ago(attempt.finished_at, picture.now) if attempt.finished_at else "",
                took(attempt.duration_seconds),
                *([use_words(attempt)] if used else []),
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

    lines = table("task", "deed", "when", "who", "note", fold=["note"])
    for task in picture.run.tasks:
        for remark in task.by_hand:
            lines.add_row(
                safe(task.name),
                _DEEDS[remark.deed],
                ago(remark.at, picture.now),
                safe(remark.who),
                safe(remark.note),
            )
    if not lines.row_count:
        return
    out = console()
    out.print()
    out.print(heading("by hand"))
    out.print(indented(lines))


def _print_trace(run: RunWhole) -> None:
    from mainspring.cli.output import console, heading, indented
    from mainspring.cli.words import safe, safe_lines

    if run.error and run.error.trace and run.failed_task:
        out = console()
        out.print()
        out.print(heading(f"why {safe(run.failed_task)} failed"))
        out.print(indented(safe_lines(run.error.trace[-4000:]).rstrip()))
