"""`mainspring job create`: a command, a request or a task, at once or by a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mainspring.cli.errors import DONE, INTERRUPTED
from mainspring.cli.options import home_option, json_option, parameter_options
from mainspring.cli.schedule_options import policy_options, time_options, zone_options
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.domain.jobs import HttpCall
    from mainspring.http import HttpClient
    from mainspring.store.job_shapes import Job

_F = TypeVar("_F", bound=Callable[..., Any])


def job_time_options(command: _F) -> _F:
    """When a job runs; those of schedules, and a rest from now on."""
    command = click.option(
        "--in", "after", metavar="TIME", help="Once, after this long, such as `10m`."
    )(policy_options(command))
    return time_options(zone_options(command))


@click.command("create")
@click.option("--name", metavar="NAME", help="What it is called. [default: its kind and number]")
@click.option("--task", metavar="NAME", help="Run this task or dag.")
@click.option("--http", "url", metavar="URL", help="Send a request there.")
@click.option("--method", metavar="METHOD", help="Of the request. [default: GET]")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Of the request.")
@click.option("--body", metavar="TEXT|@FILE", help="What the request sends.")
@click.option("--expect", multiple=True, type=int, help="A status of success. [default: 200-299]")
@parameter_options
@click.option("--retries", type=int, metavar="N", help="Try again so often.")
@click.option("--timeout", metavar="TIME", help="Of each attempt.")
@click.option("--priority", type=int, metavar="0-9", help="Higher is sooner within a queue.")
@click.option("--queue", metavar="NAME", help="Where its tasks wait.")
@click.option("--key", help="One job per key, however often this is asked.")
@job_time_options
@click.option("--wait", is_flag=True, help="Follow its run; exit 0 only if it succeeded.")
@json_option
@home_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def create_job(home: Path | None, as_json: bool, wait: bool, **given: Any) -> int:
    """Make a job of a COMMAND, of a request, or of a task.

    Without a time it runs at once:

        mainspring job create --name hello -- echo hi
    """
    from mainspring.cli.session import with_http

    made: list[int] = []
    try:
        return with_http(home, _create, given, wait, as_json, made)
    except KeyboardInterrupt:
        if made:
            click.echo(f"\njob {made[0]} goes on", err=True)
            click.echo(f"hint: `mainspring job cancel {made[0]}` would stop it", err=True)
        return INTERRUPTED


async def _create(
    client: HttpClient, given: Mapping[str, Any], wait: bool, as_json: bool, made: list[int]
) -> int:
    from mainspring.cli.named import clock
    from mainspring.cli.output import print_json
    from mainspring.cli.schedule_options import given_options
    from mainspring.cli.watch import follow_run
    from mainspring.client.jobs import job_schedule
    from mainspring.http.written import written_spec

    times = await job_times(client, given)
    if wait and times:
        raise InputError("`--wait` follows a run, and this job runs later", hint="leave it away")
    spec = job_schedule(times or None, given_options(given))
    answer = await client.jobs.create(
        name=given["name"],
        command=list(given["command"]) or None,
        http=_request(given),
        task=given["task"],
        schedule=None if spec is None else written_spec(spec),
        parameters=await _parameters(client, given),
        retries=given["retries"],
        timeout=given["timeout"],
        priority=given["priority"],
        queue=given["queue"],
        idempotency_key=given["key"],
    )
    made.append(answer.job_id)
    if wait:
        return await follow_run(client, answer.job_id, as_json)
    job = await client.jobs.show(str(answer.job_id))
    if as_json:
        print_json(job)
    else:
        _print(job, await clock(client))
    return DONE


async def job_times(client: HttpClient, given: Mapping[str, Any]) -> list[Any]:
    """The times that were typed; none for at once."""
    from mainspring.cli.named import clock
    from mainspring.cli.schedule_options import given_times
    from mainspring.domain.durations import parse_duration

    times: list[Any] = list(given_times(given))
    if given["after"] is not None:
        rest = timedelta(seconds=parse_duration(given["after"], what="`--in`"))
        # The database's clock is the clock; schedules know whole seconds.
        now = await clock(client)
        times.append((now + rest + timedelta(microseconds=999_999)).replace(microsecond=0))
    return times


def _request(given: Mapping[str, Any]) -> HttpCall | None:
    from mainspring.domain.jobs import HttpCall

    if given["url"] is None:
        for name in ("method", "headers", "body", "expect"):
            if given[name]:
                option = "--header" if name == "headers" else f"--{name}"
                raise InputError(f"`{option}` is of a request", hint="give its address by `--http`")
        return None
    headers: dict[str, str] = {}
    for text in given["headers"]:
        name, colon, value = text.partition(":")
        if not colon:
            raise InputError(
                f"`--header` takes a name and a value, got {shown(text)}",
                hint="write it like `--header 'Accept: text/plain'`",
            )
        headers[name.strip()] = value.strip()
    body = given["body"]
    return HttpCall(
        given["url"],
        given["method"] or ("GET" if body is None else "POST"),
        headers,
        body=None if body is None else _body(body),
        expect=list(given["expect"]) or None,
    )


def _body(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"`--body`: {shown(text[1:])} cannot be read: {error}") from None


async def _parameters(client: HttpClient, given: Mapping[str, Any]) -> dict[str, Any]:
    from mainspring.cli.given import given_document
    from mainspring.cli.named import parameters_of

    pairs: Sequence[str] = given["pairs"]
    if given["task"] is not None:
        return parameters_of(await client.dags.show(given["task"]), pairs, given["params"])
    values = {} if given["params"] is None else given_document(given["params"])
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(
                f"`-p` takes a name and a value, got {shown(pair)}",
                hint="write it like `-p region=eu`",
            )
        values[name] = text
    return values


def _print(job: Job, now: datetime) -> None:
    from mainspring.cli.job_words import when_words
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import moment_words

    out = console()
    if job.next_run_at is None:
        out.print(f"job {job.id}, {job.name}, runs at once")
    else:
        out.print(f"job {job.id}, {job.name}, runs {when_words(job)}")
        out.print(f"next {moment_words(job.next_run_at, now)}")
    out.print(faint(f"look at it: mainspring job show {job.name}"))
