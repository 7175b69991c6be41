"""The cluster: the folder of a home in which the server's own files are.

    cluster/                  ours, 0700; as root 0711, so that the server's account can pass
      data/                   the server's, 0700: PostgreSQL's data
      data.initializing-…/    the same while `initdb` works; renamed when complete
      log/  socket/           the server's, 0700
      postgresql.conf  pg_hba.conf  pg_ident.conf  startup.log      ours

It is in the home, unless root runs Mainspring and the server's account cannot enter the home (made
by `mktemp -d`, or under /root). Then it is /var/lib/mainspring/cluster-<id>, the home's marker says
so, and a note in it says which home that is; only a folder whose note carries the home's id is
used or deleted.

Only our own temporary name under our own marker is ever redone or removed unasked. Data that are
missing, damaged, or of another major version are an error which says what to do.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from pathlib import Path

from mainspring.embedded import account as accounts
from mainspring.embedded import leftovers
from mainspring.embedded.account import Account, is_root
from mainspring.embedded.address import url_of
from mainspring.embedded.binaries import POSTGRESQL_MAJOR, Binaries
from mainspring.embedded.child import run_tool
from mainspring.embedded.configuration import SUPERUSER
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.home import (
    FORMAT,
    Home,
    Marker,
    make_folder,
    new_id,
    sync_folder,
    write_file,
)
from mainspring.embedded.probe import socket_path

OUTLYING = Path("/var/lib/mainspring")

_INSIDE = "cluster"
_UNFINISHED = "data.initializing-"
_DELETE_SECONDS = 10
_NOTE_NAME = "mainspring-cluster.json"
_SOCKET_PATH_BYTES_MAX = 103  # macOS; Linux allows 107.
# PostgreSQL and drivers split lists of hosts at commas and know more such signs.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+=~ -]+")

_log = logging.getLogger(__name__)


class Cluster:
    def __init__(self, home: Home, marker: Marker) -> None:
        self._home = home
        self._marker = marker
        self.folder = home.path / marker.cluster

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def startup_log(self) -> Path:
        return self.folder / "startup.log"

    @property
    def configuration(self) -> Path:
        return self.folder / "postgresql.conf"

    @property
    def hba(self) -> Path:
        return self.folder / "pg_hba.conf"

    @property
    def ident(self) -> Path:
        return self.folder / "pg_ident.conf"

    @property
    def socket(self) -> Path:
        if self._marker.socket is not None:
            return Path(self._marker.socket)
        return self.folder / "socket"

    def account(self) -> Account:
        if os.path.lexists(self.data):
            return accounts.owner_of(self.data)
        return accounts.choose_account()

    # -- making ready, in this order -----------------------------------------------------------

    def make_folder(self, account: Account) -> None:
        if not os.path.lexists(self.folder):
            if self._marker.initialised:
                raise self._lost(self.folder)
            make_folder(self.folder)
        self.check_folder()
        if not account.is_current and not account.can_enter(self.folder):
            raise EmbeddedError(
                f"account `{account.name}`, which runs the embedded PostgreSQL, cannot enter "
                f"{self.folder}",
                hint="let others pass through the folders above it (`chmod o+x`), or start with a "
                "new home",
            )

    def check_folder(self) -> None:
        status = self.folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise EmbeddedError(
                f"{self.folder} is not the folder that Mainspring made: "
                f"{stat.filemode(status.st_mode)}, user id {status.st_uid}",
                hint=f"see what it is; the home is {self._home.path}",
            )
        if self._is_outlying:
            self._check_note()

    def initialise(self, binaries: Binaries, account: Account) -> None:
        if os.path.lexists(self.data):
            self._check_data()
        elif self._marker.initialised:
            raise self._lost(self.data)
        else:
            self._make_data(binaries, account)
        self._change_marker(initialised=True)
        self._delete_unfinished()
        _make_owned_folder(self.log, account)

    def make_socket_folder(self, account: Account) -> None:
        """Where the path is short and plain: in the cluster, else in a private folder elsewhere.

        A folder once chosen is kept while it exists, so that the address survives a restart.
        """
        inside = self.folder / "socket"
        if _fits(inside):
            self._change_marker(socket=None)
            _make_owned_folder(inside, account)
        elif self._marker.socket is None or not _is_private(Path(self._marker.socket), account):
            self._change_marker(socket=str(_make_short_folder(account)))

    # -- the end -------------------------------------------------------------------------------

    def delete(self) -> None:
        """Delete the data and all that is ours; the note goes last, so a cut can be resumed."""
        self._change_marker(initialised=False)
        if self._marker.socket is not None:
            _delete_short_folder(Path(self._marker.socket))
            self._change_marker(socket=None)
        if not os.path.lexists(self.folder):
            return
        if os.path.lexists(self.data):
            self.data.rename(self._new_unfinished())
        for entry in list(self.folder.iterdir()):
            if entry.name == _NOTE_NAME:
                continue
            if entry.is_dir() and not entry.is_symlink():
                _delete_tree(entry)
            else:
                entry.unlink()
        (self.folder / _NOTE_NAME).unlink(missing_ok=True)
        self.folder.rmdir()

    # -- steps ---------------------------------------------------------------------------------

    @property
    def _is_outlying(self) -> bool:
        return Path(self._marker.cluster).is_absolute()

    def _new_unfinished(self) -> Path:
        """A new name each time: a child of a killed `initdb` may live on a moment with the old."""
        return self.folder / f"{_UNFINISHED}{new_id()}"

    def _delete_unfinished(self) -> None:
        for entry in list(self.folder.iterdir()):
            if entry.name.startswith(_UNFINISHED):
                _log.info("deleting %s, which an earlier start did not finish", entry)
                _delete_tree(entry)

    def _change_marker(self, **changes: object) -> None:
        self._marker = self._home.update(self._marker, **changes)

    def _check_note(self) -> None:
        path = self.folder / _NOTE_NAME
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if not any(self.folder.iterdir()):
                self._write_note()
                return
            note = {}
        if note.get("id") != self._marker.id:
            raise EmbeddedError(
                f"{self.folder} does not belong to the home {self._home.path}: its {_NOTE_NAME} "
                "does not carry the home's id",
                hint=f"restore that file, or correct `cluster` in {self._home.marker_path}",
            )
        other = Home(Path(str(note.get("home"))))
        if other.path == self._home.path:
            return
        other_marker = other.read() if other.exists() else None
        if other_marker is not None and other_marker.id == self._marker.id:
            raise EmbeddedError(
                f"{self._home.path} is a copy of the home {other.path}, and both point to the "
                f"database in {self.folder}",
                hint="delete the copy; to duplicate a database use pg_dump and a new home",
            )
        self._write_note()  # The home was moved.

    def _write_note(self) -> None:
        note = {"format": FORMAT, "id": self._marker.id, "home": str(self._home.path)}
        write_file(self.folder / _NOTE_NAME, json.dumps(note, indent=2) + "\n", mode=0o600)

    def _check_data(self) -> None:
        try:
            major = (self.data / "PG_VERSION").read_text().strip()
            (self.data / "global" / "pg_control").lstat()
        except OSError as error:
            raise EmbeddedError(
                f"{self.data} is not a complete PostgreSQL data folder: {error}",
                hint="restore it from a backup; if it holds nothing of worth, delete "
                f"{self._home.path} and start again",
            ) from error
        if major != str(POSTGRESQL_MAJOR):
            raise EmbeddedError(
                f"the database in {self.data} was made by PostgreSQL {major}; the installed "
                f"programs are PostgreSQL {POSTGRESQL_MAJOR}",
                hint=f"serve it with PostgreSQL {major}, as its owner: `postgres -D {self.data} -c "
                f"config_file={self.configuration}`; dump it: `pg_dump '{url_of(self.socket)}' > "
                f"mainspring.sql`; then set {self._home.path} aside, start again and load the dump "
                "with `psql`",
            )

    def _make_data(self, binaries: Binaries, account: Account) -> None:
        unfinished = self._new_unfinished()
        _make_owned_folder(unfinished, account)
        # Collation by code point, built into PostgreSQL: no update of the C library can ever
        # change the order under an index.
        done = run_tool(
            [
                *(binaries.initdb, "--pgdata", unfinished, "--username", SUPERUSER),
                *("--encoding", "UTF8", "--locale", "C"),
                *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
                *("--auth", "peer", "--data-checksums", "--no-instructions"),
            ],
            account,
        )
        if done.returncode != 0:
            raise EmbeddedError(
                f"initdb failed in {unfinished} (exit code {done.returncode}):\n"
                + "\n".join(done.stdout.strip().splitlines()[-6:]),
                hint="see that the disk has room and supports owners and modes, then try again",
            )
        unfinished.rename(self.data)
        sync_folder(self.folder)

    def _lost(self, path: Path) -> EmbeddedError:
        return EmbeddedError(
            f"the database of the home {self._home.path} is gone: there is no {path}",
            hint="mount or restore it; to begin with an empty database instead, delete "
            f"{self._home.path}",
        )


def choose_place(home: Home, identity: str, account: Account) -> str:
    """Where a new home's cluster goes, as the marker writes it."""
    if account.is_current or account.can_enter(home.path):
        return _INSIDE
    place = OUTLYING / f"cluster-{identity}"
    _log.warning(
        "account `%s` cannot enter %s; the database goes to %s", account.name, home.path, place
    )
    return str(place)


