from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mainspring import InputError, NotFoundError, UnavailableError
from mainspring.bundles import snapshot, tree
from mainspring.bundles.snapshot import find_snapshot, take_snapshot, tree_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dags"
    write(made, "a.py", "one")
    write(made, "sub/b.py", "two")
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- digest --------------------------------------------------------------------------------


def test_equal_trees_have_equal_digests(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    write(other, "sub/b.py", "two")
    write(other, "a.py", "one")
    assert tree_digest(other) == tree_digest(folder)
    assert len(tree_digest(folder)) == 64


def test_content_names_and_the_executable_bit_change_the_digest(folder: Path) -> None:
    seen = {tree_digest(folder)}
    write(folder, "a.py", "1ne")
    seen.add(tree_digest(folder))
    (folder / "a.py").rename(folder / "c.py")
    seen.add(tree_digest(folder))
    (folder / "c.py").chmod(0o755)
    seen.add(tree_digest(folder))
    write(folder, "empty", "")
    seen.add(tree_digest(folder))
    assert len(seen) == 5


def test_where_one_file_ends_and_the_next_begins_matters(tmp_path: Path) -> None:
    write(tmp_path / "x", "a", "bc")
    write(tmp_path / "y", "ab", "c")
    assert tree_digest(tmp_path / "x") != tree_digest(tmp_path / "y")


@pytest.mark.parametrize(
    "name",
    [
        ".git/config",
        ".venv/lib/x.py",
        ".mypy_cache/x.json",
        "__pycache__/a.cpython-311.pyc",
        "sub/__pycache__/x",
        "a.pyc",
        ".hidden",
        "sub/.hidden/x.py",
    ],
)
def test_what_is_no_source_does_not_count(folder: Path, name: str) -> None:
    before = tree_digest(folder)
    write(folder, name, "noise")
    assert tree_digest(folder) == before


def test_an_ignore_file_leaves_out_what_its_globs_match(folder: Path) -> None:
    before = tree_digest(folder)
    write(folder, ".mainspringignore", "# data\n*.csv\nbuild/\n/sub/x*.py\n\n")
    write(folder, "big.csv", "1")
    write(folder, "sub/deep/big.csv", "1")
    write(folder, "build/out/x.py", "1")
    write(folder, "sub/build/x.py", "1")
    write(folder, "sub/x1.py", "1")
    assert tree_digest(folder) == before
    write(folder, "x1.py", "1")
    assert tree_digest(folder) != before


def test_links_inside_the_folder_count_as_what_they_lead_to(folder: Path, cache: Path) -> None:
    (folder / "link.py").symlink_to("a.py")
    (folder / "again").symlink_to("sub")
    taken = take_snapshot(folder, cache)
    assert paths(taken.path) == ["a.py", "again/b.py", "link.py", "sub/b.py"]
    assert not (taken.path / "link.py").is_symlink()


def test_links_that_lead_out_nowhere_or_round_in_circles_do_not_count(
    folder: Path, tmp_path: Path
) -> None:
    before = tree_digest(folder)
    secret = write(tmp_path, "secret", "x")
    (folder / "out").symlink_to(secret)
    (folder / "out_folder").symlink_to(tmp_path)
    (folder / "nowhere").symlink_to("absent")
    (folder / "self").symlink_to("self")
    (folder / "sub" / "up").symlink_to("..")
    assert tree_digest(folder) == before


def test_pipes_and_other_oddities_are_not_opened(folder: Path) -> None:
    before = tree_digest(folder)
    os.mkfifo(folder / "pipe.py")
    assert tree_digest(folder) == before


def test_a_linked_folder_is_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(folder)
    assert tree_digest(tmp_path / "current") == tree_digest(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="absent` does not exist"):
        tree_digest(tmp_path / "absent")


def test_an_empty_folder_has_a_digest(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert paths(take_snapshot(tmp_path / "empty", cache).path) == []


def test_too_many_files_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "FILES_MAX", 2)
    tree_digest(folder)
    write(folder, "c.py", "")
    with pytest.raises(InputError, match="holds more than 2 files"):
        tree_digest(folder)


def test_too_many_bytes_are_refused(folder: Path) -> None:
    with (folder / "data.bin").open("wb") as stream:
        stream.truncate(tree.BYTES_MAX + 1)
    with pytest.raises(InputError, match="or 50 MiB") as caught:
        tree_digest(folder)
    assert ".mainspringignore" in caught.value.hint


# --- snapshots -----------------------------------------------------------------------------


def test_a_snapshot_is_the_tree_under_its_digest(folder: Path, cache: Path) -> None:
    (folder / "sub" / "run.sh").write_text("#!/bin/sh")
    (folder / "sub" / "run.sh").chmod(0o755)
    write(folder, "__pycache__/x.pyc", "noise")
    taken = take_snapshot(folder, cache)
    assert taken.path == cache / taken.digest
    assert taken.digest == tree_digest(folder) == tree_digest(taken.path)
    assert paths(taken.path) == ["a.py", "sub/b.py", "sub/run.sh"]
    assert stat.S_IMODE((taken.path / "a.py").stat().st_mode) == 0o444
    assert stat.S_IMODE((taken.path / "sub" / "run.sh").stat().st_mode) == 0o555


def test_a_snapshot_stays_when_the_folder_changes(folder: Path, cache: Path) -> None:
    first = take_snapshot(folder, cache)
    write(folder, "a.py", "changed")
    second = take_snapshot(folder, cache)
    assert first.digest != second.digest
    assert (first.path / "a.py").read_text() == "one"
    assert (second.path / "a.py").read_text() == "changed"


def test_a_snapshot_is_found_by_its_digest(folder: Path, cache: Path) -> None:
    digest = tree_digest(folder)
    assert find_snapshot(cache, digest) is None
    taken = take_snapshot(folder, cache)
    assert find_snapshot(cache, digest) == taken.path
    assert take_snapshot(folder, cache) == taken


@pytest.mark.parametrize("digest", ["", "..", "../x", "A" * 64, "0" * 63])
def test_only_a_digest_is_looked_for(cache: Path, digest: str) -> None:
    with pytest.raises(InputError, match="is not a snapshot's digest"):
        find_snapshot(cache, digest)


def test_many_takers_agree(folder: Path, cache: Path) -> None:
    for number in range(50):
        write(folder, f"m{number}.py", str(number))
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: take_snapshot(folder, cache), range(16)))
    assert len(set(taken)) == 1
    assert [entry.name for entry in cache.iterdir()] == [taken[0].digest]


