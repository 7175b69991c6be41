"""`mainspring run why`: what `store.why` finds, on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store.explain import Cause
    from mainspring.store.why import Why


@click.command()
@click.argument("run")
@click.argument("task", required=False)
@json_option
@home_option
def why(run: str, task: str | None, as_json: bool, home: Path | None) -> None:
    """Why a run, or one task of it, stands where it stands, and what would move it on."""
    from mainspring.cli.session import with_http

    with_http(home, _why, run, task, as_json)


async def _why(client: HttpClient, reference: str, task: str | None, as_json: bool) -> None:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import print_json

    found = await client.runs.why(await named_run(client, reference), task=task)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: Why) -> None:
    from rich.console import Group

    from mainspring.cli.output import bullets, console, faint, indented, mark_text
    from mainspring.cli.words import counted
    from mainspring.domain.states import TASK

    out = console()
    out.print(found.headline)
    if found.task is not None and len(found.causes) == 1:
        # The headline tells it.
        for line in _steps(found.causes[0]):
            out.print(faint(f"  {line}"))
        return
    if not found.causes:
        return
    lines = [
        (
            mark_text(TASK.facts[cause.state].tone),
            Group(cause.text, *(faint(line) for line in _steps(cause))),
        )
        for cause in found.causes
    ]
    out.print(indented(bullets(lines)))
    if found.more:
        out.print(faint(f"  … and {counted(found.more, 'other')}"))


def _steps(cause: Cause) -> list[str]:
    return [
        f"→ {step.text}: {step.command}" if step.command else f"→ {step.text}"
        for step in cause.unblocks
    ]
