"""`mainspring backfill create`: make runs for times of the past, or see what that would be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.errors import DONE, INTERRUPTED
from mainspring.cli.options import home_option, json_option, parameter_options
from mainspring.cli.schedule_options import time_options

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.store.backfill_shapes import Backfill, BackfillEstimate
    from mainspring.store.shapes import DagWhole


@click.command("create")
@click.option("--schedule", metavar="NAME", help="Of this schedule, as it was in force then.")
@click.option("--dag", metavar="NAME", help="Of this dag, at the times given here.")
@time_options
@click.option("--timezone", metavar="ZONE", help="An IANA zone. [default: UTC]")
@click.option(
    "--dst-gap",
    type=click.Choice(["run_after_gap", "skip"]),
    help="When the clock leaves a time out. [default: run_after_gap]",
)
@click.option(
    "--dst-fold",
    type=click.Choice(["first", "last", "both"]),
    help="When the clock shows a time twice. [default: first]",
)
@click.option("--exclude", multiple=True, metavar="CALENDAR", help="Leave its days out.")
@click.option("--from", "since", required=True, metavar="INSTANT", help="The range: from here on,")
@click.option("--to", "until", metavar="INSTANT", help="up to here, not included. [default: now]")
@click.option(
    "--reprocess",
    type=click.Choice(["none", "failed", "all"]),
    default="none",
    show_default=True,
    help="Which instants run again that have a run.",
)
@click.option(
    "--concurrency", type=int, default=1, show_default=True, help="So many runs at a time."
)
@click.option("--newest-first", is_flag=True, help="The latest instants before the earlier ones.")
@parameter_options
@click.option(
    "--priority",
    type=int,
    default=0,
    show_default=True,
    help="At most this for its tasks; live work has 5 unless its dag says otherwise.",
)
@click.option("--note", metavar="TEXT", help="Why, for those who will wonder.")
@click.option("--dry-run", is_flag=True, help="Only show what would run.")
@click.option(
    "--count",
    type=click.IntRange(0, 100_000),
    default=20,
    show_default=True,
    help="With --dry-run: how many instants to show.",
)
@click.option("--wait", is_flag=True, help="Follow it; exit 0 only if all its runs succeeded.")
@json_option
@home_option
def create_backfill(
    dry_run: bool, count: int, wait: bool, as_json: bool, home: Path | None, **given: Any
) -> int:
    """Make runs for times of the past: of a schedule, or of a dag with `--cron` and the like."""
    from mainspring.cli.session import with_http

    made: list[int] = []
    try:
        return with_http(home, _create, given, dry_run, count, wait, as_json, made)
    except KeyboardInterrupt:
        if made:
            click.echo(f"\nbackfill {made[0]} goes on", err=True)
            click.echo(f"hint: `mainspring backfill cancel {made[0]}` would end it", err=True)
        return INTERRUPTED


async def _create(
    client: HttpClient,
    given: dict[str, Any],
    dry_run: bool,
    count: int,
    wait: bool,
    as_json: bool,
    made: list[int],
) -> int:
    """`made` tells the caller the number as soon as there is one, also if this is interrupted."""
    from mainspring.cli.backfill_watch import follow_backfill
    from mainspring.cli.output import print_json

    order = await _order(client, given)
    if dry_run:
        preview = await client.backfills.estimate(count=count, **order)
        if as_json:
            print_json(preview)
        else:
            _print_preview(preview, given["concurrency"])
        return DONE
    line = await client.backfills.create(**order)
    made.append(line.id)
    if wait:
        return await follow_backfill(client, line.id, as_json)
    if as_json:
        print_json(line)
    else:
        _print_made(line)
    return DONE


async def _order(client: HttpClient, given: dict[str, Any]) -> dict[str, Any]:
    """What a request says of it."""
    from mainspring.cli.given import given_moment
    from mainspring.cli.named import clock, parameters_of
    from mainspring.domain.notes import checked_note
    from mainspring.http.written import written_spec
    from mainspring.schedule.backfilling import Reprocess
    from mainspring.store.backfill_orders import BackfillOrder, check_order

    until, spec, now = given["until"], _spec(given), await clock(client)
    order = BackfillOrder(
        since=given_moment(given["since"], "--from"),
        until=now if until is None else given_moment(until, "--to"),
        schedule=given["schedule"],
        dag=given["dag"],
        spec=spec,
        reprocess=Reprocess(given["reprocess"]),
        concurrency=given["concurrency"],
        newest_first=given["newest_first"],
        priority=given["priority"],
        note=checked_note(given["note"]),
    )
    check_order(order, now)
    said = {name: getattr(order, name) for name in BackfillOrder.__struct_fields__}
    said["spec"] = None if spec is None else written_spec(spec)
    dag = await _dag(client, given)
    return said | {"parameters": parameters_of(dag, given["pairs"], given["params"])}


async def _dag(client: HttpClient, given: dict[str, Any]) -> DagWhole:
    """What would run, or an error that knows the nearest name."""
    name = given["dag"]
    if given["schedule"] is not None:
        name = (await client.schedules.show(given["schedule"], fires=0)).dag
    return await client.dags.show(name)


def _spec(given: dict[str, Any]) -> ScheduleSpec | None:
    from mainspring.cli.schedule_options import given_options, given_times
    from mainspring.domain.errors import InputError
    from mainspring.schedule.parsing import schedule_from

    written, options = given_times(given), given_options(given)
    if options and not written:
        typed = ", ".join(f"`--{name.replace('_', '-')}`" for name in options)
        raise InputError(f"{typed}: is for times that are given here, and none is")
    return schedule_from(written, **options) if written else None


def _print_made(line: Backfill) -> None:
    from mainspring.cli.backfill_words import subject_words
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import counted, safe

    out = console()
    instants = counted(line.instants, "instant")
    out.print(f"backfill {line.id} of {safe(subject_words(line))}: {instants}")
    out.print(faint(f"follow it: mainspring backfill watch {line.id}"))


def _print_preview(preview: BackfillEstimate, concurrency: int) -> None:
    from mainspring.cli.backfill_words import estimate_words, preview_words
    from mainspring.cli.output import console, faint, heading, table
    from mainspring.cli.words import safe
    from mainspring.schedule.backfilling import Outcome

    out = console()
    estimate = estimate_words(preview, concurrency)
    out.print(heading(preview_words(preview) + (f"; {estimate}" if estimate else "")))
    for remark in preview.remarks:
        out.print(faint(safe(remark)))
    if not preview.fires:
        return
    lines = table("fire (UTC)", "data from", "version", "what", fold=["what"], right=["version"])
    for instant in preview.fires:
        match instant.outcome:
            case Outcome.EXCLUDED:
                what = f"excluded by {safe(instant.excluded_by or '')}"
            case Outcome.EXISTS:
                what = "left: " + _run_words(instant.run, instant.run_state)
            case _:
                what = "runs"
                if instant.run is not None:
                    what = "runs again: " + _run_words(instant.run, instant.run_state)
        lines.add_row(
            f"{instant.fire_at:%Y-%m-%d %H:%M:%S}",
            f"{instant.interval_start:%Y-%m-%d %H:%M:%S}",
            "" if instant.version is None else str(instant.version),
            what,
        )
    out.print(lines)
    more = preview.instants - len(preview.fires)
    if more:
        out.print(faint(f"and {more:,} more; --count shows them"))


def _run_words(run_id: int | None, state: str | None) -> str:
    if run_id is None:
        return "it waits in the schedule's buffer"
    return f"run {run_id} {state or 'is no longer kept'}"
