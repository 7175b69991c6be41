"""A server comes up from nothing, from a stop and from a crash, and goes when told."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import asyncpg
import pytest

from mainspring.embedded import EmbeddedError, EmbeddedPostgres, default_home, destroy, find_running
from tests.integration.embedded.processes import (
    SETTINGS,
    ask,
    log_since_start,
    start_supervisor,
    wait_until,
)

_KEEP = "drop table if exists kept; create table kept as select 42 as answer"


def test_a_home_that_does_not_exist_becomes_a_running_database(folder: Path) -> None:
    home = folder / "new" / "home"
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert server.poll() is None
        assert server.pid is not None
        assert ask(server.url, "select current_user, current_database()") == "mainspring|mainspring"
        assert ask(server.url, "show data_checksums") == "on"
        assert ask(server.url, "show server_encoding") == "UTF8"
        assert ask(server.url, "show listen_addresses") == ""
    assert server.poll() == 0
    assert server.pid is None


def test_durability_is_on_unless_a_caller_says_otherwise(home: Path) -> None:
    with EmbeddedPostgres(home, settings={"shared_buffers": "16MB"}) as server:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(server.url, f"show {name}") == "on"


def test_an_existing_empty_folder_is_adopted(folder: Path) -> None:
    home = folder / "empty"
    home.mkdir(mode=0o755)
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"


def test_data_and_address_survive_a_restart(server: EmbeddedPostgres) -> None:
    url = server.start()
    ask(url, _KEEP)
    server.stop()
    server.stop()
    assert server.start() == url
    assert server.start() == url
    assert ask(url, "select answer from kept") == "42"


def test_a_committed_row_survives_sigkill_of_the_server(home: Path) -> None:
    server = EmbeddedPostgres(home, settings={"shared_buffers": "16MB"})
    url = server.start()
    ask(url, _KEEP)
    server.kill()
    assert server.poll() == -9
    assert server.pid is None
    assert find_running(home) is None
    assert server.start() == url
    assert ask(url, "select answer from kept") == "42"
    server.stop()


def test_a_setting_of_the_caller_wins(home: Path) -> None:
    settings = {**SETTINGS, "work_mem": "7MB", "log_line_prefix": "it's \\ %m "}
    with EmbeddedPostgres(home, settings=settings) as server:
        assert ask(server.url, "show work_mem") == "7MB"
        assert ask(server.url, "show log_line_prefix") == "it's \\ %m "


@pytest.mark.parametrize("name", ["listen_addresses", "hba_file", "x = 1\nfsync"])
def test_a_setting_that_would_open_the_server_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(EmbeddedError, match="setting"):
        EmbeddedPostgres(folder / "home", settings={name: "*"})


def test_a_setting_that_postgresql_refuses_is_told_with_its_reason(home: Path) -> None:
    server = EmbeddedPostgres(home, settings={"shared_buffers": "much"})
    with pytest.raises(EmbeddedError, match="shared_buffers") as raised:
        server.start()
    assert "log" in raised.value.hint
    assert server.pid is None
    with EmbeddedPostgres(home, settings=SETTINGS) as mended:
        assert ask(mended.url, "select 1") == "1"


def test_asyncpg_takes_the_address_whatever_the_environment_says(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.start()
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGHOST", "db.invalid")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=nonsense")

    async def ask_by_asyncpg() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval("select current_user::text")
        finally:
            await connection.close()

    assert asyncio.run(ask_by_asyncpg()) == "mainspring"


def test_a_server_started_in_a_thread_outlives_that_thread(server: EmbeddedPostgres) -> None:
    thread = threading.Thread(target=server.start)
    thread.start()
    task = Path("/proc/self/task", str(thread.native_id))
    thread.join()
    wait_until(lambda: not task.exists())
    assert ask(server.url, "select 1") == "1"
    server.kill()
    log = log_since_start(server)
    assert "ready to accept connections" in log
    assert "received fast shutdown request" not in log


def test_a_forked_copy_neither_stops_the_server_nor_keeps_the_home(
    server: EmbeddedPostgres,
) -> None:
    server.start()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(writer)
            server.stop()
            os.read(reader, 1)
        finally:
            os._exit(0)
    try:
        assert server.poll() is None
        server.stop()
        server.start()  # The lock is free although the forked process lives.
    finally:
        os.close(writer)
        os.close(reader)
        os.waitpid(pid, 0)


def test_find_running_tells_the_address_only_while_the_server_answers(home: Path) -> None:
    assert find_running(home.parent) is None
    assert find_running(home.parent / "missing") is None
    assert find_running(home) is None
    supervisor, url, pid = start_supervisor(home)
    with supervisor:
        assert find_running(home) == url
        assert ask(url, "select 1") == "1"
        os.kill(pid, 9)
        wait_until(lambda: find_running(home) is None)
        assert supervisor.poll() is None
    assert find_running(home) is None


def test_the_default_home_follows_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(folder / "chosen"))
    assert default_home() == folder / "chosen"
    monkeypatch.delenv("MAINSPRING_HOME")
    assert "mainspring" in default_home().parts


def test_destroy_leaves_nothing_but_what_is_not_ours(folder: Path) -> None:
    home = folder / "home"
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        with pytest.raises(EmbeddedError, match="already supervised"):
            destroy(home)
        ask(server.url, _KEEP)
    (home / "notes.txt").write_text("mine")
    destroy(home)
    assert (home / "notes.txt").read_text() == "mine"
    assert not (home / "cluster").exists()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select to_regclass('kept') is null") == "t"
    (home / "notes.txt").unlink()
    destroy(home)
    assert not home.exists()
    destroy(home)


def test_destroy_refuses_a_foreign_folder(folder: Path) -> None:
    (folder / "precious").touch()
    with pytest.raises(EmbeddedError, match="not a Mainspring home"):
        destroy(folder)
    assert [entry.name for entry in folder.iterdir()] == ["precious"]
