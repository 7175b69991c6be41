"""The code of a version: the files of its snapshot, and the text of one of them.

A snapshot may take tens of megabytes when it is unpacked, so one is at a time. Its digest is
compared before anything of it is told.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

from mainspring.api.services import Services
from mainspring.bundles.pack import unpack
from mainspring.bundles.snapshot import digest_of
from mainspring.bundles.tree import Entry
from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.store.connection import Connection
from mainspring.store.dags import APP_SNAPSHOT, DagRow
from mainspring.store.shapes import Shape
from mainspring.store.snapshots import VERSIONS_KEPT, fetch_snapshot
from mainspring.store.versions import VersionCode, read_version_code

TEXT_BYTES_MAX = 512 * 1024
"""So much of one file is told."""


class CodeFile(Shape, frozen=True, kw_only=True):
    path: str
    bytes: int
    digest: str
    """Of its content: equal ones are the same."""


class Code(Shape, frozen=True, kw_only=True):
    """The last code that a version was read from, and the text of one of its files."""

    dag: str
    version: int
    snapshot: str
    files: list[CodeFile]
    """By path."""
    file: str | None
    """Which file `text` is of; null, if the dag's own had another name then."""
    text: str | None
    """Null, too, if it is no UTF-8."""
    cut: bool
    """Whether `text` is only the beginning of it."""


async def read_code(services: Services, dag: DagRow, version: int, file: str | None) -> Code:
    """With the text of this file, or of the one that defines the dag."""

    async def find(connection: Connection) -> VersionCode:
        return await read_version_code(connection, dag.name, version)

    code = await services.read(find)
    if code.digest == APP_SNAPSHOT:
        raise InputError(
            f"{shown(dag.name)} comes from no file: it was written over HTTP, or is of an"
            " application, whose code is installed and not kept here",
            hint="its graph is there: `mainspring dag show` tells it",
        )
    async with services.unpacking:
        content = await fetch_snapshot(services.read, code.snapshot_id, services.places.read)
        if content is None:
            raise NotFoundError(
                f"the code of version {version} of dag {shown(dag.name)} is no longer kept",
                hint=f"code is kept for the last {VERSIONS_KEPT} versions and for runs in history",
            )
        return await asyncio.to_thread(_told, content, code, dag, version, file)


def _told(content: bytes, code: VersionCode, dag: DagRow, version: int, file: str | None) -> Code:
    entries = unpack(content)
    if digest_of(entries) != code.digest:
        raise InputError(
            f"what is kept of the code of version {version} of dag {shown(dag.name)} is damaged"
        )
    found = _chosen(entries, dag.file if file is None else file)
    if found is None and file is not None:
        near = closest(file, [_name(entry) for entry in entries])
        raise NotFoundError(f"version {version} of {shown(dag.name)} has no such file", hint=near)
    text, cut = (None, False) if found is None else _text(found.content)
    return Code(
        dag=dag.name,
        version=version,
        snapshot=code.digest,
        files=[
            CodeFile(
                path=_name(entry),
                bytes=len(entry.content),
                digest=hashlib.blake2b(entry.content, digest_size=12).hexdigest(),
            )
            for entry in entries
        ],
        file=None if found is None else _name(found),
        text=text,
        cut=cut,
    )


def _chosen(entries: Sequence[Entry], path: str) -> Entry | None:
    return next((entry for entry in entries if _name(entry) == path), None)


def _name(entry: Entry) -> str:
    """A path that is no text is told with question marks, as JSON has none for it."""
    return entry.path.encode("utf-8", "replace").decode()


def _text(content: bytes) -> tuple[str | None, bool]:
    """The beginning of a text, up to a whole character."""
    cut = len(content) > TEXT_BYTES_MAX
    shown_bytes = content[:TEXT_BYTES_MAX]
    try:
        return shown_bytes.decode("utf-8"), cut
    except UnicodeDecodeError as error:
        # The limit may fall into a character, of which three bytes may be there.
        if cut and error.reason == "unexpected end of data" and error.end == len(shown_bytes):
            return shown_bytes[: error.start].decode("utf-8"), True
        return None, False
