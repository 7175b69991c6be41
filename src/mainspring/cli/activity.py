"""What `mainspring up` shows while everything runs: the newest runs, live or as lines."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from mainspring.cli.output import console, faint, heading, indented, pairs, state_text, table
from mainspring.cli.words import ago, counted, lasted, safe
from mainspring.client import Client
from mainspring.domain.errors import MainspringError, NotFoundError
from mainspring.domain.states import RUN
from mainspring.store import reading

if TYPE_CHECKING:
    from mainspring.config import Config
    from mainspring.store.reading import FileProblem, RunLine, WorkerLine
from mainspring.store.run_lists import list_runs

_POLL_SECONDS = 0.25
_RUNS_SHOWN = 12
_BAR_WIDTH = 12
_LINK_NAME = "open once"
_LINK_INDENT = 2 + len(_LINK_NAME) + 2
"""What stands before the link in its line."""


class _Scene(NamedTuple):
    runs: list[RunLine]
    workers: list[WorkerLine]
    dags: list[str]
    problems: list[FileProblem]


async def show_activity(
    url: str, config: Config, triggers: Sequence[str], *, live: bool, command: str, link: str
) -> None:
    """For ever. `triggers` are dags to be triggered as soon as they have been read.

    `link` opens the server in a browser, once.
    """
    show = _show_live if live else _show_lines
    try:
        async with Client(url, name="up") as client, asyncio.TaskGroup() as group:
            group.create_task(_trigger(client, triggers))
            group.create_task(show(client, config, command, link))
    except* MainspringError as errors:
        # A dag that cannot be triggered like this, say; it is told like any other mistake.
        raise errors.exceptions[0] from None


async def _trigger(client: Client, triggers: Sequence[str]) -> None:
    waiting = list(triggers)
    while waiting:
        for name in list(waiting):
            try:
                await client.trigger(name, created_by="up")
            except NotFoundError:
                continue
            waiting.remove(name)
        await asyncio.sleep(_POLL_SECONDS)


async def _look(client: Client) -> _Scene:
    return _Scene(
        runs=await client.ask(list_runs, limit=_RUNS_SHOWN),
        workers=await client.ask(reading.list_workers),
        dags=await client.ask(reading.list_dag_names),
        problems=await client.ask(reading.list_file_problems),
    )


# --- on a terminal ------------------------------------------------------------------------


async def _show_live(client: Client, config: Config, command: str, link: str) -> None:
    out = console()
    beside = told_link(out, link)
    with Live(console=out, auto_refresh=False, transient=False) as live:
        while True:
            picture = _picture(await _look(client), config, command, beside)
            live.update(picture, refresh=True)
            await asyncio.sleep(_POLL_SECONDS)


def told_link(out: Console, link: str) -> Text | None:
    """The link as a part of the picture, or None if it is too long for that and was told.

    A picture folds what does not fit, and half a link opens nothing. Above the picture it is one
    line, however the terminal shows that: it can be clicked, and copied as a whole.
    """
    if _LINK_INDENT + len(link) <= out.width:
        return Text(link, style=f"link {link}")
    out.print("Open this once, in a browser:")
    out.print(Text(link, style=f"link {link}"), soft_wrap=True)
    return None


def _picture(scene: _Scene, config: Config, command: str, link: Text | None) -> Group:
    busy = sum(sum(worker.running.values()) for worker in scene.workers)
    parts = [
        Text.assemble(("Mainspring is up", "bold green"), ("   Ctrl-C stops it", "bright_black")),
        pairs(
            [
                ("home", safe(str(config.home))),
                ("dags", safe(f"{_source(config)}: {', '.join(scene.dags) or 'none yet'}")),
                (_LINK_NAME, link),
                ("workers", f"{len(scene.workers)}, with {counted(busy, 'task')} in hand"),
            ]
        ),
        Text(),
        *(
            Text(f"✗ {safe(problem.file)}:{problem.line or 1}: {safe(problem.message)}", "red")
            for problem in scene.problems
        ),
        _runs(scene.runs) if scene.runs else indented(faint("No run yet.")),
        Text(),
        faint("In another terminal:"),
        *(indented(line) for line in _suggestions(scene, config, command)),
    ]
    return Group(*parts)


def _runs(runs: Sequence[RunLine]) -> Group:
    lines = table("run", "dag", "state", "tasks", "", "took", "created", right=["run", "tasks"])
    for run in runs:
        done = run.tasks - run.open_tasks
        lines.add_row(
            str(run.id),
            safe(run.dag),
            state_text(RUN, run.state),
            f"{done}/{run.tasks}",
            ProgressBar(run.tasks, done, width=_BAR_WIDTH),
            lasted(run.started_at, run.finished_at, run.read_at),
            ago(run.created_at, run.read_at),
        )
    return Group(heading("Runs"), indented(lines))


def _suggestions(scene: _Scene, config: Config, command: str) -> list[Text]:
    dag = scene.runs[0].dag if scene.runs else (scene.dags or ["NAME"])[0]
    return [
        faint(f"{command} dag trigger {shlex.quote(dag)} --wait"),
        faint(f"{command} run show last"),
        faint(f"tail -f {shlex.quote(str(config.home / 'logs'))}/*.log"),
    ]


# --- as lines -----------------------------------------------------------------------------


async def _show_lines(client: Client, config: Config, command: str, link: str) -> None:
    out = console()
    out.print(f"Mainspring is up in {config.home}; Ctrl-C stops it.", soft_wrap=True)
    out.print(f"In another terminal: {command} dag list", soft_wrap=True)
    out.print(f"In a browser, once: {link}", soft_wrap=True)
    told: dict[int, str] = {}
    problems_told: set[tuple[str, str]] = set()
    while True:
        scene = await _look(client)
        for problem in scene.problems:
            if (problem.file, problem.message) not in problems_told:
                problems_told.add((problem.file, problem.message))
                out.print(safe(f"{problem.file}:{problem.line or 1}: {problem.message}"))
        for run in reversed(scene.runs):
            if told.get(run.id) != run.state:
                told[run.id] = run.state
                took = lasted(run.started_at, run.finished_at) if run.closed else ""
                out.print(f"run {run.id} of {safe(run.dag)}: {run.state}{took and f' in {took}'}")
        await asyncio.sleep(_POLL_SECONDS)


def _source(config: Config) -> str:
    found = config.repository
    return str(config.dags) if found is None else f"{found.public_url}, branch {found.branch}"
