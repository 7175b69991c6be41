"""What is over: closed runs move to history, and history leaves by dropped partitions.

A rerun brings a run back from there, with all its tasks, and it goes again after its next end.

Tables that are partitioned by id share their bounds, the periods. A period is opened well ahead
of the ids that it will hold, without a lock that anybody would notice. It is dropped as a whole
when everything in it is older than what is to be kept; that needs a short lock on the parents,
for which it does not queue: if a report is reading, the next step tries again. What open runs
still need (attempts, payloads, logs) moves to the partitions `…_older` first, so retention
neither pins nor loses anything that is open.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import asyncpg
import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.logs import list_objects_of_period
from mainspring.store.statements import statement

PARTITIONED = {
    "run_history": "id",
    "task_history": "id",
    "attempt": "task_id",
    "attempt_use": "task_id",
    "payload": "owner_id",
    "log": "task_id",
    "long_log": "task_id",
    "fire": "id",
}
"""Tables by period, each with the column that its period is found by."""

_STILL_NEEDED = {
    "fire": "x.outcome = 'buffered' or x.decided_at >= '{finished_before}'"
    " or x.id in (select range_id from mainspring.schedule_state where range_id is not null)"
    # Of what had waited in a buffer the run may be younger by periods.
    " or exists (select 1 from mainspring.run r where r.id = x.run_id)"
    " or exists (select 1 from mainspring.run_history r"
    "  where r.id = x.run_id and r.id >= {until_id})"
}
"""What stays beside what belongs to open tasks."""

_AHEAD_IDS = 20_000_000
_PERIOD_IDS_MIN = 10_000_000
_PERIOD_IDS_MAX = 1_000_000_000
_DAY_SECONDS = 86_400.0
_LOCK_TIMEOUT = "200ms"

KEYS_KEPT = timedelta(days=7)
"""How long an idempotency key stands for its run, unless runs are kept shorter than that."""


class Archived(msgspec.Struct, frozen=True):
    last: int | None
    """The last run id that was looked at; None when there was none."""
    seen: int
    moved: int
    first_left: int | None
    """The first run id that was left where it is."""
    recent: bool | None
    """Whether it came to runs so young that none beyond can have closed long enough ago."""


class Pruned(msgspec.Struct, frozen=True):
    keys: int = 0
    periods: int = 0
    runs: int = 0
    """Deleted one by one, since they share their period with younger ones."""

    def __bool__(self) -> bool:
        return self.keys + self.periods + self.runs > 0


async def archive_runs(
    connection: Connection, above: int, limit: int, closed_before: datetime
) -> Archived:
    """Move closed runs of one slice to history; to be called in a transaction."""
    # The hot tables are read by id, however small they were when they were last analysed. Hash
    # joins stay allowed: two of the sets meet in one.
    await connection.execute("set local enable_seqscan = off; set local enable_mergejoin = off")
    row = (await fetch(connection, statement("archive_runs"), above, limit, closed_before))[0]
    return Archived(row["last"], row["seen"], row["moved"], row["first_left"], row["recent"])


async def bring_back_run(connection: Connection, run_id: int) -> bool:
    """Put a run of history back into the hot tables, closed as it is; False if it is not there."""
    return bool(await fetch(connection, statement("bring_back_run"), run_id))


async def open_periods(connection: Connection) -> int:
    """Open the periods that are due, so that ids always find theirs; says how many."""
    opened = 0
    while True:
        row = (await fetch(connection, statement("read_ids")))[0]
        last_id, until_id = row["last_id"], row["until_id"]
        if until_id - last_id >= _AHEAD_IDS:
            return opened
        ids = period_ids(row["newest_age_seconds"])
        async with connection.transaction():
            for parent in PARTITIONED:
                # Attaching a finished table locks out nobody; creating it in place would.
                child = f"mainspring.{parent}_{until_id}"
                await connection.execute(
                    f"create table {child} (like mainspring.{parent} including all)"
                )
                await connection.execute(
                    f"alter table mainspring.{parent} attach partition {child}"
                    f" for values from ({until_id}) to ({until_id + ids})"
                )
            await fetch(connection, statement("add_period"), until_id, until_id + ids)
        opened += 1


def period_ids(newest_age_seconds: float) -> int:
    """How many ids the next period holds: about a day's worth at the pace of the last one."""
    pace = _PERIOD_IDS_MIN / max(newest_age_seconds, 1.0)
    return int(min(max(pace * _DAY_SECONDS, _PERIOD_IDS_MIN), _PERIOD_IDS_MAX))


