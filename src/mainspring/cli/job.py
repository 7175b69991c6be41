"""`mainspring job`: commands, requests and tasks under a name; making one has its own file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.job_create import create_job, job_time_options
from mainspring.cli.options import home_option, json_option
from mainspring.domain.jobs import JobKind, JobStatus
from mainspring.domain.notes import checked_note
from mainspring.domain.states import RunState

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.http import HttpClient
    from mainspring.store.job_shapes import Job
    from mainspring.store.shapes import Run

_PAGE = 500
"""How many one request tells."""

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
    from mainspring.cli.session import with_http

    with_http(home, _list, status, kind, beginning, before, limit, as_json)


@job.command("show")
@_job
@json_option
@home_option
def show_job(job: str, as_json: bool, home: Path | None) -> None:
    """One job, by its name or number: what it does, how it stands, last and next run."""
    from mainspring.cli.session import with_http

    with_http(home, _show, job, as_json)


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
    from mainspring.cli.session import with_http

    with_http(home, _runs, job, given, as_json)


@job.command("trigger")
@_job
@click.option("--key", help="One run per key, however often this is asked.")
@click.option("--wait", is_flag=True, help="Follow the run; exit 0 only if it succeeded.")
@json_option
@home_option
def trigger_job(job: str, key: str | None, wait: bool, as_json: bool, home: Path | None) -> int:
    """Run a job now, whatever its schedule says."""
    from mainspring.cli.session import with_http

    return with_http(home, _trigger, job, key, wait, as_json)


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
    from mainspring.cli.session import with_http

    with_http(home, _pause, job, note, version, as_json)


@job.command("resume")
@_job
@_version_option
@json_option
@home_option
def resume_job(job: str, version: int | None, as_json: bool, home: Path | None) -> None:
    """Let a job go on with its first fire after now."""
    from mainspring.cli.session import with_http

    with_http(home, _resume, job, version, as_json)


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
    from mainspring.cli.session import with_http

    with_http(home, _cancel, job, note, version, as_json)


@job.command("reschedule")
@_job
@job_time_options
@click.option("--none", "unscheduled", is_flag=True, help="By no schedule any more.")
@_version_option
@json_option
@home_option
def reschedule_job(job: str, as_json: bool, home: Path | None, **given: Any) -> None:
    """Let a job run by another schedule from now on, or by none."""
    from mainspring.cli.session import with_http

    with_http(home, _reschedule, job, given, as_json)


async def _list(
    client: HttpClient,
    status: str | None,
    kind: str | None,
    beginning: str,
    before: int | None,
    limit: int,
    as_json: bool,
) -> None:
    from mainspring.cli.job_words import status_text, subject_words
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, one_line, print_json, table
    from mainspring.cli.words import ago, safe

    found: list[Job] = []
    async for job in client.jobs.each(
        status=None if status is None else JobStatus(status),
        kind=None if kind is None else JobKind(kind),
        name=beginning,
        before=before,
        limit=min(limit, _PAGE),
    ):
        found.append(job)
        if len(found) == limit:
            break
    if as_json:
        print_json(found)
        return
    out, now = console(), await clock(client)
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
            "" if last is None else ago(last.finished_at or last.due_at, now),
            "" if line.next_run_at is None else f"{line.next_run_at:%Y-%m-%d %H:%M:%S}",
            one_line(safe(subject_words(line))),
        )
    out.print(lines)


async def _show(client: HttpClient, name: str, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import print_json

    line = await client.jobs.show(name)
    if as_json:
        print_json(line)
    else:
        _print_whole(line, await clock(client))


def _print_whole(line: Job, now: datetime) -> None:
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

    out, last = console(), line.last_run
    given = given_parameters(line)
    shown = given.get("env", {}) if line.kind is JobKind.COMMAND else given
    if line.kind is JobKind.HTTP:
        shown = given["path"]
    by = f", by {safe(line.created_by)}" if line.created_by else ""
    ran: Text | None = None
    if last is not None:
        ran = Text.assemble(f"run {last.id}, ", state_text(RUN, last.state), " ")
        ran.append(moment_words(last.finished_at or last.started_at or last.due_at, now))
    progress, paused, cancelled = "", line.paused, line.cancelled
    if last is not None and last.finished_at is None and line.progress is not None:
        progress = f"{line.progress.percent:.0f} % {safe(line.progress.text or '')}".strip()
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
                    _deed(paused and (paused.since, paused.by, paused.note), now),
                ),
                (
                    "cancelled",
                    _deed(cancelled and (cancelled.at, cancelled.by, cancelled.note), now),
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


async def _runs(client: HttpClient, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.given import given_moment
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, print_json, state_text, table
    from mainspring.cli.words import ago
    from mainspring.domain.states import RUN

    found: list[Run] = []
    async for each in client.jobs.each_run(
        name,
        state=[RunState(state) for state in given["states"]] or None,
        since=None if given["since"] is None else given_moment(given["since"], "--since"),
        until=None if given["until"] is None else given_moment(given["until"], "--until"),
        before=given["before"],
        limit=min(given["limit"], _PAGE),
    ):
        found.append(each)
        if len(found) == given["limit"]:
            break
    if as_json:
        print_json(found)
        return
    out, now = console(), await clock(client)
    if not found:
        out.print("There are no such runs.")
        return
    lines = table(*("run", "state", "trigger", "created", "ended"), right=["run"])
    for run in found:
        lines.add_row(
            str(run.id),
            state_text(RUN, run.state),
            run.trigger,
            ago(run.created_at, now),
            "" if run.finished_at is None else ago(run.finished_at, now),
        )
    out.print(lines)


async def _trigger(
    client: HttpClient, name: str, key: str | None, wait: bool, as_json: bool
) -> int:
    from mainspring.cli.errors import DONE
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.watch import follow_run

    run = await client.jobs.trigger(name, idempotency_key=key)
    if wait:
        return await follow_run(client, run.id, as_json)
    if as_json:
        print_json(run)
    else:
        out = console()
        out.print(f"run {run.id} of job {name}")
        out.print(faint(f"follow it: mainspring run watch {run.id}"))
    return DONE


async def _pause(
    client: HttpClient, name: str, note: str | None, version: int | None, as_json: bool
) -> None:
    line = await client.jobs.change(name, paused=True, note=checked_note(note), if_match=version)
    await _tell(client, line, "starts nothing by itself until it is resumed", as_json)


async def _resume(client: HttpClient, name: str, version: int | None, as_json: bool) -> None:
    line = await client.jobs.change(name, paused=False, if_match=version)
    await _tell(client, line, "goes on", as_json)


async def _cancel(
    client: HttpClient, name: str, note: str | None, version: int | None, as_json: bool
) -> None:
    line = await client.jobs.change(name, cancelled=True, note=checked_note(note), if_match=version)
    await _tell(client, line, "is cancelled: nothing of it starts any more", as_json)


async def _reschedule(client: HttpClient, name: str, given: dict[str, Any], as_json: bool) -> None:
    from mainspring.cli.job_create import job_times
    from mainspring.cli.job_words import when_words
    from mainspring.cli.schedule_options import given_options
    from mainspring.client.jobs import job_schedule
    from mainspring.domain.errors import InputError
    from mainspring.http.written import written_spec

    times = await job_times(client, given)
    if bool(times) == given["unscheduled"]:
        raise InputError(
            "say when the job is to run, or `--none`",
            hint="such as `--cron '0 2 * * *'`, `--every 90m`, `--at` or `--in`",
        )
    spec = job_schedule(times or None, given_options(given))
    line = await client.jobs.change(
        name,
        schedule=None if spec is None else written_spec(spec),
        if_match=given["version"],
    )
    words = f"runs {when_words(line)}" if line.schedule else "has no schedule any more"
    await _tell(client, line, words, as_json)


async def _tell(client: HttpClient, line: Job, words: str, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import moment_words

    if as_json:
        print_json(line)
        return
    out = console()
    out.print(f"job {line.name} {words}")
    if line.next_run_at is not None:
        out.print(f"next {moment_words(line.next_run_at, await clock(client))}")
