"""`mainspring run watch`: follow a run to its end, live on a terminal, as lines elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from mainspring.client import Client
    from mainspring.domain.specs import DagSpec
    from mainspring.domain.states import TaskState
    from mainspring.store.reading import AttemptLine, RunLine, TaskLine

_POLL_SECONDS = 0.2
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
    from mainspring.cli.session import with_client

    return with_client(home, _watch, run, as_json)


async def _watch(client: Client, reference: str, as_json: bool) -> int:
    from mainspring.cli.given import given_run
    from mainspring.store.reading import read_run

    run = await client.ask(read_run, await given_run(client, reference))
    return await follow_run(client, run, as_json)


async def follow_run(client: Client, run: RunLine, as_json: bool) -> int:
    """Stay until the run has ended; the answer is the exit code."""
    from mainspring.cli.output import print_json
    from mainspring.domain.states import RunState
    from mainspring.store.run_documents import read_run_document

    if as_json:
        run = await client.wait(run.id)
        print_json(await client.ask(read_run_document, run))
    else:
        run = await watch_run(client, run)
    return DONE if run.state is RunState.SUCCEEDED else FAILED


async def watch_run(client: Client, run: RunLine) -> RunLine:
    """The run as it was when it had ended."""
    from mainspring.cli.output import console, faint, is_terminal
    from mainspring.domain.states import RunState
    from mainspring.store import reading

    spec = await client.ask(reading.read_spec, run)
    follow = _watch_live if is_terminal() else _watch_lines
    run = await follow(client, run, spec)
    if run.state is RunState.FAILED:
        console().print(faint(f"`mainspring run show {run.id}` tells more"))
    return run


class _Frame(NamedTuple):
    run: RunLine
    spec: DagSpec
    counts: dict[TaskState, int]
    tasks: dict[int, TaskLine]
    """By node; of a large run only those that move or failed."""
    last: dict[int, AttemptLine]
    """The newest ended attempt, by task id, of tasks that back off or failed."""
    whole: bool


async def _read(client: Client, run_id: int, spec: DagSpec, tasks_max: int) -> _Frame:
    from mainspring.domain.states import TaskState
    from mainspring.store import reading

    run = await client.ask(reading.read_run, run_id)
    whole = run.tasks <= tasks_max
    moving = [TaskState.RUNNING, TaskState.BACKOFF, TaskState.PARKED, TaskState.FAILED]
    tasks = await client.ask(
        reading.list_tasks,
        run,
        states=None if whole else moving,
        limit=None if whole else tasks_max,
    )
    told = [task.id for task in tasks if task.state in (TaskState.BACKOFF, TaskState.FAILED)]
    return _Frame(
        run=run,
        spec=spec,
        counts=await client.ask(reading.count_tasks, run),
        tasks={task.node: task for task in tasks},
        last=await client.ask(reading.last_attempts, told) if told else {},
        whole=whole,
    )


# --- on a terminal ------------------------------------------------------------------------


async def _watch_live(client: Client, run: RunLine, spec: DagSpec) -> RunLine:
    from rich.live import Live

    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.output import console

    out = console()
    tasks_max = max(min(TREE_TASKS_MAX, out.height - _FRAME_LINES), 3)
    frame = await _read(client, run.id, spec, tasks_max)
    with Live(_picture(frame), console=out, auto_refresh=False) as live:
        while not frame.run.closed:
            await asyncio.sleep(_POLL_SECONDS)
            frame = await _read(client, run.id, spec, tasks_max)
            live.update(_picture(frame), refresh=True)
    return frame.run


def _picture(frame: _Frame) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from mainspring.cli.output import FAINT, STYLES, faint, indented, state_text
    from mainspring.cli.run_show import counts_text
    from mainspring.cli.words import lasted, safe
    from mainspring.domain.states import RUN, Tone

    run = frame.run
    title = Text.assemble(
        (f"run {run.id}", "bold"),
        "  ",
        (safe(run.dag), "bold"),
        (f" version {run.version}", FAINT),
        "  ",
        state_text(RUN, run.state),
        (f"  {lasted(run.started_at, run.finished_at, run.read_at)}", FAINT),
    )
    done = run.tasks - run.open_tasks
    progress = Table.grid(padding=(0, 2, 0, 0))
    tone = Tone.BAD if run.failed_tasks else Tone.GOOD
    bar = ProgressBar(
        run.tasks, done, width=40, complete_style=STYLES[tone], finished_style=STYLES[tone]
    )
    progress.add_row(bar, f"{done:,}/{run.tasks:,} {'task' if run.tasks == 1 else 'tasks'}")
    parts: list[RenderableType] = [title, indented(progress)]
    if not frame.whole:
        parts.append(indented(counts_text(frame.counts)))
    if frame.tasks:
        parts.append(indented(_tasks(frame)))
    if hint := _still(run):
        parts.append(faint(f"  {hint}"))
    return Group(*parts)


def _tasks(frame: _Frame) -> Table:
    from rich.table import Table

    from mainspring.cli.graphs import Branch, tree
    from mainspring.cli.output import FAINT, faint, state_text
    from mainspring.cli.words import safe
    from mainspring.domain.durations import format_duration
    from mainspring.domain.states import TASK
    from mainspring.store.shapes import task_seconds

    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True, overflow="ellipsis")
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True, justify="right", style=FAINT)
    lines.add_column(no_wrap=True, overflow="ellipsis")
    branches = tree(frame.spec) if frame.whole else [Branch(node, "", []) for node in frame.tasks]
    for branch in branches:
        task = frame.tasks[branch.node]
        seconds = task_seconds(task, frame.run.read_at)
        lines.add_row(
            branch.lead + safe(task.name),
            state_text(TASK, task.state),
            "" if seconds is None else format_duration(seconds),
            faint(_note(frame, task)),
        )
    return lines


# --- elsewhere ----------------------------------------------------------------------------


async def _watch_lines(client: Client, run: RunLine, spec: DagSpec) -> RunLine:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.words import counted, lasted, time_of_day
    from mainspring.domain.states import RUN

    _say(f"run {run.id} of {run.dag} version {run.version}, {counted(run.tasks, 'task')}")
    seen: dict[int, tuple[str, int, int]] = {}
    told_counts: dict[TaskState, int] = {}
    told_at, told_still = run.created_at, False
    while True:
        frame = await _read(client, run.id, spec, TREE_TASKS_MAX)
        now = frame.run.read_at
        for line in _changes(frame, seen):
            _say(f"{time_of_day(now)}  {line}")
        quiet = (now - told_at).total_seconds() < _SUMMARY_SECONDS
        if not frame.whole and frame.counts != told_counts and (frame.run.closed or not quiet):
            told_counts, told_at = frame.counts, now
            counts = (f"{state} {count:,}" for state, count in frame.counts.items())
            _say(f"{time_of_day(now)}  {', '.join(counts)}")
        if frame.run.closed:
            took = lasted(frame.run.started_at, frame.run.finished_at)
            ended = RUN.facts[frame.run.state].label.lower()
            _say(f"{time_of_day(now)}  run {run.id} {ended}{f' after {took}' if took else ''}")
            return frame.run
        if not told_still and (hint := _still(frame.run)):
            told_still = True
            _say(f"{time_of_day(now)}  {hint}")
        await asyncio.sleep(_POLL_SECONDS)


def _changes(frame: _Frame, seen: dict[int, tuple[str, int, int]]) -> list[str]:
    """A line for each task that stands otherwise than before; `seen` is brought up to date."""
    from mainspring.cli.words import safe
    from mainspring.domain.durations import format_duration
    from mainspring.domain.states import TASK, TaskState
    from mainspring.store.shapes import task_seconds

    width = min(max((len(task.name) for task in frame.tasks.values()), default=0), 30)
    lines = []
    for task in frame.tasks.values():
        # Elsewhere than on a terminal, each tenth of its progress is enough.
        stands = (task.state, task.term, int((task.progress_percent or 0) // 10))
        if seen.get(task.node) == stands:
            continue
        first = task.node not in seen
        seen[task.node] = stands
        if task.state is TaskState.READY or (first and task.state is TaskState.WAITING):
            continue
        if not frame.whole and task.state is TaskState.RUNNING:
            continue
        seconds = task_seconds(task, frame.run.read_at) if task.finished_at else None
        took = f" after {format_duration(seconds)}" if seconds is not None else ""
        note = _note(frame, task)
        label = TASK.facts[task.state].label.lower()
        lines.append(f"{safe(task.name):{width}}  {label}{took}{f'  {note}' if note else ''}")
    return lines


def _say(line: str) -> None:
    click.echo(line)


# --- both ---------------------------------------------------------------------------------


def _note(frame: _Frame, task: TaskLine) -> str:
    """What is worth knowing beside the state: which attempt, what went wrong, when it goes on."""
    from mainspring.cli.run_show import attempt_words, progress_words
    from mainspring.cli.words import ago, error_words
    from mainspring.domain.states import TaskState

    parts = []
    words = attempt_words(task, frame.spec.tasks[task.node].retry.attempts)
    if words and (task.attempt > 1 or task.lost) and task.state is not TaskState.BACKOFF:
        parts.append(f"attempt {words}")
    last = frame.last.get(task.id)
    if last and last.error:
        parts.append(error_words(last.error.type, last.error.message, 100))
    if progress := progress_words(task):
        parts.append(progress)
    if task.state is TaskState.BACKOFF:
        parts.append(f"next try {ago(task.due_at, frame.run.read_at)}")
    return "; ".join(parts)


def _still(run: RunLine) -> str:
    from mainspring.domain.states import RunState

    since = max(run.created_at, run.due_at)
    if run.state is RunState.QUEUED and (run.read_at - since).total_seconds() > _STILL_SECONDS:
        return f"nothing has begun; `mainspring run why {run.id}` says why"
    return ""
