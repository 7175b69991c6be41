"""One log moves from the database to an object; objects that nobody needs are removed.

1. `intend_object` lists the object among those to be removed, a day later.
2. `put` writes it, from chunks that are read a few at a time.
3. `adopt_log`, one statement: notes where the log is, deletes its chunks, unlists the object.

Whoever dies in between has changed nothing: the log is still in the database, the next one moves it
to an object of another name, and the one that was begun is removed when its day is over. Two that
move the same log do the same work twice, and one of them is refused at step 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import groupby
from uuid import uuid4

from mainspring import faults
from mainspring.logs.frames import FRAME_BYTES, pack
from mainspring.logs.places import Places
from mainspring.logs.read import Ask
from mainspring.store.logs import (
    LongLog,
    adopt_log,
    forget_removals,
    intend_object,
    let_log_stay,
    read_chunks,
    take_removals,
)

REMOVALS_MAX = 500


class _Hole(Exception):
    """A log that a failover tore."""


async def move_log(ask: Ask, places: Places, name: str, log: LongLog) -> bool:
    """Move one log to the store of this name; False if it stayed, or somebody else has moved it."""
    key = f"logs/{log.task_id // 1_000_000}/{log.task_id}-{log.term}-{uuid4().hex[:12]}.gz"
    store = places.store(name)
    store_id = await ask(intend_object, name, key)
    ends: list[int] = []
    try:
        await store.put(key, _packed(ask, log, ends))
    except _Hole:
        await ask(let_log_stay, log.task_id, log.term)
        return False
    faults.point("a log is an object and still in the database")
    return await ask(adopt_log, log, store_id, key, ends)


async def remove_objects(ask: Ask, places: Places) -> int:
    """Remove some objects that nobody needs; says how many."""
    taken = await ask(take_removals, REMOVALS_MAX)
    for (url, store_id), group in groupby(taken, key=lambda item: (item.url, item.store_id)):
        keys = [item.key for item in group]
        await places.store(url).delete(keys)
        faults.point("objects are removed and still listed")
        await ask(forget_removals, store_id, keys)
    return len(taken)


async def _packed(ask: Ask, log: LongLog, ends: list[int]) -> AsyncIterator[bytes]:
    """The log's frames; `ends` tells afterwards where each of them ends."""
    rest, size, at = bytearray(), 0, 0
    while at < log.bytes:
        chunks = await ask(read_chunks, log.task_id, log.term, at, log.bytes)
        if not chunks or chunks[0].start != at:
            raise _Hole
        for chunk in chunks:
            if chunk.start != at:
                raise _Hole
            rest += chunk.content
            at += len(chunk.content)
        while len(rest) >= FRAME_BYTES or (at == log.bytes and rest):
            packed = await asyncio.to_thread(pack, bytes(rest[:FRAME_BYTES]))
            del rest[:FRAME_BYTES]
            size += len(packed)
            ends.append(size)
            yield packed
