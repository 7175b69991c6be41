"""Seeds a demo: dags, three months of history, and what people have left lying about.

The embedded PostgreSQL runs for this alone and stops afterwards; `mainspring demo` then starts
everything in the same home. Whether a seeding came to its end is in the marker: one that did not
is begun anew.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec

from mainspring.client import Client
from mainspring.config import Config
from mainspring.demo import home as homes
from mainspring.demo.furnishing import furnish
from mainspring.demo.storing import Progress, store_past
from mainspring.embedded import EmbeddedPostgres
from mainspring.engine.read_dags import ReadDags
from mainspring.schedule.calendars import CalendarSpec
from mainspring.store.connection import Connection, connect
from mainspring.store.migrate import migrate
from mainspring.store.schedule_changes import put_calendar

RUNS = 200_000
RUNS_MIN = 1_000
RUNS_MAX = 5_000_000


class Seeded(msgspec.Struct, frozen=True):
    """What is in a demo; the counts are of its past."""

    home: str
    seed: int
    runs: int
    new: bool
    """Whether it was seeded just now."""
    seconds: float = 0.0
    dags: int | None = None
    tasks: int | None = None
    dead_letters: int | None = None


async def ensure_demo(home: Path, *, runs: int, seed: int, progress: Progress) -> Seeded:
    """A demo in this home: the one that is there, else a new one."""
    marker = homes.read_marker(home)
    if marker is not None and marker.whole:
        return Seeded(str(home), marker.seed, marker.runs, new=False)
    if marker is not None:
        homes.clear(home)
    began = time.monotonic()
    postgres = EmbeddedPostgres(home)
    progress("an empty database", 0, runs)
    url = postgres.start()
    try:
        marker = homes.Marker(seed, runs, whole=False)
        homes.write_marker(home, marker)
        connection = await connect(url, name="demo")
        try:
            seeded = await seed_database(connection, url, home, marker, progress)
        finally:
            await connection.close()
        # Here and not earlier: what is not whole is begun anew.
        whole = msgspec.structs.replace(marker, whole=True, seeded_at=datetime.now(UTC))
        homes.write_marker(home, whole)
    finally:
        postgres.stop()
    return msgspec.structs.replace(seeded, seconds=round(time.monotonic() - began, 1))


async def seed_database(
    connection: Connection, url: str, home: Path, marker: homes.Marker, progress: Progress
) -> Seeded:
    """Into an empty database; the dags are written to the home."""
    await migrate(connection)
    # The past takes its time; no statement of it is stuck.
    await connection.execute("set statement_timeout = 0")
    now: datetime = await connection.fetchval("select clock_timestamp()")
    await put_calendar(connection, "holidays", _holidays(now.date()))
    progress("dags", 0, marker.runs)
    reader = ReadDags(Config(home=home, dags=homes.write_dags(home, first=True)), url)
    try:
        await reader.step()
        homes.write_dags(home)
        await reader.step()
    finally:
        await reader.close()
    # What the schedules have dealt with; they go on from here.
    until: datetime = await connection.fetchval(
        "select min(cursor_at) from mainspring.schedule_state"
    )
    stored = await store_past(
        connection, runs=marker.runs, seed=marker.seed, until=until, progress=progress
    )
    progress("jobs, backfills and what waits", marker.runs, marker.runs)
    async with Client(url, name="demo") as client:
        await furnish(client, connection, until)
    return Seeded(
        str(home),
        marker.seed,
        marker.runs,
        new=True,
        dags=stored.dags,
        tasks=stored.tasks,
        dead_letters=stored.letters,
    )


def _holidays(today: date) -> CalendarSpec:
    """Two of them past and one to come, whenever one looks."""
    return CalendarSpec(
        dates=tuple(today + timedelta(days=days) for days in (-52, -24, -23, 9)),
    )
