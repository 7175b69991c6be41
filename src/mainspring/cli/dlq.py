"""`mainspring dlq`: dead letters by error, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from mainspring.cli.errors import DONE
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.client import Client
    from mainspring.store.dead_letters import Group, Letter

_F = TypeVar("_F", bound=Callable[..., Any])

_LETTERS_SHOWN = 20
_DISCARDED_MAX = 1_000


@click.group()
def dlq() -> None:
    """Look at dead letters by error; retry or discard them.

    A dead letter is a task that failed for good. Those that failed alike are one group, which has
    an id such as `e-3f9ac1d2`.
    """


class Filter(NamedTuple):
    """Which dead letters, as it was typed."""

    dag: str | None
    task: str | None
    error: str | None
    since: str | None

    @property
    def empty(self) -> bool:
        return not any(self)


def _filter_options(command: _F) -> _F:
    for option in (
        click.option("--since", metavar="WHEN", help="Failed since then: `2h`, or an instant."),
        click.option("--error", metavar="TEXT", help="Whose type or message has this in it."),
        click.option("--task", metavar="NAME", help="Of tasks of this name."),
        click.option("--dag", metavar="NAME", help="Of this dag."),
    ):
        command = option(command)
    return command


def _deed_options(command: _F) -> _F:
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask before many."),
        click.option("--note", default="", metavar="TEXT", help="Why; it is kept."),
        click.option("--all", "everything", is_flag=True, help="All dead letters."),
    ):
        command = option(command)
    return command


@dlq.command("list")
@_filter_options
@click.option("--discarded", is_flag=True, help="Those that were discarded, and by whom.")
@json_option
@home_option
def list_letters(
    dag: str | None,
    task: str | None,
    error: str | None,
    since: str | None,
    discarded: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Dead letters by error; what failed last comes first."""
    from mainspring.cli.session import with_client

    show_them = _list_discarded if discarded else _list
    with_client(home, show_them, Filter(dag, task, error, since), as_json)


@dlq.command()
@click.argument("which", metavar="GROUP|RUN")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=_LETTERS_SHOWN,
    show_default=True,
    help="How many at most.",
)
@json_option
@home_option
def show(which: str, limit: int, as_json: bool, home: Path | None) -> None:
    """The dead letters of a group or a run, and the whole error of the last one."""
    from mainspring.cli.session import with_client

    with_client(home, _show, which, limit, as_json)


@dlq.command()
@click.argument("which", metavar="[GROUP|RUN]", required=False)
@click.argument("of_run", metavar="[TASK]", required=False)
@_filter_options
@_deed_options
@json_option
@home_option
def retry(which: str | None, of_run: str | None, as_json: bool, **given: Any) -> int:
    """Run dead letters again: each in its own run, with what comes after it.

    A group, the dead letters of a run or one task of it, or all that the filters leave.
    """
    return _command("retry", which, of_run, as_json, **given)


@dlq.command()
@click.argument("which", metavar="[GROUP|RUN]", required=False)
@click.argument("of_run", metavar="[TASK]", required=False)
@_filter_options
@_deed_options
@json_option
@home_option
def discard(which: str | None, of_run: str | None, as_json: bool, **given: Any) -> int:
    """Take dead letters off the list. Their runs stay as they are, in history."""
    return _command("discard", which, of_run, as_json, **given)


def _command(
    verb: str,
    which: str | None,
    of_run: str | None,
    as_json: bool,
    *,
    dag: str | None,
    task: str | None,
    error: str | None,
    since: str | None,
    everything: bool,
    note: str,
    yes: bool,
    home: Path | None,
) -> int:
    from mainspring.cli.redriving import Order, carry_out
    from mainspring.cli.session import with_client

    wanted = Filter(dag, task, error, since)
    if which is None and wanted.empty and not everything:
        raise click.UsageError(f"say what to {verb}: a group, a run, a filter, or `--all`")
    if everything and (which is not None or not wanted.empty):
        raise click.UsageError("give `--all`, or say which, not both")
    if which is not None and not wanted.empty:
        raise click.UsageError("give a group or a run, or filters, not both")
    order = Order("retry" if verb == "retry" else "discard", note, yes, as_json)
    return with_client(home, carry_out, order, which, of_run, wanted) or DONE


# --- choosing -----------------------------------------------------------------------------


class Choice(NamedTuple):
    groups: list[Group]
    since: datetime | None = None
    until: datetime | None = None


async def choose(client: Client, wanted: Filter, until: datetime | None = None) -> Choice:
    """The groups that the filter leaves."""
    from mainspring.cli.given import given_dag
    from mainspring.store import dead_letters

    dag_id = (await given_dag(client, wanted.dag)).id if wanted.dag is not None else None
    since = await _since(client, wanted.since)
    groups = await client.ask(
        dead_letters.list_groups, dag_id=dag_id, task=wanted.task, since=since, until=until
    )
    if wanted.error is not None:
        text = wanted.error.casefold()
        groups = [group for group in groups if text in group.words.casefold()]
    return Choice(groups, since, until)


async def _since(client: Client, text: str | None) -> datetime | None:
    from datetime import timedelta

    from mainspring.cli.words import parse_moment
    from mainspring.domain.durations import parse_duration
    from mainspring.store.reading import read_clock

    if text is None:
        return None
    moment = parse_moment(text)
    if moment is not None:
        return moment
    length = timedelta(seconds=parse_duration(text, what="`--since`"))
    return await client.ask(read_clock) - length


