"""Dags from a branch of a Git repository, by the command `git`, or else by dulwich.

A bare clone in the home follows the branch, and the files of its newest commit lie in a folder
beside it, which is then read like any folder of dags. That a branch moves on is expected; that its
history is rewritten is not, since nobody can tell what became of the code that was used. Then, as
when the repository is out of reach, there is an error and the dags stay as they were.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import shutil
import time
from pathlib import Path

from mainspring.bundles.git_tools import GitError, GitTool, find_tool
from mainspring.domain.errors import InputError, MainspringError, UnavailableError
from mainspring.domain.repositories import Repository

POLL_SECONDS = 15.0
_FILES_MAX = 100_000
_BYTES_MAX = 500 * 1024 * 1024
"""Of what is checked out; the limits of a bundle come after what it ignores."""


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
        tool = find_tool(self._clone)
        commit = await self._fetch(tool)
        await self._refuse_rewritten(tool, commit)
        folder = self._place / commit
        if not folder.is_dir():
            await self._check_out(tool, commit, folder)
            await asyncio.to_thread(self._remove_others, folder)
        await tool.use(self._repository.branch, commit)
        return folder

    async def _fetch(self, tool: GitTool) -> str:
        """The newest commit of the branch."""
        self._place.mkdir(parents=True, exist_ok=True)
        branch = self._repository.branch
        try:
            return await tool.fetch(self._repository.url, branch)
        except GitError as error:
            raise UnavailableError(
                f"the branch `{branch}` of {self._repository.public_url} cannot be fetched:"
                f" {self._words(error)}",
                hint="the dags stay as they were; it is tried again every"
                f" {self._poll_seconds:g} s",
            ) from None

    async def _refuse_rewritten(self, tool: GitTool, commit: str) -> None:
        last = await tool.used(self._repository.branch)
        if last is None or await tool.leads(last, commit):
            return
        raise InputError(
            f"the history of branch `{self._repository.branch}` of"
            f" {self._repository.public_url} was rewritten: {last[:12]}, whose dags are in use,"
            f" does not lead to {commit[:12]}",
            hint="restore the branch, or accept the new history by removing"
            f" `{self._place}` on the engine's machine",
        )

    async def _check_out(self, tool: GitTool, commit: str, folder: Path) -> None:
        try:
            files, size = await tool.measure(commit, self._repository.folder)
        except GitError:
            raise InputError(
                f"commit {commit[:12]} of {self._repository.public_url} has no folder"
                f" `{self._repository.folder}`"
            ) from None
        if files > _FILES_MAX or size > _BYTES_MAX:
            raise InputError(
                f"commit {commit[:12]} of {self._repository.public_url} holds more than"
                f" {_FILES_MAX:,} files or {_BYTES_MAX // 1024 // 1024} MiB",
                hint="name the folder that holds the dags: `…@branch:folder`",
            )
        temporary = self._place / f".taking-{secrets.token_hex(8)}"
        temporary.mkdir()
        index = temporary.with_suffix(".index")
        try:
            await tool.check_out(commit, self._repository.folder, temporary, index)
            temporary.rename(folder)
        except GitError as error:
            raise UnavailableError(
                f"commit {commit[:12]} cannot be checked out: {self._words(error)}"
            ) from None
        finally:
            index.unlink(missing_ok=True)
            shutil.rmtree(temporary, ignore_errors=True)

    def _remove_others(self, folder: Path) -> None:
        for other in self._place.iterdir():
            if other not in (folder, self._clone) and other != self._folder:
                shutil.rmtree(other, ignore_errors=True)

    def _words(self, error: GitError) -> str:
        """What went wrong, on one line, without a password."""
        text = " ".join(str(error).split())
        return text.replace(self._repository.url, self._repository.public_url)[:500]
