"""Dags and their versions: written when a bundle is read, read when a run is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.lanes import Lane
from mainspring.domain.names import shown
from mainspring.domain.specs import About, DagSpec, parents_of
from mainspring.store.connection import Connection, fetch
from mainspring.store.pauses import Pause, pause_of
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.specs import decode_spec
from mainspring.store.statements import statement

APP_SNAPSHOT = "app"
"""The snapshot of dags of installed applications: their code is not pinned."""

WRITTEN = b"written:"
"""How the sources of dags begin that callers wrote as JSON; see `written_dags`."""

_DAGS_PER_COMMIT = 100

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
    gone_at: datetime | None = None
    """Since when no file defines it; no run of it can be made."""
    rolled_back_at: datetime | None = None
    pause: Pause | None = None


class Found(msgspec.Struct, frozen=True):
    """A dag as it was read."""

    spec: DagSpec
    file: str
    """In the folder of dags; empty for a dag of an application."""
    source: bytes | None
    """Digest of the files that concern it."""


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


async def list_queue_ids(connection: Connection, *, tenant_id: int = DEFAULT_TENANT) -> list[int]:
    rows = await fetch(connection, statement("list_queue_ids"), tenant_id)
    return [row["id"] for row in rows]


async def register_dag(
    connection: Connection,
    spec: DagSpec,
    snapshot: str,
    *,
    file: str = "",
    source: bytes | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Registered:
    """Store a dag: a new version if its graph is new, and which snapshot triggers use."""
    found = [Found(spec, file, source)]
    [registered] = await register_dags(connection, found, snapshot, tenant_id=tenant_id)
    return registered


async def register_dags(
    connection: Connection,
    found: Sequence[Found],
    snapshot: str,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Registered]:
    """Store the dags of one snapshot, some at a time; the answers are in their order.

    A dag that was rolled back stays so while its source is what it was.
    """
    names = {task.queue for dag in found for task in dag.spec.tasks}
    queues = await ensure_queues(connection, names, tenant_id=tenant_id)
    # Not in the transaction: two that take and leave the same two would wait for each other.
    snapshot_id = await ensure_snapshot(connection, snapshot, tenant_id=tenant_id)
    registered: list[Registered] = []
    for start in range(0, len(found), _DAGS_PER_COMMIT):
        async with connection.transaction():
            for dag in found[start : start + _DAGS_PER_COMMIT]:
                registered.append(await _register(connection, dag, snapshot_id, queues, tenant_id))
    return registered


async def _register(
    connection: Connection, found: Found, snapshot_id: int, queues: dict[str, int], tenant_id: int
) -> Registered:
    spec, source = found.spec, found.source
    told = _told(spec)
    rows = await fetch(connection, statement("lock_dag"), tenant_id, spec.name, found.file, *told)
    dag = rows[0]
    _check_source(spec.name, dag["source"], source)
    version_id, number = await _ensure_version(connection, dag["id"], spec, queues, snapshot_id)
    if dag["rolled_back_at"] is not None and dag["source"] == source:
        await fetch(connection, statement("note_folder_version"), dag["id"], version_id)
        return Registered(dag["id"], version_id, number, snapshot_id, changed=False)
    used = await fetch(
        connection, statement("use_version"), dag["id"], version_id, snapshot_id, source
    )
    return Registered(dag["id"], version_id, number, snapshot_id, bool(used))


def _check_source(name: str, before: bytes | None, now: bytes | None) -> None:
    """A written dag keeps its name until it is removed; its new owner would make it vanish."""
    if before is None or not before.startswith(WRITTEN):
        return
    if now is None or not now.startswith(WRITTEN):
        raise written_elsewhere(name)


def written_elsewhere(name: str) -> ConflictError:
    return ConflictError(
        f"the dag {shown(name)} was written as JSON, by way of the server",
        hint=f"give this one another name, or remove that one: `DELETE /api/v1/dags/{name}`",
    )


async def mark_gone(
    connection: Connection,
    found: Iterable[str],
    unread_files: Iterable[str],
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> list[str]:
    """Dags of the folder that are not among `found` are gone, unless their file is unread."""
    rows = await fetch(
        connection, statement("mark_gone"), tenant_id, list(found), list(unread_files)
    )
    return sorted(row["name"] for row in rows)


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
        decode_spec(row["spec"]).told(_about(row)),
        row["created_at"],
        row["changed_at"],
        row["gone_at"],
        row["rolled_back_at"],
        pause_of(row),
    )


async def read_versions(connection: Connection, ids: Sequence[int]) -> dict[int, DagSpec]:
    rows = await fetch(connection, statement("read_versions"), list(ids))
    return {row["id"]: decode_spec(row["spec"]) for row in rows}


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


def _told(spec: DagSpec) -> tuple[str, str, str, list[str], str, list[str]]:
    about = spec.about()
    tasks = msgspec.json.encode(about.tasks).decode()
    words = (about.description, about.doc, about.owner)
    return *words, list(about.tags), tasks, list(about.notify)


def _about(row: asyncpg.Record) -> About:
    return About(
        row["description"],
        row["doc"],
        row["owner"],
        tuple(row["tags"]),
        msgspec.json.decode(row["task_descriptions"]),
        tuple(row["notify"]),
    )


async def ensure_snapshot(
    connection: Connection, digest: str, *, tenant_id: int = DEFAULT_TENANT
) -> int:
    """The snapshot's id; for some time from now on it is not forgotten, also if nobody has it."""
    for name in ("find_used_snapshot", "ensure_snapshot", "ensure_snapshot"):
        rows = await fetch(connection, statement(name), tenant_id, digest)
        if rows:
            snapshot_id: int = rows[0]["id"]
            return snapshot_id
    raise AssertionError(f"snapshot {digest} is neither new nor there")


async def _ensure_version(
    connection: Connection, dag_id: int, spec: DagSpec, queues: dict[str, int], snapshot_id: int
) -> tuple[int, int]:
    digest = spec.digest()
    rows = await fetch(connection, statement("find_version"), dag_id, digest)
    if rows:
        await fetch(connection, statement("read_from_snapshot"), rows[0]["id"], snapshot_id)
        return rows[0]["id"], rows[0]["number"]
    version = (
        await fetch(
            connection,
            statement("create_version"),
            dag_id,
            digest,
            _encode_spec(spec.graph()),
            len(spec.tasks),
            spec.timeout_seconds,
            snapshot_id,
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
