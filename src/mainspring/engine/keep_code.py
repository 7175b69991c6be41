"""Keep code: the files of a snapshot are stored before anybody is told of it.

Up to 20 MiB they are kept in the database. What is larger becomes an object, like a long log and by
the same three steps (`logs/move.py`): listed for removal, put, taken into use. Whoever dies in
between has changed nothing that anybody uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

from mainspring import faults
from mainspring.bundles.pack import PACKED_BYTES_MAX
from mainspring.bundles.snapshot import Snapshot, pack_snapshot
from mainspring.config import Config
from mainspring.domain.errors import UnavailableError
from mainspring.logs.places import Places
from mainspring.store.connection import Line
from mainspring.store.logs import intend_object
from mainspring.store.snapshots import (
    PIECE_BYTES,
    keep_snapshot,
    keep_snapshot_object,
    snapshot_is_kept,
)


class KeepCode:
    def __init__(self, config: Config, line: Line) -> None:
        self._store = config.object_store
        self._places = Places(config.home)
        self._line = line
        # The same name when it is tried again: a store that is out of reach leaves one intent.
        self._mine = uuid4().hex[:12]

    async def keep(self, snapshot: Snapshot) -> None:
        """So that workers elsewhere can get it; once it is kept, this does nothing."""
        if await self._line.call(snapshot_is_kept, snapshot.digest):
            return
        most = PACKED_BYTES_MAX if self._store is None else None
        content = await asyncio.to_thread(pack_snapshot, snapshot.path, bytes_max=most)
        if self._store is None or len(content) <= PACKED_BYTES_MAX:
            await self._line.call(keep_snapshot, snapshot.digest, content)
        else:
            await self._keep_object(self._store, snapshot.digest, content)

    async def _keep_object(self, name: str, digest: str, content: bytes) -> None:
        key = f"code/{digest}-{self._mine}.tar.gz"
        store = self._places.store(name)
        store_id = await self._line.call(intend_object, name, key)
        await store.put(key, _pieces(content))
        faults.point("code is an object and not in use")
        kept = await self._line.call(keep_snapshot_object, digest, store_id, key, len(content))
        if not kept and not await self._line.call(snapshot_is_kept, digest):
            raise UnavailableError(f"the object of snapshot {digest[:12]} was removed meanwhile")


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE_BYTES):
        yield content[start : start + PIECE_BYTES]
