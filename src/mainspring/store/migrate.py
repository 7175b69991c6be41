"""Migrations: numbered plain SQL, forward only, each in one transaction.

A number has two halves. `NNNN_name.before.sql` runs before new code is deployed and must leave
the old code working; `NNNN_name.after.sql`, if there is one, runs when no old code is left.
A line `-- min_code: N` says the lowest code level that can use the schema from then on. Code
refuses a schema that demands more than it is, and a schema that lacks a half that it needs, so
in a rolling upgrade both old and new code are either right or say what is missing.

Views and guards are derived, not migrated: they are applied again whenever their text changed.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from typing import Literal, NamedTuple

from mainspring import faults
from mainspring.domain.errors import UnavailableError
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import script

Half = Literal["before", "after"]

_FILE = re.compile(r"^(\d{4})_(\w+)\.(before|after)\.sql$")
_MIN_CODE = re.compile(r"^-- min_code: (\d+)$", re.MULTILINE)
_DERIVED = ("views", "guards")
_LOCK = 0x6D61696E
"""Key of the transaction-scoped advisory lock: one migration at a time per database."""


class Migration(NamedTuple):
    number: int
    half: Half
    name: str
    text: str
    min_code: int

    @property
    def checksum(self) -> str:
        return _checksum(self.text)

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}.{self.half}"


def migrations() -> list[Migration]:
    """All halves that this code knows, in the order in which they apply."""
    found = []
    for file in files("mainspring.store").joinpath("migrations").iterdir():
        if match := _FILE.match(file.name):
            text = file.read_text("utf-8")
            minimum = _MIN_CODE.search(text)
            half: Half = "before" if match[3] == "before" else "after"
            found.append(
                Migration(int(match[1]), half, match[2], text, int(minimum[1]) if minimum else 0)
            )
    return sorted(found, key=lambda m: (m.number, m.half == "after"))


CODE_LEVEL = max(migration.number for migration in migrations())


async def migrate(connection: Connection, *, after: bool = True) -> list[str]:
    """Apply what is missing; says what was applied. `after=False` keeps the second halves back."""
    applied: list[str] = []
    for migration in migrations():
        if migration.half == "after" and not after:
            continue
        if await _apply(connection, migration):
            applied.append(str(migration))
    for name in _DERIVED:
        if await _apply_derived(connection, name):
            applied.append(name)
    return applied


async def pending(connection: Connection) -> list[str]:
    """What `migrate` would apply. Raises if an applied file was changed since."""
    applied = await _applied(connection)
    missing = []
    for migration in migrations():
        checksum = applied.get((migration.number, migration.half))
        if checksum is None:
            missing.append(str(migration))
        else:
            _verify(migration, checksum)
    return missing


async def check_schema(connection: Connection) -> None:
    """Refuse to work on a schema that is too old or too new for this code."""
    applied = await _applied(connection)
    known = {(migration.number, migration.half) for migration in migrations()}
    needed = {key for key in known if key[1] == "before"}
    if missing := needed - set(applied):
        raise UnavailableError(
            "the database has no Mainspring schema"
            if not applied
            else f"the database's schema lacks migration {min(missing)[0]:04}",
            hint="run `mainspring migrate`",
        )
    demanded: int = await connection.fetchval("select max(min_code) from mainspring.migration")
    if demanded > CODE_LEVEL:
        raise UnavailableError(
            f"the database's schema needs code of level {demanded} and this is level {CODE_LEVEL}",
            hint="upgrade this installation of Mainspring",
        )


async def _apply(connection: Connection, migration: Migration) -> bool:
    async with connection.transaction():
        await _prepare(connection)
        checksum = await connection.fetchval(
            "select checksum from mainspring.migration where number = $1 and half = $2",
            migration.number,
            migration.half,
        )
        if checksum is not None:
            _verify(migration, checksum)
            return False
        await connection.execute(migration.text)
        faults.point("a migration is applied and not recorded")
        await connection.execute(
            "insert into mainspring.migration (number, half, name, checksum, min_code)"
            " values ($1, $2, $3, $4, $5)",
            migration.number,
            migration.half,
            migration.name,
            migration.checksum,
            migration.min_code,
        )
        return True


async def _apply_derived(connection: Connection, name: str) -> bool:
    text = script(name)
    async with connection.transaction():
        await _prepare(connection)
        current = await connection.fetchval(
            "select checksum from mainspring.derived where name = $1", name
        )
        if current == _checksum(text):
            return False
        await connection.execute(text)
        faults.point("views and guards are made and not recorded")
        await connection.execute(
            "insert into mainspring.derived (name, checksum) values ($1, $2)"
            " on conflict (name) do update set checksum = excluded.checksum",
            name,
            _checksum(text),
        )
        return True


async def _prepare(connection: Connection) -> None:
    """Lock out other migrations and make the tables that remember them."""
    await connection.execute(f"select pg_advisory_xact_lock({_LOCK})")
    await connection.execute("set local client_min_messages = warning")
    await connection.execute(
        """
        create schema if not exists mainspring;
        create table if not exists mainspring.migration (
          number int, half text, name text not null, checksum text not null,
          min_code int not null, applied_at timestamptz not null default clock_timestamp(),
          primary key (number, half));
        create table if not exists mainspring.derived (
          name text primary key, checksum text not null);
        """
    )


async def _applied(connection: Connection) -> dict[tuple[int, str], str]:
    if await connection.fetchval("select to_regclass('mainspring.migration')") is None:
        return {}
    rows = await fetch(connection, "select number, half, checksum from mainspring.migration")
    return {(row["number"], row["half"]): row["checksum"] for row in rows}


def _verify(migration: Migration, checksum: str) -> None:
    if migration.checksum != checksum:
        raise UnavailableError(
            f"migration {migration} was changed after it had been applied to this database",
            hint="restore the file as it was; changes go into a migration with a new number",
        )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