def _delete_tree(folder: Path) -> None:
    """Delete a data folder together with what may still be writing into it."""
    deadline = time.monotonic() + _DELETE_SECONDS
    while True:
        leftovers.end_backends(folder, signal.SIGKILL)
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if not os.path.lexists(folder):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _make_owned_folder(path: Path, account: Account) -> None:
    if not os.path.lexists(path):
        path.mkdir(mode=0o700)
        if not account.is_current:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    if not _is_private(path, account):
        raise EmbeddedError(
            f"{path} is not a folder of `{account.name}` alone (0700)",
            hint=f"see what it is; `chown {account.name} {path}` and `chmod 700 {path}` mend it",
        )


def _is_private(path: Path, account: Account) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == account.uid
        and stat.S_IMODE(status.st_mode) & 0o077 == 0
    )


def _fits(folder: Path) -> bool:
    path = str(socket_path(folder))
    return (
        len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_MAX and _PLAIN_PATH.fullmatch(path) is not None
    )


def _make_short_folder(account: Account) -> Path:
    usual = "/run" if is_root() else os.environ.get("XDG_RUNTIME_DIR", "")
    for base in (usual, tempfile.gettempdir(), "/tmp"):
        if not os.path.isabs(base) or not os.access(base, os.W_OK | os.X_OK):
            continue
        if not _fits(Path(base) / "mainspring-12345678") or not account.can_enter(Path(base)):
            continue
        folder = Path(tempfile.mkdtemp(prefix="mainspring-", dir=base))
        if not account.is_current:
            os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        return folder
    raise EmbeddedError(
        "no folder with a path short enough for a Unix socket can be written",
        hint="set `TMPDIR` to one, or choose a shorter `MAINSPRING_HOME`",
    )


def _delete_short_folder(folder: Path) -> None:
    """Only what a server puts there; a folder that holds anything else is not ours any more."""
    for left in (socket_path(folder), Path(f"{socket_path(folder)}.lock")):
        left.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        pass
