"""`mainspring migrate`: the schema."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option


@click.command()
@click.option("--check", is_flag=True, help="Only say what is missing; exit 1 if something is.")
@click.option(
    "--before-only",
    is_flag=True,
    help="Only the halves that old code can live with: for rolling upgrades.",
)
@json_option
@home_option
def migrate(check: bool, before_only: bool, as_json: bool, home: Path | None) -> int:
    """Bring the database's schema up to date. Repeating it changes nothing."""
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.session import check_beside_database
    from mainspring.config import database_url, load_config

    check_beside_database(home)
    url = database_url(load_config(home=home))
    names = asyncio.run(_pending(url, before_only) if check else _migrate(url, before_only))
    if as_json:
        print_json({"pending" if check else "applied": names})
        return FAILED if check and names else DONE
    out = console()
    for name in names:
        out.print(f"{'missing' if check else 'applied'}  {name}")
    if not names:
        out.print("The schema is up to date.")
    elif check:
        out.print(faint("apply it with `mainspring migrate`"))
    return FAILED if check and names else DONE


async def _pending(url: str, before_only: bool) -> list[str]:
    from mainspring.client.link import reached
    from mainspring.store.migrate import pending

    async with reached(url, name="migrate") as connection:
        return [
            name
            for name in await pending(connection)
            if not (before_only and name.endswith(".after"))
        ]


async def _migrate(url: str, before_only: bool) -> list[str]:
    from mainspring.client.link import reached
    from mainspring.store.migrate import migrate

    async with reached(url, name="migrate") as connection:
        return await migrate(connection, after=not before_only)