async def drop_old_period(connection: Connection, finished_before: datetime) -> bool:
    """Drop the oldest period if all that it holds is older; False if there is none to drop.

    Raises LockNotAvailableError when somebody is reading; nothing is changed then.
    """
    async with connection.transaction():
        if await _old_period(connection, finished_before) is None:
            return False
        await connection.execute(f"set local lock_timeout = '{_LOCK_TIMEOUT}'")
        # Who was moving a run of the period into history has done so when this is ours: look again.
        await connection.execute("lock table mainspring.run_history in access exclusive mode")
        period = await _old_period(connection, finished_before)
        if period is None:
            return False
        first_id, until_id = period
        await list_objects_of_period(connection, first_id, until_id)
        for parent, column in PARTITIONED.items():
            needed = _STILL_NEEDED.get(parent, "false").format(
                finished_before=finished_before.isoformat(), until_id=until_id
            )
            await _fold_into_older(connection, parent, column, period, needed)
        await fetch(connection, statement("forget_problems"), first_id, until_id)
        await fetch(connection, statement("drop_period"), first_id)
        return True


async def _old_period(connection: Connection, finished_before: datetime) -> tuple[int, int] | None:
    """The bounds of the oldest period, if all that it holds is older."""
    rows = await fetch(connection, statement("first_period"))
    if not rows or not rows[0]["spent"]:
        return None
    newest_at: datetime | None = rows[0]["newest_at"]
    if newest_at is not None and newest_at >= finished_before:
        return None
    return rows[0]["first_id"], rows[0]["until_id"]


async def _fold_into_older(
    connection: Connection, parent: str, column: str, bounds: tuple[int, int], needed: str
) -> None:
    """Widen `…_older` over the period and keep of it only what open runs need, or is `needed`."""
    first_id, until_id = bounds
    period, older = f"mainspring.{parent}_{first_id}", f"mainspring.{parent}_older"
    await connection.execute(f"alter table mainspring.{parent} detach partition {period}")
    await connection.execute(f"alter table mainspring.{parent} detach partition {older}")
    await connection.execute(
        f"insert into {older} select x.* from {period} x"
        f" where exists (select 1 from mainspring.task t where t.id = x.{column})"
        f" or ({needed})"
    )
    await connection.execute(f"drop table {period}")
    await connection.execute(
        f"alter table mainspring.{parent} attach partition {older}"
        f" for values from (minvalue) to ({until_id})"
    )


async def forget_runs(connection: Connection, finished_before: datetime, limit: int) -> int:
    """Delete some old runs that share their period with younger ones; says how many."""
    rows = await fetch(connection, statement("forget_runs"), finished_before, limit)
    await fetch(connection, statement("forget_fires"), finished_before)
    forgotten: int = rows[0]["forgotten"]
    return forgotten


async def forget_keys(connection: Connection, made_before: datetime, limit: int) -> int:
    return len(await fetch(connection, statement("forget_keys"), made_before, limit))


async def count_old(connection: Connection, finished_before: datetime) -> int:
    """How many runs `prune_step` would let go in the end, periods aside."""
    rows = await fetch(connection, statement("count_old"), finished_before)
    runs: int = rows[0]["runs"]
    return runs


async def prune_step(
    connection: Connection, *, finished_before: datetime, keys_before: datetime, limit: int
) -> Pruned:
    """One piece of retention: some keys, a whole period, or some runs of a mixed one.

    Keys go first, so that none stands for a run that is gone: `keys_before` is not earlier than
    `finished_before`, and a run never ends before its key was made.
    """
    assert keys_before >= finished_before
    keys = await forget_keys(connection, keys_before, limit)
    if keys == limit:
        return Pruned(keys=keys)
    try:
        if await drop_old_period(connection, finished_before):
            return Pruned(keys=keys, periods=1)
    except asyncpg.LockNotAvailableError:
        pass  # Somebody reads history; what is old today is old tomorrow.
    return Pruned(keys=keys, runs=await forget_runs(connection, finished_before, limit))
