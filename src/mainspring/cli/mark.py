"""`mainspring run mark`: close a task by hand, and say why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.notes import checked_note

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store.marks import Mark
    from mainspring.store.shapes import RunMarked


@click.command()
@click.argument("run")
@click.argument("task")
@click.argument("state", type=click.Choice(["succeeded", "skipped"]))
@click.option("--note", required=True, metavar="TEXT", help="Why; it is kept with the run.")
@click.option("--result", metavar="JSON", help="What the task is to have returned. [default: null]")
@json_option
@home_option
def mark(
    run: str, task: str, state: str, note: str, result: str | None, as_json: bool, home: Path | None
) -> None:
    """Close a task by hand: what comes after it goes on as if it had ended so.

    For a task that waits, rests, is ready, runs, or has failed. What runs is stopped, and what it
    reports is refused. A run that has failed is opened again.
    """
    from mainspring.cli.session import with_http

    if result is not None and state != "succeeded":
        raise click.UsageError("a task that was skipped has no `--result`")
    with_http(
        home, _mark, run, task, cast("Mark", state), checked_note(note) or "", result, as_json
    )


async def _mark(
    client: HttpClient,
    reference: str,
    task: str,
    state: Mark,
    note: str,
    result: str | None,
    as_json: bool,
) -> None:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import print_json

    content = None if result is None else _result(result)
    run_id = await named_run(client, reference)
    run = await client.runs.mark(run_id, task, state=state, note=note, result=content)
    if as_json:
        print_json(run)
    else:
        _print(run)


def _print(run: RunMarked) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import safe
    from mainspring.domain.names import listed
    from mainspring.domain.states import RUN

    out, task, state = console(), run.task, run.marked
    if run.repeated:
        out.print(f"{safe(task)} of run {run.id} was marked {state} before")
        return
    words = f"{safe(task)} of run {run.id} is marked {state}"
    if run.stopped:
        words += "; the worker that has it in hand stops it"
    if run.opened:
        words += f"; opened again: {safe(listed(run.opened))}"
    out.print(words)
    out.print(f"run {run.id} of {safe(run.dag)} is {RUN.facts[run.state].label.lower()}")


def _result(text: str) -> Any:
    import msgspec

    from mainspring.domain.errors import InputError
    from mainspring.domain.specs import PAYLOAD_BYTES_MAX

    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"`--result` is no JSON: {error}", hint="""a text needs quotes: `--result '"done"'`"""
        ) from None
    if len(msgspec.json.encode(value)) > PAYLOAD_BYTES_MAX:
        raise InputError(f"`--result` is larger than {PAYLOAD_BYTES_MAX:,} bytes")
    return value
