"""`mainspring run mark`: close a task by hand, and say why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.store.marks import Mark, Marked
    from mainspring.store.reading import RunLine


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
    from mainspring.cli.session import with_client

    if result is not None and state != "succeeded":
        raise click.UsageError("a task that was skipped has no `--result`")
    with_client(home, _mark, run, task, cast("Mark", state), note, result, as_json)


async def _mark(
    client: Client,
    reference: str,
    task: str,
    state: Mark,
    note: str,
    result: str | None,
    as_json: bool,
) -> None:
    from mainspring.cli.given import given_run, given_task, person
    from mainspring.cli.output import print_json
    from mainspring.store import shapes
    from mainspring.store.reading import read_run, read_spec
    from mainspring.store.runs import Deed

    content = None if result is None else _result(result)
    run = await client.ask(read_run, await given_run(client, reference))
    given_task(await client.ask(read_spec, run), run.id, task)
    marked = await client.mark(run.id, task, state, Deed(person(), note), result=content)
    run = await client.ask(read_run, run.id)
    if as_json:
        print_json(shapes.run_marked(run, task, state, marked))
    else:
        _print(run, task, state, marked)


def _print(run: RunLine, task: str, state: Mark, marked: Marked) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import safe
    from mainspring.domain.names import listed
    from mainspring.domain.states import RUN

    out = console()
    if marked.repeated:
        out.print(f"{safe(task)} of run {run.id} was marked {state} before")
        return
    words = f"{safe(task)} of run {run.id} is marked {state}"
    if marked.claimed:
        words += "; the worker that has it in hand stops it"
    if marked.opened:
        words += f"; opened again: {safe(listed(marked.opened))}"
    out.print(words)
    out.print(f"run {run.id} of {safe(run.dag)} is {RUN.facts[run.state].label.lower()}")


def _result(text: str) -> bytes:
    import msgspec

    from mainspring.domain.errors import InputError
    from mainspring.domain.specs import PAYLOAD_BYTES_MAX

    try:
        content = msgspec.json.encode(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"`--result` is no JSON: {error}", hint="""a text needs quotes: `--result '"done"'`"""
        ) from None
    if len(content) > PAYLOAD_BYTES_MAX:
        raise InputError(f"`--result` is larger than {PAYLOAD_BYTES_MAX:,} bytes")
    return content
