"""`mainspring dag versions|diff|rollback`: what a dag was, and going back to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.domain.differences import Changed, Difference, Parts
    from mainspring.http import HttpClient

_LINES_MAX = 40
"""Of one kind of change; more are counted."""


@click.command()
@click.argument("name")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@json_option
@home_option
def versions(name: str, limit: int, as_json: bool, home: Path | None) -> None:
    """The versions of dag NAME, newest first.

    A version counts changes of the graph: tasks, edges, options, parameters. Other changes of the
    folder are new code of the same version.
    """
    from mainspring.cli.session import with_http

    with_http(home, _versions, name, limit, as_json)


@click.command()
@click.argument("name")
@click.argument("before", type=click.IntRange(1))
@click.argument("after", type=click.IntRange(1))
@json_option
@home_option
def diff(name: str, before: int, after: int, as_json: bool, home: Path | None) -> None:
    """What changed in dag NAME from one version to another."""
    from mainspring.cli.session import with_http

    with_http(home, _diff, name, before, after, as_json)


@click.command()
@click.argument("name")
@click.argument("version", type=click.IntRange(1))
@json_option
@home_option
def rollback(name: str, version: int, as_json: bool, home: Path | None) -> None:
    """Let triggers of dag NAME use this version, with its code.

    Runs that exist stay on theirs. It holds until a file that concerns the dag changes: its own, or
    one that defines no other dag. The version that the folder has ends it at once.
    """
    from mainspring.cli.session import with_http

    with_http(home, _rollback, name, version, as_json)


async def _versions(client: HttpClient, name: str, limit: int, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, number, size
    from mainspring.store.dags import APP_SNAPSHOT

    found = (await client.dags.list_versions(name, limit=limit)).items
    if as_json:
        print_json(found)
        return
    now = await clock(client)
    lines = table("version", "tasks", "made", "snapshot", "code", "", right=["version", "tasks"])
    for line in found:
        marks = ["in use"] if line.in_use else []
        if line.in_folder and not line.in_use:
            marks.append("in the folder")
        kept = faint("no longer kept") if line.code_bytes is None else size(line.code_bytes)
        lines.add_row(
            Text(str(line.version), style="bold" if line.in_use else ""),
            number(line.task_count),
            ago(line.created_at, now),
            line.snapshot[:12],
            "installed" if line.snapshot == APP_SNAPSHOT else kept,
            ", ".join(marks),
        )
    console().print(lines)


async def _diff(client: HttpClient, name: str, before: int, after: int, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe

    differ = await client.dags.diff_versions(name, before=before, after=after)
    if as_json:
        print_json(differ)
        return
    out, found = console(), differ.difference
    out.print(f"{safe(name)} version {before} → {after}")
    if not found:
        out.print("  nothing")
    for line in difference_lines(found):
        out.print(f"  {line}")


async def _rollback(client: HttpClient, name: str, version: int, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import safe

    done = await client.dags.roll_back(name, version=version)
    if as_json:
        print_json(done)
        return
    out = console()
    before = "" if done.version_before == version else f" instead of {done.version_before}"
    out.print(f"{safe(name)} now uses version {version}{before}, snapshot {done.snapshot[:12]}")
    if done.rolled_back_at is None:
        out.print(faint("this is what the folder of dags has: the dag follows it again"))
    else:
        out.print(faint("until its file, or one that defines no other dag, changes"))


# --- a difference in words ------------------------------------------------------------------


def difference_lines(found: Difference) -> Iterator[str]:
    for change in found.dag:
        yield f"~ {_change(change.field, change.before, change.after)}"
    yield from _part_lines("parameter", found.parameters)
    yield from _part_lines("task", found.tasks)
    yield from _listed("+ edge ", [f"{before} → {after}" for before, after in found.edges.added])
    yield from _listed("- edge ", [f"{before} → {after}" for before, after in found.edges.removed])


def _part_lines(kind: str, parts: Parts) -> Iterator[str]:
    yield from _listed(f"+ {kind} ", parts.added)
    yield from _listed(f"- {kind} ", parts.removed)
    yield from _listed(f"~ {kind} ", [_changed(part) for part in parts.changed])


def _listed(lead: str, lines: Sequence[str]) -> Iterator[str]:
    from mainspring.cli.words import safe

    for line in lines[:_LINES_MAX]:
        yield f"{lead}{safe(line)}"
    if len(lines) > _LINES_MAX:
        yield f"{lead}… {len(lines) - _LINES_MAX:,} more; `--json` lists them all"


def _changed(part: Changed) -> str:
    words = (_change(change.field, change.before, change.after) for change in part.changes)
    return f"{part.name}: {'; '.join(words)}"


def _change(field: str, before: Any, after: Any) -> str:
    from mainspring.cli.words import value_words

    def said(value: Any) -> str:
        return "none" if value is None else value_words(value, 60)

    return f"{field} {said(before)} → {said(after)}"
