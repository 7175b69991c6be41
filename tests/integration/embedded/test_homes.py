"""Which folders are ours, which are not, and what is said about those that are broken."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mainspring.embedded import EmbeddedError, EmbeddedPostgres, destroy, find_running
from mainspring.embedded.account import choose_account
from mainspring.embedded.home import MARKER_NAME
from tests.integration.embedded.processes import SETTINGS, ask, replace_file

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as another account")


def change_marker(home: Path, **changes: object) -> None:
    path = home / MARKER_NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def outlying_folder(home: Path) -> Path:
    folder = Path(json.loads((home / MARKER_NAME).read_text())["cluster"])
    assert folder.is_absolute()
    return folder


def recorded_socket(home: Path) -> Path:
    return Path(json.loads((home / MARKER_NAME).read_text())["socket"])


def tree(folder: Path) -> list[tuple[str, os.stat_result]]:
    return sorted((str(entry), entry.lstat()) for entry in folder.rglob("*"))


def test_a_foreign_folder_is_refused_and_not_touched(folder: Path) -> None:
    (folder / "photos").mkdir()
    (folder / "photos" / "one.jpg").touch()
    before = tree(folder)
    with pytest.raises(EmbeddedError, match="not a Mainspring home: it holds `photos`") as raised:
        EmbeddedPostgres(folder).start()
    assert "MAINSPRING_HOME" in raised.value.hint
    assert tree(folder) == before


def test_a_file_is_no_home(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(EmbeddedError, match="not a folder"):
        EmbeddedPostgres(folder / "file").start()


def test_what_a_cut_first_start_leaves_is_made_anew(home_to_break: Path) -> None:
    home = home_to_break
    change_marker(home, initialised=False)
    unfinished = home / "cluster" / "data.initializing-0123456789abcdef"
    (home / "cluster" / "data").rename(unfinished)
    (unfinished / "PG_VERSION").unlink()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"
    assert not unfinished.exists()


def test_a_crash_after_the_rename_of_the_finished_data_loses_nothing(home: Path) -> None:
    identity = (home / "cluster" / "data").stat().st_ino
    change_marker(home, initialised=False)
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"
    assert (home / "cluster" / "data").stat().st_ino == identity
    assert json.loads((home / MARKER_NAME).read_text())["initialised"]


def test_an_unfinished_folder_without_our_marker_is_not_touched(home_to_break: Path) -> None:
    home = home_to_break
    (home / MARKER_NAME).unlink()
    (home / "cluster" / "data").rename(home / "cluster" / "data.initializing-0123456789abcdef")
    with pytest.raises(EmbeddedError, match="not a Mainspring home"):
        EmbeddedPostgres(home).start()
    assert (home / "cluster" / "data.initializing-0123456789abcdef" / "PG_VERSION").exists()


def test_a_damaged_cluster_is_an_error_and_not_touched(home_to_break: Path) -> None:
    home = home_to_break
    data = home / "cluster" / "data"
    (data / "PG_VERSION").unlink()
    before = [name for name, _ in tree(data)]
    with pytest.raises(EmbeddedError, match="not a complete PostgreSQL data folder") as raised:
        EmbeddedPostgres(home).start()
    assert "backup" in raised.value.hint
    assert [name for name, _ in tree(data)] == before


def test_lost_data_are_an_error_and_never_an_empty_database(home_to_break: Path) -> None:
    home = home_to_break
    shutil.rmtree(home / "cluster")
    with pytest.raises(EmbeddedError, match="is gone") as raised:
        EmbeddedPostgres(home).start()
    assert "restore" in raised.value.hint
    assert not (home / "cluster").exists()


def test_a_cluster_of_another_major_version_is_an_error(home_to_break: Path) -> None:
    home = home_to_break
    replace_file(home / "cluster" / "data" / "PG_VERSION", "17\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 17") as raised:
        EmbeddedPostgres(home).start()
    assert "pg_dump" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"), [('{"format": 99}', "has format 99"), ("{", "is damaged")]
)
def test_a_marker_that_cannot_be_read_is_an_error(
    home_to_break: Path, text: str, message: str
) -> None:
    home = home_to_break
    good = (home / MARKER_NAME).read_text()
    (home / MARKER_NAME).write_text(text)
    with pytest.raises(EmbeddedError, match=message):
        EmbeddedPostgres(home).start()
    with pytest.raises(EmbeddedError, match=message):
        find_running(home)
    with pytest.raises(EmbeddedError, match=message):
        destroy(home)
    (home / MARKER_NAME).write_text(good)
    assert (home / "cluster" / "data" / "PG_VERSION").exists()


def test_a_path_that_no_socket_can_have_gets_a_private_folder_elsewhere(folder: Path) -> None:
    home = folder / "home"
    for name in ("a" * 100, "with, comma", "ümlaut's \\ path"):
        (folder / name).mkdir(mode=0o755)
        home = home.rename(folder / name / "home") if home.exists() else folder / name / "home"
        with EmbeddedPostgres(home, settings=SETTINGS) as server:
            socket = recorded_socket(home)
            assert not socket.is_relative_to(folder)
            assert socket.stat().st_mode & 0o777 == 0o700
            assert ask(server.url, "select 1") == "1"
            assert find_running(home) == server.url

    socket = recorded_socket(home)
    with EmbeddedPostgres(home, settings=SETTINGS):
        assert recorded_socket(home) == socket, "the address should survive a restart"
    shutil.rmtree(socket)  # As those who clean temporary folders do.
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"
        socket = recorded_socket(home)
    destroy(home)
    assert not socket.exists()


def test_no_folder_above_the_home_changes(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "home"
    parents = [parent for parent in home.parents if parent != Path("/")]
    before = [(each.stat().st_mode, each.stat().st_uid, each.stat().st_gid) for each in parents]
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"
    after = [(each.stat().st_mode, each.stat().st_uid, each.stat().st_gid) for each in parents]
    assert after == before
    destroy(home)


def test_a_home_that_we_make_is_closed_to_others(folder: Path) -> None:
    home = folder / "home"
    umask = os.umask(0)
    try:
        with EmbeddedPostgres(home, settings=SETTINGS):
            pass
    finally:
        os.umask(umask)
    # Root's may be passed through by the server's account, but neither listed nor written.
    assert home.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    assert (home / MARKER_NAME).stat().st_mode & 0o777 == 0o600
    assert (home / "cluster" / "data").stat().st_mode & 0o777 == 0o700
    assert (home / "cluster" / "socket").stat().st_mode & 0o777 == 0o700


@as_root
def test_a_home_that_the_servers_account_cannot_enter_keeps_its_cluster_elsewhere(
    folder: Path,
) -> None:
    home = folder / "home"
    home.mkdir(mode=0o700)  # As `mktemp -d` makes it.
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        ask(server.url, "create table kept as select 42 as answer")
    cluster = outlying_folder(home)
    assert (cluster / "data").stat().st_uid == choose_account().uid
    assert home.stat().st_mode & 0o777 == 0o700

    moved = home.rename(folder / "moved")
    with EmbeddedPostgres(moved, settings=SETTINGS) as server:
        assert ask(server.url, "select answer from kept") == "42"

    copied = folder / "copied"
    shutil.copytree(moved, copied)
    for use in (EmbeddedPostgres(copied).start, lambda: destroy(copied)):
        with pytest.raises(EmbeddedError, match="is a copy of the home"):
            use()
    shutil.rmtree(copied)

    note = cluster / "mainspring-cluster.json"
    text = note.read_text()
    note.write_text(json.dumps(json.loads(text) | {"id": "another"}))
    with pytest.raises(EmbeddedError, match="does not belong to the home"):
        destroy(moved)
    note.write_text(text)
    destroy(moved)
    assert not cluster.exists()
    assert not moved.exists()


@as_root
def test_a_home_of_another_user_is_refused(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    os.chown(home, choose_account().uid, -1)
    with pytest.raises(EmbeddedError, match="belongs to user id"):
        EmbeddedPostgres(home).start()
    assert not any(home.iterdir())
