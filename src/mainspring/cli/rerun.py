"""`mainspring run rerun`: run again what failed, or more, in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.errors import DONE, INTERRUPTED
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainspring.http import HttpClient
    from mainspring.store.shapes import RunAgain


@click.command()
@click.argument("run")
@click.option(
    "--from",
    "tasks",
    multiple=True,
    metavar="TASK",
    help="This task and all that comes after it; may be repeated.",
)
@click.option("--all", "everything", is_flag=True, help="All tasks, also those that succeeded.")
@click.option(
    "--latest", is_flag=True, help="As a new run, on the version and code that the dag has now."
)
@click.option("--key", help="With --latest: another new run for each key.")
@click.option("--wait", is_flag=True, help="Follow the run; exit 0 only if it succeeded.")
@json_option
@home_option
def rerun(
    run: str,
    tasks: tuple[str, ...],
    everything: bool,
    latest: bool,
    key: str | None,
    wait: bool,
    as_json: bool,
    home: Path | None,
) -> int:
    """Run again what failed or was cancelled in a run, and what comes after it.

    It stays the same run, with its parameters, its version and its code; what succeeded is kept.
    With `--latest` all of it runs again, as a new run with the same parameters.
    """
    from mainspring.cli.session import with_http

    if tasks and everything:
        raise click.UsageError("give `--from` or `--all`, not both")
    if latest and (tasks or everything):
        raise click.UsageError(
            "`--latest` makes a new run, of all tasks: without `--from`, `--all`"
        )
    if key is not None and not latest:
        raise click.UsageError("`--key` is for `--latest`")
    reopened: list[int] = []
    try:
        if latest:
            return with_http(home, _rerun_latest, run, key, wait, as_json, reopened)
        return with_http(home, _rerun, run, tasks, everything, wait, as_json, reopened)
    except KeyboardInterrupt:
        if reopened:
            click.echo(f"\nrun {reopened[0]} goes on", err=True)
            click.echo(f"hint: `mainspring run cancel {reopened[0]}` would stop it", err=True)
        return INTERRUPTED


async def _rerun(
    client: HttpClient,
    reference: str,
    tasks: Sequence[str],
    everything: bool,
    wait: bool,
    as_json: bool,
    reopened: list[int],
) -> int:
    """`reopened` tells the caller the run's id once it runs again, also if this is interrupted."""
    from mainspring.cli.named import named_run
    from mainspring.cli.output import print_json
    from mainspring.cli.watch import follow_run

    run_id = await named_run(client, reference)
    run = await client.runs.rerun(run_id, tasks=tasks or None, all=everything)
    reopened.append(run_id)
    if not as_json:
        _print(run, wait)
    elif not wait:
        print_json(run)
    return await follow_run(client, run_id, as_json) if wait else DONE


async def _rerun_latest(
    client: HttpClient,
    reference: str,
    key: str | None,
    wait: bool,
    as_json: bool,
    made: list[int],
) -> int:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.watch import follow_run
    from mainspring.cli.words import safe

    before = await client.runs.show(await named_run(client, reference), tasks_max=0)
    run = await client.runs.rerun_latest(before.id, idempotency_key=key)
    made.append(run.id)
    if as_json:
        if not wait:
            print_json(run)
    else:
        now = f"version {run.version}"
        was = "" if run.version == before.version else f" (it was {before.version})"
        out = console()
        out.print(f"run {run.id} of {safe(run.dag)} {now}{was}, again after run {before.id}")
        if not wait:
            out.print(faint(f"follow it: mainspring run watch {run.id}"))
    return await follow_run(client, run.id, as_json) if wait else DONE


def _print(run: RunAgain, wait: bool) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import counted, safe
    from mainspring.domain.names import listed

    out, names = console(), run.reopened
    if len(names) == run.task_count:
        out.print(f"run {run.id} of {safe(run.dag)} runs again, from the beginning")
    else:
        kept = run.task_count - len(names)
        stays = "stays as it is" if kept == 1 else "stay as they are"
        out.print(
            f"run {run.id} of {safe(run.dag)} runs again: {listed(names)};"
            f" {counted(kept, 'other task')} {stays}"
        )
    if not wait:
        out.print(faint(f"follow it: mainspring run watch {run.id}"))
