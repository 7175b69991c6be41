"""The home of a demo, and how one is told from a home that is somebody's own."""

from __future__ import annotations

import shutil
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import msgspec

from mainspring.domain.errors import InputError
from mainspring.embedded import default_home, destroy

_MARKER = "demo.json"
_NEW = "  # new"
"""Ends lines of the dags that were not there in the first version of them."""


class Marker(msgspec.Struct, frozen=True):
    """What a demo was seeded with."""

    seed: int
    runs: int
    whole: bool
    """Whether it came to the end."""
    seeded_at: datetime | None = None


def demo_home() -> Path:
    return default_home().parent / "mainspring-demo"


def dags_of(home: Path) -> Path:
    return home / "dags"


def read_marker(home: Path) -> Marker | None:
    """None for a home that does not exist; an error for one that is no demo's."""
    file = home / _MARKER
    if file.exists():
        try:
            return msgspec.json.decode(file.read_bytes(), type=Marker)
        except msgspec.DecodeError as error:
            raise InputError(f"`{file}` cannot be read: {error}", hint=_OTHER) from None
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise InputError(f"`{home}` is not the home of a demo", hint=_OTHER)
    return None


def write_marker(home: Path, marker: Marker) -> None:
    (home / _MARKER).write_bytes(msgspec.json.encode(marker))


def clear(home: Path) -> None:
    """Away with a demo: one that did not come to its end, or that is not wanted as it is."""
    assert (home / _MARKER).exists(), f"{home} is no demo"
    destroy(home)
    shutil.rmtree(home, ignore_errors=True)


def write_dags(home: Path, *, first: bool = False) -> Path:
    """The dags as files, as they are, or as they were at first."""
    folder = dags_of(home)
    folder.mkdir(exist_ok=True)
    for file in files("mainspring.demo.dags").iterdir():
        if not file.name.endswith(".py") or file.name == "__init__.py":
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not (first and line.endswith(_NEW))]
        text = "\n".join(line.removesuffix(_NEW) for line in kept)
        (folder / file.name).write_text(text + "\n", encoding="utf-8")
    return folder


_OTHER = "give another folder by `--home`, one that does not exist"
