"""`mainspring backfill`: runs for times of the past; its larger commands have their own files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.backfill_create import create_backfill
from mainspring.cli.backfill_watch import watch_backfill
from mainspring.cli.options import home_option, json_option
from mainspring.domain.notes import checked_note
from mainspring.domain.states import BackfillState

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.http import HttpClient
    from mainspring.store.backfill_shapes import Backfill, BackfillDocument

_PAGE = 500
"""How many one request tells."""

_number = click.argument("backfill", type=click.IntRange(1))
_note_option = click.option("--note", metavar="TEXT", help="Why, for those who will wonder.")


@click.group()
def backfill() -> None:
    """Make runs for times of the past; watch, pause and cancel that."""


for command in (create_backfill, watch_backfill):
    backfill.add_command(command)


@backfill.command("list")
@click.option("--dag", metavar="NAME", help="Only those of this dag.")
@click.option(
    "--state",
    type=click.Choice([state.value for state in BackfillState]),
    help="Only those in this state.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="How many at most.",
)
@json_option
@home_option
def list_backfills(
    dag: str | None, state: str | None, limit: int, as_json: bool, home: Path | None
) -> None:
    """The newest backfills first."""
    from mainspring.cli.session import with_http

    with_http(home, _list, dag, state, limit, as_json)


@backfill.command("show")
@_number
@click.option("--failed", is_flag=True, help="Only instants whose run failed.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    help="How many instants at most.",
)
@json_option
@home_option
def show_backfill(
    backfill: int, failed: bool, limit: int, as_json: bool, home: Path | None
) -> None:
    """One backfill: how far it is, and what became of its instants, the latest first."""
    from mainspring.cli.session import with_http

    with_http(home, _show, backfill, failed, limit, as_json)


@backfill.command("pause")
@_number
@_note_option
@json_option
@home_option
def pause_backfill(backfill: int, note: str | None, as_json: bool, home: Path | None) -> None:
    """Let a backfill make no runs until it is resumed; those that are open go on."""
    from mainspring.cli.session import with_http

    with_http(home, _pause, backfill, note, as_json)


@backfill.command("resume")
@_number
@json_option
@home_option
def resume_backfill(backfill: int, as_json: bool, home: Path | None) -> None:
    """Let a backfill go on where it was."""
    from mainspring.cli.session import with_http

    with_http(home, _resume, backfill, as_json)


@backfill.command("cancel")
@_number
@click.option("--runs", is_flag=True, help="Stop its open runs, too.")
@_note_option
@json_option
@home_option
def cancel_backfill(
    backfill: int, runs: bool, note: str | None, as_json: bool, home: Path | None
) -> None:
    """End a backfill: it makes no more runs, ever."""
    from mainspring.cli.session import with_http

    with_http(home, _cancel, backfill, runs, note, as_json)


async def _list(
    client: HttpClient, dag: str | None, state: str | None, limit: int, as_json: bool
) -> None:
    from mainspring.cli.backfill_words import count_words, subject_words
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, state_text, table
    from mainspring.cli.words import ago, safe
    from mainspring.domain.states import BACKFILL

    found: list[Backfill] = []
    wanted = None if state is None else BackfillState(state)
    async for each in client.backfills.each(dag=dag, state=wanted, limit=min(limit, _PAGE)):
        found.append(each)
        if len(found) == limit:
            break
    if as_json:
        print_json(found)
        return
    out, now = console(), await clock(client)
    if not found:
        out.print("There are no such backfills." if dag or state else "There are no backfills yet.")
        return
    lines = table(
        *("backfill", "of", "state", "done", "from", "to", "created", "what"), right=["backfill"]
    )
    for line in found:
        lines.add_row(
            str(line.id),
            safe(subject_words(line)),
            state_text(BACKFILL, line.state),
            f"{line.done:,}/{line.instants:,}",
            f"{line.since:%Y-%m-%d %H:%M}",
            f"{line.until:%Y-%m-%d %H:%M}",
            ago(line.created_at, now),
            faint(count_words(line)),
        )
    out.print(lines)


async def _show(
    client: HttpClient, backfill_id: int, failed: bool, limit: int, as_json: bool
) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import print_json

    found = await client.backfills.show(backfill_id, failed=failed, limit=limit)
    if as_json:
        print_json(found)
        return
    _print_whole(found, await clock(client))
    _print_fires(found, limit)


def _print_whole(line: Backfill, now: datetime) -> None:
    import msgspec

    from mainspring.cli.backfill_watch import picture
    from mainspring.cli.output import console, pairs
    from mainspring.cli.words import moment_words, safe, value_words

    out, given = console(), msgspec.json.decode(line.parameters)
    order = f"{line.concurrency:,} at a time, at priority {line.priority} or below"
    by = f", by {safe(line.created_by)}" if line.created_by else ""
    halted = f"by {safe(line.halted_by)}" if line.halted_by else ""
    if line.halt_note:
        halted += f": {safe(line.halt_note)}"
    out.print(picture(line, now))
    out.print(
        pairs(
            [
                ("dag", safe(line.dag)),
                ("range", f"{line.since:%Y-%m-%d %H:%M:%S} to {line.until:%F %T} UTC"),
                ("runs", order),
                ("reprocess", line.reprocess),
                ("created", moment_words(line.created_at, now) + by),
                ("reached", f"{line.cursor_at:%F %T} UTC" if line.cursor_at else None),
                ("ended", moment_words(line.ended_at, now) if line.ended_at else None),
                (line.state, halted or None),
                ("parameters", "\n".join(f"{safe(n)}={value_words(v)}" for n, v in given.items())),
                ("note", safe(line.note or "")),
            ]
        )
    )


def _print_fires(line: BackfillDocument, limit: int) -> None:
    from mainspring.cli.output import console, faint, state_text, table
    from mainspring.domain.states import RUN

    fires = line.fires
    if not fires:
        return
    out = console()
    words = {"made": "open", "exists": "had a run", "excluded": "excluded"}
    lines = table("fire (UTC)", "what", "run", right=["run"])
    for fire in fires:
        lines.add_row(
            f"{fire.fire_at:%F %T}",
            state_text(RUN, fire.verdict) if fire.verdict else words[fire.outcome],
            "" if fire.run is None else str(fire.run),
        )
    out.print()
    out.print(lines)
    if len(fires) == limit and line.made + line.existing + line.excluded > limit:
        out.print(faint("--limit shows more"))


async def _pause(client: HttpClient, backfill_id: int, note: str | None, as_json: bool) -> None:
    line = await client.backfills.pause(backfill_id, note=checked_note(note))
    _tell(line, "makes no runs until it is resumed", as_json)


async def _resume(client: HttpClient, backfill_id: int, as_json: bool) -> None:
    line = await client.backfills.resume(backfill_id)
    _tell(line, f"goes on: {line.done:,} of {line.instants:,} are done", as_json)


async def _cancel(
    client: HttpClient, backfill_id: int, runs: bool, note: str | None, as_json: bool
) -> None:
    line = await client.backfills.cancel(backfill_id, runs=runs, note=checked_note(note))
    _tell(line, "makes no more runs", as_json, stopped=runs)


def _tell(line: Backfill, words: str, as_json: bool, *, stopped: bool = False) -> None:
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import counted

    if as_json:
        print_json(line)
        return
    out = console()
    out.print(f"backfill {line.id} {words}")
    if line.open and line.state is BackfillState.CANCELLED and not stopped:
        runs = counted(line.open, "open run")
        out.print(faint(f"{runs} may go on; `--runs` would stop them"))
