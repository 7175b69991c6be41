"""`mainspring engine`: a process that runs the duties."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import dags_option, home_option, metrics_port_option

if TYPE_CHECKING:
    from mainspring.domain.repositories import Repository


@click.command()
@dags_option
@home_option
@metrics_port_option
def engine(dags: Path | Repository | None, home: Path | None, metrics_port: int | None) -> int:
    """Run an engine: it reads the dags, starts what is due and recovers what was lost.

    Several may run; one at a time does the work and the others stand by.
    """
    from mainspring.app import run_engine
    from mainspring.cli.session import check_beside_database
    from mainspring.config import load_config

    check_beside_database(home)
    return run_engine(load_config(home=home, dags=dags, metrics_port=metrics_port))
