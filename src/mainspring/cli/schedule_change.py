"""`mainspring schedule create|put|pause|resume|remove`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mainspring.cli.options import home_option, json_option, parameter_options
from mainspring.cli.schedule_options import (
    given_options,
    given_times,
    policy_options,
    time_options,
    zone_options,
)
from mainspring.cli.stored_schedules import complete_schedule
from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.store.schedule_changes import Changed, Intent
    from mainspring.store.schedule_reading import ScheduleLine

_F = TypeVar("_F", bound=Callable[..., Any])

_TIMES_HINT = "give them by `--cron`, `--every`, `--at` or `--rrule`"


def intent_options(command: _F) -> _F:
    """All that can be said of a schedule."""
    for decorate in (home_option, json_option, _note_option("What it is for.")):
        command = decorate(command)
    command = policy_options(parameter_options(command))
    return time_options(zone_options(command))


def _note_option(words: str) -> Callable[[_F], _F]:
    return click.option("--note", metavar="TEXT", help=words)


@click.command()
@click.argument("name")
@click.option("--dag", required=True, metavar="DAG", help="What it starts.")
@intent_options
def create(name: str, dag: str, as_json: bool, home: Path | None, **given: Any) -> None:
    """Make schedule NAME for a dag; `--at now` fires at once, several times are one schedule."""
    from mainspring.cli.session import with_client

    with_client(home, _create, name, {"dag": dag, **given}, as_json)


@click.command()
@click.argument("name", shell_complete=complete_schedule)
@click.option("--dag", metavar="DAG", help="What it starts.")
@click.option(
    "--version",
    type=click.IntRange(0),
    help="Only if this version is in force; 0: only if there is none.",
)
@intent_options
def put(
    name: str, dag: str | None, version: int | None, as_json: bool, home: Path | None, **given: Any
) -> None:
    """Change schedule NAME, or make it. What is not said stays as it is; `none` takes it back.

    New times replace all of the old ones. Each `-p` changes one parameter, `--params` replaces all.
    """
    from mainspring.cli.session import with_client

    with_client(home, _put, name, {"dag": dag, **given}, version, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@_note_option("Why, for those who will wonder.")
@json_option
@home_option
def pause(names: Sequence[str], note: str | None, as_json: bool, home: Path | None) -> None:
    """Let schedules fire no more until `schedule resume`. What they have started goes on."""
    from mainspring.cli.session import with_client

    with_client(home, _pause, names, note, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@json_option
@home_option
def resume(names: Sequence[str], as_json: bool, home: Path | None) -> None:
    """Let schedules fire again, from their next fire on; those of the pause are skipped."""
    from mainspring.cli.session import with_client

    with_client(home, _resume, names, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@json_option
@home_option
def remove(names: Sequence[str], as_json: bool, home: Path | None) -> None:
    """Remove schedules. Runs that they have started go on, and history keeps what they fired."""
    from mainspring.cli.session import with_client

    with_client(home, _remove, names, as_json)


# --- what is meant ------------------------------------------------------------------------


async def given_intent(
    client: Client, name: str, given: dict[str, Any], line: ScheduleLine | None
) -> Intent:
    """What was typed, over what the schedule is, if there is one."""
    import msgspec

    from mainspring.cli.given import given_dag, given_parameters
    from mainspring.schedule.parsing import schedule_from
    from mainspring.store.schedule_changes import Intent

    times, options, at_once = given_times(given), given_options(given), None
    if line is None:
        if given["dag"] is None:
            raise NotFoundError(
                f"there is no schedule {shown(name)}",
                hint="to make it, say what it starts (`--dag`) and when",
            )
        if not times:
            raise InputError("the schedule has no times", hint=_TIMES_HINT)
        spec, at_once = await client.scheduler.spec(times, options)
    elif times:
        spec, at_once = await client.scheduler.spec(times, {})
        spec = schedule_from(msgspec.structs.replace(line.spec, when=spec.when), **options)
    else:
        spec = schedule_from(line.spec, **options)
    dag = await given_dag(client, given["dag"] or (line.dag if line else ""))
    parameters: dict[str, Any] = {}
    if line is not None and line.parameters is not None and given["params"] is None:
        parameters = msgspec.json.decode(line.parameters)
    parameters |= given_parameters(dag.spec, given["pairs"], given["params"])
    note = given["note"] if given["note"] is not None else (line.note if line else "")
    return Intent(name, dag.name, spec, parameters, note, at_once=at_once)


async def _create(client: Client, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.given import person

    intent = await given_intent(client, name, given, None)
    await client.scheduler.create(intent, person())
    await _tell(client, name, "made", as_json)


async def _put(
    client: Client, name: str, given: dict[str, Any], version: int | None, as_json: bool
) -> None:
    from mainspring.cli.given import person
    from mainspring.cli.stored_schedules import find_schedule
    from mainspring.client.scheduling import is_so

    while True:
        line = await find_schedule(client, name)
        seen = line.version if line else 0
        intent = await given_intent(client, name, given, line)
        if line is not None and is_so(line, intent) and version in (None, seen):
            await _tell(client, name, None, as_json)
            return
        try:
            # What is kept is what was seen, so that nobody's change in between is lost.
            await client.scheduler.put(intent, seen if version is None else version, person())
        except ConflictError:
            now = await find_schedule(client, name)
            if version is not None or (now.version if now else 0) == seen:
                raise
        else:
            await _tell(client, name, "changed" if seen else "made", as_json)
            return


# --- several at a time --------------------------------------------------------------------


async def _pause(client: Client, names: Sequence[str], note: str | None, as_json: bool) -> None:
    from mainspring.cli.given import person

    names = await _known(client, names)
    done = await client.pause_schedule(*names, note=note, by=person())
    await _tell_all(client, names, done, "is paused", "was paused already", as_json)


async def _resume(client: Client, names: Sequence[str], as_json: bool) -> None:
    names = await _known(client, names)
    done = await client.resume_schedule(*names)
    await _tell_all(client, names, done, "goes on", "was not paused", as_json)


async def _remove(client: Client, names: Sequence[str], as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe
    from mainspring.store.schedule_shapes import schedule_removed

    names = await _known(client, names)
    await client.remove_schedule(*names)
    if as_json:
        print_json([schedule_removed(name) for name in names])
        return
    for name in names:
        console().print(f"schedule {safe(name)} is removed; runs that it made go on")


async def _known(client: Client, names: Sequence[str]) -> list[str]:
    """All of them, before one is touched."""
    from mainspring.cli.stored_schedules import unknown_schedule
    from mainspring.store.schedule_reading import list_schedules

    wanted = list(dict.fromkeys(names))
    found = {line.name for line in await client.ask(list_schedules, names=wanted)}
    for name in wanted:
        if name not in found:
            raise await unknown_schedule(client, name)
    return wanted


# --- on the screen ------------------------------------------------------------------------


async def _tell(client: Client, name: str, done: str | None, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.stored_schedules import given_schedule
    from mainspring.cli.words import safe
    from mainspring.schedule.explaining import explain
    from mainspring.store.schedule_shapes import schedule_change

    line = await given_schedule(client, name)
    if as_json:
        print_json(schedule_change(line, changed=done is not None))
        return
    out, words = console(), explain(line.spec, name)
    what = (
        f"is {done}, version {line.version}" if done else f"is so already, version {line.version}"
    )
    out.print(f"schedule {safe(name)} of {safe(line.dag)} {what}: {safe(words)}")
    await _tell_next(client, line)


async def _tell_next(client: Client, line: ScheduleLine) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import ago, safe
    from mainspring.store.reading import read_clock

    out = console()
    if line.paused_at is not None:
        out.print(faint(f"paused; let it go on: mainspring schedule resume {safe(line.name)}"))
    elif line.next_fire_at is None:
        out.print(faint("no fire is left"))
    else:
        now = await client.ask(read_clock)
        at = local_words(line.next_fire_at, line.spec)
        out.print(faint(f"next fire: {at}, {ago(line.next_fire_at, now)}"))


async def _tell_all(
    client: Client,
    names: Sequence[str],
    done: Sequence[Changed],
    changed: str,
    unchanged: str,
    as_json: bool,
) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.stored_schedules import given_schedule
    from mainspring.cli.words import safe
    from mainspring.store.schedule_shapes import schedule_change

    lines = [await given_schedule(client, name) for name in names]
    if as_json:
        told = zip(lines, done, strict=True)
        print_json([schedule_change(line, changed=each.changed) for line, each in told])
        return
    for line, each in zip(lines, done, strict=True):
        console().print(f"schedule {safe(line.name)} {changed if each.changed else unchanged}")
        await _tell_next(client, line)
