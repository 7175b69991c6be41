"""The digest of a tree of code, as it is published (docs/decisions/0010), written a second time."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def tree_digest(folder: Path) -> str:
    """SHA-256 over the sorted paths, executable bits and contents of all files.

    For trees of plain files only: nothing hidden, no links, nothing that is to be ignored.
    """
    digest = hashlib.sha256()
    for path, file in sorted(_files(folder).items()):
        name, content = path.encode(), file.read_bytes()
        executable = os.access(file, os.X_OK)
        digest.update(f"{len(name)} {executable:d} {len(content)}\n".encode())
        digest.update(name + content)
    return digest.hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    return {
        file.relative_to(folder).as_posix(): file
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
