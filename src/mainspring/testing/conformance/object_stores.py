"""Whether an object store keeps what it is given, whole, and gives it back in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

from mainspring.domain.errors import NotFoundError
from mainspring.plugins.shapes import ObjectStore

_PIECE = bytes(range(256)) * 1024
_PIECES = 9


def check_object_store(open_store: Callable[[], ObjectStore]) -> None:
    """Put, read and delete objects under a prefix of their own in the store that you open.

    `open_store` is called more than once: what one object of yours has put, another finds. Nothing
    stays behind in a store that conforms.
    """
    asyncio.run(_check(open_store))


async def _check(open_store: Callable[[], ObjectStore]) -> None:
    prefix = f"conformance/{uuid4().hex[:8]}"
    whole, empty, other = f"{prefix}/whole.gz", f"{prefix}/empty", f"{prefix}/whole.gz-2"
    store = open_store()
    try:
        await store.put(whole, _pieces(_PIECES))
        await store.put(empty, _pieces(0))
        await store.put(other, _pieces(1))
        await _check_reading(open_store(), whole, empty)
        await _check_writing(open_store(), whole, f"{prefix}/broken")
        await _check_deleting(open_store(), whole, other, f"{prefix}/never")
    finally:
        await store.delete([whole, empty, other, f"{prefix}/broken"])


async def _check_reading(store: ObjectStore, whole: str, empty: str) -> None:
    content = _PIECE * _PIECES
    size = len(content)
    for start, end in ((0, size), (0, 1), (7, 300_001), (size - 3, size), (size - 3, size + 100)):
        found = await store.get(whole, start, end)
        assert found == content[start:end], (
            f"`get(key, {start}, {end})` of an object of {size} bytes gave {len(found)} bytes,"
            f" or others than were put; expected {len(content[start:end])}"
        )
    assert await store.get(whole, size, size + 10) == b"", "there is something after the end"
    assert await store.get(empty, 0, 10) == b"", "an object without content has some"


async def _check_writing(store: ObjectStore, whole: str, broken: str) -> None:
    await store.put(whole, _pieces(_PIECES))
    assert await store.get(whole, 0, 4) == _PIECE[:4], "put again, it is another object"

    async def breaking_off() -> AsyncIterator[bytes]:
        yield _PIECE
        raise ConnectionError("by the conformance kit")

    try:
        await store.put(broken, breaking_off())
    except Exception:
        pass
    else:
        raise AssertionError("`put` said nothing of an error in the pieces")
    assert await _is_gone(store, broken), "a part of an object is there after `put` failed"


async def _check_deleting(store: ObjectStore, whole: str, other: str, never: str) -> None:
    assert await _is_gone(store, never), "`get` of what was never put raised no `NotFoundError`"
    await store.delete([whole, never])
    await store.delete([whole])
    assert await _is_gone(store, whole), "what was deleted is still there"
    assert await store.get(other, 0, 4) == _PIECE[:4], "with one object another one was deleted"
    await store.delete([])


async def _is_gone(store: ObjectStore, key: str) -> bool:
    try:
        await store.get(key, 0, 1)
    except NotFoundError:
        return True
    return False


async def _pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield _PIECE
