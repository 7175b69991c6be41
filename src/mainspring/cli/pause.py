"""`mainspring dag pause|resume`, `mainspring queue pause|resume`: hold work, and let it go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.store.pauses import Paused

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
    from mainspring.cli.session import with_client

    with_client(home, _pause_dag, name, note, as_json)


@click.command("resume")
@click.argument("name")
@json_option
@home_option
def resume_dag(name: str, as_json: bool, home: Path | None) -> None:
    """Let dag NAME go on after a pause: what waits is taken in the order that it had."""
    from mainspring.cli.session import with_client

    with_client(home, _resume_dag, name, as_json)


@click.command("pause")
@click.argument("name")
@_note_option
@json_option
@home_option
def pause_queue(name: str, note: str | None, as_json: bool, home: Path | None) -> None:
    """Hold queue NAME: from the answer on nothing of it is handed to a worker.

    What runs goes on. What comes meanwhile waits for `queue resume`.
    """
    from mainspring.cli.session import with_client

    with_client(home, _pause_queue, name, note, as_json)


@click.command("resume")
@click.argument("name")
@json_option
@home_option
def resume_queue(name: str, as_json: bool, home: Path | None) -> None:
    """Let queue NAME go on after a pause."""
    from mainspring.cli.session import with_client

    with_client(home, _resume_queue, name, as_json)


async def _pause_dag(client: Client, name: str, note: str | None, as_json: bool) -> None:
    from mainspring.cli.given import given_dag, person

    await given_dag(client, name)
    await _tell(client, "dag", name, await client.pause_dag(name, note=note, by=person()), as_json)


async def _resume_dag(client: Client, name: str, as_json: bool) -> None:
    from mainspring.cli.given import given_dag

    await given_dag(client, name)
    await _tell(client, "dag", name, await client.resume_dag(name), as_json)


async def _pause_queue(client: Client, name: str, note: str | None, as_json: bool) -> None:
    from mainspring.cli.given import given_queue, person

    await given_queue(client, name)
    await _tell(
        client, "queue", name, await client.pause_queue(name, note=note, by=person()), as_json
    )


async def _resume_queue(client: Client, name: str, as_json: bool) -> None:
    from mainspring.cli.given import given_queue

    await given_queue(client, name)
    await _tell(client, "queue", name, await client.resume_queue(name), as_json)


async def _tell(client: Client, what: str, name: str, done: Paused, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import pause_words, safe
    from mainspring.store import shapes
    from mainspring.store.reading import read_clock

    if as_json:
        print_json(shapes.paused(name, done))
        return
    out, it, now = console(), f"{what} {safe(name)}", await client.ask(read_clock)
    if done.now is None and done.before is None:
        out.print(f"{it} was not paused")
    elif done.now is None:
        assert done.before is not None
        out.print(f"{it} goes on; it was paused {pause_words(done.before, now)}")
    else:
        if done.before is None:
            out.print(f"{it} is paused; what runs goes on, what waits stays where it is")
        else:
            out.print(f"{it} was paused already, {pause_words(done.now, now)}")
        out.print(faint(f"let it go on: mainspring {what} resume {safe(name)}"))
