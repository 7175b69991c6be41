"""The kit passes a store that keeps its promises, and finds each way of breaking one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from mainspring.domain.errors import NotFoundError
from mainspring.testing.conformance import check_object_store


class Folder:
    """Small, and enough."""

    folder: Path

    def __init__(self, url: str = "") -> None:
        self._url = url

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        content = b"".join([piece async for piece in pieces])
        self.path(key).write_bytes(content)

    async def get(self, key: str, start: int, end: int) -> bytes:
        try:
            return self.path(key).read_bytes()[start:end]
        except FileNotFoundError:
            raise NotFoundError(f"there is no `{key}`") from None

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.path(key).unlink(missing_ok=True)

    def path(self, key: str) -> Path:
        return self.folder / key.replace("/", "_")


class Streaming(Folder):
    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        self.path(key).write_bytes(b"")
        async for piece in pieces:
            with self.path(key).open("ab") as file:
                file.write(piece)


class Shrugging(Folder):
    async def get(self, key: str, start: int, end: int) -> bytes:
        return await super().get(key, start, end) if self.path(key).exists() else b""


class Inclusive(Folder):
    async def get(self, key: str, start: int, end: int) -> bytes:
        return await super().get(key, start, end + 1)


class Sweeping(Folder):
    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            for path in self.folder.glob(f"{self.path(key).name}*"):
                path.unlink()


class Strict(Folder):
    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.path(key).unlink()


class Keeping(Folder):
    async def delete(self, keys: Sequence[str]) -> None: ...


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Folder, "folder", tmp_path, raising=False)
    return tmp_path


def test_a_store_that_conforms_passes_and_is_left_empty(folder: Path) -> None:
    check_object_store(Folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("store", "finding"),
    [
        (Streaming, "a part of an object is there"),
        (Shrugging, "a part of an object is there|raised no `NotFoundError`"),
        (Inclusive, r"`get\(key, 0, 1\)`"),
        (Sweeping, "another one was deleted|there is no"),
        (Strict, "No such file"),
        (Keeping, "is still there"),
    ],
)
def test_the_kit_finds_what_is_wrong(store: type[Folder], finding: str) -> None:
    with pytest.raises((AssertionError, OSError, NotFoundError), match=finding):
        check_object_store(store)
