"""The home: the folder that decides which database is ours.

    home/
      mainspring-home.json    the marker; without it nothing here is touched
      supervisor.lock         see `lock.py`
      cluster/                see `cluster.py`; or elsewhere, then the marker says where

A home that does not exist is made, an empty one is adopted, any other folder without the marker is
refused before a byte is written. Nothing outside the home changes, least of all a parent's mode.
An ordinary user's home is 0700. Root's is 0711 when we make it: the server's account has to pass
through to its own folder, and can neither list nor write what is here.

`initialised` tells a cluster that was never made from one that was lost (a volume not mounted, a
container without its disk): the first is made, the second is an error, never an empty database.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from mainspring.embedded.account import is_root
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.lock import LOCK_NAME, HomeLock

MARKER_NAME = "mainspring-home.json"
FORMAT = 1

_NEW_SUFFIX = ".new"
# What a start that was cut short may leave, and what a freshly made file system holds.
_COUNTS_AS_EMPTY = frozenset({LOCK_NAME, MARKER_NAME + _NEW_SUFFIX, "lost+found"})


@dataclass(frozen=True, slots=True)
class Marker:
    id: str
    postgresql: int
    cluster: str
    """A name inside the home, or an absolute path where the server's account cannot reach it."""
    socket: str | None = None
    """The socket's folder, if it could not be in the cluster's."""
    initialised: bool = False

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(
            id=str(record["id"]),
            postgresql=int(record["postgresql"]),
            cluster=str(record["cluster"]),
            socket=None if record["socket"] is None else str(record["socket"]),
            initialised=bool(record["initialised"]),
        )


class Home:
    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))

    @property
    def marker_path(self) -> Path:
        return self.path / MARKER_NAME

    def exists(self) -> bool:
        return self.path.exists()

    def make(self) -> None:
        """Make the folder, or see that the existing one may be used; never writes into it."""
        if not self.exists():
            make_folder(self.path)
        self.check()

    def check(self) -> None:
        if not self.path.is_dir():
            raise EmbeddedError(f"the home {self.path} is not a folder", hint=_CHOOSE_ANOTHER)
        owner = self.path.stat().st_uid
        if owner != os.geteuid():
            raise EmbeddedError(
                f"the home {self.path} belongs to user id {owner}, and this is {os.geteuid()}",
                hint=f"run it as the owner, or set `MAINSPRING_HOME={self.path / 'mainspring'}`",
            )
        foreign = sorted(set(os.listdir(self.path)) - _COUNTS_AS_EMPTY)
        if foreign and MARKER_NAME not in foreign:
            raise EmbeddedError(
                f"the folder {self.path} is not a Mainspring home: it holds `{foreign[0]}` and no "
                f"`{MARKER_NAME}`",
                hint=_CHOOSE_ANOTHER,
            )

    def read(self) -> Marker | None:
        try:
            text = self.marker_path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EmbeddedError(
                f"cannot read {self.marker_path}: {error.strerror}",
                hint="run Mainspring as the owner of the home",
            ) from error
        try:
            record = json.loads(text)
            format_number = int(record["format"])
            if format_number <= FORMAT:
                return Marker.from_record(record)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddedError(
                f"{self.marker_path} is damaged: {error!r}",
                hint="restore the file from a backup; nothing else in the home was touched",
            ) from error
        raise EmbeddedError(
            f"the home {self.path} has format {format_number}, this Mainspring knows {FORMAT}",
            hint="a newer Mainspring made it: install that version, or choose another folder with "
            "`MAINSPRING_HOME`",
        )

    def write(self, marker: Marker) -> None:
        record = {"format": FORMAT, **asdict(marker)}
        write_file(self.marker_path, json.dumps(record, indent=2) + "\n", mode=0o600)

    def update(self, marker: Marker, **changes: Any) -> Marker:
        changed = replace(marker, **changes)
        if changed != marker:
            self.write(changed)
        return changed

    def delete_if_empty(self, lock: HomeLock) -> None:
        """Delete the marker and the folder, unless somebody keeps other things here."""
        ours = _COUNTS_AS_EMPTY - {"lost+found"} | {MARKER_NAME}
        if set(os.listdir(self.path)) - ours:
            return
        for name in (MARKER_NAME + _NEW_SUFFIX, MARKER_NAME):
            (self.path / name).unlink(missing_ok=True)
        lock.remove()
        try:
            self.path.rmdir()
        except OSError:  # A mount point, or a parent that is not ours to change.
            pass


def new_id() -> str:
    return secrets.token_hex(8)


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, with a mode that the umask cannot spoil."""
    mode = 0o711 if is_root() else 0o700
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise EmbeddedError(
                f"cannot make the folder {folder}: {error.strerror}",
                hint="make it yourself, or choose another with `MAINSPRING_HOME`",
            ) from error
        folder.chmod(mode)


def write_file(path: Path, text: str, *, mode: int, group: int | None = None) -> None:
    """Replace a file as a whole and durably; after a crash it is the old one or the new one."""
    new = path.with_name(path.name + _NEW_SUFFIX)
    new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if group is not None:
            os.fchown(file.fileno(), -1, group)
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    new.rename(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_CHOOSE_ANOTHER = (
    "choose an empty folder, or one that does not exist yet, with `MAINSPRING_HOME`; "
    "nothing was changed"
)
