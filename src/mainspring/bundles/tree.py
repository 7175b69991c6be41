"""Which files of a folder belong to the bundle.

Left out: hidden files and folders (`.git`, `.venv`, …), `__pycache__`, `*.pyc`, whatever a line
of `.mainspringignore` matches, links that lead out of the folder, and anything that is neither a
file nor a folder. Links inside the folder are followed and count as what they lead to. The walk
is bounded, so that a bundle set by mistake to a home folder is an error and not an outage.

A line of `.mainspringignore` is a glob: without `/` it is matched against every name on the
way, with `/` against the path from the bundle's folder; `#` begins a comment.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mainspring.domain.errors import InputError, NotFoundError

BYTES_MAX = 50 * 1024 * 1024
FILES_MAX = 20_000
_ENTRIES_MAX = 10 * FILES_MAX
"""Files and folders looked at, since many empty folders are work too."""

IGNORE_FILE = ".mainspringignore"


class TreeFile(NamedTuple):
    path: str
    """From the bundle's folder, with `/`."""
    absolute: str
    size: int
    executable: bool


class Entry(NamedTuple):
    """One file of a tree, as the tree's digest counts it."""

    path: str
    executable: bool
    content: bytes


def files_in(folder: Path) -> list[TreeFile]:
    """The bundle's files, sorted by path."""
    root = os.path.realpath(folder)
    if not os.path.isdir(root):
        raise NotFoundError(
            f"the bundle folder `{folder}` does not exist",
            hint="make it, or set `MAINSPRING_DAGS` to the folder that holds your dags",
        )
    files: list[TreeFile] = []
    size = 0
    for file in _walk(root, _Ignored.read(root)):
        files.append(file)
        size += file.size
        if len(files) > FILES_MAX or size > BYTES_MAX:
            raise too_large(folder)
    return sorted(files)


def too_large(folder: Path) -> InputError:
    return InputError(
        f"the bundle folder `{folder}` holds more than {FILES_MAX:,} files or "
        f"{BYTES_MAX // 1024 // 1024} MiB",
        hint=f"keep data elsewhere, or list it in `{IGNORE_FILE}`",
    )


def _walk(root: str, ignored: _Ignored) -> Iterator[TreeFile]:
    # Each folder comes with the real folders above it: a link to one of these would never end.
    pending: list[tuple[str, str, frozenset[str]]] = [(root, "", frozenset({root}))]
    entries = 0
    while pending:
        folder, prefix, above = pending.pop()
        for entry in os.scandir(folder):
            entries += 1
            if entries > _ENTRIES_MAX:
                raise too_large(Path(root))
            path = prefix + entry.name
            if ignored.has(path, entry.name):
                continue
            target = entry.path
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if not target.startswith(root + os.sep):
                    continue
            try:
                found = os.stat(target)
            except OSError:
                continue  # a link to nothing, or a file that went away meanwhile
            if stat.S_ISDIR(found.st_mode):
                real = os.path.realpath(target)
                if real not in above:
                    pending.append((target, path + "/", above | {real}))
            elif stat.S_ISREG(found.st_mode):
                yield TreeFile(path, target, found.st_size, bool(found.st_mode & stat.S_IXUSR))


class _Ignored(NamedTuple):
    names: tuple[str, ...]
    paths: tuple[str, ...]

    @classmethod
    def read(cls, root: str) -> _Ignored:
        try:
            text = Path(root, IGNORE_FILE).read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        lines = [line.strip() for line in text.splitlines()]
        globs = [line.rstrip("/") for line in lines if line and not line.startswith("#")]
        return cls(
            names=tuple(glob for glob in globs if "/" not in glob),
            paths=tuple(glob.lstrip("/") for glob in globs if "/" in glob),
        )

    def has(self, path: str, name: str) -> bool:
        if name.startswith(".") or name == "__pycache__" or name.endswith(".pyc"):
            return True
        return any(fnmatch.fnmatchcase(name, glob) for glob in self.names) or any(
            fnmatch.fnmatchcase(path, glob) for glob in self.paths
        )
