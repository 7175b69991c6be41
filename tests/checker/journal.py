"""The journal of the database's moves: installing its triggers, and reading what they noted.

Moves of one transaction happen at one moment, its commit. Transactions are put in the order of
their last number: a transaction that changed or saw what another one did comes after it
(`journal.sql` says why), and of two that did neither it does not matter which comes first.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import msgspec

from tests.checker.rows import ROWS, Row

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_SCRIPT = Path(__file__).with_name("journal.sql")
_CHUNK = 20_000


class EvidenceError(Exception):
    """The evidence is not there, or cannot be read; nothing can be said about any promise."""


class Snapshot(msgspec.Struct, frozen=True):
    """What a statement saw: everything that had been committed when it began."""

    first_running: int
    next: int
    running: frozenset[int]

    def sees(self, transaction: int) -> bool:
        if transaction < self.first_running:
            return True
        return transaction < self.next and transaction not in self.running

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        """`xmin:xmax:xid,xid,…`, as PostgreSQL writes it."""
        first_running, following, running = text.split(":")
        return cls(
            int(first_running), int(following), frozenset(int(n) for n in running.split(",") if n)
        )


class Move(msgspec.Struct, frozen=True):
    number: int
    transaction: int
    at: float
    """Seconds on the database's clock."""
    relation: str
    kind: str
    """F(ound when the journal began), I(nserted), U(pdated) or D(eleted)."""
    before: Row | None
    after: Row | None
    snapshot: Snapshot | None = None

    @property
    def row(self) -> Row:
        row = self.after or self.before
        assert row is not None
        return row


class Transaction(msgspec.Struct, frozen=True):
    id: int
    moves: list[Move]

    @property
    def number(self) -> int:
        return self.moves[-1].number

    @property
    def at(self) -> float:
        return self.moves[-1].at

    def __str__(self) -> str:
        return f"transaction {self.id} (journal {self.moves[0].number}–{self.number})"


class Sample(msgspec.Struct, frozen=True):
    """What the database's clock said when ours said so."""

    database: float
    monotonic: float
    trip_seconds: float

    @property
    def ahead(self) -> float:
        return self.database - self.monotonic


class Clock:
    """From the database's clock to the one that the other logs use, and how well that is known."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = sorted(samples, key=lambda sample: sample.database)
        if not self._samples:
            raise EvidenceError("the journal has no sample of the database's clock")
        aheads = [sample.ahead for sample in self._samples]
        trip = max(sample.trip_seconds for sample in self._samples)
        self.slack_seconds = max(aheads) - min(aheads) + trip / 2 + 0.001
        """Two events that are further apart than this happened in the order that they seem to."""

    def monotonic(self, database: float) -> float:
        place = bisect.bisect(self._samples, database, key=lambda sample: sample.database)
        around = self._samples[max(place - 1, 0) : place + 1]
        nearest = min(around, key=lambda sample: abs(sample.database - database))
        return database - nearest.ahead


class Journal(msgspec.Struct, frozen=True):
    transactions: list[Transaction]
    clock: Clock

    def moves(self, relation: str | None = None) -> Iterator[Move]:
        """In the order of transactions, and by number within each."""
        for transaction in self.transactions:
            for move in transaction.moves:
                if relation is None or move.relation == relation:
                    yield move


# --- writing it ---------------------------------------------------------------------------------


async def install_journal(connection: Connection) -> None:
    """From now on every move is noted. Installing it again changes nothing."""
    async with connection.transaction():
        if await connection.fetchval("select to_regclass('mainspring.task')") is None:
            raise EvidenceError(
                "there is no schema to watch\nhint: migrate the database before the journal"
            )
        if await connection.fetchval("select to_regclass('checker.move')") is None:
            await connection.execute(_SCRIPT.read_text("utf-8"))
    await sample_clock(connection)


async def sample_clock(connection: Connection) -> None:
    """Note how the database's clock stands to ours; often, if clocks are stepped."""
    sample = await _sample(connection)
    await connection.execute(
        "insert into checker.clock (at, monotonic, trip_seconds) values (to_timestamp($1), $2, $3)",
        sample.database,
        sample.monotonic,
        sample.trip_seconds,
    )


async def _sample(connection: Connection) -> Sample:
    """The quickest answer of a few: it tells the time best."""
    samples = []
    for _ in range(5):
        asked = time.monotonic()
        database = await connection.fetchval("select extract(epoch from clock_timestamp())::float8")
        answered = time.monotonic()
        samples.append(Sample(database, (asked + answered) / 2, answered - asked))
    return min(samples, key=lambda sample: sample.trip_seconds)


# --- reading it ---------------------------------------------------------------------------------


async def read_journal(connection: Connection) -> Journal:
    if await connection.fetchval("select to_regclass('checker.move')") is None:
        raise EvidenceError(
            "this database has no journal\nhint: call `install_journal` before what is checked"
        )
    samples = [
        Sample(row["at"], row["monotonic"], row["trip_seconds"])
        for row in await connection.fetch(
            "select extract(epoch from at)::float8 as at, monotonic, trip_seconds"
            " from checker.clock"
        )
    ]
    moves: dict[int, list[Move]] = {}
    read = _Reader()
    last = 0
    while rows := await connection.fetch(_READ, last, _CHUNK):
        for row in rows:
            move = read.move(row)
            moves.setdefault(move.transaction, []).append(move)
        last = rows[-1]["number"]
    transactions = [Transaction(id_, of_it) for id_, of_it in moves.items()]
    transactions.sort(key=lambda transaction: transaction.number)
    return Journal(transactions, Clock([*samples, await _sample(connection)]))


_READ = """
select number, transaction::text::bigint as transaction, extract(epoch from at)::float8 as at,
  relation, kind, before::text as before, after::text as after, snapshot::text as snapshot
from checker.move where number > $1 order by number limit $2
"""


class _Reader:
    def __init__(self) -> None:
        self._decoders: dict[str, msgspec.json.Decoder[Any]] = {
            relation: msgspec.json.Decoder(row) for relation, row in ROWS.items()
        }

    def move(self, row: asyncpg.Record) -> Move:
        decoder = self._decoders[row["relation"]]
        snapshot = row["snapshot"]
        return Move(
            row["number"],
            row["transaction"],
            row["at"],
            row["relation"],
            row["kind"],
            None if row["before"] is None else decoder.decode(row["before"]),
            None if row["after"] is None else decoder.decode(row["after"]),
            None if snapshot is None else Snapshot.parse(snapshot),
        )
