"""`mainspring job`: commands, requests and tasks under a name; making one has its own file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.job_create import create_job, job_time_options
from mainspring.cli.options import home_option, json_option
from mainspring.domain.jobs import JobKind, JobStatus
from mainspring.domain.states import RunState

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.store.job_reading import JobLine

_job = click.argument("job")
_note_option = click.option("--note", metavar="TEXT", help="Why, for those who will wonder.")
_version_option = click.option(
    "--version", type=click.IntRange(1), metavar="N", help="Only if the job is still at this one."
)
_limit_option = click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="How many at most.",
)
_before_option = click.option(
    "--before", type=click.IntRange(1), metavar="N", help="Only those with a lower number."
)


@click.group()
def job() -> None:
    """Make, show, trigger, reschedule, pause and cancel jobs."""


job.add_command(create_job)


@job.command("list")
@click.option(
    "--status",
    type=click.Choice([status.value for status in JobStatus]),
    help="Only those that stand so.",
)
@click.option(
    "--kind", type=click.Choice([kind.value for kind in JobKind]), help="Only those of this kind."
)
@click.option("--name", "beginning", default="", metavar="TEXT", help="Only names that begin so.")
@_before_option
@_limit_option
@json_option
@home_option
def list_jobs(
    status: str | None,
    kind: str | None,
    beginning: str,
    before: int | None,
    limit: int,
    as_json: bool,
    home: Path | None,
) -> None:
    """The newest jobs first."""
    from mainspring.cli.session import with_client

    with_client(home, _list, status, kind, beginning, before, limit, as_json)


@job.command("show")
@_job
@json_option
@home_option
def show_job(job: str, as_json: bool, home: Path | None) -> None:
    """One job, by its name or number: what it does, how it stands, last and next run."""
    from mainspring.cli.session import with_client

    with_client(home, _show, job, as_json)


@job.command("runs")
@_job
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in RunState]),
    help="Only runs in this state; repeatable.",
)
@click.option("--since", metavar="INSTANT", help="Only runs made from then on.")
@click.option("--until", metavar="INSTANT", help="Only runs made before.")
@click.option("--before", type=click.IntRange(1), metavar="RUN", help="Only runs older than this.")
@_limit_option
@json_option
@home_option
def show_runs(job: str, as_json: bool, home: Path | None, **given: Any) -> None:
    """Runs of a job, the newest first."""
    from mainspring.cli.session import with_client

    with_client(home, _runs, job, given, as_json)


@job.command("trigger")
@_job
@click.option("--key", help="One run per key, however often this is asked.")
@click.option("--wait", is_flag=True, help="Follow the run; exit 0 only if it succeeded.")
@json_option
@home_option
def trigger_job(job: str, key: str | None, wait: bool, as_json: bool, home: Path | None) -> int:
    """Run a job now, whatever its schedule says."""
    from mainspring.cli.errors import DONE
    from mainspring.cli.session import with_client, with_http
    from mainspring.cli.watch import follow_run

    run_id = with_client(home, _trigger, job, key, wait, as_json)
    return with_http(home, follow_run, run_id, as_json) if wait else DONE


@job.command("pause")
@_job
@_note_option
@_version_option
@json_option
@home_option
def pause_job(
    job: str, note: str | None, version: int | None, as_json: bool, home: Path | None
) -> None:
    """Let the schedule of a job fire no more until it is resumed; what runs goes on."""
    from mainspring.cli.session import with_client

    with_client(home, _pause, job, note, version, as_json)


@job.command("resume")
@_job
@_version_option
@json_option
@home_option
def resume_job(job: str, version: int | None, as_json: bool, home: Path | None) -> None:
    """Let a job go on with its first fire after now."""
    from mainspring.cli.session import with_client

    with_client(home, _resume, job, version, as_json)


@job.command("cancel")
@_job
@_note_option
@_version_option
@json_option
@home_option
def cancel_job(
    job: str, note: str | None, version: int | None, as_json: bool, home: Path | None
) -> None:
    """Let nothing of a job start any more, and stop its open runs."""
    from mainspring.cli.session import with_client

    with_client(home, _cancel, job, note, version, as_json)


@job.command("reschedule")
@_job
@job_time_options
@click.option("--none", "unscheduled", is_flag=True, help="By no schedule any more.")
@_version_option
@json_option
@home_option
def reschedule_job(job: str, as_json: bool, home: Path | None, **given: Any) -> None:
    """Let a job run by another schedule from now on, or by none."""
    from mainspring.cli.session import with_client

    with_client(home, _reschedule, job, given, as_json)


async def _list(
    client: Client,
    status: str | None,
    kind: str | None,
    beginning: str,
    before: int | None,
    limit: int,
    as_json: bool,
) -> None:
    from mainspring.cli.job_words import status_text, subject_words
    from mainspring.cli.output import console, one_line, print_json, table
    from mainspring.cli.words import ago, safe
    from mainspring.store import job_shapes

    found = await client.list_jobs(
        status=None if status is None else JobStatus(status),
        kind=None if kind is None else JobKind(kind),
        beginning=beginning,
        before=before,
        limit=limit,
    )
    if as_json:
        print_json([job_shapes.job_line(line) for line in found])
        return
    out = console()
    if not found:
        chosen = status or kind or beginning or before
        out.print("There are no such jobs." if chosen else "There are no jobs yet.")
        return
    lines = table(*("job", "name", "status", "last run", "next run", "what"), right=["job"])
    for line in found:
        last = line.last_run
        lines.add_row(
            str(line.id),
            safe(line.name),
            status_text(line.status),
            "" if last is None else ago(last.finished_at or last.due_at, line.read_at),
            "" if line.next_run_at is None else f"{line.next_run_at:%Y-%m-%d %H:%M:%S}",
            one_line(safe(subject_words(line))),
        )
    out.print(lines)


async def _show(client: Client, name: str, as_json: bool) -> None:
    from mainspring.cli.output import print_json
    from mainspring.store import job_shapes

    line = await client.job(name)
    if as_json:
        print_json(job_shapes.job_line(line))
    else:
        _print_whole(line)


def _print_whole(line: JobLine) -> None:
    from rich.text import Text

    from mainspring.cli.job_words import (
        given_parameters,
        option_words,
        status_text,
        subject_words,
        when_words,
    )
    from mainspring.cli.output import console, pairs, state_text
    from mainspring.cli.words import moment_words, safe, value_words
    from mainspring.domain.states import RUN

    now, out, last = line.read_at, console(), line.last_run
    given = given_parameters(line)
    shown = given.get("env", {}) if line.kind is JobKind.COMMAND else given
    if line.kind is JobKind.HTTP:
        shown = given["path"]
    by = f", by {safe(line.created_by)}" if line.created_by else ""
    ran: Text | None = None
    if last is not None:
        ran = Text.assemble(f"run {last.id}, ", state_text(RUN, last.state), " ")
        ran.append(moment_words(last.finished_at or last.started_at or last.due_at, now))
    progress = ""
    if last is not None and last.finished_at is None and line.progress_percent is not None:
        progress = f"{line.progress_percent:.0f} % {safe(line.progress_text or '')}".strip()
    out.print(
        Text.assemble((f"job {line.id}", "bold"), f"  {line.name}  ", status_text(line.status))
    )
    out.print(
        pairs(
            [
                ("runs", safe(subject_words(line))),
                ("parameters", "\n".join(f"{safe(n)}={value_words(v)}" for n, v in shown.items())),
                ("schedule", safe(when_words(line))),
                ("next run", moment_words(line.next_run_at, now) if line.next_run_at else None),
                ("last run", ran),
                ("progress", progress),
                ("options", safe(option_words(line))),
                ("created", moment_words(line.created_at, now) + by),
                (
                    "paused",
                    _deed(line.pause and (line.pause.since, line.pause.by, line.pause.note), now),
                ),
                (
                    "cancelled",
                    _deed(line.cancel and (line.cancel.at, line.cancel.by, line.cancel.note), now),
                ),
                ("version", str(line.version)),
            ]
        )
    )


def _deed(done: Any, now: Any) -> str | None:
    from mainspring.cli.words import moment_words, safe

    if done is None:
        return None
    at, by, note = done
    words = moment_words(at, now)
    if by:
        words += f", by {safe(by)}"
    return f"{words}: {safe(note)}" if note else words


async def _runs(client: Client, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.given import given_moment
    from mainspring.cli.output import console, print_json, state_text, table
    from mainspring.cli.words import ago
    from mainspring.domain.states import RUN
    from mainspring.store import shapes
    from mainspring.store.reading import read_run

    found = await client.job_runs(
        name,
        states=[RunState(state) for state in given["states"]] or None,
        since=None if given["since"] is None else given_moment(given["since"], "--since"),
        until=None if given["until"] is None else given_moment(given["until"], "--until"),
        before=None if given["before"] is None else await client.ask(read_run, given["before"]),
        limit=given["limit"],
    )
    if as_json:
        print_json([shapes.run_line(run) for run in found])
        return
    out = console()
    if not found:
        out.print("There are no such runs.")
        return
    lines = table(*("run", "state", "trigger", "created", "ended"), right=["run"])
    for run in found:
        lines.add_row(
            str(run.id),
            state_text(RUN, run.state),
            run.trigger,
            ago(run.created_at, run.read_at),
            "" if run.finished_at is None else ago(run.finished_at, run.read_at),
        )
    out.print(lines)


async def _trigger(client: Client, name: str, key: str | None, wait: bool, as_json: bool) -> int:
    from mainspring.cli.given import person
    from mainspring.cli.output import console, faint, print_json
    from mainspring.store import shapes
    from mainspring.store.reading import read_run

    run_id = await client.trigger_job(name, idempotency_key=key, by=person())
    if wait:
        return run_id
    run = await client.ask(read_run, run_id)
    if as_json:
        print_json(shapes.run_line(run))
    else:
        out = console()
        out.print(f"run {run.id} of job {name}")
        out.print(faint(f"follow it: mainspring run watch {run.id}"))
    return run_id


async def _pause(
    client: Client, name: str, note: str | None, version: int | None, as_json: bool
) -> None:
    from mainspring.cli.given import person

    line = await client.pause_job(name, note=note, version=version, by=person())
    _tell(line, "starts nothing by itself until it is resumed", as_json)


async def _resume(client: Client, name: str, version: int | None, as_json: bool) -> None:
    line = await client.resume_job(name, version=version)
    _tell(line, "goes on", as_json)


async def _cancel(
    client: Client, name: str, note: str | None, version: int | None, as_json: bool
) -> None:
    from mainspring.cli.given import person

    line = await client.cancel_job(name, note=note, version=version, by=person())
    _tell(line, "is cancelled: nothing of it starts any more", as_json)


async def _reschedule(client: Client, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.given import person
    from mainspring.cli.job_create import job_times
    from mainspring.cli.job_words import when_words
    from mainspring.cli.schedule_options import given_options
    from mainspring.domain.errors import InputError

    times = await job_times(client, given)
    if bool(times) == given["unscheduled"]:
        raise InputError(
            "say when the job is to run, or `--none`",
            hint="such as `--cron '0 2 * * *'`, `--every 90m`, `--at` or `--in`",
        )
    options = given_options(given)
    line = await client.reschedule_job(
        name, times or None, version=given["version"], by=person(), **options
    )
    _tell(
        line, f"runs {when_words(line)}" if line.schedule else "has no schedule any more", as_json
    )


def _tell(line: JobLine, words: str, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import moment_words
    from mainspring.store import job_shapes

    if as_json:
        print_json(job_shapes.job_line(line))
        return
    out = console()
    out.print(f"job {line.name} {words}")
    if line.next_run_at is not None:
        out.print(f"next {moment_words(line.next_run_at, line.read_at)}")
