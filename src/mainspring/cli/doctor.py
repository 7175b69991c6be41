"""`mainspring doctor`: checks, each with a verdict, what was found and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option
from mainspring.domain.errors import MainspringError
from mainspring.domain.states import Tone

if TYPE_CHECKING:
    from mainspring.config import Config
    from mainspring.http import HttpClient
    from mainspring.store.checks import Check, Health

_TONES = {
    "ok": Tone.GOOD,
    "warning": Tone.WARN,
    "broken": Tone.BAD,
    "unknown": Tone.QUIET,
}


@click.command()
@json_option
@home_option
def doctor(as_json: bool, home: Path | None) -> int:
    """Check that all is well, and say what to do if not. Exit 1 if something is broken.

    Where only MAINSPRING_URL is set, the server looks; promises are checked beside the database.
    """
    from mainspring.cli.output import print_json
    from mainspring.cli.session import only_a_server, with_http
    from mainspring.config import load_config
    from mainspring.store.checks import health

    if only_a_server(home):
        found = with_http(home, _ask)
        if not as_json:
            for check in found.checks:
                _print(check)
    else:
        found = health(asyncio.run(_check_all(load_config(home=home), quiet=as_json)))
    if as_json:
        print_json(found)
    else:
        _print_summary(found.checks)
    return DONE if found.ok else FAILED


async def _ask(client: HttpClient) -> Health:
    return await client.care.doctor()


async def _check_all(config: Config, *, quiet: bool) -> list[Check]:
    checks = []
    async for check in _checks(config):
        checks.append(check)
        if not quiet:
            _print(check)
    return checks


async def _checks(config: Config) -> AsyncIterator[Check]:
    """What cannot be asked ends the list."""
    from mainspring.client.link import reached
    from mainspring.config import database_url
    from mainspring.logs.checking import objects_check
    from mainspring.store.checks import Check, Verdict, checks, promises

    try:
        url = database_url(config)
        async with reached(url, name="doctor") as connection:
            where = "the given database" if config.database_url else f"embedded, {config.home}"
            yield Check("database", Verdict.OK, f"answers ({where})")
            async for check in checks(connection):
                yield check
            yield await objects_check(config.object_store, config.home)
            async for check in promises(connection):
                yield check
    except MainspringError as error:
        name = "schema" if "schema" in error.message else "database"
        yield Check(name, Verdict.BROKEN, error.message, error.hint)


# --- on the screen ------------------------------------------------------------------------


def _print(check: Check) -> None:
    """Promises that hold are counted at the end; everything else has a line."""
    from rich.text import Text

    from mainspring.cli.output import FAINT, bullets, console, mark_text
    from mainspring.cli.words import safe
    from mainspring.store.checks import Verdict

    if _is_promise(check) and check.verdict is Verdict.OK:
        return
    name = "promise" if _is_promise(check) else check.name
    found = Text(safe(check.found))
    if _is_promise(check):
        found = Text(f"{_promise_words(check.name)} {safe(check.found)}")
    if check.fix:
        found.append(f"\n{safe(check.fix)}", style=FAINT)
    mark = mark_text(_TONES[check.verdict]).append(f" {name:<9}", style="bold")
    console().print(bullets([(mark, found)]))


def _print_summary(checks: list[Check]) -> None:
    from rich.text import Text

    from mainspring.cli.output import STYLES, bullets, console, mark_text
    from mainspring.cli.words import counted
    from mainspring.store.checks import Verdict

    out = console()
    held = [check for check in checks if _is_promise(check) and check.verdict is Verdict.OK]
    if held:
        mark = mark_text(Tone.GOOD).append(" promises ", style="bold")
        out.print(bullets([(mark, f"{counted(len(held), 'check')} held")]))
    broken = sum(check.verdict is Verdict.BROKEN for check in checks)
    warnings = sum(check.verdict is Verdict.WARNING for check in checks)
    out.print()
    if broken:
        out.print(Text(f"{counted(broken, 'thing')} broken", style=STYLES[Tone.BAD]))
    elif warnings:
        out.print(Text(f"All works; {counted(warnings, 'warning')}.", style=STYLES[Tone.WARN]))
    else:
        out.print(Text("All is well.", style=STYLES[Tone.GOOD]))


def _is_promise(check: Check) -> bool:
    return check.name[:1].isupper()


def _promise_words(name: str) -> str:
    """`N1_every_run_has_all_its_tasks` → `N1 every run has all its tasks:`."""
    return name.replace("_", " ") + ":"
