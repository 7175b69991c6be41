"""`mainspring worker drain` and `resume`: let a worker finish what it runs, and go on again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.notes import checked_note

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store.shapes import DrainChange


@click.command("drain")
@click.argument("name")
@click.option("--stop", is_flag=True, help="Let its process end when nothing is left.")
@click.option("--note", metavar="TEXT", help="Why, for those who will wonder.")
@json_option
@home_option
def drain_worker(name: str, stop: bool, note: str | None, as_json: bool, home: Path | None) -> None:
    """Let worker NAME, or with this id, finish what it runs: it is given nothing more.

    What it has not begun goes back to its queue. It stays idle until `worker resume`.
    """
    from mainspring.cli.session import with_http

    with_http(home, _drain, name, stop, checked_note(note), as_json)


@click.command("resume")
@click.argument("name")
@json_option
@home_option
def resume_worker(name: str, as_json: bool, home: Path | None) -> None:
    """Let worker NAME, or with this id, claim again after `worker drain`."""
    from mainspring.cli.session import with_http

    with_http(home, _resume, name, as_json)


async def _drain(
    client: HttpClient, name: str, stop: bool, note: str | None, as_json: bool
) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import safe

    done = await client.workers.drain(name, stop=stop, note=note)
    if _told_as_json(done, as_json):
        return
    left = sum(done.worker.running.values())
    what = f"it has {left:,} left" if left else "nothing is left"
    then = ", then it ends" if stop else ""
    already = "" if done.drain_before is None else "was asked before; "
    out = console()
    out.print(f"worker {safe(done.worker.name)} drains: {already}{what}{then}")
    out.print(faint(f"let it go on: mainspring worker resume {safe(name)}"))


async def _resume(client: HttpClient, name: str, as_json: bool) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import safe

    done = await client.workers.resume(name)
    if _told_as_json(done, as_json):
        return
    word = "goes on" if done.changed else "was not asked to drain"
    console().print(f"worker {safe(done.worker.name)} {word}")


def _told_as_json(done: DrainChange, as_json: bool) -> bool:
    from mainspring.cli.output import print_json

    if as_json:
        print_json(done)
    return as_json
