"""Versions of a dag: which there are, what one of them says, and going back to one."""

from __future__ import annotations

from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.names import shown
from mainspring.domain.specs import DagSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import APP_SNAPSHOT, read_dag
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.snapshots import VERSIONS_KEPT
from mainspring.store.specs import decode_spec
from mainspring.store.statements import statement

VERSIONS_MAX = 1_000


class VersionLine(msgspec.Struct, frozen=True):
    """A version in a list."""

    number: int
    tasks: int
    created_at: datetime
    snapshot: str
    """The last code that it was read from; what a rollback to it runs."""
    packed_bytes: int | None
    """How much the database keeps of that code; None if nothing."""
    used: bool
    """Whether a trigger uses it."""
    in_folder: bool
    """Whether it is what the folder of dags says now."""


class RolledBack(msgspec.Struct, frozen=True):
    dag: str
    version_before: int
    version: int
    snapshot: str
    rolled_back_at: datetime | None
    """None if this is the version that the folder has: the dag follows the folder again."""


async def list_versions(
    connection: Connection,
    name: str,
    *,
    limit: int = VERSIONS_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> list[VersionLine]:
    """Newest first."""
    dag = await read_dag(connection, name, tenant_id=tenant_id)
    rows = await fetch(connection, statement("page_versions"), dag.id, limit)
    return [VersionLine(**row) for row in rows]


async def read_version(
    connection: Connection, name: str, number: int, *, tenant_id: int = DEFAULT_TENANT
) -> DagSpec:
    """What a version says."""
    dag = await read_dag(connection, name, tenant_id=tenant_id)
    return decode_spec((await _version(connection, name, dag.id, number))["spec"])


class VersionCode(msgspec.Struct, frozen=True):
    """Where the last code is that a version was read from."""

    snapshot_id: int
    digest: str


async def read_version_code(
    connection: Connection, name: str, number: int, *, tenant_id: int = DEFAULT_TENANT
) -> VersionCode:
    dag = await read_dag(connection, name, tenant_id=tenant_id)
    version = await _version(connection, name, dag.id, number)
    return VersionCode(version["snapshot_id"], version["digest"])


async def roll_back(
    connection: Connection, name: str, number: int, *, tenant_id: int = DEFAULT_TENANT
) -> RolledBack:
    """From now on triggers use this version of the dag, with the last code that it was read from.

    Runs that exist stay as they are. It holds until the files that concern the dag change.
    """
    async with connection.transaction():
        rows = await fetch(connection, statement("lock_known_dag"), tenant_id, name)
        if not rows:
            raise NotFoundError(
                f"there is no dag {shown(name)}", hint="`mainspring dag list` shows what there is"
            )
        dag = rows[0]
        if dag["gone_at"] is not None:
            raise gone(name, dag["file"])
        version = await _version(connection, name, dag["id"], number)
        snapshot = await _take(connection, name, version)
        done = await fetch(
            connection, statement("roll_back"), dag["id"], version["id"], version["snapshot_id"]
        )
        await fetch(connection, statement("touch_snapshot"), dag["snapshot_id"])
    return RolledBack(name, dag["version"], number, snapshot, done[0]["rolled_back_at"])


def gone(name: str, file: str) -> NotFoundError:
    """Why there can be no new run of a dag that is gone."""
    if not file:
        return NotFoundError(
            f"the dag {shown(name)} was removed",
            hint="write it anew; runs that are open go on",
        )
    return NotFoundError(
        f"the dag {shown(name)} is gone: no file defines it any more, the last was {shown(file)}",
        hint="put it back into the folder of dags; runs that are open go on",
    )


async def _version(connection: Connection, name: str, dag_id: int, number: int) -> asyncpg.Record:
    rows = await fetch(connection, statement("read_version"), dag_id, number)
    if not rows:
        raise NotFoundError(
            f"dag {shown(name)} has no version {number}",
            hint=f"`mainspring dag versions {name}` shows what there is",
        )
    return rows[0]


async def _take(connection: Connection, name: str, version: asyncpg.Record) -> str:
    """Take the version's code into use; its digest."""
    rows = await fetch(connection, statement("touch_snapshot"), version["snapshot_id"])
    digest: str = rows[0]["digest"]
    if digest == APP_SNAPSHOT:
        raise InputError(
            f"{shown(name)} is of an application, whose code is installed and not kept here",
            hint="install the application's earlier release",
        )
    # After the touch: whoever forgets snapshots has done so, or passes this one by.
    kept = await fetch(connection, statement("has_snapshot_content"), version["snapshot_id"])
    if not kept[0]["kept"]:
        raise InputError(
            f"the code of version {version['number']} of dag {shown(name)} is no longer kept",
            hint=f"code is kept for the last {VERSIONS_KEPT} versions and for runs in history;"
            " bring the older one back into the folder of dags",
        )
    return digest
