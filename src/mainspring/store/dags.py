"""Dags and their versions: written when a bundle is read, read when a run is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from mainspring.domain.errors import NotFoundError
from mainspring.domain.lanes import Lane
from mainspring.domain.specs import DagSpec, parents_of
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

APP_SNAPSHOT = "app"
"""The snapshot of dags of installed applications: their code is not pinned."""

_decode_spec = msgspec.json.Decoder(DagSpec).decode
_encode_spec = msgspec.json.Encoder(order="deterministic").encode


class DagRow(msgspec.Struct, frozen=True):
    """A dag as a trigger uses it now."""

    id: int
    name: str
    file: str
    version_id: int
    version: int
    snapshot_id: int
    snapshot: str
    spec: DagSpec
    created_at: datetime
    changed_at: datetime


class Registered(msgspec.Struct, frozen=True):
    dag_id: int
    version_id: int
    version: int
    snapshot_id: int
    changed: bool
    """Whether a trigger will use another version or snapshot than before."""


async def ensure_queues(
    connection: Connection, names: Iterable[str], *, tenant_id: int = DEFAULT_TENANT
) -> dict[str, int]:
    """The ids of queues, made where they are new."""
    wanted = sorted(set(names))
    rows = await fetch(connection, statement("ensure_queues"), tenant_id, wanted)
    if len(rows) < len(wanted):
        # Another process made one at the same instant; by now we can see it.
        rows = await fetch(connection, statement("ensure_queues"), tenant_id, wanted)
    return {row["name"]: row["id"] for row in rows}


async def register_dag(
    connection: Connection,
    spec: DagSpec,
    snapshot: str,
    *,
    file: str = "",
    tenant_id: int = DEFAULT_TENANT,
) -> Registered:
    """Store a dag: a new version if its graph is new, and which snapshot triggers use."""
    queues = await ensure_queues(
        connection, (task.queue for task in spec.tasks), tenant_id=tenant_id
    )
    async with connection.transaction():
        snapshot_id = await _ensure_snapshot(connection, snapshot, tenant_id)
        dag = (await fetch(connection, statement("lock_dag"), tenant_id, spec.name, file))[0]
        version_id, number = await _ensure_version(connection, dag["id"], spec, queues)
        used = await fetch(connection, statement("use_version"), dag["id"], version_id, snapshot_id)
    return Registered(dag["id"], version_id, number, snapshot_id, bool(used))


async def read_dag(connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT) -> DagRow:
    rows = await fetch(connection, statement("read_dag"), tenant_id, name)
    if not rows:
        raise NotFoundError(
            f"there is no dag `{name}`", hint="`mainspring dag list` shows what there is"
        )
    row = rows[0]
    return DagRow(
        row["id"],
        row["name"],
        row["file"],
        row["version_id"],
        row["version"],
        row["snapshot_id"],
        row["snapshot"],
        _decode_spec(row["spec"]),
        row["created_at"],
        row["changed_at"],
    )


async def read_versions(connection: Connection, ids: Sequence[int]) -> dict[int, DagSpec]:
    rows = await fetch(connection, statement("read_versions"), list(ids))
    return {row["id"]: _decode_spec(row["spec"]) for row in rows}


async def read_snapshots(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    rows = await fetch(connection, statement("read_snapshots"), list(ids))
    return {row["id"]: row["digest"] for row in rows}


async def set_file_problems(
    connection: Connection,
    problems: Sequence[tuple[str, int | None, str]],
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> None:
    """`problems` holds (file, line, message), one per file."""
    await fetch(
        connection,
        statement("set_file_problems"),
        tenant_id,
        [file for file, _, _ in problems],
        [line for _, line, _ in problems],
        [message for _, _, message in problems],
    )


async def _ensure_snapshot(connection: Connection, digest: str, tenant_id: int) -> int:
    for _ in range(2):
        rows = await fetch(connection, statement("ensure_snapshot"), tenant_id, digest)
        if rows:
            snapshot_id: int = rows[0]["id"]
            return snapshot_id
    raise AssertionError(f"snapshot {digest} is neither new nor there")


async def _ensure_version(
    connection: Connection, dag_id: int, spec: DagSpec, queues: dict[str, int]
) -> tuple[int, int]:
    digest = spec.digest()
    rows = await fetch(connection, statement("find_version"), dag_id, digest)
    if rows:
        return rows[0]["id"], rows[0]["number"]
    version = (
        await fetch(
            connection,
            statement("create_version"),
            dag_id,
            digest,
            _encode_spec(spec),
            len(spec.tasks),
            spec.timeout_seconds,
        )
    )[0]
    parents = parents_of(spec)
    await fetch(
        connection,
        statement("create_nodes"),
        version["id"],
        list(range(len(spec.tasks))),
        [task.name for task in spec.tasks],
        [Lane(queues[task.queue], task.kind).number for task in spec.tasks],
        [task.priority for task in spec.tasks],
        [len(before) for before in parents],
    )
    if spec.edges:
        await fetch(
            connection,
            statement("create_edges"),
            version["id"],
            [before for before, _ in spec.edges],
            [after for _, after in spec.edges],
        )
    return version["id"], version["number"]
