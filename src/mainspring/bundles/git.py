"""Dags from a branch of a Git repository, by the command `git`.

A bare clone in the home follows the branch, and the files of its newest commit lie in a folder
beside it, which is then read like any folder of dags. That a branch moves on is expected; that its
history is rewritten is not, since nobody can tell what became of the code that was used. Then, as
when the repository is out of reach, there is an error and the dags stay as they were.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

from mainspring.domain.errors import InputError, MainspringError, UnavailableError
from mainspring.domain.repositories import SCHEMES, Repository

POLL_SECONDS = 15.0
_TIMEOUT_SECONDS = 300.0
_FILES_MAX = 100_000
_BYTES_MAX = 500 * 1024 * 1024
"""Of what is checked out; the limits of a bundle come after what it ignores."""
_FETCHED = "refs/mainspring/fetched"


class Checkout:
    """The folder of dags in a repository, as the branch has it."""

    def __init__(
        self, repository: Repository, home: Path, *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self._repository = repository
        name = hashlib.sha256(str(repository).encode()).hexdigest()[:16]
        self._place = home / "repositories" / name
        self._clone = self._place / "clone"
        self._poll_seconds = poll_seconds
        self._due_at = 0.0
        self._hurried = False
        self._folder: Path | None = None
        self._error: MainspringError | None = None

    def hurry(self) -> None:
        """Ask the repository the next time, whenever it was asked last."""
        self._hurried = True

    async def folder(self) -> Path:
        """The files of the newest commit; the repository is asked again every now and then."""
        if self._hurried or time.monotonic() >= self._due_at:
            self._hurried = False
            try:
                self._folder, self._error = await self._refresh(), None
            except MainspringError as error:
                self._error = error
            self._due_at = time.monotonic() + self._poll_seconds
        if self._error is not None:
            raise self._error
        assert self._folder is not None
        return self._folder

    async def _refresh(self) -> Path:
        commit = await self._fetch()
        used = f"refs/mainspring/used/{self._repository.branch}"
        await self._refuse_rewritten(used, commit)
        folder = self._place / commit
        if not folder.is_dir():
            await self._check_out(commit, folder)
            await asyncio.to_thread(self._remove_others, folder)
        await self._git("update-ref", used, commit)
        return folder

    async def _fetch(self) -> str:
        """The newest commit of the branch."""
        if not (self._clone / "HEAD").exists():
            self._place.mkdir(parents=True, exist_ok=True)
            await self._git("init", "--quiet", "--bare", str(self._clone), at_clone=False)
        branch = self._repository.branch
        try:
            await self._git(
                *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules"),
                *("--", self._repository.url, f"+refs/heads/{branch}:{_FETCHED}"),
            )
        except _GitError as error:
            raise UnavailableError(
                f"the branch `{branch}` of {self._repository.public_url} cannot be fetched:"
                f" {error}",
                hint="the dags stay as they were; it is tried again every"
                f" {self._poll_seconds:g} s",
            ) from None
        return (await self._git("rev-parse", f"{_FETCHED}^{{commit}}")).strip()

    async def _refuse_rewritten(self, used: str, commit: str) -> None:
        try:
            last = (await self._git("rev-parse", "--verify", "--quiet", used)).strip()
        except _GitError:
            return  # nothing was used yet
        try:
            await self._git("merge-base", "--is-ancestor", last, commit)
        except _GitError:
            raise InputError(
                f"the history of branch `{self._repository.branch}` of"
                f" {self._repository.public_url} was rewritten: {last[:12]}, whose dags are in use,"
                f" does not lead to {commit[:12]}",
                hint="restore the branch, or accept the new history by removing"
                f" `{self._place}` on the engine's machine",
            ) from None

    async def _check_out(self, commit: str, folder: Path) -> None:
        tree = f"{commit}:{self._repository.folder}"
        try:
            listing = await self._git("ls-tree", "-r", "-l", "-z", tree)
        except _GitError:
            raise InputError(
                f"commit {commit[:12]} of {self._repository.public_url} has no folder"
                f" `{self._repository.folder}`"
            ) from None
        sizes = [line.split("\t")[0].split()[-1] for line in listing.split("\0") if line]
        if len(sizes) > _FILES_MAX or sum(int(s) for s in sizes if s.isdigit()) > _BYTES_MAX:
            raise InputError(
                f"commit {commit[:12]} of {self._repository.public_url} holds more than"
                f" {_FILES_MAX:,} files or {_BYTES_MAX // 1024 // 1024} MiB",
                hint="name the folder that holds the dags: `…@branch:folder`",
            )
        temporary = self._place / f".taking-{secrets.token_hex(8)}"
        temporary.mkdir()
        index = temporary.with_suffix(".index")
        try:
            options = (f"--work-tree={temporary}",)
            await self._git(*options, "read-tree", tree, index=index)
            await self._git(*options, "checkout-index", "--all", "--quiet", index=index)
            temporary.rename(folder)
        except _GitError as error:
            raise UnavailableError(f"commit {commit[:12]} cannot be checked out: {error}") from None
        finally:
            index.unlink(missing_ok=True)
            shutil.rmtree(temporary, ignore_errors=True)

    def _remove_others(self, folder: Path) -> None:
        for other in self._place.iterdir():
            if other not in (folder, self._clone) and other != self._folder:
                shutil.rmtree(other, ignore_errors=True)

    async def _git(self, *arguments: str, at_clone: bool = True, index: Path | None = None) -> str:
        environment = {
            **os.environ,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
            "LC_ALL": "C",
        }
        if at_clone:
            environment["GIT_DIR"] = str(self._clone)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        try:
            child = await asyncio.create_subprocess_exec(
                *("git", "-c", "core.hooksPath=/dev/null", "-c", "gc.autoDetach=false"),
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise UnavailableError(
                "the command `git` is not installed here, and the dags are in a repository",
                hint="install it on the engine's machine",
            ) from None
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                out, told = await child.communicate()
        except TimeoutError:
            raise _GitError(f"no answer after {_TIMEOUT_SECONDS:g} s") from None
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        if child.returncode != 0:
            raise _GitError(self._words(told))
        return os.fsdecode(out)

    def _words(self, told: bytes) -> str:
        """What git complained about, on one line, without a password."""
        text = " ".join(told.decode(errors="replace").split())
        return text.replace(self._repository.url, self._repository.public_url)[:500]


class _GitError(Exception):
    """The command said no; its words."""
