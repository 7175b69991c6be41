"""Schedules that are stored, from what was typed: one by its name, and names that a shell can
complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import name_problem, shown

if TYPE_CHECKING:
    import click

    from mainspring.http import HttpClient
    from mainspring.store.schedule_shapes import ScheduleDocument

_COMPLETED_MAX = 100
_PAGE = 500


async def given_schedule(client: HttpClient, name: str, *, fires: int = 0) -> ScheduleDocument:
    """The schedule of this name, or an error that knows the nearest one."""
    check_name(name)
    return await client.schedules.show(name, fires=fires)


def check_name(name: str) -> None:
    """NotFoundError if no schedule can be called so."""
    if name_problem(name):
        raise NotFoundError(
            f"there is no schedule {shown(name)}",
            hint="`mainspring schedule list` shows what there is",
        )


async def find_schedule(client: HttpClient, name: str) -> ScheduleDocument | None:
    try:
        return await given_schedule(client, name)
    except NotFoundError:
        return None


def complete_schedule(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """For the shell. Whatever goes wrong, it must not write over what is being typed."""
    from mainspring.cli.session import with_http

    try:
        return with_http(None, _beginning, incomplete)
    except Exception:
        return []


async def _beginning(client: HttpClient, text: str) -> list[str]:
    names: list[str] = []
    async for schedule in client.schedules.each(limit=_PAGE):
        if schedule.name.startswith(text):
            names.append(schedule.name)
            if len(names) == _COMPLETED_MAX:
                break
    return names
