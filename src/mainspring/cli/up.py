"""`mainspring up`: everything on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import dags_option, home_option

if TYPE_CHECKING:
    from mainspring.domain.repositories import Repository


@click.command()
@dags_option
@home_option
@click.option(
    "--trigger", "triggers", multiple=True, metavar="NAME", help="Trigger this dag once it is up."
)
@click.option("--plain", is_flag=True, help="Plain lines, as when the output is no terminal.")
def up(
    dags: Path | Repository | None, home: Path | None, triggers: tuple[str, ...], plain: bool
) -> int:
    """Start everything here: database, engine, worker and server. Ctrl-C stops it.

    Without MAINSPRING_DATABASE_URL the database is an embedded PostgreSQL in the home folder. The
    server listens at MAINSPRING_PORT, or at a free port if that is not given and 8470 is taken.
    """
    import uvloop

    from mainspring.app import run_up
    from mainspring.cli.activity import show_activity
    from mainspring.cli.login import login_link, take_port
    from mainspring.cli.output import is_terminal
    from mainspring.config import load_config

    config, listener = take_port(load_config(home=home, dags=dags))
    live = is_terminal() and not plain

    async def view(url: str) -> None:
        link = await login_link(url, config)
        await show_activity(url, config, triggers, live=live, command=_command(), link=link)

    logs = config.home / "logs" if live else None
    with listener:
        return uvloop.run(run_up(config, view, listener, logs=logs))


def _command() -> str:
    """How this command was called, so that what we suggest works when it is pasted."""
    called = sys.argv[0]
    return "mainspring" if Path(called).name == "__main__.py" else called
