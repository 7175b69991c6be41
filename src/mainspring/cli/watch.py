"""`mainspring run watch`: follow a run to its end, live on a terminal, as lines elsewhere."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from mainspring.domain.states import TaskState
    from mainspring.http import HttpClient
    from mainspring.store.shapes import RunWhole, Task

_FRAME_SECONDS = 0.5
"""How old a picture may be; the end of a run is told at once."""
_WAIT_SECONDS = 20.0
"""How long one request waits for a run that is not looked at."""
_STILL_SECONDS = 5.0
"""A run that has not begun after this long gets a word on how to find out why."""
_SUMMARY_SECONDS = 2.0
_FRAME_LINES = 6
"""What stands around the tasks."""


@click.command()
@click.argument("run")
@json_option
@home_option
def watch(run: str, as_json: bool, home: Path | None) -> int:
    """Follow a run until it ends; exit 0 only if it succeeded. Ctrl-C leaves the run going.

    With --json the run is printed when it has ended, as by `run show`.
    """
    from mainspring.cli.session import with_http

    return with_http(home, _watch, run, as_json)


async def _watch(client: HttpClient, reference: str, as_json: bool) -> int:
    from mainspring.cli.named import named_run

    return await follow_run(client, await named_run(client, reference), as_json)


async def follow_run(client: HttpClient, run_id: int, as_json: bool) -> int:
    """Stay until the run has ended; the answer is the exit code."""
    from mainspring.cli.output import print_json
    from mainspring.domain.states import RunState

    if as_json:
        run = await client.runs.show(run_id, wait=_WAIT_SECONDS)
        while not _closed(run):
            run = await client.runs.show(run_id, wait=_WAIT_SECONDS)
        print_json(run)
    else:
        run = await watch_run(client, run_id)
    return DONE if run.state is RunState.SUCCEEDED else FAILED


async def watch_run(client: HttpClient, run_id: int) -> RunWhole:
    """The run as it was when it had ended."""
    from mainspring.cli.output import console, faint, is_terminal
    from mainspring.domain.states import RunState

    follow = _watch_live if is_terminal() else _watch_lines
    run = await follow(client, run_id)
    if run.state is RunState.FAILED:
        console().print(faint(f"`mainspring run show {run.id}` tells more"))
    return run


class _Frame(NamedTuple):
    run: RunWhole
    """Of a large run only with those tasks that move or failed."""
    whole: bool
    now: datetime


async def _read(
    client: HttpClient, run_id: int, tasks_max: int, *, wait: float | None = None
) -> _Frame:
    """How it stands; with `wait`, when it has ended or so many seconds are over."""
    from mainspring.cli.named import clock
    from mainspring.cli.run_show import read_picture

    run = await read_picture(client, run_id, tasks_max, tasks_max, wait=wait)
    return _Frame(run, run.task_count <= tasks_max, await clock(client))


def _closed(run: RunWhole) -> bool:
    from mainspring.domain.states import RUN

    return RUN.facts[run.state].closed


# --- on a terminal ------------------------------------------------------------------------


async def _watch_live(client: HttpClient, run_id: int) -> RunWhole:
    from rich.live import Live

    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.output import console

    out = console()
    tasks_max = max(min(TREE_TASKS_MAX, out.height - _FRAME_LINES), 3)
    frame = await _read(client, run_id, tasks_max)
    with Live(_picture(frame), console=out, auto_refresh=False) as live:
        while not _closed(frame.run):
            frame = await _read(client, run_id, tasks_max, wait=_FRAME_SECONDS)
            live.update(_picture(frame), refresh=True)
    return frame.run


def _picture(frame: _Frame) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from mainspring.cli.output import FAINT, STYLES, faint, indented, state_text
    from mainspring.cli.run_show import counts_text
    from mainspring.cli.words import safe, took
    from mainspring.domain.states import RUN, Tone

    run = frame.run
    title = Text.assemble(
        (f"run {run.id}", "bold"),
        "  ",
        (safe(run.dag), "bold"),
        (f" version {run.version}", FAINT),
        "  ",
        state_text(RUN, run.state),
        (f"  {took(run.duration_seconds)}", FAINT),
    )
    count = run.task_count
    done = count - run.open_tasks
    progress = Table.grid(padding=(0, 2, 0, 0))
    tone = Tone.BAD if run.failed_tasks else Tone.GOOD
    bar = ProgressBar(
        count, done, width=40, complete_style=STYLES[tone], finished_style=STYLES[tone]
    )
    progress.add_row(bar, f"{done:,}/{count:,} {'task' if count == 1 else 'tasks'}")
    parts: list[RenderableType] = [title, indented(progress)]
    if not frame.whole:
        parts.append(indented(counts_text(run.task_counts)))
    if run.tasks:
        parts.append(indented(_tasks(frame)))
    if hint := _still(frame):
        parts.append(faint(f"  {hint}"))
    return Group(*parts)


def _tasks(frame: _Frame) -> Table:
    from rich.table import Table

    from mainspring.cli.graphs import Branch, drawn, tree
    from mainspring.cli.output import FAINT, faint, state_text
    from mainspring.cli.words import safe, took
    from mainspring.domain.states import TASK

    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True, overflow="ellipsis")
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True, justify="right", style=FAINT)
    lines.add_column(no_wrap=True, overflow="ellipsis")
    tasks = frame.run.tasks
    plain = [Branch(place, "", []) for place in range(len(tasks))]
    for branch in tree(drawn(tasks)) if frame.whole else plain:
        task = tasks[branch.node]
        lines.add_row(
            branch.lead + safe(task.name),
            state_text(TASK, task.state),
            took(task.duration_seconds),
            faint(_note(frame, task)),
        )
    return lines


# --- elsewhere ----------------------------------------------------------------------------


async def _watch_lines(client: HttpClient, run_id: int) -> RunWhole:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.words import counted, time_of_day, took
    from mainspring.domain.states import RUN

    frame = await _read(client, run_id, TREE_TASKS_MAX)
    run = frame.run
    _say(f"run {run.id} of {run.dag} version {run.version}, {counted(run.task_count, 'task')}")
    seen: dict[int, tuple[str, int, int]] = {}
    told_counts: dict[TaskState, int] = {}
    told_at, told_still = run.created_at, False
    while True:
        run, now = frame.run, frame.now
        for line in _changes(frame, seen):
            _say(f"{time_of_day(now)}  {line}")
        quiet = (now - told_at).total_seconds() < _SUMMARY_SECONDS
        if not frame.whole and run.task_counts != told_counts and (_closed(run) or not quiet):
            told_counts, told_at = run.task_counts, now
            counts = (f"{state} {count:,}" for state, count in run.task_counts.items())
            _say(f"{time_of_day(now)}  {', '.join(counts)}")
        if _closed(run):
            after = f" after {took(run.duration_seconds)}" if run.started_at else ""
            _say(f"{time_of_day(now)}  run {run.id} {RUN.facts[run.state].label.lower()}{after}")
            return run
        if not told_still and (hint := _still(frame)):
            told_still = True
            _say(f"{time_of_day(now)}  {hint}")
        frame = await _read(client, run_id, TREE_TASKS_MAX, wait=_FRAME_SECONDS)


def _changes(frame: _Frame, seen: dict[int, tuple[str, int, int]]) -> list[str]:
    """A line for each task that stands otherwise than before; `seen` is brought up to date."""
    from mainspring.cli.words import safe, took
    from mainspring.domain.states import TASK, TaskState

    width = min(max((len(task.name) for task in frame.run.tasks), default=0), 30)
    lines = []
    for task in frame.run.tasks:
        # Elsewhere than on a terminal, each tenth of its progress is enough.
        percent = task.progress.percent if task.progress else 0.0
        stands = (task.state, task.term, int(percent // 10))
        if seen.get(task.id) == stands:
            continue
        first = task.id not in seen
        seen[task.id] = stands
        if task.state is TaskState.READY or (first and task.state is TaskState.WAITING):
            continue
        if not frame.whole and task.state is TaskState.RUNNING:
            continue
        seconds = task.duration_seconds if task.finished_at else None
        after = f" after {took(seconds)}" if seconds is not None else ""
        note = _note(frame, task)
        label = TASK.facts[task.state].label.lower()
        lines.append(f"{safe(task.name):{width}}  {label}{after}{f'  {note}' if note else ''}")
    return lines


def _say(line: str) -> None:
    click.echo(line)


# --- both ---------------------------------------------------------------------------------


def _note(frame: _Frame, task: Task) -> str:
    """What is worth knowing beside the state: which attempt, what went wrong, when it goes on."""
    from mainspring.cli.run_show import attempt_words, progress_words
    from mainspring.cli.words import ago, error_words
    from mainspring.domain.states import TaskState

    parts = []
    words = attempt_words(task)
    if words and (task.attempt > 1 or task.lost) and task.state is not TaskState.BACKOFF:
        parts.append(f"attempt {words}")
    if task.error and task.state in (TaskState.BACKOFF, TaskState.FAILED):
        parts.append(error_words(task.error.type, task.error.message, 100))
    if progress := progress_words(task):
        parts.append(progress)
    if task.state is TaskState.BACKOFF:
        parts.append(f"next try {ago(task.due_at, frame.now)}")
    return "; ".join(parts)


def _still(frame: _Frame) -> str:
    from mainspring.domain.states import RunState

    run = frame.run
    since = max(run.created_at, run.due_at)
    if run.state is RunState.QUEUED and (frame.now - since).total_seconds() > _STILL_SECONDS:
        return f"nothing has begun; `mainspring run why {run.id}` says why"
    return ""
