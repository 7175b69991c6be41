"""`mainspring worker`: run one, list those that live, or let one drain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.drain import drain_worker, resume_worker
from mainspring.cli.options import dags_option, home_option, json_option, metrics_port_option
from mainspring.domain.draining import Drain
from mainspring.domain.errors import InputError
from mainspring.domain.lanes import EVERY_QUEUE, SlotKind
from mainspring.domain.names import name_problem, shown

if TYPE_CHECKING:
    from mainspring.domain.repositories import Repository
    from mainspring.http import HttpClient
    from mainspring.store.shapes import Worker

DEFAULT_QUEUE = "default"


@click.group(invoke_without_command=True, subcommand_metavar="[list|drain|resume]")
@click.option(
    "--queues",
    default=DEFAULT_QUEUE,
    show_default=True,
    metavar="A,B",
    help=f"Queues to serve; `{EVERY_QUEUE}` for all, also those that come later.",
)
@click.option(
    "--slots",
    metavar="KIND=N,…",
    help=f"How many tasks of a kind at a time; kinds: {', '.join(SlotKind)}. "
    "[default: async=1000, thread=32, the others by the number of cores]",
)
@click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="MODULE",
    help="An installed application whose tasks it runs, such as `shop.tasks`; may be repeated. "
    "[default: MAINSPRING_APPS]",
)
@click.option("--name", help="What to call it. [default: host and process id]")
@click.option(
    "--url",
    metavar="URL",
    help="A server to work for, instead of the database; its token is in MAINSPRING_TOKEN. "
    "[default: MAINSPRING_URL]",
)
@dags_option
@home_option
@metrics_port_option
@click.pass_context
def worker(
    ctx: click.Context,
    queues: str,
    slots: str | None,
    apps: tuple[str, ...],
    name: str | None,
    url: str | None,
    dags: Path | Repository | None,
    home: Path | None,
    metrics_port: int | None,
) -> int:
    """Run a worker, list those that live, or let one drain."""
    if ctx.invoked_subcommand is not None:
        return 0
    if name is not None and (problem := name_problem(name)):
        raise InputError(f"the name {shown(name)} {problem}")
    from mainspring.app import run_worker
    from mainspring.config import load_config
    from mainspring.worker.slots import parse_slots

    return run_worker(
        load_config(home=home, dags=dags, apps=apps, server_url=url, metrics_port=metrics_port),
        queues=parse_queues(queues),
        slots=None if slots is None else parse_slots(slots),
        name=name,
    )


worker.add_command(drain_worker)
worker.add_command(resume_worker)


@worker.command("list")
@json_option
@home_option
def list_workers(as_json: bool, home: Path | None) -> None:
    """Living workers: what they serve and what they have in hand."""
    from mainspring.cli.session import with_http

    with_http(home, _list, as_json)


def parse_queues(text: str) -> list[str]:
    """`a,b`, in the order given, each once; or `*` alone."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == [EVERY_QUEUE]:
        return names
    if not names:
        raise InputError("`--queues` names no queue", hint="write it like `--queues default,io`")
    for name in names:
        if problem := name_problem(name):
            raise InputError(f"queue {shown(name)} {problem}")
    return list(dict.fromkeys(names))


async def _list(client: HttpClient, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import ago, safe

    workers = (await client.workers.list()).items
    if as_json:
        print_json(workers)
        return
    out = console()
    if not workers:
        out.print("No worker lives.")
        out.print(faint("start one with `mainspring worker`, or everything with `mainspring up`"))
        return
    lines = table("name", "host", "pid", "queues", "slots in use", "last beat", "", right=["pid"])
    now = await clock(client)
    for line in workers:
        note = _draining(line) if line.draining else ""
        if line.overdue:
            note = "overdue: about to be given up"
        lines.add_row(
            safe(line.name),
            safe(line.host),
            str(line.pid),
            safe(", ".join(line.queues)),
            ", ".join(
                f"{kind} {line.running.get(kind, 0):,}/{count:,}"
                for kind, count in line.slots.items()
                if count
            ),
            ago(line.renewed_at, now),
            note,
            style="yellow" if note else "",
        )
    out.print(lines)


def _draining(worker: Worker) -> str:
    from mainspring.cli.words import safe

    words = f"draining, {sum(worker.running.values()):,} left"
    if worker.drain is not None:
        words += ", then it ends" if worker.drain.then is Drain.STOP else ""
        words += f", by {safe(worker.drain.by)}" if worker.drain.by else ""
        words += f": {safe(worker.drain.note)}" if worker.drain.note else ""
    return words
