"""`mainspring run compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.http import HttpClient
    from mainspring.store.comparison import ComparedTask, ComparedTasks, Comparison


@click.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@json_option
@home_option
def compare(first: str, second: str, as_json: bool, home: Path | None) -> None:
    """Two runs side by side: versions, parameters, and each task.

    Of large runs only those tasks are shown that differ; `--json` has all.
    """
    from mainspring.cli.session import with_http

    with_http(home, _compare, first, second, as_json)


async def _compare(client: HttpClient, first: str, second: str, as_json: bool) -> None:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import print_json

    ids = await named_run(client, first), await named_run(client, second)
    found = await client.runs.compare(*ids)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: Comparison) -> None:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.output import console, faint, indented, table
    from mainspring.cli.words import counted, safe

    out = console()
    out.print(indented(_heads(found)))
    shown = found.tasks
    if len(shown) > TREE_TASKS_MAX:
        shown = [task for task in found.tasks if task.changed or None in task.runs]
    names = (f"run {found.runs[0].id}", f"run {found.runs[1].id} ")
    lines = table("task", names[0], "took", "attempts", names[1], "took ", "attempts ", "changed")
    for task in shown:
        lines.add_row(
            safe(task.name),
            *(cell for run in task.runs for cell in _cells(run)),
            _changed(task, found),
        )
    out.print()
    out.print(indented(lines))
    if len(shown) < len(found.tasks):
        others = counted(len(found.tasks) - len(shown), "other task")
        out.print(faint(f"  {others} do not differ"))


def _heads(found: Comparison) -> Any:
    from mainspring.cli.output import state_text, table
    from mainspring.cli.words import clock, safe, value_words
    from mainspring.domain.states import RUN

    runs = found.runs
    lines = table("", f"run {runs[0].id}", f"run {runs[1].id} ")
    lines.add_row("dag", *(safe(run.dag) for run in runs))
    lines.add_row("state", *(state_text(RUN, run.state) for run in runs))
    lines.add_row("version", *(str(run.version) for run in runs))
    lines.add_row("code", *(run.snapshot[:12] for run in runs))
    lines.add_row("created", *(clock(run.created_at) for run in runs))
    lines.add_row("took", *(_took(run.duration_seconds) for run in runs))
    for parameter in found.parameters:
        lines.add_row(
            f"parameter {safe(parameter.name)}",
            *(
                value_words(value) if given else "–"
                for value, given in zip(parameter.values, parameter.given, strict=True)
            ),
        )
    return lines


def _cells(task: ComparedTask | None) -> tuple[Text | str, str, str]:
    from mainspring.cli.output import state_text
    from mainspring.domain.states import TASK

    if task is None:
        return "–", "", ""
    return state_text(TASK, task.state), _took(task.duration_seconds), str(task.attempt)


def _took(seconds: float | None) -> str:
    from mainspring.domain.durations import format_duration

    return "" if seconds is None else format_duration(seconds)


def _changed(task: ComparedTasks, found: Comparison) -> str:
    if task.runs[0] is None:
        return f"only in run {found.runs[1].id}"
    if task.runs[1] is None:
        return f"only in run {found.runs[0].id}"
    return ", ".join(task.changed)
