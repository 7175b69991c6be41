"""The dags of a folder.

Every `*.py` file of the bundle's tree that mentions `mainspring` is imported and asked for its
dags; the others are helpers, which dag files import from the folder's root. `__main__.py` is
left alone. Importing happens in a child process, because it runs user code: that may hang,
crash, exit or print, and each of these is one file's problem and not ours. After a file that
took the child with it, another child reads the remaining ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from mainspring.bundles.report import (
    LENGTH_BYTES,
    BundleReport,
    FileProblem,
    FileRead,
    FileStarted,
    Finished,
    Message,
    Order,
    frame,
)
from mainspring.bundles.tree import files_in
from mainspring.domain.durations import format_duration
from mainspring.domain.errors import UnavailableError
from mainspring.domain.names import shown
from mainspring.domain.specs import DagSpec

_GRACE_SECONDS = 15.0
"""The child ends itself at a file's timeout; it is killed if it has not after this much more."""
_TRACE_BYTES_MAX = 64 * 1024

_COMMAND = (sys.executable, "-P", "-B", "-m", "mainspring.bundles.reader")
"""Without the working folder on the path, and without leaving compiled files in the bundle."""

_WITHHELD = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATABASE_URL_FILE")
"""The way into the database is not for user code."""

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


async def read_bundle(
    folder: Path,
    *,
    file_timeout_seconds: float = 30.0,
    mend: Callable[[], object] | None = None,
) -> BundleReport:
    """All dags of the folder, and what is wrong with the files that gave none.

    `mend` puts the folder back as it was, in a thread, after a file has taken its reader along.
    """
    root = Path(os.path.realpath(folder))
    files, nameless = await asyncio.to_thread(_dag_files, root)
    found: list[FileRead] = []
    while len(found) < len(files):
        if found and mend is not None:
            await asyncio.to_thread(mend)
        found += await _read_some(root, files[len(found) :], file_timeout_seconds)
    return _merged([*found, *nameless])


def _dag_files(root: Path) -> tuple[list[str], list[FileRead]]:
    """The files to be read, and those that are a problem by their name alone."""
    files: list[str] = []
    nameless: list[FileRead] = []
    for path in _mentioning_us(root):
        try:
            path.encode()
            files.append(path)
        except UnicodeEncodeError:
            told = os.fsencode(path).decode(errors="backslashreplace")
            problem = FileProblem(told, None, "the file's name is not UTF-8", "rename the file")
            nameless.append(FileRead(told, [], [problem]))
    return files, nameless


def _mentioning_us(root: Path) -> list[str]:
    return [
        file.path
        for file in files_in(root)
        if file.path.endswith(".py")
        and not file.path.endswith("__main__.py")
        and b"mainspring" in Path(file.absolute).read_bytes()
    ]


async def _read_some(root: Path, files: list[str], timeout: float) -> list[FileRead]:
    """Read files in a child until all are done or one of them has ended it; at least one."""
    child = await asyncio.create_subprocess_exec(
        *_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name not in _WITHHELD},
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    trace = asyncio.create_task(_tail(child.stderr))
    found: list[FileRead] = []
    started: str | None = None
    silent = False
    try:
        child.stdin.write(frame(Order(os.getpid(), str(root), files, timeout)))
        while True:
            async with asyncio.timeout(timeout + _GRACE_SECONDS):
                message = await _next(child.stdout)
            match message:
                case FileStarted(file=file):
                    started = file
                case FileRead() as read:
                    found.append(read)
                    started = None
                case Finished():
                    return found
                case _:
                    assert_never(message)
    except asyncio.IncompleteReadError:
        pass  # the child is gone
    except TimeoutError:
        silent = True
    finally:
        _kill(child)
        code = await child.wait()
        text = await trace
    if started is None:
        raise UnavailableError(
            f"the child that reads bundles ended with exit code {code}: {text[-2000:].strip()}"
        )
    problem = _death(root, started, code, text, timeout, silent)
    return [*found, FileRead(started, [], [problem])]


async def _next(stream: asyncio.StreamReader) -> Message:
    length = await stream.readexactly(LENGTH_BYTES)
    return _decoder.decode(await stream.readexactly(int.from_bytes(length, "big")))


async def _tail(stream: asyncio.StreamReader) -> str:
    kept = b""
    while piece := await stream.read(_TRACE_BYTES_MAX):
        kept = (kept + piece)[-_TRACE_BYTES_MAX:]
    return kept.decode(errors="replace")


def _kill(child: asyncio.subprocess.Process) -> None:
    """The child and whatever it has started; it leads a process group of its own."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _death(
    root: Path, file: str, code: int, text: str, timeout: float, silent: bool
) -> FileProblem:
    """What a file did that took the child with it."""
    line = _line_in(text, str(root / file))
    if silent or "Timeout (" in text:
        return FileProblem(
            file,
            line,
            f"importing it took longer than {format_duration(timeout)}",
            hint="work belongs into tasks; the file itself is imported often and has to be quick",
        )
    if code >= 0:
        return FileProblem(file, line, f"importing it ended the process with exit code {code}")
    name = signal.Signals(-code).name
    hint = "perhaps the machine ran out of memory" if code == -signal.SIGKILL else ""
    return FileProblem(file, line, f"importing it crashed Python ({name})", hint)


def _line_in(trace: str, path: str) -> int | None:
    """The innermost line of the file in what faulthandler wrote."""
    found = re.search(rf'File "{re.escape(path)}", line (\d+)', trace)
    return int(found[1]) if found else None


def _merged(found: Sequence[FileRead]) -> BundleReport:
    problems = [problem for read in found for problem in read.problems]
    homes: dict[str, list[str]] = {}
    for read in found:
        for dag in read.dags:
            homes.setdefault(dag.name, []).append(read.file)
    dags: dict[str, DagSpec] = {}
    for read in found:
        for dag in read.dags:
            if len(homes[dag.name]) == 1:
                dags[dag.name] = dag
            else:
                # Neither is taken: which of them is meant is not for their names to decide.
                problems.append(_namesake(dag.name, read.file, homes[dag.name]))
    return BundleReport(
        dags=[dags[name] for name in sorted(dags)],
        files={name: homes[name][0] for name in sorted(dags)},
        problems=sorted(problems, key=lambda problem: (problem.file, problem.line or 0)),
    )


def _namesake(name: str, file: str, homes: Sequence[str]) -> FileProblem:
    others = [f"`{other}`" for other in dict.fromkeys(homes) if other != file]
    where = f"also in {' and '.join(others)}" if others else "twice in this file"
    return FileProblem(
        file,
        None,
        f"the dag {shown(name)} is defined {where}; neither is used, and the last good version"
        " stays",
        hint='give one of them another name: `@dag(name="…")`',
    )
