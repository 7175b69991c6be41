"""`mainspring dag pause|resume`, `mainspring queue pause|resume`: hold work, and let it go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.notes import checked_note

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store.shapes import PauseChange

_note_option = click.option("--note", metavar="TEXT", help="Why, for those who will wonder.")


@click.command("pause")
@click.argument("name")
@_note_option
@json_option
@home_option
def pause_dag(name: str, note: str | None, as_json: bool, home: Path | None) -> None:
    """Hold dag NAME: from the answer on none of its tasks is handed to a worker.

    What runs goes on. Runs can be made all the same; they wait for `dag resume`.
    """
    from mainspring.cli.session import with_http

    with_http(home, _pause_dag, name, checked_note(note), as_json)


@click.command("resume")
@click.argument("name")
@json_option
@home_option
def resume_dag(name: str, as_json: bool, home: Path | None) -> None:
    """Let dag NAME go on after a pause: what waits is taken in the order that it had."""
    from mainspring.cli.session import with_http

    with_http(home, _resume_dag, name, as_json)


@click.command("pause")
@click.argument("name")
@_note_option
@json_option
@home_option
def pause_queue(name: str, note: str | None, as_json: bool, home: Path | None) -> None:
    """Hold queue NAME: from the answer on nothing of it is handed to a worker.

    What runs goes on. What comes meanwhile waits for `queue resume`.
    """
    from mainspring.cli.session import with_http

    with_http(home, _pause_queue, name, checked_note(note), as_json)


@click.command("resume")
@click.argument("name")
@json_option
@home_option
def resume_queue(name: str, as_json: bool, home: Path | None) -> None:
    """Let queue NAME go on after a pause."""
    from mainspring.cli.session import with_http

    with_http(home, _resume_queue, name, as_json)


async def _pause_dag(client: HttpClient, name: str, note: str | None, as_json: bool) -> None:
    await _tell(client, "dag", await client.dags.pause(name, note=note), as_json)


async def _resume_dag(client: HttpClient, name: str, as_json: bool) -> None:
    await _tell(client, "dag", await client.dags.resume(name), as_json)


async def _pause_queue(client: HttpClient, name: str, note: str | None, as_json: bool) -> None:
    await _tell(client, "queue", await client.queues.pause(name, note=note), as_json)


async def _resume_queue(client: HttpClient, name: str, as_json: bool) -> None:
    await _tell(client, "queue", await client.queues.resume(name), as_json)


async def _tell(client: HttpClient, what: str, done: PauseChange, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import pause_words, safe

    if as_json:
        print_json(done)
        return
    out, name, now = console(), safe(done.name), await clock(client)
    it, before = f"{what} {name}", done.pause_before
    if done.pause is None and before is None:
        out.print(f"{it} was not paused")
    elif done.pause is None:
        assert before is not None
        out.print(f"{it} goes on; it was paused {pause_words(before, now)}")
    else:
        if before is None:
            out.print(f"{it} is paused; what runs goes on, what waits stays where it is")
        else:
            out.print(f"{it} was paused already, {pause_words(done.pause, now)}")
        out.print(faint(f"let it go on: mainspring {what} resume {name}"))
