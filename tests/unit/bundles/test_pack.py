"""Trees as bytes: what is packed comes out again, and nothing else is believed."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring import InputError, UnavailableError
from mainspring.bundles.pack import DamagedError, pack, unpack
from mainspring.bundles.snapshot import (
    digest_of,
    find_snapshot,
    hold_snapshot,
    pack_snapshot,
    prune_cache,
    restore_snapshot,
    take_snapshot,
    tree_digest,
)
from mainspring.bundles.tree import Entry
from tests.unit.bundles.test_snapshot import write

ENTRIES = [
    Entry("a.py", False, b"one"),
    Entry(os.fsdecode(b"odd \xff name"), False, b""),
    Entry("run.sh", True, b"#!/bin/sh\n"),
    Entry("sub/" + "long" * 60 + "/b.py", False, b"\0" * 100_000),
]
ENTRIES.sort()


def test_what_is_packed_comes_out_again() -> None:
    assert unpack(pack(ENTRIES)) == ENTRIES
    assert unpack(pack([])) == []


def test_packing_depends_on_the_files_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "sub/a.py", "same")
        (tmp_path / name / ".hidden").write_text(name)
    os.utime(tmp_path / "two" / "sub" / "a.py", (0, 0))
    assert pack_snapshot(tmp_path / "one") == pack_snapshot(tmp_path / "two")


def test_a_tree_that_is_too_large_names_its_largest_files() -> None:
    entries = [Entry("a.py", False, b"x"), Entry("big.bin", False, os.urandom(200_000))]
    with pytest.raises(InputError, match=r"takes 0\.2 MiB when it is packed") as caught:
        pack(entries, bytes_max=100_000)
    assert unpack(pack(entries, bytes_max=None)) == entries
    assert "`big.bin` (0.2 MiB), `a.py`" in caught.value.hint


# --- what is not believed ---------------------------------------------------------------------


def _archive(*members: tuple[str, bytes], change: Callable[[tarfile.TarInfo], None]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            change(info)
            tar.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return packed.getvalue()


def _as_is(_: tarfile.TarInfo) -> None:
    pass


def _of_type(kind: bytes) -> bytes:
    def change(info: tarfile.TarInfo) -> None:
        info.type, info.linkname, info.size = kind, "/etc/passwd", 0

    return _archive(("a", b""), change=change)


NEVER_PACKED: dict[str, tuple[Callable[[], bytes], str]] = {
    "absolute": (lambda: _archive(("/etc/a", b"x"), change=_as_is), "no path within a bundle"),
    "upwards": (lambda: _archive(("../a", b"x"), change=_as_is), "no path within a bundle"),
    "up and out": (lambda: _archive(("a/../../b", b"x"), change=_as_is), "no path within a bundle"),
    "doubled slash": (lambda: _archive(("a//b", b"x"), change=_as_is), "no path within a bundle"),
    "dot": (lambda: _archive(("./a", b"x"), change=_as_is), "no path within a bundle"),
    "symbolic link": (lambda: _of_type(tarfile.SYMTYPE), "`a` is no file"),
    "hard link": (lambda: _of_type(tarfile.LNKTYPE), "`a` is no file"),
    "folder": (lambda: _of_type(tarfile.DIRTYPE), "`a` is no file"),
    "pipe": (lambda: _of_type(tarfile.FIFOTYPE), "`a` is no file"),
    "device": (lambda: _of_type(tarfile.CHRTYPE), "`a` is no file"),
    "twice": (lambda: _archive(("a", b"1"), ("a", b"2"), change=_as_is), "`a` is out of order"),
    "unsorted": (lambda: _archive(("b", b"1"), ("a", b"2"), change=_as_is), "`a` is out of order"),
    "empty": (lambda: b"", "cannot be unpacked"),
    "text": (lambda: b"no archive", "cannot be unpacked"),
    "packed text": (lambda: gzip.compress(b"no archive" * 1000), "cannot be unpacked"),
    "cut": (lambda: pack(ENTRIES)[:-9], "cannot be unpacked"),
    "wrong sum": (lambda: pack(ENTRIES)[:-8] + b"\0" * 8, "cannot be unpacked"),
    "large": (lambda: gzip.compress(bytes(200 * 1024 * 1024)), "more than a bundle may"),
    "large file": (
        lambda: _archive(("a", bytes(60 * 1024 * 1024)), change=_as_is),
        "more than a bundle may",
    ),
}


@pytest.mark.parametrize("name", NEVER_PACKED)
def test_what_was_never_packed_is_damaged(name: str) -> None:
    make, words = NEVER_PACKED[name]
    with pytest.raises(DamagedError, match=words):
        unpack(make())


def test_only_the_right_files_get_into_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    digest = digest_of(ENTRIES)
    with pytest.raises(DamagedError, match="its files have the digest"):
        restore_snapshot(pack([*ENTRIES[:-1]]), cache, digest)
    assert find_snapshot(cache, digest) is None
    restore_snapshot(pack(ENTRIES), cache, digest)
    assert [entry.name for entry in cache.iterdir()] == [digest]
    assert tree_digest(cache / digest) == digest


def test_files_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    entries = [Entry("a", False, b""), Entry("a/b", False, b"")]
    with pytest.raises(UnavailableError, match="cannot be written"):
        restore_snapshot(pack(entries), cache, digest_of(entries))
    assert list(cache.iterdir()) == []


# --- the cache --------------------------------------------------------------------------------


def _fill(cache: Path, count: int) -> list[str]:
    """Snapshots, the one used last first."""
    digests = []
    for number in range(count):
        entries = [Entry("a.py", False, str(number).encode())]
        digest = digest_of(entries)
        restore_snapshot(pack(entries), cache, digest)
        os.utime(cache / digest, (1000 - number, 1000 - number))
        digests.append(digest)
    return digests


def test_the_cache_keeps_what_was_used_last(tmp_path: Path) -> None:
    digests = _fill(tmp_path, 4)
    held = hold_snapshot(tmp_path, digests[3])
    assert held is not None
    held.release()
    assert sorted(prune_cache(tmp_path, 2)) == sorted(digests[1:3])
    assert {path.name for path in tmp_path.iterdir()} == {digests[0], digests[3]}


def test_what_somebody_holds_is_not_pruned(tmp_path: Path) -> None:
    digests = _fill(tmp_path, 3)
    held = hold_snapshot(tmp_path, digests[0])
    assert held is not None
    assert sorted(prune_cache(tmp_path, 0)) == sorted(digests[1:])
    assert (held.path / "a.py").read_bytes() == b"0"
    held.release()
    assert prune_cache(tmp_path, 0) == [digests[0]]


def test_who_comes_for_a_snapshot_while_it_is_pruned_does_not_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [digest] = _fill(tmp_path, 1)
    lock = fcntl.flock

    def pruned_meanwhile(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        assert prune_cache(tmp_path, 0) == [digest]
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", pruned_meanwhile)
    assert hold_snapshot(tmp_path, digest) is None


def test_a_held_snapshot_that_is_forgotten_is_let_go(tmp_path: Path) -> None:
    [digest] = _fill(tmp_path, 1)
    assert hold_snapshot(tmp_path, digest) is not None
    assert prune_cache(tmp_path, 0) == [digest]


def test_a_snapshot_is_taken_again_after_it_was_pruned(tmp_path: Path) -> None:
    write(tmp_path / "dags", "a.py", "x")
    taken = take_snapshot(tmp_path / "dags", tmp_path / "cache")
    assert prune_cache(tmp_path / "cache", 0) == [taken.digest]
    assert take_snapshot(tmp_path / "dags", tmp_path / "cache") == taken
    assert find_snapshot(tmp_path / "cache", taken.digest) == taken.path
