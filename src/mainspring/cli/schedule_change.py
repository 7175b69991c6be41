"""`mainspring schedule create|put|pause|resume|remove`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
from mainspring.domain.names import name_problem, shown
from mainspring.domain.notes import checked_note

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.http.models import WrittenSpec
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.store.schedule_shapes import Schedule, ScheduleChange, ScheduleDocument

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
    from mainspring.cli.session import with_http

    with_http(home, _create, name, {"dag": dag, **given}, as_json)


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
    from mainspring.cli.session import with_http

    with_http(home, _put, name, {"dag": dag, **given}, version, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@_note_option("Why, for those who will wonder.")
@json_option
@home_option
def pause(names: Sequence[str], note: str | None, as_json: bool, home: Path | None) -> None:
    """Let schedules fire no more until `schedule resume`. What they have started goes on."""
    from mainspring.cli.session import with_http

    with_http(home, _pause, names, note, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@json_option
@home_option
def resume(names: Sequence[str], as_json: bool, home: Path | None) -> None:
    """Let schedules fire again, from their next fire on; those of the pause are skipped."""
    from mainspring.cli.session import with_http

    with_http(home, _resume, names, as_json)


@click.command()
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule
)
@json_option
@home_option
def remove(names: Sequence[str], as_json: bool, home: Path | None) -> None:
    """Remove schedules. Runs that they have started go on, and history keeps what they fired."""
    from mainspring.cli.session import with_http

    with_http(home, _remove, names, as_json)


# --- what is meant ------------------------------------------------------------------------


class Order(NamedTuple):
    """All that a schedule is to be."""

    dag: str
    spec: ScheduleSpec
    written: WrittenSpec
    """The same for the server, which knows when `now` is."""
    parameters: dict[str, Any]
    note: str


async def given_order(
    client: HttpClient, name: str, given: dict[str, Any], line: ScheduleDocument | None
) -> Order:
    """What was typed, over what the schedule is, if there is one."""
    import msgspec

    from mainspring.cli.named import parameters_of
    from mainspring.http.written import written_spec
    from mainspring.schedule.parsing import NOW, schedule_from, when_from

    times, options = given_times(given), given_options(given)
    if line is None:
        if given["dag"] is None:
            raise NotFoundError(
                f"there is no schedule {shown(name)}",
                hint="to make it, say what it starts (`--dag`) and when",
            )
        if not times:
            raise InputError("the schedule has no times", hint=_TIMES_HINT)
        spec = schedule_from(await _instants(client, times), **options)
    elif times:
        spec = schedule_from(await _instants(client, times))
        spec = schedule_from(msgspec.structs.replace(line.spec, when=spec.when), **options)
    else:
        spec = schedule_from(line.spec, **options)
    written = written_spec(spec)
    if NOW in times:
        kept = tuple(NOW if each == NOW else when_from(each) for each in times)
        written = msgspec.structs.replace(written, when=kept)
    dag = await client.dags.show(given["dag"] or (line.dag if line else ""))
    parameters: dict[str, Any] = {}
    if line is not None and given["params"] is None:
        parameters = msgspec.json.decode(line.parameters)
    parameters |= parameters_of(dag, given["pairs"], given["params"])
    note = given["note"] if given["note"] is not None else (line.note if line else "")
    return Order(dag.name, spec, written, parameters, checked_note(note) or "")


async def _instants(client: HttpClient, times: Sequence[Any]) -> list[Any]:
    """The times, with an instant for `now`."""
    from mainspring.cli.named import clock
    from mainspring.schedule.parsing import NOW, when_from
    from mainspring.schedule.specs import OnceSpec

    if NOW not in times:
        return list(times)
    now = (await clock(client)).replace(microsecond=0)
    return [OnceSpec(now) if each == NOW else when_from(each) for each in times]


async def _create(client: HttpClient, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.stored_schedules import find_schedule

    _check_name(name)
    order = await given_order(client, name, given, None)
    if await find_schedule(client, name) is not None:
        raise ConflictError(
            f"there is a schedule `{name}` already",
            hint="choose another name, or change it: `mainspring schedule put`",
        )
    await _tell(client, await _sent(client, name, order, 0), "made", as_json)


async def _put(
    client: HttpClient, name: str, given: dict[str, Any], version: int | None, as_json: bool
) -> None:
    from mainspring.cli.stored_schedules import find_schedule

    _check_name(name)
    while True:
        line = await find_schedule(client, name)
        seen = line.version if line else 0
        order = await given_order(client, name, given, line)
        if version not in (None, seen):
            raise _outdated(name, line, version)
        try:
            # What is kept is what was seen, so that nobody's change in between is lost.
            done = await _sent(client, name, order, seen)
        except ConflictError:
            now = await find_schedule(client, name)
            if version is not None or (now.version if now else 0) == seen:
                raise
        else:
            await _tell(client, done, "changed" if seen else "made", as_json)
            return


async def _sent(client: HttpClient, name: str, order: Order, seen: int) -> ScheduleChange:
    return await client.schedules.put(
        name,
        dag=order.dag,
        spec=order.written,
        parameters=order.parameters,
        note=order.note,
        if_match=seen or None,
    )


def _check_name(name: str) -> None:
    if problem := name_problem(name):
        raise InputError(f"the schedule's name {shown(name)} {problem}")


def _outdated(name: str, line: ScheduleDocument | None, version: int | None) -> ConflictError:
    if line is None:
        return ConflictError(
            f"there is no schedule `{name}` of version {version}",
            hint="leave `--version` away to make it",
        )
    return ConflictError(
        f"schedule `{name}` is at version {line.version}, not {version}:"
        f" {line.words}, for dag `{line.dag}`",
        hint=f"`mainspring schedule show {name}` shows all of it",
    )


# --- several at a time --------------------------------------------------------------------


async def _pause(client: HttpClient, names: Sequence[str], note: str | None, as_json: bool) -> None:
    note = checked_note(note)
    done = await client.schedules.pause_several(schedules=_named(names), note=note)
    await _tell_all(client, done.items, "is paused", "was paused already", as_json)


async def _resume(client: HttpClient, names: Sequence[str], as_json: bool) -> None:
    done = await client.schedules.resume_several(schedules=_named(names))
    await _tell_all(client, done.items, "goes on", "was not paused", as_json)


async def _remove(client: HttpClient, names: Sequence[str], as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe

    lines = await _known(client, names)
    # The server refuses those of a file: they go first, so that nothing is removed before that.
    lines.sort(key=lambda line: not line.in_code)
    done = [await client.schedules.delete(line.name) for line in lines]
    if as_json:
        print_json(done)
        return
    for each in done:
        console().print(f"schedule {safe(each.name)} is removed; runs that it made go on")


def _named(names: Sequence[str]) -> list[str]:
    from mainspring.cli.stored_schedules import check_name

    for name in names:
        check_name(name)
    return list(names)


async def _known(client: HttpClient, names: Sequence[str]) -> list[ScheduleDocument]:
    """All of them, before one is touched."""
    from mainspring.cli.stored_schedules import given_schedule

    return [await given_schedule(client, name) for name in dict.fromkeys(names)]


# --- on the screen ------------------------------------------------------------------------


async def _tell(client: HttpClient, line: ScheduleChange, done: str, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe

    if as_json:
        print_json(line)
        return
    version = f"version {line.version}"
    what = f"is {done}, {version}" if line.changed else f"is so already, {version}"
    words = f"schedule {safe(line.name)} of {safe(line.dag)} {what}: {safe(line.words)}"
    console().print(words)
    await _tell_next(client, line)


async def _tell_next(client: HttpClient, line: Schedule) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import ago, safe

    out = console()
    if line.pause is not None:
        out.print(faint(f"paused; let it go on: mainspring schedule resume {safe(line.name)}"))
    elif line.next_fire_at is None:
        out.print(faint("no fire is left"))
    else:
        now = await clock(client)
        at = local_words(line.next_fire_at, line.spec)
        out.print(faint(f"next fire: {at}, {ago(line.next_fire_at, now)}"))


async def _tell_all(
    client: HttpClient,
    done: Sequence[ScheduleChange],
    changed: str,
    unchanged: str,
    as_json: bool,
) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe

    if as_json:
        print_json(done)
        return
    for line in done:
        console().print(f"schedule {safe(line.name)} {changed if line.changed else unchanged}")
        await _tell_next(client, line)
