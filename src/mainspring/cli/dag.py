"""`mainspring dag`: what there is, what it looks like, and starting it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.dag_test import test
from mainspring.cli.dag_versions import diff, rollback, versions
from mainspring.cli.options import home_option, json_option
from mainspring.cli.pause import pause_dag, resume_dag
from mainspring.cli.trigger import trigger

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.http import HttpClient
    from mainspring.store.shapes import DagSchedule, DagTask, DagWhole

_PAGE = 500
_SCHEDULES_MAX = 100
"""The server tells no more of one dag."""


@click.group()
def dag() -> None:
    """List, show, trigger, test, compare, roll back and pause dags."""


dag.add_command(trigger)
dag.add_command(test)
dag.add_command(versions)
dag.add_command(diff)
dag.add_command(rollback)
dag.add_command(pause_dag)
dag.add_command(resume_dag)


@dag.command("list")
@click.option("--owner", help="Only dags of this owner.")
@click.option(
    "--tag", "tags", multiple=True, help="Only dags with this tag; repeated: with all of them."
)
@json_option
@home_option
def list_dags(owner: str | None, tags: tuple[str, ...], as_json: bool, home: Path | None) -> None:
    """All dags with their last runs, and the files that could not be read."""
    from mainspring.cli.session import with_http

    with_http(home, _list, owner, tags, as_json)


@dag.command()
@click.argument("name")
@json_option
@home_option
def show(name: str, as_json: bool, home: Path | None) -> None:
    """One dag: its parameters, its tasks, where it comes from."""
    from mainspring.cli.session import with_http

    with_http(home, _show, name, as_json)


@dag.command()
@json_option
@home_option
def refresh(as_json: bool, home: Path | None) -> None:
    """Let engines ask their repositories of dags now, not in a while."""
    from mainspring.cli.session import with_http

    with_http(home, _refresh, as_json)


async def _refresh(client: HttpClient, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json

    asked = await client.dags.refresh()
    if as_json:
        print_json(asked)
        return
    out = console()
    out.print("Engines that live now ask their repositories of dags at once.")
    out.print(faint("what they find: `mainspring dag list`"))


async def _list(
    client: HttpClient, owner: str | None, tags: tuple[str, ...], as_json: bool
) -> None:
    from rich.text import Text

    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, heading, print_json, state_text, table
    from mainspring.cli.words import ago, counted, number, safe, safe_lines, shortened
    from mainspring.domain.states import RUN

    dags = [line async for line in client.dags.each(owner=owner, tag=tags, limit=_PAGE)]
    if as_json:
        print_json(dags)
        return
    problems = (await client.dags.list_file_problems()).items
    schedules, now = any(line.schedules for line in dags), await clock(client)
    out = console()
    if dags:
        timed = ("schedule", "next fire") if schedules else ()
        columns = ("dag", "version", "tasks", *timed, "last run", "", "owner", "tags")
        lines = table(*columns, right=["version", "tasks"])
        for line in dags:
            state, when = Text(""), Text("")
            last = line.last_run
            if last and last.state and last.created_at:
                state = state_text(RUN, last.state)
                when = faint(f"{ago(last.created_at, now)}, run {last.id}")
            name = Text(safe(line.name), style="bold")
            if line.gone_at is not None:
                name.append("  gone", style="yellow")
            elif line.rolled_back_at is not None:
                name.append("  rolled back", style="yellow")
            if line.pause is not None:
                name.append("  paused", style="yellow")
            lines.add_row(
                name,
                str(line.version),
                number(line.task_count),
                *(_schedule_words(line.schedules, now) if schedules else ()),
                state,
                when,
                shortened(line.owner, 20),
                shortened(", ".join(line.tags), 40),
            )
        out.print(lines)
    elif owner is not None or tags:
        out.print("No dag is like that.")
    elif not problems:
        out.print("There are no dags yet.")
        out.print(faint("give a folder of dags: `mainspring up --dags DIR`"))
    if problems:
        if dags:
            out.print()
        out.print(heading(f"{counted(len(problems), 'file')} could not be read"))
        for problem in problems:
            place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
            out.print(Text(f"  {safe(place)}", style="bold red"))
            message = safe_lines(problem.message).rstrip().splitlines()
            for text in message[:6]:
                out.print(f"    {text}")
            if len(message) > 6:
                out.print(faint(f"    … {counted(len(message) - 6, 'line')} more"))


def _schedule_words(schedules: Sequence[DagSchedule], now: datetime) -> tuple[str, str]:
    """When, and when next: of one schedule in words, of several how many there are."""
    from mainspring.cli.words import ago, shortened

    if not schedules:
        return "", ""
    if len(schedules) >= _SCHEDULES_MAX:
        return f"{_SCHEDULES_MAX} schedules or more", ""
    words = f"{len(schedules)} schedules"
    if len(schedules) == 1:
        words = shortened(schedules[0].words, 40)
    fires = [schedule.next_fire_at for schedule in schedules if schedule.next_fire_at]
    if fires:
        return words, ago(min(fires), now)
    return words, "paused" if any(schedule.paused for schedule in schedules) else "none left"


async def _show(client: HttpClient, name: str, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import print_json

    found = await client.dags.show(name)
    if as_json:
        print_json(found)
    else:
        _print(found, await clock(client))


def _print(found: DagWhole, now: datetime) -> None:
    from rich.markdown import Markdown
    from rich.text import Text

    from mainspring.cli.output import FAINT, console, heading, indented, pairs, table
    from mainspring.cli.spec_words import default_words, type_words
    from mainspring.cli.words import clock, counted, pause_words, safe, safe_lines
    from mainspring.domain.durations import format_duration

    out = console()
    title = Text.assemble((safe(found.name), "bold"), (f"  version {found.version}", FAINT))
    out.print(title)
    if found.description:
        out.print(indented(safe_lines(found.description).strip()))
    limit = found.timeout_seconds
    out.print(
        pairs(
            [
                ("owner", safe(found.owner)),
                ("tags", safe(", ".join(found.tags))),
                ("notify", safe(", ".join(found.notify))),
                ("timeout", f"{format_duration(limit)} for a whole run" if limit else None),
                ("file", safe(found.file)),
                ("snapshot", safe(found.snapshot[:12])),
                ("changed", clock(found.changed_at)),
                ("rolled back", clock(found.rolled_back_at) if found.rolled_back_at else None),
                ("gone", f"since {clock(found.gone_at)}" if found.gone_at else None),
                ("paused", pause_words(found.pause, now) if found.pause else None),
            ]
        )
    )
    if found.parameters:
        out.print()
        out.print(heading("parameters"))
        lines = table("name", "type", "default", fold=["type", "default"])
        for parameter in found.parameters:
            lines.add_row(
                safe(parameter.name), type_words(parameter.schema), default_words(parameter)
            )
        out.print(indented(lines))
    _print_schedules(found.schedules, now)
    out.print()
    out.print(heading(counted(found.task_count, "task")))
    _print_tasks(found.tasks)
    if found.doc.strip() != found.description:
        out.print()
        out.print(heading("documentation"))
        out.print(indented(Markdown(safe_lines(found.doc))))


def _print_schedules(schedules: Sequence[DagSchedule], now: datetime) -> None:
    from mainspring.cli.output import console, faint, heading, indented, table
    from mainspring.cli.words import counted, moment_words, safe

    if not schedules:
        return
    out = console()
    out.print()
    out.print(heading(counted(len(schedules), "schedule")))
    lines = table("schedule", "fires", "next fire", fold=["fires"])
    for schedule in schedules:
        rests = "paused" if schedule.paused else "none left"
        following = schedule.next_fire_at
        lines.add_row(
            safe(schedule.name),
            safe(schedule.words),
            moment_words(following, now) if following else rests,
        )
    out.print(indented(lines))
    if len(schedules) == _SCHEDULES_MAX:
        out.print(faint("  there may be more"))


def _print_tasks(tasks: Sequence[DagTask]) -> None:
    from mainspring.cli.graphs import TREE_TASKS_MAX, drawn, levels, tree
    from mainspring.cli.output import console, faint, indented, table
    from mainspring.cli.spec_words import task_words
    from mainspring.cli.words import counted, safe, shortened

    graph, out = drawn(tasks), console()
    names = [safe(task.name) for task in tasks]
    if len(tasks) > TREE_TASKS_MAX:
        found_levels = levels(graph)
        lines = table("level", "tasks", "", right=["level", "tasks"], fold=[""])
        for level, nodes in enumerate(found_levels[:TREE_TASKS_MAX], start=1):
            some = ", ".join(names[node] for node in nodes[:5])
            lines.add_row(str(level), f"{len(nodes):,}", some + (", …" if len(nodes) > 5 else ""))
        out.print(indented(lines))
        if len(found_levels) > TREE_TASKS_MAX:
            out.print(faint(f"  … {counted(len(found_levels) - TREE_TASKS_MAX, 'level')} more"))
        kinds = {words for words in map(task_words, tasks) if words}
        for words in sorted(kinds)[:5]:
            some_tasks = [task for task in tasks if task_words(task) == words]
            out.print(faint(f"  {counted(len(some_tasks), 'task')}: {words}"))
        out.print(faint("  `--json` lists them all"))
        return
    lines = table("task", "kind", "queue", "notes", fold=["notes"])
    for branch in tree(graph):
        task = tasks[branch.node]
        after = ", ".join(names[node] for node in branch.also_after[:8])
        also = "also after" if branch.lead else "after"
        notes = [f"{also} {after}" if after else "", task_words(task)]
        if task.description:
            notes.append(shortened(task.description.strip().splitlines()[0], 80))
        lines.add_row(
            branch.lead + names[branch.node],
            task.kind,
            safe(task.queue),
            "\n".join(filter(None, notes)),
        )
    out.print(indented(lines))
