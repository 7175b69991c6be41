"""Dags that were written as JSON: made, changed and taken away by callers, not by a folder.

Whose a dag is, its `source` tells: one of a folder has the digest of its files, one of an
application has none, and a written one has a mark of its own. Nobody takes a living dag's name
from another: that is refused, on each side.
"""

from __future__ import annotations

from mainspring.domain.errors import ConflictError, NotFoundError, Outdated
from mainspring.domain.names import shown
from mainspring.domain.specs import DagSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import APP_SNAPSHOT, WRITTEN, DagRow, Registered, read_dag, register_dag
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement


async def put_written_dag(
    connection: Connection,
    spec: DagSpec,
    *,
    version: int | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Registered:
    """Make a dag, or a new version of it; nothing is changed if it is so already.

    With `version`, only if that one is in force, 0 meaning none: otherwise it is Outdated.
    """
    async with connection.transaction():
        rows = await fetch(connection, statement("lock_known_dag"), tenant_id, spec.name)
        known = rows[0] if rows and rows[0]["gone_at"] is None else None
        if known is not None and not _is_written(known["source"]):
            raise _taken(spec.name, known["file"])
        seen = 0 if known is None else known["version"]
        if version is not None and version != seen:
            found = f"is at version {seen}" if seen else "does not exist"
            raise Outdated(
                f"the dag {shown(spec.name)} {found}, not at {version}"
                if version
                else f"there is a dag {shown(spec.name)} of version {seen}",
                hint="look at it, and say which version is to be changed",
            )
        return await register_dag(
            connection,
            spec,
            APP_SNAPSHOT,
            source=WRITTEN + spec.digest(),
            tenant_id=tenant_id,
        )


async def remove_written_dag(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> DagRow:
    """No run of it can be made any more; those that are open go on, and history stays."""
    async with connection.transaction():
        row = await read_dag(connection, name, tenant_id=tenant_id)
        if not await fetch(connection, statement("remove_written_dag"), tenant_id, name, WRITTEN):
            if row.gone_at is not None:
                raise NotFoundError(f"the dag {shown(name)} is gone already")
            raise _taken(name, row.file)
        return row


async def written_among(
    connection: Connection, names: list[str], *, tenant_id: int = DEFAULT_TENANT
) -> set[str]:
    """Those of these names that belong to written dags."""
    rows = await fetch(connection, statement("written_among"), tenant_id, names, WRITTEN)
    return {row["name"] for row in rows}


def _is_written(source: bytes | None) -> bool:
    return source is not None and source.startswith(WRITTEN)


def _taken(name: str, file: str) -> ConflictError:
    if file:
        return ConflictError(
            f"the dag {shown(name)} is defined by {shown(file)} in the folder of dags",
            hint="change it there, or choose another name",
        )
    return ConflictError(
        f"the dag {shown(name)} is one of an application", hint="choose another name"
    )
