"""`mainspring schedule`: when things fire."""

from __future__ import annotations

import click

from mainspring.cli.schedule_preview import preview_schedule


@click.group()
def schedule() -> None:
    """See when schedules fire."""


schedule.add_command(preview_schedule)
