"""A folder as an object store: `file:///path`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from mainspring.domain.errors import InputError
from mainspring.objects.failures import ObjectGone, StoreFailed


class Folder:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise InputError(
                f"`{url}` names no folder", hint="write it with three slashes: file:///srv/objects"
            )
        self._path = Path(unquote(parts.path))

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        path = self._path_of(key)
        # Its name tells that it is not whole; nobody asks for it, and a crash may leave it.
        begun = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
        with _told(self._path):
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            try:
                with await asyncio.to_thread(begun.open, "wb") as file:
                    async for piece in pieces:
                        await asyncio.to_thread(file.write, piece)
                    await asyncio.to_thread(_sync, file.fileno())
                    await asyncio.to_thread(_publish, begun, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    begun.unlink(missing_ok=True)
                raise

    async def get(self, key: str, start: int, end: int) -> bytes:
        return await asyncio.to_thread(self._get, key, start, end)

    async def delete(self, keys: Sequence[str]) -> None:
        await asyncio.to_thread(self._delete, keys)

    def _get(self, key: str, start: int, end: int) -> bytes:
        with _told(self._path):
            try:
                with self._path_of(key).open("rb") as file:
                    file.seek(start)
                    return file.read(max(end - start, 0))
            except (FileNotFoundError, NotADirectoryError):
                raise ObjectGone(
                    f"there is no `{key}` in {self._path}",
                    hint="it was removed, or the folder is one of another machine",
                ) from None

    def _delete(self, keys: Sequence[str]) -> None:
        with _told(self._path):
            for key in keys:
                path = self._path_of(key)
                for left in [path, *path.parent.glob(f".{path.name}.*")]:
                    left.unlink(missing_ok=True)
                self._remove_empty(path.parent)

    def _remove_empty(self, folder: Path) -> None:
        """Folders come and go with what is in them."""
        while folder != self._path:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def _path_of(self, key: str) -> Path:
        assert not key.startswith("/"), key
        assert ".." not in key.split("/"), key
        return self._path / key


def _sync(descriptor: int) -> None:
    os.fsync(descriptor)


def _publish(begun: Path, path: Path) -> None:
    """Under its name, and so that a power cut does not take the name away."""
    begun.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFailed(
            f"the folder {folder} of objects cannot be used: {error.strerror or error}",
            hint="check MAINSPRING_OBJECTS, the folder's permissions and the space left",
        ) from error
