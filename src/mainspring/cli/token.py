"""`mainspring token`: who may ask the server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.durations import parse_duration
from mainspring.domain.roles import Role

if TYPE_CHECKING:
    from mainspring.http import HttpClient


@click.group()
def token() -> None:
    """Make, list and revoke tokens for callers of the server.

    A viewer may look; an operator may also act on runs, dags and queues, and make jobs, which run
    commands where the workers are; an admin may also hand out tokens. A worker may make the calls
    of a worker, for its queues, and nothing else.
    """


@token.command()
@click.option("--name", required=True, help="What it is for; history shows it.")
@click.option(
    "--role",
    required=True,
    type=click.Choice([role.value for role in Role]),
    help="What it may do.",
)
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE", help="Of a worker: may be served."
)
@click.option("--expires", metavar="DURATION", help="How long it lives, such as `30d`.")
@json_option
@home_option
def create(
    name: str,
    role: str,
    queues: tuple[str, ...],
    expires: str | None,
    as_json: bool,
    home: Path | None,
) -> None:
    """Make a token and print its secret, which is shown this once."""
    from mainspring.cli.session import with_http

    if expires is not None:
        parse_duration(expires, what="`--expires`")
    with_http(home, _create, name, Role(role), queues, expires, as_json)


@token.command("list")
@json_option
@home_option
def list_all(as_json: bool, home: Path | None) -> None:
    """All tokens, the newest first."""
    from mainspring.cli.session import with_http

    with_http(home, _list, as_json)


@token.command()
@click.argument("token")
@json_option
@home_option
def revoke(token: str, as_json: bool, home: Path | None) -> None:
    """Revoke TOKEN, by its number or name. Within a second no server takes it any more."""
    from mainspring.cli.session import with_http

    with_http(home, _revoke, token, as_json)


async def _create(
    client: HttpClient,
    name: str,
    role: Role,
    queues: tuple[str, ...],
    expires: str | None,
    as_json: bool,
) -> None:
    from mainspring.cli.output import console, error_console, faint, print_json

    made = await client.tokens.make(name=name, role=role, queues=queues, expires_in=expires)
    if as_json:
        print_json(made)
        return
    console().print(made.token)
    error_console().print(faint("it is shown this once; send it as `Authorization: Bearer …`"))


async def _list(client: HttpClient, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, print_json, table
    from mainspring.cli.words import ago, safe

    tokens = (await client.tokens.list()).items
    if as_json:
        print_json(tokens)
        return
    if not tokens:
        console().print("There are no tokens.")
        return
    now = await clock(client)
    lines = table("token", "name", "role", "queues", "made", "by", "ends", right=["token"])
    for each in tokens:
        if each.revoked_at is not None:
            ends = f"revoked {ago(each.revoked_at, now)}"
        elif each.expires_at is not None:
            ends = ago(each.expires_at, now)
        else:
            ends = "never"
        lines.add_row(
            str(each.id),
            safe(each.name),
            each.role,
            safe(", ".join(each.queues)),
            ago(each.created_at, now),
            safe(each.created_by or ""),
            ends,
        )
    console().print(lines)


async def _revoke(client: HttpClient, reference: str, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import safe
    from mainspring.domain.errors import NotFoundError
    from mainspring.domain.names import closest, shown

    if reference.isascii() and reference.isdigit():
        number = int(reference)
    else:
        tokens = (await client.tokens.list()).items
        alive = {token.name: token.id for token in tokens if token.revoked_at is None}
        if reference not in alive:
            raise NotFoundError(
                f"there is no token {shown(reference)}",
                hint=closest(reference, list(alive))
                or "`mainspring token list` shows what there is",
            )
        number = alive[reference]
    revoked = await client.tokens.delete(number)
    if as_json:
        print_json(revoked)
    else:
        console().print(f"token {revoked.id} ({safe(revoked.name)}) is revoked")
