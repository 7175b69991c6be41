"""`mainspring simulate`: every fire of an installation on a virtual clock, and when they pile up.

With a folder of dags it asks nobody. What cannot be known beforehand is said, not guessed:
how long runs take, and so what `overlap` does.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import FOLDER, home_option, json_option
from mainspring.domain.errors import InputError, MainspringError

if TYPE_CHECKING:
    from rich.console import Console

    from mainspring.bundles.report import FileProblem
    from mainspring.http import HttpClient
    from mainspring.schedule.simulating import Load, Range, SimulatedFire, SimulatedSchedule
    from mainspring.schedule.zones import Zone

LINES_SHOWN = 20
_PAGE = 500
"""How many schedules one request tells."""
_BUSIEST = 5
_NAMED = 3
_SLOW_FROM = 50
"""From so many schedules on a bar tells how far it is."""


class _Found(NamedTuple):
    schedules: list[SimulatedSchedule]
    notes: list[str]
    problems: Sequence[FileProblem] = ()


@click.command()
@click.argument("folder", type=FOLDER, required=False)
@click.option("--from", "since", metavar="INSTANT", help="Fires from here on. [default: now]")
@click.option(
    "--to", "until", metavar="INSTANT", help="Fires before this. [default: a day after `--from`]"
)
@click.option("--timezone", default="UTC", show_default=True, help="Whose clock is shown.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"List so many fires at most. [default: {LINES_SHOWN}; all with `--json`]",
)
@click.option("--with-paused", is_flag=True, help="As though no schedule were paused.")
@json_option
@home_option
def simulate(
    folder: Path | None,
    since: str | None,
    until: str | None,
    timezone: str,
    limit: int | None,
    with_paused: bool,
    as_json: bool,
    home: Path | None,
) -> int:
    """Every fire of all schedules, and how many start together.

    Of the dags in FOLDER, without asking; else of the schedules that are stored. How long runs take
    is not known here: fires that `overlap` would skip or hold back count like any other.
    """
    from mainspring.cli.given import given_moment
    from mainspring.cli.session import with_http
    from mainspring.schedule.simulating import range_of
    from mainspring.schedule.zones import zone_named

    zone = zone_named(timezone)
    beginning = (
        given_moment(since, "--from")
        if since is not None
        else datetime.now(UTC).replace(second=0, microsecond=0)
    )
    end = given_moment(until, "--to") if until is not None else beginning + timedelta(days=1)
    within = range_of(beginning, end)
    if folder is not None:
        if not folder.is_dir():
            raise InputError(f"there is no folder `{folder}`")
        found = asyncio.run(_in_folder(folder.resolve()))
    else:
        found = with_http(home, _stored, with_paused)
    load = _measured(found.schedules, within)
    if as_json:
        _print_document(found, load, within, limit)
    else:
        _Screen(found, load, within, zone).show(LINES_SHOWN if limit is None else limit)
    return FAILED if found.problems else DONE


async def _stored(client: HttpClient, with_paused: bool) -> _Found:
    from mainspring.cli.words import counted
    from mainspring.schedule.calendars import Calendar, CalendarSpec
    from mainspring.schedule.simulating import SimulatedSchedule
    from mainspring.schedule.timetable import Timetable
    from mainspring.store.schedule_reading import ScheduleState

    lines = [line async for line in client.schedules.each(limit=_PAGE)]
    named = {name for line in lines for name in line.spec.exclude}
    calendars = {
        each.name: Calendar(
            CalendarSpec(tuple(each.dates), tuple(each.weekdays), each.country, each.subdivision)
        )
        for each in ((await client.calendars.list()).items if named else ())
        if each.name in named
    }
    paused = [line for line in lines if line.state is ScheduleState.PAUSED]
    notes = []
    if paused and not with_paused:
        which = counted(len(paused), "schedule")
        is_are = "is" if len(paused) == 1 else "are"
        notes.append(f"{which} {is_are} paused and left out; `--with-paused` counts them in")
    schedules = []
    for line in lines:
        if line.state is ScheduleState.PAUSED and not with_paused:
            continue
        try:
            timetable = Timetable(line.spec, line.name, calendars)
        except MainspringError as error:
            notes.append(f"schedule `{line.name}` is left out: {error.message}")
        else:
            schedules.append(
                SimulatedSchedule(line.name, line.dag, timetable, line.fired, line.cursor_at)
            )
    return _Found(schedules, notes)


async def _in_folder(folder: Path) -> _Found:
    from mainspring.bundles.read import read_bundle
    from mainspring.schedule.simulating import SimulatedSchedule
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.schedule.timetable import Timetable

    report = await read_bundle(folder)
    schedules, unknown = [], set[str]()
    for dag in report.dags:
        for schedule in dag.schedules:
            spec = msgspec.convert(schedule.spec, ScheduleSpec)
            unknown |= set(spec.exclude)
            spec = msgspec.structs.replace(spec, exclude=())
            schedules.append(
                SimulatedSchedule(schedule.name, dag.name, Timetable(spec, schedule.name))
            )
    notes = [
        f"calendar `{name}` is in the database, which is not asked: its days are not left out"
        for name in sorted(unknown)
    ]
    return _Found(schedules, notes, report.problems)


def _measured(schedules: Sequence[SimulatedSchedule], within: Range) -> Load:
    from mainspring.cli.output import error_console, is_terminal
    from mainspring.schedule.simulating import measure

    if not is_terminal() or len(schedules) < _SLOW_FROM:
        return measure(schedules, within)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("counting"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("schedules"),
        console=error_console(),
        transient=True,
    )
    with progress:
        task = progress.add_task("", total=len(schedules))
        return measure(schedules, within, lambda: progress.advance(task))


def _notes(found: _Found, load: Load) -> list[str]:
    """What the numbers do not say."""
    from mainspring.cli.words import counted
    from mainspring.schedule.firing import is_tracked

    notes = list(found.notes)
    held = [each for each in found.schedules if is_tracked(each.timetable.spec)]
    if held:
        which = "schedule depends" if len(held) == 1 else "schedules depend"
        notes.append(
            f"{len(held):,} {which} on how runs go (`overlap`, `pause_after_failures`), which"
            " cannot be known before: each fire is counted"
        )
    if load.late:
        notes.append(f"jitter moves {counted(load.late, 'start')} beyond the end")
    excluded = sum(tally.excluded for tally in load.tallies)
    if excluded:
        notes.append(f"calendars leave out {counted(excluded, 'fire')}")
    return notes


def _note(fire: SimulatedFire) -> str | None:
    from mainspring.schedule.previewing import note_of
    from mainspring.schedule.timetable import Fire

    timetable = fire.schedule.timetable
    before = timetable.last_fire(fire.fire_at - timedelta(seconds=1))
    since = fire.fire_at - timedelta(seconds=1) if before is None else before.at
    return note_of(timetable, Fire(fire.fire_at, fire.excluded), since)


# --- as a document --------------------------------------------------------------------------


def _print_document(found: _Found, load: Load, within: Range, limit: int | None) -> None:
    """One document, written as it is found: there may be millions of fires."""
    from mainspring.schedule.bounds import moment_of
    from mainspring.schedule.explaining import explain
    from mainspring.schedule.simulating import simulate, starting_in

    head = {
        "from": moment_of(within.low),
        "to": moment_of(within.high),
        "starts": load.starts,
        "excluded": sum(tally.excluded for tally in load.tallies),
        "late": load.late,
        "notes": _notes(found, load),
        "problems": found.problems,
        "schedules": [
            {
                "name": each.name,
                "dag": each.dag,
                "words": explain(each.timetable.spec, each.name),
                "fires": tally.fires,
                "excluded": tally.excluded,
                "overlap": each.overlap,
            }
            for each, tally in zip(found.schedules, load.tallies, strict=True)
        ],
        "busiest": [
            {
                "minute": minute,
                "starts": starts,
                "schedules": [each.name for each in starting_in(found.schedules, minute, within)],
            }
            for minute, starts in load.busiest(_BUSIEST)
        ],
        "load": [
            {"minute": moment_of((load.first_minute + i) * 60), "starts": starts}
            for i, starts in enumerate(load.minutes)
            if starts
        ],
    }
    text = msgspec.json.format(msgspec.json.encode(head), indent=2).decode()
    write = sys.stdout.write
    write(text.removesuffix("\n}") + ',\n  "fires": [')
    between = "\n    "
    for fire in islice(simulate(found.schedules, within), limit):
        write(between + msgspec.json.encode(_shape(fire)).decode())
        between = ",\n    "
    write("\n  ]\n}\n")


def _shape(fire: SimulatedFire) -> dict[str, Any]:
    return {
        "fire_at": fire.fire_at,
        "start_at": None if fire.excluded is not None else fire.start_at,
        "schedule": fire.schedule.name,
        "dag": fire.schedule.dag,
        "excluded": fire.excluded,
        "note": _note(fire),
    }


# --- on the screen --------------------------------------------------------------------------


class _Screen:
    def __init__(self, found: _Found, load: Load, within: Range, zone: Zone) -> None:
        from mainspring.cli.output import console

        self._out: Console = console()
        self._found = found
        self._load = load
        self._within = within
        self._zone = zone

    def show(self, limit: int) -> None:
        self._head()
        fires = sum(tally.fires + tally.excluded for tally in self._load.tallies)
        if fires and limit:
            self._out.print()
            self._list(limit, fires)
        if self._load.starts:
            self._out.print()
            self._map()
            self._out.print()
            self._busiest()
        self._foot()

    def _head(self) -> None:
        from mainspring.cli.output import heading
        from mainspring.cli.words import counted, safe

        words = (
            f"{counted(self._load.starts, 'start')} of"
            f" {counted(len(self._found.schedules), 'schedule')}"
            f" from {self._shown(self._within.low)} to {self._shown(self._within.high)}"
            f" ({safe(self._zone.name)})"
        )
        self._out.print(heading(words))

    def _list(self, limit: int, fires: int) -> None:
        from mainspring.cli.output import faint, table
        from mainspring.cli.words import counted, safe
        from mainspring.schedule.bounds import seconds_of
        from mainspring.schedule.simulating import simulate

        def shown() -> Iterator[SimulatedFire]:
            return islice(simulate(self._found.schedules, self._within), limit)

        moved = any(fire.start_at != fire.fire_at for fire in shown())
        columns = ["fire", *(["start"] if moved else []), "schedule", "dag", "note"]
        lines = table(*columns, fold=["note"])
        for fire in shown():
            start = fire.start_at.astimezone(self._zone.local(0).tzinfo)
            begins = "" if fire.excluded is not None else f"{start:%H:%M:%S.%f}"[:-3]
            lines.add_row(
                f"{self._zone.local(seconds_of(fire.fire_at)):%a %Y-%m-%d %H:%M:%S}",
                *([begins] if moved else []),
                safe(fire.schedule.name),
                safe(fire.schedule.dag),
                faint(safe(_note(fire) or "")),
            )
        self._out.print(lines)
        if fires > limit:
            self._out.print(faint(f"and {counted(fires - limit, 'fire')} more; see `--limit`"))

    def _map(self) -> None:
        from mainspring.cli.heat_map import grid_of, heat_map
        from mainspring.cli.output import faint

        grid = grid_of(self._load, self._zone)
        self._out.print(faint(grid.words))
        *rows, legend = heat_map(grid)
        for row in rows:
            self._out.print(row, no_wrap=True, overflow="crop")
        self._out.print(legend)

    def _busiest(self) -> None:
        from mainspring.cli.output import faint, table
        from mainspring.cli.words import number, safe
        from mainspring.schedule.bounds import seconds_of
        from mainspring.schedule.simulating import starting_in

        lines = table("busiest minute", "starts", "schedules", right=["starts"], fold=["schedules"])
        for minute, starts in self._load.busiest(_BUSIEST):
            names = [each.name for each in starting_in(self._found.schedules, minute, self._within)]
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            lines.add_row(
                f"{self._zone.local(seconds_of(minute)):%a %Y-%m-%d %H:%M}",
                number(starts),
                faint(safe(", ".join(names[:_NAMED]) + more)),
            )
        self._out.print(lines)

    def _foot(self) -> None:
        from mainspring.cli.output import error_console, faint
        from mainspring.cli.words import safe, shortened

        notes = _notes(self._found, self._load)
        if notes:
            self._out.print()
        for note in notes:
            self._out.print(faint(safe(note[:1].upper() + note[1:] + ".")))
        for problem in self._found.problems:
            place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
            error_console().print(
                f"not read: {shortened(place, 200)}: {shortened(problem.message, 300)}",
                style="yellow",
            )

    def _shown(self, instant: int) -> str:
        return f"{self._zone.local(instant):%Y-%m-%d %H:%M}"
