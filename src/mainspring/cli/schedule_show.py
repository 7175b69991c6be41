"""`mainspring schedule show`: one schedule, what it does next, and what became of its fires."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from mainspring.cli.options import home_option, json_option
from mainspring.cli.stored_schedules import complete_schedule

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mainspring.http import HttpClient
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.store.schedule_shapes import LedgerEntry, ScheduleDocument

_FIRES_MAX = 100_000
_VERSIONS_SHOWN = 10


@click.command()
@click.argument("name", shell_complete=complete_schedule)
@click.option(
    "--fires",
    default=10,
    show_default=True,
    type=click.IntRange(0, _FIRES_MAX),
    help="How many entries of the ledger.",
)
@json_option
@home_option
def show(name: str, fires: int, as_json: bool, home: Path | None) -> None:
    """One schedule: what it is, its next fires, what became of the last ones, its versions."""
    from mainspring.cli.session import with_http

    with_http(home, _show, name, fires, as_json)


async def _show(client: HttpClient, name: str, fires: int, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import print_json
    from mainspring.cli.stored_schedules import given_schedule

    found = await given_schedule(client, name, fires=fires)
    if as_json:
        print_json(found)
    else:
        _print(found, await clock(client))


# --- on the screen ------------------------------------------------------------------------


def _print(line: ScheduleDocument, now: datetime) -> None:
    from rich.text import Text

    from mainspring.cli.output import FAINT, console
    from mainspring.cli.words import safe

    out = console()
    out.print(
        Text.assemble(
            (safe(line.name), "bold"),
            (f"  version {line.version}", FAINT),
            ("  paused" if line.pause else "", "yellow"),
            (f"  {line.state}" if line.state == "finished" else "", FAINT),
        )
    )
    _print_facts(out, line, now)
    for problem in line.problems:
        out.print(Text(f"  {safe(problem)}", style="bold red"))
    if line.next_fires or not line.problems:
        _print_coming(out, line, now)
    _print_ledger(out, line)
    _print_versions(out, line)


def _print_facts(out: Console, line: ScheduleDocument, now: datetime) -> None:
    from mainspring.cli.output import pairs
    from mainspring.cli.words import clock, pause_words, safe, shortened
    from mainspring.domain.durations import format_duration

    spec, pause = line.spec, None
    if line.pause is not None:
        pause = pause_words(line.pause, now)
    elif line.dag_paused:
        pause = "its dag is paused"
    parameters = "" if bytes(line.parameters) == b"{}" else bytes(line.parameters).decode()
    missed = f"{spec.misfire}, later than {format_duration(spec.grace_seconds)}"
    if spec.max_age_seconds is not None:
        missed += f", at most {format_duration(spec.max_age_seconds)} old"
    if spec.max_count is not None:
        missed += f", at most {spec.max_count:,}"
    after = spec.pause_after_failures
    most = "" if spec.overlap_max is None else f", {spec.overlap_max:,} at a time"
    out.print(
        pairs(
            [
                ("when", safe(line.words)),
                ("written", safe("; ".join(written_words(spec)))),
                ("dag", safe(line.dag)),
                ("parameters", shortened(parameters, 200)),
                ("overlap", f"{spec.overlap}{most}"),
                ("missed", missed),
                ("clocks", f"gap {spec.dst_gap}, fold {spec.dst_fold}"),
                (
                    "interval",
                    "since the fire before"
                    if spec.interval_seconds is None
                    else format_duration(spec.interval_seconds),
                ),
                ("fired", f"{line.fired:,} of {spec.limit:,}" if spec.limit else None),
                ("failures", f"{line.failures:,} of {after:,} before it pauses" if after else None),
                ("paused", pause),
                ("note", shortened(line.note, 500)),
                ("from", "the file of its dag" if line.in_code else "made by hand"),
                ("changed", clock(line.changed_at)),
            ]
        )
    )


def written_words(spec: ScheduleSpec) -> list[str]:
    """Each time as it was given."""
    from mainspring.domain.durations import format_duration
    from mainspring.schedule.specs import (
        CronSpec,
        DatesSpec,
        IntervalSpec,
        OnceSpec,
        PluginSpec,
        RecurrenceSpec,
    )

    words = []
    for when in spec.when:
        match when:
            case CronSpec(expression=expression):
                words.append(expression)
            case IntervalSpec(seconds=seconds, phase_seconds=phase):
                shift = f" phase {format_duration(phase)}" if phase else ""
                words.append(f"every {format_duration(seconds)}{shift}")
            case OnceSpec(at=at):
                words.append(f"{at:%Y-%m-%dT%H:%M:%SZ}")
            case DatesSpec(at=several):
                more = f" and {len(several) - 3:,} more" if len(several) > 3 else ""
                words.append(", ".join(f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in several[:3]) + more)
            case RecurrenceSpec(rule=rule):
                words.append(" ".join(rule.split()))
            case PluginSpec(name=plugin, address=address):
                words.append(f"{plugin}:{address}")
            case _:
                assert_never(when)
    return words


def _print_coming(out: Console, line: ScheduleDocument, now: datetime) -> None:
    from mainspring.cli.output import faint, heading, indented, table
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import ago
    from mainspring.domain.durations import format_duration

    out.print()
    if not line.next_fires:
        out.print(heading("No fire is left"))
        return
    out.print(heading("Would fire, if it were not paused" if line.pause else "Fires next"))
    lines = table("at", "", "note", fold=["note"])
    for fire in line.next_fires:
        notes = [fire.note] if fire.note else []
        if fire.start_at != fire.fire_at:
            late = (fire.start_at - fire.fire_at).total_seconds()
            notes.append(f"starts {format_duration(round(late))} later")
        lines.add_row(
            local_words(fire.fire_at, line.spec),
            ago(fire.fire_at, now),
            faint("; ".join(notes)),
        )
    out.print(indented(lines))


def _print_ledger(out: Console, line: ScheduleDocument) -> None:
    from mainspring.cli.output import faint, heading, indented, table
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import counted

    if not line.fires:
        return
    out.print()
    waiting = f", {counted(line.buffered, 'fire')} waiting" if line.buffered else ""
    out.print(heading(f"What became of its fires{waiting}"))
    lines = table("fire", "outcome", "", fold=[""])
    for fire in line.fires:
        at = local_words(fire.fire_at, line.spec)
        if fire.count > 1:
            until = local_words(fire.until_at, line.spec)
            at = f"{counted(fire.count, 'fire')} from {at} to {until}"
        lines.add_row(at, _outcome(fire), faint(_became(fire, line)))
    out.print(indented(lines))


def _outcome(fire: LedgerEntry) -> Text:
    from rich.text import Text

    from mainspring.cli.output import MARKS, STYLES
    from mainspring.domain.states import Tone

    tone = {"fired": Tone.GOOD, "buffered": Tone.PENDING}.get(fire.outcome, Tone.QUIET)
    if fire.reason in ("refused", "misfire"):
        tone = Tone.WARN
    return Text(f"{MARKS[tone]} {fire.outcome}", style=STYLES[tone])


def _became(fire: LedgerEntry, line: ScheduleDocument) -> str:
    from mainspring.domain.names import listed
    from mainspring.schedule.firing import REASONS, Reason

    late = (fire.decided_at - fire.fire_at).total_seconds()
    if fire.run_id is not None:
        from mainspring.cli.words import roughly

        return f"run {fire.run_id}" + (f", {roughly(late)} late" if late >= 5 else "")
    if fire.reason is not None:
        return f"{fire.reason}: {REASONS[Reason(fire.reason)]}"
    if line.open_runs:
        runs = listed(str(run_id) for run_id in line.open_runs[:3]).replace("`", "")
        more = f" and {len(line.open_runs) - 3} more" if len(line.open_runs) > 3 else ""
        return f"waits for the end of run {runs}{more}"
    if line.pause is not None or line.dag_paused:
        return "waits: the schedule or its dag is paused"
    return "starts any moment"


def _print_versions(out: Console, line: ScheduleDocument) -> None:
    from mainspring.cli.output import faint, heading, indented, table
    from mainspring.cli.words import clock, safe, shortened

    if len(line.versions) < 2:
        return
    out.print()
    out.print(heading("Versions"))
    lines = table("version", "in force from", "until", "by", "when", right=["version"])
    for version in line.versions[:_VERSIONS_SHOWN]:
        until = version.in_force_until
        lines.add_row(
            str(version.version),
            clock(version.in_force_from),
            clock(until) if until else "",
            safe(version.changed_by),
            shortened(version.words, 120),
        )
    out.print(indented(lines))
    if len(line.versions) > _VERSIONS_SHOWN:
        more = len(line.versions) - _VERSIONS_SHOWN
        out.print(faint(f"  … {more:,} more; `--json` lists them all"))