async def given_letters(
    client: Client, which: str, task: str | None
) -> tuple[UUID | None, list[Letter]]:
    """The group that was meant, or the dead letters of the run that was."""
    import re

    from mainspring.cli.given import given_run, given_task
    from mainspring.domain.errors import InputError, NotFoundError
    from mainspring.store import dead_letters, reading

    if re.fullmatch(r"e-[0-9a-f]{4,32}", which):
        if task is not None:
            raise InputError(
                f"`{which}` is a group, whose letters are all of one task",
                hint="give the run to name a task of it",
            )
        return await client.ask(dead_letters.find_likeness, which[2:]), []
    run = await client.ask(reading.read_run, await given_run(client, which))
    letters = await client.ask(dead_letters.letters_of_run, run.id)
    if task is not None:
        node = given_task(await client.ask(reading.read_spec, run), run.id, task)
        letters = [letter for letter in letters if letter.task_id == run.id + node]
    if not letters:
        what = f"task `{task}` of run {run.id} is no dead letter"
        raise NotFoundError(
            what if task is not None else f"run {run.id} has no dead letter",
            hint=f"`mainspring run show {run.id}` tells how it stands",
        )
    return None, letters


# --- showing ------------------------------------------------------------------------------


async def _list(client: Client, wanted: Filter, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, number, safe
    from mainspring.store import letter_shapes
    from mainspring.store.dead_letters import LETTERS_COUNTED_MAX
    from mainspring.store.reading import read_clock

    groups = (await choose(client, wanted)).groups
    if as_json:
        print_json([letter_shapes.letter_group(group) for group in groups])
        return
    out = console()
    if not groups:
        out.print("There are no dead letters." if wanted.empty else "There are no such letters.")
        return
    now = await client.ask(read_clock)
    lines = table(
        "group", "dag", "task", "count", "first", "last", "run", "error", right=["count", "run"]
    )
    for group in groups:
        lines.add_row(
            letter_shapes.group_id(group.likeness),
            safe(group.dag),
            safe(group.task),
            number(group.letters, at_most=LETTERS_COUNTED_MAX),
            ago(group.first_at, now),
            ago(group.last_at, now),
            str(group.run_id),
            group_words(group),
        )
    out.print(lines)
    if out.is_terminal:
        out.print(faint("look at one: mainspring dlq show GROUP"))


async def _list_discarded(client: Client, wanted: Filter, as_json: bool) -> None:
    from mainspring.cli.given import given_dag
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, error_words, safe
    from mainspring.store import letter_shapes
    from mainspring.store.dead_letters import list_discarded
    from mainspring.store.reading import read_clock

    dag_id = (await given_dag(client, wanted.dag)).id if wanted.dag is not None else None
    found = await client.ask(
        list_discarded,
        dag_id=dag_id,
        task=wanted.task,
        since=await _since(client, wanted.since),
        limit=_DISCARDED_MAX,
    )
    full = len(found) == _DISCARDED_MAX
    if wanted.error is not None:
        text = wanted.error.casefold()
        errors = ((each, each.letter.error) for each in found)
        found = [
            each for each, error in errors if text in f"{error.type}: {error.message}".casefold()
        ]
    if as_json:
        print_json([letter_shapes.discarded_letter(each) for each in found])
        return
    out = console()
    if not found:
        out.print("No dead letter was discarded." if wanted.empty else "There are no such letters.")
        return
    now = await client.ask(read_clock)
    lines = table("run", "dag", "task", "failed", "discarded", "by", "note", "error", right=["run"])
    for each in found:
        letter = each.letter
        lines.add_row(
            str(letter.run_id),
            safe(letter.dag),
            safe(letter.task),
            ago(letter.failed_at, now),
            ago(each.at, now),
            safe(each.who),
            safe(each.note),
            error_words(letter.error.type, letter.error.message),
        )
    out.print(lines)
    if full:
        out.print(faint(f"the last {_DISCARDED_MAX:,} were looked at"))


async def _show(client: Client, which: str, limit: int, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, heading, indented, print_json, table
    from mainspring.cli.words import ago, clock, counted, error_words, safe, safe_lines
    from mainspring.store import dead_letters, letter_shapes
    from mainspring.store.reading import read_clock

    likeness, letters = await given_letters(client, which, None)
    if likeness is not None:
        letters = await client.ask(dead_letters.page_letters, likeness, limit=limit + 1)
    more, letters = len(letters) > limit, letters[:limit]
    if as_json:
        print_json(
            {"more": more, "letters": [letter_shapes.dead_letter(letter) for letter in letters]}
        )
        return
    out, now = console(), await client.ask(read_clock)
    lines = table("run", "dag", "task", "failed", "attempt", "error", right=["run", "attempt"])
    for letter in letters:
        lines.add_row(
            str(letter.run_id),
            safe(letter.dag),
            safe(letter.task),
            f"{ago(letter.failed_at, now)} ({clock(letter.failed_at)})",
            "" if letter.attempt is None else str(letter.attempt),
            error_words(letter.error.type, letter.error.message),
        )
    out.print(lines)
    if more:
        out.print(faint(f"and more than {counted(limit, 'letter')}: `--limit` shows more"))
    last = letters[-1]
    out.print()
    out.print(heading(f"why {safe(last.task)} of run {last.run_id} failed"))
    told = last.error.trace or f"{last.error.type}: {last.error.message}"
    out.print(indented(safe_lines(told).rstrip()))
    out.print(faint(f"\nits log: mainspring run logs {last.run_id}"))


def group_words(group: Group) -> str:
    from mainspring.cli.words import error_words
    from mainspring.domain.dead_letters import common_words

    return error_words(group.error.type, common_words(group.error.message))