def test_a_folder_that_changes_while_it_is_copied_is_copied_again(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, edits = snapshot._copy, iter(["edit one", "edit two"])

    def copy(source: Path, target: Path) -> None:
        real(source, target)
        if text := next(edits, None):
            write(folder, "a.py", text)
            write(target, "torn", "x")

    monkeypatch.setattr(snapshot, "_copy", copy)
    taken = take_snapshot(folder, cache)
    assert (taken.path / "a.py").read_text() == "edit two"
    assert [entry.name for entry in cache.iterdir()] == [taken.digest]


def test_a_folder_that_never_rests_is_an_error(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = snapshot._copy

    def copy(source: Path, target: Path) -> None:
        real(source, target)
        write(target, "torn", "x")

    monkeypatch.setattr(snapshot, "_copy", copy)
    monkeypatch.setattr(snapshot, "_PAUSE_SECONDS", 0)
    with pytest.raises(UnavailableError, match="keeps changing"):
        take_snapshot(folder, cache)
    assert list(cache.iterdir()) == []


def test_leftovers_of_a_killed_taker_are_removed_after_a_while(folder: Path, cache: Path) -> None:
    old, recent = cache / ".taking-old", cache / ".taking-recent"
    write(old, "a.py", "x")
    write(recent, "a.py", "x")
    os.utime(old, (0, 0))
    take_snapshot(folder, cache)
    assert not old.exists()
    assert recent.exists()
