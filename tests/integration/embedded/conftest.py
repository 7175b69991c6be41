"""One home per session, started and stopped by most tests; the others make or break their own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.embedded.home import MARKER_NAME
from tests.integration.embedded.processes import SETTINGS, replace_file


def _make_folder() -> Path:
    """Open to all, unlike pytest's own: otherwise root's servers could not be inside."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-test-")).resolve()
    folder.chmod(0o755)
    return folder


def _delete_folder(folder: Path) -> None:
    for marker in list(folder.rglob(MARKER_NAME)):
        destroy(marker.parent)
    shutil.rmtree(folder)


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = _make_folder()
    yield folder
    _delete_folder(folder)


@pytest.fixture(scope="session")
def shared_home() -> Iterator[Path]:
    folder = _make_folder()
    EmbeddedPostgres(folder / "home", settings=SETTINGS).__enter__().stop()
    yield folder / "home"
    _delete_folder(folder)


@pytest.fixture
def server(home: Path) -> Iterator[EmbeddedPostgres]:
    """The server of the shared home, not yet started."""
    server = EmbeddedPostgres(home, settings=SETTINGS)
    yield server
    server.stop()


@pytest.fixture
def home(shared_home: Path) -> Path:
    """A stopped home with its database. Whoever starts it stops it and leaves it sound."""
    return shared_home


@pytest.fixture
def home_to_break(shared_home: Path, folder: Path) -> Path:
    """A copy that cannot be started: its files are those of the shared home, by other names.

    Delete, rename or replace them; writing into one would change both.
    """
    home = folder / "home"
    shutil.copytree(shared_home, home, copy_function=os.link)
    for copied in filter(Path.is_dir, home.rglob("*")):
        original = (shared_home / copied.relative_to(home)).stat()
        os.chown(copied, original.st_uid, original.st_gid)
    replace_file(home / MARKER_NAME, (home / MARKER_NAME).read_text())
    return home
