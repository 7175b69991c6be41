"""The root of all commands. Their modules are imported when they are called for."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click


class _Entry(NamedTuple):
    place: str
    """`module:attribute` below `mainspring.cli`."""
    help: str


_SECTIONS: dict[str, dict[str, _Entry]] = {
    "Run it": {
        "up": _Entry("up:up", "Start everything here: database, engine, worker and server."),
        "demo": _Entry(
            "demo:demo", "Start everything with a made-up company in it, to look around."
        ),
        "engine": _Entry("engine:engine", "Run an engine: timers, deadlines, recovery."),
        "worker": _Entry("worker:worker", "Run a worker, or list those that live."),
        "server": _Entry("server:server", "Run a server: everything over HTTP."),
    },
    "Look and act": {
        "dag": _Entry("dag:dag", "List, show, trigger, test, compare, roll back and pause dags."),
        "run": _Entry(
            "run:run",
            "List, show, watch, explain, compare, cancel, mend and rerun runs; read logs.",
        ),
        "job": _Entry("job:job", "Make, show, trigger, reschedule, pause and cancel jobs."),
        "schedule": _Entry(
            "schedule:schedule", "List, show, preview, make, change, pause and remove schedules."
        ),
        "backfill": _Entry(
            "backfill:backfill", "Make runs for times of the past; watch, pause and cancel that."
        ),
        "simulate": _Entry("simulate:simulate", "See all fires of a time to come, and its spikes."),
        "calendar": _Entry("calendar:calendar", "Name days on which schedules do not fire."),
        "import": _Entry("import_crontab:imports", "Make dags of the lines of a crontab."),
        "queue": _Entry("queue:queue", "See what waits in queues, and pause them."),
        "dlq": _Entry("dlq:dlq", "Look at dead letters by error; retry or discard them."),
    },
    "Take care": {
        "token": _Entry("token:token", "Make, list and revoke tokens for callers of the server."),
        "migrate": _Entry("migrate:migrate", "Bring the database's schema up to date."),
        "doctor": _Entry("doctor:doctor", "Check that all is well, and say what to do if not."),
        "prune": _Entry("prune:prune", "Let go of finished runs that are older than is kept."),
        "plugins": _Entry("plugins:plugins", "See which plug-ins are installed, and which work."),
        "bench": _Entry("bench:bench", "Measure how fast it is on this machine."),
        "completion": _Entry(
            "completion:completion", "Print a script that lets your shell complete commands."
        ),
    },
}
_ENTRIES = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}


class _Root(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = _ENTRIES.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.place.partition(":")
        command = getattr(import_module(f"mainspring.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The short helps are told here, so that nothing has to be imported for them."""
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.help) for name, entry in section.items()])


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mainspring")
    except PackageNotFoundError:
        return "unknown"


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"mainspring {_version()}")
        ctx.exit()


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def root() -> None:
    """One engine for cron, DAGs and durable jobs, on one PostgreSQL."""
