"""Schedules that are stored, from what was typed: one by its name, and names that a shell can
complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown

if TYPE_CHECKING:
    import click

    from mainspring.client import Client
    from mainspring.store.schedule_reading import ScheduleLine


async def given_schedule(client: Client, name: str) -> ScheduleLine:
    """The schedule of this name, or an error that knows the nearest one."""
    found = await find_schedule(client, name)
    if found is None:
        raise await unknown_schedule(client, name)
    return found


async def find_schedule(client: Client, name: str) -> ScheduleLine | None:
    from mainspring.store.schedule_reading import list_schedules

    found = await client.ask(list_schedules, names=[name])
    return found[0] if found else None


async def unknown_schedule(client: Client, name: str) -> NotFoundError:
    from mainspring.store.schedule_reading import schedule_names

    known = await client.ask(schedule_names)
    hint = "`mainspring schedule list` shows what there is"
    near = closest(name, known)
    return NotFoundError(f"there is no schedule {shown(name)}", hint=near or hint)


def complete_schedule(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """For the shell. Whatever goes wrong, it must not write over what is being typed."""
    from mainspring.cli.session import with_client
    from mainspring.store.schedule_reading import schedule_names

    async def names(client: Client) -> list[str]:
        return await client.ask(schedule_names, incomplete, limit=100)

    try:
        return with_client(None, names)
    except Exception:
        return []
