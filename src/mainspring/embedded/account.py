"""Under which operating system account the server runs, and what that account can reach.

PostgreSQL refuses to run as root. An ordinary user's server runs as that user; root's server runs
as an existing unprivileged account, `postgres` if there is one, else `nobody`. No account is ever
created, and no folder's mode is changed to let one in: what the account cannot reach, it is not
given. Whether it can is tried, not computed, since modes alone do not tell (ACLs, mounts).

Fails when the account of the current user has no name (peer authentication compares names), or when
root is not allowed to switch accounts, as in some sandboxes.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mainspring.embedded.errors import EmbeddedError

# The server's own settings come from its configuration file; variables such as PGOPTIONS or LC_ALL
# of the calling shell must change neither it nor its tools.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}

_UNPRIVILEGED = ("postgres", "nobody")
_USE_OTHER_DATABASE = "set `MAINSPRING_DATABASE_URL` to a PostgreSQL server that you run yourself"


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_current(self) -> bool:
        return self.uid == os.geteuid()

    # `subprocess` takes these three; None leaves the child with what the parent has.
    @property
    def user(self) -> int | None:
        return None if self.is_current else self.uid

    @property
    def group(self) -> int | None:
        return None if self.is_current else self.gid

    @property
    def extra_groups(self) -> list[int] | None:
        return None if self.is_current else []

    def can(self, test: str, path: Path) -> bool:
        """Try `test` (a flag of test(1), such as `-r`) on a path as this account."""
        return self._try('test "$1" "$2"', test, str(path))

    def can_enter(self, folder: Path) -> bool:
        return self._try('cd -- "$1"', str(folder))

    def _try(self, script: str, *arguments: str) -> bool:
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", script, "sh", *arguments],
                check=False,
                cwd="/",
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                user=self.user,
                group=self.group,
                extra_groups=self.extra_groups,
            )
        except OSError as error:
            raise EmbeddedError(
                f"cannot run a process as account `{self.name}` (uid {self.uid}): {error}",
                hint="PostgreSQL refuses to run as root: run Mainspring as an ordinary user, or "
                + _USE_OTHER_DATABASE,
            ) from error
        return done.returncode == 0


def is_root() -> bool:
    return os.geteuid() == 0


def current_account() -> Account:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise EmbeddedError(
            f"the current user id {uid} has no name on this system, and the embedded PostgreSQL "
            "recognises its owner by name",
            hint=f"add an entry for {uid} to /etc/passwd, or {_USE_OTHER_DATABASE}",
        ) from error
    return Account(entry.pw_name, uid, os.getegid())


def choose_account() -> Account:
    """The account of a server that has no data yet."""
    if not is_root():
        return current_account()
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        "PostgreSQL refuses to run as root, and this system has neither an account `postgres` nor "
        "`nobody` to run it as",
        hint="run Mainspring as an ordinary user, or " + _USE_OTHER_DATABASE,
    )


def owner_of(data: Path) -> Account:
    """The account of a server whose data exist: whoever owns them, whatever accounts came since."""
    status = data.lstat()
    try:
        name = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        name = str(status.st_uid)
    account = Account(name, status.st_uid, status.st_gid)
    if not is_root() and not account.is_current:
        raise EmbeddedError(
            f"the database in {data} belongs to `{name}`, not to the current user",
            hint=f"run Mainspring as `{name}`, or choose another folder with `MAINSPRING_HOME`",
        )
    if account.uid == 0:
        chosen = choose_account()
        raise EmbeddedError(
            f"the database in {data} belongs to root, and PostgreSQL refuses to run as root",
            hint=f"if this folder was copied, give it back: `chown -R {chosen.name} {data}`",
        )
    return account
