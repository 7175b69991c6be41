"""Dags from a branch of a repository: real repositories, by the real `git`, and by dulwich."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mainspring import InputError, UnavailableError
from mainspring.bundles.git import Checkout
from mainspring.bundles.git_tools import ByCommand, ByDulwich, find_tool
from mainspring.domain.repositories import Repository, parse_repository


class Origin:
    """A bare repository, and a clone of it that somebody works in."""

    def __init__(self, folder: Path) -> None:
        self.bare = folder / "origin.git"
        self.clone = folder / "clone"
        self.home = folder / "home"
        self._git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        self._git(folder, "clone", "--quiet", str(self.bare), str(self.clone))
        self._git(self.clone, "checkout", "--quiet", "-B", "main")

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            path = self.clone / "dags" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        self.git("push", "--quiet", "--force", "origin", "main")

    def git(self, *arguments: str) -> None:
        self._git(self.clone, *arguments)

    def checkout(self, branch: str = "main", folder: str = "dags") -> Checkout:
        return Checkout(
            Repository(f"file://{self.bare}", branch, folder), self.home, poll_seconds=0
        )

    @staticmethod
    def _git(folder: Path, *arguments: str) -> None:
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in _WHO}
        environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)


_WHO = ("NAME", "EMAIL")


@pytest.fixture(params=[ByCommand, ByDulwich])
def origin(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Origin:
    monkeypatch.setattr("mainspring.bundles.git.find_tool", request.param)
    made = Origin(tmp_path)
    made.commit(a="one")
    return made


def _files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_dulwich_steps_in_where_git_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(find_tool(tmp_path), ByCommand)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(find_tool(tmp_path), ByDulwich)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match="`git` is not installed here") as raised:
        find_tool(tmp_path)
    assert "pip install 'mainspring[git]'" in raised.value.hint


async def test_what_one_has_fetched_the_other_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin(tmp_path)
    for text, tool in (("one", ByCommand), ("two", ByDulwich), ("three", ByCommand)):
        monkeypatch.setattr("mainspring.bundles.git.find_tool", tool)
        origin.commit(a=text)
        assert _files(await origin.checkout().folder()) == {"a.py": text}


async def test_a_branch_is_followed(origin: Origin) -> None:
    checkout = origin.checkout()
    first = await checkout.folder()
    assert _files(first) == {"a.py": "one"}
    assert await checkout.folder() == first
    origin.commit(a="two", b="new")
    assert _files(await checkout.folder()) == {"a.py": "two", "b.py": "new"}
    origin.commit(b="newer")
    # One who starts anew goes on from there; what is no longer needed is removed.
    again = await origin.checkout().folder()
    assert _files(again) == {"a.py": "two", "b.py": "newer"}
    assert sorted(path.name for path in again.parent.iterdir()) == sorted([again.name, "clone"])


async def test_a_hurried_one_asks_before_its_time(origin: Origin) -> None:
    repository = Repository(f"file://{origin.bare}", "main", "dags")
    checkout = Checkout(repository, origin.home, poll_seconds=1_000_000)
    assert _files(await checkout.folder()) == {"a.py": "one"}
    origin.commit(a="two")
    assert _files(await checkout.folder()) == {"a.py": "one"}
    checkout.hurry()
    assert _files(await checkout.folder()) == {"a.py": "two"}


async def test_the_root_may_be_the_folder(origin: Origin) -> None:
    assert [path.name for path in (await origin.checkout(folder="").folder()).iterdir()] == ["dags"]


async def test_a_repository_out_of_reach_is_an_error_until_it_is_back(origin: Origin) -> None:
    checkout = origin.checkout()
    folder = await checkout.folder()
    away = origin.bare.rename(origin.bare.with_name("away.git"))
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"branch `main` of file://.* cannot be fetched"):
            await checkout.folder()
    away.rename(origin.bare)
    assert await checkout.folder() == folder


async def test_a_rewritten_history_is_refused_until_it_is_restored(origin: Origin) -> None:
    checkout = origin.checkout()
    origin.commit(a="good")
    folder = await checkout.folder()
    origin.git("tag", "good")
    origin.git("reset", "--quiet", "--hard", "HEAD~1")
    origin.commit(a="evil")
    for each in (checkout, origin.checkout()):
        with pytest.raises(InputError, match=r"was rewritten: .* does not lead to") as caught:
            await each.folder()
        assert "by removing" in caught.value.hint
    assert _files(folder) == {"a.py": "good"}
    origin.git("reset", "--quiet", "--hard", "good")
    origin.commit(a="better")
    assert _files(await checkout.folder()) == {"a.py": "better"}


async def test_an_unknown_branch_or_folder_is_named(origin: Origin) -> None:
    with pytest.raises(UnavailableError, match="branch `other` of"):
        await origin.checkout("other").folder()
    with pytest.raises(InputError, match="has no folder `nowhere`"):
        await origin.checkout(folder="nowhere").folder()


async def test_a_commit_that_is_too_large_is_refused_and_what_was_used_stays(
    origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = origin.checkout()
    good = await checkout.folder()
    monkeypatch.setattr("mainspring.bundles.git._BYTES_MAX", 1_000_000)
    origin.commit(large="x" * 2_000_000)
    with pytest.raises(InputError, match=r"holds more than .* files or") as raised:
        await checkout.folder()
    assert raised.value.hint == "name the folder that holds the dags: `…@branch:folder`"
    assert _files(good) == {"a.py": "one"}
    origin.commit(large="x")
    assert _files(await checkout.folder()) == {"a.py": "one", "large.py": "x"}


async def test_links_that_lead_out_are_no_way_to_write_there(
    origin: Origin, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (origin.clone / "dags" / "way").symlink_to(outside)
    origin.commit(b="x")
    folder = await origin.checkout().folder()
    assert (folder / "way").is_symlink()
    assert list(outside.iterdir()) == []


async def test_hooks_of_the_clone_do_not_run(origin: Origin) -> None:
    checkout = origin.checkout()
    folder = await checkout.folder()
    hook = folder.parent / "clone" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {origin.home}/ran\n")
    hook.chmod(0o755)
    origin.commit(a="two")
    await checkout.folder()
    assert not (origin.home / "ran").exists()


# --- as it is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "git+https://git.example.org/team/dags.git@main:dags",
            Repository("https://git.example.org/team/dags.git", "main", "dags"),
        ),
        ("git+file:///srv/dags.git@main", Repository("file:///srv/dags.git", "main")),
        (
            "git+ssh://git@host:22/a.git@release/1.2:a/b/",
            Repository("ssh://git@host:22/a.git", "release/1.2", "a/b"),
        ),
    ],
)
def test_a_repository_is_written_as_an_address(text: str, found: Repository) -> None:
    assert parse_repository(text) == found
    assert parse_repository(str(found)) == found


def test_a_password_is_not_shown() -> None:
    repository = parse_repository("git+https://user:secret@host/a.git@main")
    assert repository.public_url == "https://host/a.git"


@pytest.mark.parametrize(
    "text",
    [
        "git+https://host/a.git",
        "git+ssh://git@host/a.git",
        "git+@main",
        "git+ext://sh -c evil/x@main",
        "git+/srv/dags.git@main",
        "git+file:///srv/a.git@--upload-pack=evil",
        "git+file:///srv/a.git@a..b",
        "git+file:///srv/a.git@main:../up",
        "git+file:///srv/a.git@main:a//b",
    ],
)
def test_what_is_no_repository_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_repository(text)
