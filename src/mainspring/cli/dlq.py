"""`mainspring dlq`: dead letters by error, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from mainspring.cli.errors import DONE
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store.letter_shapes import DeadLetter, LetterGroup

_F = TypeVar("_F", bound=Callable[..., Any])

_LETTERS_SHOWN = 20
_PAGE = 500
"""How many groups or letters one request tells."""
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
    from mainspring.cli.session import with_http

    show_them = _list_discarded if discarded else _list
    with_http(home, show_them, Filter(dag, task, error, since), as_json)


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
    from mainspring.cli.session import with_http

    with_http(home, _show, which, limit, as_json)


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
    from mainspring.cli.session import with_http
    from mainspring.domain.notes import checked_note

    wanted = Filter(dag, task, error, since)
    if which is None and wanted.empty and not everything:
        raise click.UsageError(f"say what to {verb}: a group, a run, a filter, or `--all`")
    if everything and (which is not None or not wanted.empty):
        raise click.UsageError("give `--all`, or say which, not both")
    if which is not None and not wanted.empty:
        raise click.UsageError("give a group or a run, or filters, not both")
    order = Order("retry" if verb == "retry" else "discard", checked_note(note) or "", yes, as_json)
    return with_http(home, carry_out, order, which, of_run, wanted) or DONE


# --- choosing -----------------------------------------------------------------------------


def is_group(which: str) -> bool:
    return re.fullmatch(r"e-[0-9a-f]{4,32}", which) is not None


async def chosen_groups(
    client: HttpClient, wanted: Filter, until: datetime | None = None
) -> list[LetterGroup]:
    """The groups that the filter leaves."""
    return [
        group
        async for group in client.dead_letters.each(
            dag=wanted.dag,
            task=wanted.task,
            error=wanted.error,
            since=await given_since(client, wanted.since),
            until=until,
            limit=_PAGE,
        )
    ]


async def given_since(client: HttpClient, text: str | None) -> datetime | None:
    from datetime import timedelta

    from mainspring.cli.named import clock
    from mainspring.cli.words import parse_moment
    from mainspring.domain.durations import parse_duration

    if text is None:
        return None
    moment = parse_moment(text)
    if moment is not None:
        return moment
    length = timedelta(seconds=parse_duration(text, what="`--since`"))
    return await clock(client) - length


async def given_letters(
    client: HttpClient, which: str, task: str | None = None
) -> tuple[int, list[DeadLetter]]:
    """The run that was meant, and its dead letters, or those of one task of it."""
    from mainspring.cli.named import named_run
    from mainspring.domain.errors import NotFoundError

    run_id = await named_run(client, which)
    letters = (await client.dead_letters.list_of_run(run_id, task=task)).items
    if not letters:
        what = f"task `{task}` of run {run_id} is no dead letter"
        raise NotFoundError(
            what if task is not None else f"run {run_id} has no dead letter",
            hint=f"`mainspring run show {run_id}` tells how it stands",
        )
    return run_id, letters


# --- showing ------------------------------------------------------------------------------


async def _list(client: HttpClient, wanted: Filter, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, error_words, number, safe
    from mainspring.store.dead_letters import LETTERS_COUNTED_MAX

    groups = await chosen_groups(client, wanted)
    if as_json:
        print_json(groups)
        return
    out = console()
    if not groups:
        out.print("There are no dead letters." if wanted.empty else "There are no such letters.")
        return
    now = await clock(client)
    lines = table(
        "group", "dag", "task", "count", "first", "last", "run", "error", right=["count", "run"]
    )
    for group in groups:
        lines.add_row(
            group.id,
            safe(group.dag),
            safe(group.task),
            number(group.count, at_most=LETTERS_COUNTED_MAX),
            ago(group.first_at, now),
            ago(group.last_at, now),
            str(group.example.run),
            error_words(group.error_type, group.message),
        )
    out.print(lines)
    if out.is_terminal:
        out.print(faint("look at one: mainspring dlq show GROUP"))


async def _list_discarded(client: HttpClient, wanted: Filter, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, error_words, safe

    found, cursor, since = [], None, await given_since(client, wanted.since)
    for _ in range(_DISCARDED_MAX // _PAGE):
        page = await client.dead_letters.list_discarded(
            dag=wanted.dag,
            task=wanted.task,
            error=wanted.error,
            since=since,
            limit=_PAGE,
            cursor=cursor,
        )
        found += page.items
        if (cursor := page.next) is None:
            break
    if as_json:
        print_json(found)
        return
    out = console()
    if not found:
        out.print("No dead letter was discarded." if wanted.empty else "There are no such letters.")
        return
    now = await clock(client)
    lines = table("run", "dag", "task", "failed", "discarded", "by", "note", "error", right=["run"])
    for letter in found:
        lines.add_row(
            str(letter.run),
            safe(letter.dag),
            safe(letter.task),
            ago(letter.failed_at, now),
            ago(letter.discarded_at, now),
            safe(letter.discarded_by),
            safe(letter.note),
            error_words(letter.error.type, letter.error.message),
        )
    out.print(lines)
    if cursor is not None:
        out.print(faint(f"the last {_DISCARDED_MAX:,} were looked at"))


async def _show(client: HttpClient, which: str, limit: int, as_json: bool) -> None:
    from mainspring.cli.named import clock as read_clock
    from mainspring.cli.output import console, faint, heading, indented, print_json, table
    from mainspring.cli.words import ago, clock, counted, error_words, safe, safe_lines

    letters: list[DeadLetter] = []
    if is_group(which):
        async for letter in client.dead_letters.each_group(which, limit=min(limit + 1, _PAGE)):
            letters.append(letter)
            if len(letters) > limit:
                break
    else:
        _, letters = await given_letters(client, which)
    more, letters = len(letters) > limit, letters[:limit]
    if as_json:
        print_json({"more": more, "letters": letters})
        return
    out, now = console(), await read_clock(client)
    lines = table("run", "dag", "task", "failed", "attempt", "error", right=["run", "attempt"])
    for letter in letters:
        lines.add_row(
            str(letter.run),
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
    out.print(heading(f"why {safe(last.task)} of run {last.run} failed"))
    told = last.error.trace or f"{last.error.type}: {last.error.message}"
    out.print(indented(safe_lines(told).rstrip()))
    out.print(faint(f"\nits log: mainspring run logs {last.run}"))
