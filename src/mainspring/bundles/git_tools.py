"""Two ways to work with a bare clone: the command `git`, and a program of ours that uses dulwich.

Both are processes of their own, so that one that hangs can be ended with all that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mainspring.domain.errors import UnavailableError
from mainspring.domain.repositories import SCHEMES

_TIMEOUT_SECONDS = 300.0
_FETCHED = "refs/mainspring/fetched"
_USED = "refs/mainspring/used/"


class GitError(Exception):
    """It said no; its words."""


class GitTool(Protocol):
    async def fetch(self, url: str, branch: str) -> str:
        """Bring the clone up to date, and make it if it is not there; the branch's commit."""

    async def used(self, branch: str) -> str | None:
        """The commit that was last said to be in use."""

    async def use(self, branch: str, commit: str) -> None: ...

    async def leads(self, before: str, after: str) -> bool:
        """Whether one commit is in the history of the other."""

    async def measure(self, commit: str, folder: str) -> tuple[int, int]:
        """How many files a folder has, and how many bytes; GitError if it is none."""

    async def check_out(self, commit: str, folder: str, target: Path, index: Path) -> None: ...


def find_tool(clone: Path) -> GitTool:
    if shutil.which("git"):
        return ByCommand(clone)
    if importlib.util.find_spec("dulwich"):
        return ByDulwich(clone)
    raise UnavailableError(
        "the command `git` is not installed here, and the dags are in a repository",
        hint="install it on the engine's machine, or dulwich: pip install 'mainspring[git]'",
    )


class ByCommand:
    def __init__(self, clone: Path) -> None:
        self._clone = clone

    async def fetch(self, url: str, branch: str) -> str:
        if not (self._clone / "HEAD").exists():
            await self._git("init", "--quiet", "--bare", str(self._clone), at_clone=False)
        await self._git(
            *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules"),
            *("--", url, f"+refs/heads/{branch}:{_FETCHED}"),
        )
        return (await self._git("rev-parse", f"{_FETCHED}^{{commit}}")).strip()

    async def used(self, branch: str) -> str | None:
        try:
            return (await self._git("rev-parse", "--verify", "--quiet", _USED + branch)).strip()
        except GitError:
            return None

    async def use(self, branch: str, commit: str) -> None:
        await self._git("update-ref", _USED + branch, commit)

    async def leads(self, before: str, after: str) -> bool:
        try:
            await self._git("merge-base", "--is-ancestor", before, after)
        except GitError:
            return False
        return True

    async def measure(self, commit: str, folder: str) -> tuple[int, int]:
        listing = await self._git("ls-tree", "-r", "-l", "-z", f"{commit}:{folder}")
        sizes = [line.split("\t")[0].split()[-1] for line in listing.split("\0") if line]
        return len(sizes), sum(int(size) for size in sizes if size.isdigit())

    async def check_out(self, commit: str, folder: str, target: Path, index: Path) -> None:
        options = (f"--work-tree={target}",)
        await self._git(*options, "read-tree", f"{commit}:{folder}", index=index)
        await self._git(*options, "checkout-index", "--all", "--quiet", index=index)

    async def _git(self, *arguments: str, at_clone: bool = True, index: Path | None = None) -> str:
        environment = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
            "LC_ALL": "C",
        }
        if at_clone:
            environment["GIT_DIR"] = str(self._clone)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "gc.autoDetach=false"]
        return await _run([*command, *arguments], environment)


class ByDulwich:
    """`without_git.py` in a process of its own does the same."""

    def __init__(self, clone: Path) -> None:
        self._clone = clone

    async def fetch(self, url: str, branch: str) -> str:
        return await self._ask("fetch", url, branch, _FETCHED)

    async def used(self, branch: str) -> str | None:
        return await self._ask("read", _USED + branch) or None

    async def use(self, branch: str, commit: str) -> None:
        await self._ask("write", _USED + branch, commit)

    async def leads(self, before: str, after: str) -> bool:
        return await self._ask("leads", before, after) == "yes"

    async def measure(self, commit: str, folder: str) -> tuple[int, int]:
        files, size = (await self._ask("measure", commit, folder)).split()
        return int(files), int(size)

    async def check_out(self, commit: str, folder: str, target: Path, index: Path) -> None:
        await self._ask("check_out", commit, folder, str(target), str(index))

    async def _ask(self, *arguments: str) -> str:
        program = [sys.executable, "-P", "-m", "mainspring.bundles.without_git"]
        return (await _run([*program, str(self._clone), *arguments], {})).strip()


async def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            out, told = await child.communicate()
    except TimeoutError:
        raise GitError(f"no answer after {_TIMEOUT_SECONDS:g} s") from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    if child.returncode != 0:
        raise GitError(told.decode(errors="replace"))
    return os.fsdecode(out)
