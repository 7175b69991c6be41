"""Lists of runs: newest first, with filters, in pages of bounded work however many runs there are.

- Time: ids go with time, but for the ten minutes that a reserved id may wait for its use. So
  `until` is an id, found by probing, and `since` ends the list.
- State: open runs are only in the hot tables. Among closed ones failed and cancelled are rare and
  have an index in history; succeeded is what most are.
- Dag, tag and text choose dags, by what they are called now; their runs have an index.
- Trigger: looked through.

What is looked through has a limit for each request; a page may then hold less than was asked for,
and tells where the next one goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg
import msgspec

from mainspring.domain.states import RunState
from mainspring.store.connection import Connection, fetch
from mainspring.store.ids import KEPT_SECONDS
from mainspring.store.reading import RUNS_SEEN_MAX, RunLine, run_line
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

SLACK = timedelta(seconds=KEPT_SECONDS) * 1.5
"""By how much runs may be out of order: how long an id may wait, and a slow transaction."""
DAGS_MAX = 10_000
"""How many dags a tag or a text may choose."""
_DAGS_APART_MAX = 100
"""So many dags are looked at one by one; the runs of more are looked through."""
_BEYOND = 2**63 - 1
_FAR = datetime(9000, 1, 1, tzinfo=UTC)
"""Later than any run, and with room for some more."""
_PROBES = 64
_RARE = (RunState.FAILED, RunState.CANCELLED)
_OPEN = (RunState.QUEUED, RunState.RUNNING)


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    dag_ids: Sequence[int] | None = None
    state: RunState | None = None
    trigger: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def looks(self) -> bool:
        """Whether runs have to be looked at to know which fit."""
        return (self.state, self.trigger, self.since, self.until) != (None, None, None, None)

    @property
    def where(self) -> str:
        if self.state in _OPEN:
            return "open"
        return "rare" if self.state in _RARE else "all"


class RunPage(msgspec.Struct, frozen=True):
    runs: list[RunLine]
    next_below: int | None
    """Go on below this id; None: that was all."""


async def page_runs(
    connection: Connection,
    chosen: RunFilter,
    *,
    below: int | None = None,
    limit: int,
    seen_max: int = RUNS_SEEN_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> RunPage:
    """Looks at `seen_max` runs at most, in each place where they may be."""
    if chosen.dag_ids is not None and not chosen.dag_ids:
        return RunPage([], None)
    if below is None:
        below = _BEYOND
        if chosen.until is not None:
            below = await first_after(connection, min(chosen.until, _FAR) + SLACK)
    apart, among = chosen.dag_ids, None
    if apart is not None and len(apart) > _DAGS_APART_MAX:
        apart, among = None, apart
    elif chosen.where == "rare":
        among = apart
    seen = limit
    if chosen.looks or among is not None:
        seen = max(limit, seen_max // len(apart or "1"))
    rows = await fetch(
        connection,
        statement("page_runs"),
        *(tenant_id, apart, below, seen, chosen.state, limit),
        *(chosen.since, chosen.until, chosen.trigger, chosen.where, among),
    )
    stopped, stopped_at = rows[0]["stopped"], rows[0]["stopped_at"]
    lines = [_line(row) for row in rows if row["id"] is not None]
    if len(lines) == limit:
        return RunPage(lines, lines[-1].id)
    if chosen.since is not None and stopped_at is not None and stopped_at + SLACK < chosen.since:
        stopped = None
    return RunPage(lines, stopped)


async def list_runs(
    connection: Connection, *, state: RunState | None = None, limit: int
) -> list[RunLine]:
    """The newest, of those that one page looks at."""
    return (await page_runs(connection, RunFilter(state=state), limit=limit)).runs


def _line(row: asyncpg.Record) -> RunLine:
    return run_line({name: row[name] for name in RunLine.__struct_fields__})


async def first_after(connection: Connection, instant: datetime) -> int:
    """An id from which on all runs were made after `instant`, less SLACK; the lowest, nearly.

    Some places between the bounds are probed at once, so that a billion ids take five rounds. Where
    ids are out of order any id that was used after the instant will do.
    """
    row = (await fetch(connection, statement("read_run_bounds")))[0]
    if row["first"] is None:
        return _BEYOND
    low, high, found = row["first"], row["last"] + 1, _BEYOND
    while low < high:
        step = max((high - low) // _PROBES, 1)
        probed = await fetch(connection, statement("probe_runs"), list(range(low, high, step)))
        if not probed:
            break
        before = [row["place"] for row in probed if row["created_at"] < instant]
        after = [row for row in probed if row["created_at"] >= instant]
        if after:
            first = min(after, key=lambda row: row["place"])
            found = first["id"]
            high = first["place"]
            before = [place for place in before if place < high]
        low = max(before, default=low - 1) + 1
        if step == 1:
            break
    return found


async def choose_dags(
    connection: Connection,
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    text: str | None = None,
    limit: int = DAGS_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> list[int]:
    """The dags that have this name, all these tags, and this text in their names."""
    rows = await fetch(
        connection, statement("choose_dags"), tenant_id, name, list(tags), text, limit
    )
    return [row["id"] for row in rows]
