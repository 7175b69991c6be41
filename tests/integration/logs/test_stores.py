"""What every object store must do, and how each of them fails."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.objects import ObjectGone, StoreFailed, from_url
from mainspring.testing.conformance import check_object_store
from tests.integration.logs.conftest import Shelf

KEY = "logs/17/17000042-1.gz"


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


async def broken_pieces() -> AsyncIterator[bytes]:
    yield b"x" * 9_000_000
    raise RuntimeError("the source broke")


def test_ours_conform_as_any_plug_in_has_to(shelf: Shelf) -> None:
    check_object_store(lambda: from_url(shelf.url))


async def test_what_was_put_is_read_by_range(shelf: Shelf) -> None:
    store = from_url(shelf.url)
    await store.put(KEY, pieces(b"abc" * 3_000_000, b"", b"xyz"))
    assert await store.get(KEY, 0, 4) == b"abca"
    assert await store.get(KEY, 8_999_998, 9_000_002) == b"bcxy"
    assert await store.get(KEY, 9_000_001, 99_000_000) == b"yz"
    assert await store.get(KEY, 5, 5) == b""
    assert shelf.keys() == [KEY]
    await store.put(KEY, pieces(b"again"))
    assert await store.get(KEY, 0, 100) == b"again"


async def test_what_is_removed_is_gone_and_may_be_removed_again(shelf: Shelf) -> None:
    store = from_url(shelf.url)
    await store.put(KEY, pieces(b"abc"))
    await store.put("logs/17/other.gz", pieces(b"abc"))
    await store.delete([KEY, "logs/17/never-there.gz"])
    await store.delete([KEY])
    with pytest.raises(ObjectGone, match=KEY):
        await store.get(KEY, 0, 1)
    assert shelf.keys() == ["logs/17/other.gz"]


async def test_a_put_that_breaks_leaves_nothing_under_the_key(shelf: Shelf) -> None:
    store = from_url(shelf.url)
    with pytest.raises(RuntimeError, match="the source broke"):
        await store.put(KEY, broken_pieces())
    assert shelf.keys() == []
    with pytest.raises(ObjectGone):
        await store.get(KEY, 0, 1)


async def test_a_missing_bucket_is_told_with_a_hint(bucket: Shelf) -> None:
    store = from_url("s3://no-such-bucket/prefix")
    for asked in (store.put(KEY, pieces(b"abc")), store.get(KEY, 0, 1), store.delete([KEY])):
        with pytest.raises(StoreFailed, match="bucket does not exist") as raised:
            await asked
        assert "credentials" in raised.value.hint


async def test_a_server_out_of_reach_is_told_without_secrets(
    bucket: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreFailed, match="cannot be used") as raised:
        await from_url(bucket.url).get(KEY, 0, 1)
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(raised.value)
    assert "?" not in str(raised.value)


async def test_a_folder_that_cannot_be_written_is_told_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = from_url((tmp_path / "file" / "objects").as_uri())
    with pytest.raises(StoreFailed, match="cannot be used: Not a directory") as raised:
        await store.put(KEY, pieces(b"abc"))
    assert "MAINSPRING_OBJECTS" in raised.value.hint
