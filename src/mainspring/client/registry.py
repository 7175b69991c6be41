"""Which version of which dag a run is of: what this database calls the application's definitions.

A definition is stored at its first use in the process, on the client's own connection and in its
own transaction: a version that a caller's rolled-back transaction took away again could never be
remembered here.
"""

from __future__ import annotations

import asyncio

import msgspec

from mainspring.client.link import Link
from mainspring.client.subjects import Definition, define
from mainspring.domain.errors import DefinitionError, InputError, NotFoundError
from mainspring.domain.names import shown
from mainspring.store.connection import Connection
from mainspring.store.dags import APP_SNAPSHOT, DagRow, read_dag, register_dag
from mainspring.store.versions import gone


class Known(msgspec.Struct, frozen=True):
    """A definition under the ids that the database gave it."""

    definition: Definition
    version_id: int
    snapshot_id: int


class Registry:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: dict[bytes, Known] = {}
        self._entries: dict[str, tuple[str, ...]] = {}
        self._definitions: dict[int, Definition] = {}
        """Of stored dags, by version, so that a name costs a look and not a decoding."""
        self._registering = asyncio.Lock()

    def get(self, definition: Definition) -> Known | None:
        return self._known.get(definition.digest)

    def forget(self) -> None:
        """The database is not what it was: ask again."""
        self._known.clear()
        self._definitions.clear()

    async def register(self, definition: Definition) -> Known:
        async with self._registering:
            if known := self._known.get(definition.digest):
                return known
            self._refuse_namesake(definition)
            row = await self._link.ask(_stored, definition.name)
            if row is not None and row.file and row.gone_at is None:
                # The dags folder's own; its code may change under an unchanged graph, so that
                # what is current is read each time.
                return _from_folder(definition, row)
            _refuse_schedules(definition)
            made = await self._link.ask(register_dag, definition.spec, APP_SNAPSHOT)
            known = Known(definition, made.version_id, made.snapshot_id)
            self._known[definition.digest] = known
            return known

    async def read(self, name: str) -> Known:
        """A stored dag as it is now."""
        row = await self._link.ask(read_dag, name)
        if row.gone_at is not None:
            raise gone(name, row.file)
        definition = self._definitions.get(row.version_id)
        if definition is None:
            definition = self._definitions[row.version_id] = define(row.spec)
        return Known(definition, row.version_id, row.snapshot_id)

    def _refuse_namesake(self, definition: Definition) -> None:
        entries = tuple(task.entry for task in definition.spec.tasks)
        other = self._entries.setdefault(definition.name, entries)
        if other != entries and len(entries) == len(other) == 1:
            raise DefinitionError(
                f"two tasks have the name {shown(definition.name)}: {shown(other[0])} and"
                f" {shown(entries[0])}",
                hint='give one of them another name: `@task(name="…")`',
            )


def _refuse_schedules(definition: Definition) -> None:
    """Nobody would fire them: they are put by the engine that reads the folder of dags."""
    if definition.spec.schedules:
        raise DefinitionError(
            f"dag {shown(definition.name)} has a schedule, and no folder of dags has the dag",
            hint="put its file there; or leave `schedule=` out, and make one by"
            " `mainspring schedule create`",
        )


async def _stored(connection: Connection, name: str) -> DagRow | None:
    try:
        return await read_dag(connection, name)
    except NotFoundError:
        return None


def _from_folder(definition: Definition, row: DagRow) -> Known:
    if row.spec.digest() != definition.digest:
        raise InputError(
            f"{shown(definition.name)} is the name of another dag, in {shown(row.file)} of the dags"
            " folder",
            hint="give yours another name, or enqueue that one by its name",
        )
    return Known(definition, row.version_id, row.snapshot_id)
