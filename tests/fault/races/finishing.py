"""After the race: everything comes to an end, each task exactly once, and the tables are emptied.

The ends are counted by a trigger of our own, `races.note_ending`, which writes down each update
that leaves a task closed. So a task that is ended twice, or touched after its end, is seen
although its row looks as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded, decide
from mainspring.engine.reap import Reap
from mainspring.store.attempts import (
    Claimed,
    Completion,
    Held,
    claim_attempts,
    complete_attempts,
    drop_claims,
    read_claims,
    register_worker,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.duties import Lease, wake_backoff, wake_starts
from tests.fault.races.operations import SILENT
from tests.fault.races.worlds import FAR_FUTURE, TASK

_ROUNDS_MAX = 30
_LIMIT = 10_000

SCHEMA = """
create schema if not exists races;
create table if not exists races.ending (task_id bigint, generation int, state text);
create or replace function races.note_ending() returns trigger language plpgsql as $$
begin
  insert into races.ending values (new.id, new.generation, new.state);
  return null;
end $$;
create or replace trigger note_ending after update on mainspring.task for each row
when (new.state in ('succeeded', 'failed', 'skipped', 'upstream_failed', 'cancelled'))
execute function races.note_ending();
"""

_HOLDERS = """
select l.worker_id, l.beat, l.seconds, 'a worker of a race' as name
from mainspring.lease l
where l.worker_id <> $1
  and exists (select from mainspring.claim c where c.worker_id = l.worker_id)
"""

_STILL_OPEN = """
select id, state::text from mainspring.task
where state not in ('succeeded', 'failed', 'skipped', 'upstream_failed', 'cancelled')
union all
select id, state::text from mainspring.run
where open_tasks is not null and (open_tasks <> 0 or state = 'running')
"""

_ENDED_OTHERWISE_THAN_ONCE = """
select t.id, g.number as generation, count(e.task_id) as ends
from (
  select id, generation from mainspring.task
  union all
  select id, generation from mainspring.task_history) t
cross join generate_series(1, t.generation) as g (number)
left join races.ending e on e.task_id = t.id and e.generation = g.number
group by t.id, g.number
having count(e.task_id) <> 1
"""

_EMPTY = """
delete from races.ending;
delete from mainspring.claim; delete from mainspring.lease; delete from mainspring.worker;
delete from mainspring.ready; delete from mainspring.timer; delete from mainspring.problem;
delete from mainspring.remark;
delete from mainspring.idempotency; delete from mainspring.attempt; delete from mainspring.payload;
delete from mainspring.log; delete from mainspring.task; delete from mainspring.run;
delete from mainspring.task_history; delete from mainspring.run_history;
delete from mainspring.fire; delete from mainspring.schedule_run;
delete from mainspring.backfill_fire; delete from mainspring.backfill;
delete from mainspring.schedule_state; delete from mainspring.schedule_version;
delete from mainspring.schedule; delete from mainspring.job; delete from mainspring.engine;
"""


async def empty(connection: Connection) -> None:
    """Rows are deleted, not truncated: prepared statements would have to be planned anew."""
    await connection.execute(_EMPTY)


async def vacuum(connection: Connection) -> None:
    """Scans of nearly empty tables are not to wade through the rows of thousands of worlds."""
    await connection.execute(
        "vacuum mainspring.run, mainspring.task, mainspring.ready, mainspring.timer,"
        " mainspring.claim, mainspring.lease, mainspring.worker, mainspring.attempt, races.ending,"
        " mainspring.schedule, mainspring.schedule_state, mainspring.schedule_version,"
        " mainspring.schedule_run, mainspring.fire, mainspring.engine,"
        " mainspring.backfill, mainspring.backfill_fire"
    )


async def finish(connection: Connection, *, reap: bool) -> list[str]:
    """Bring all that is open to its end; says what has no end, or more than one.

    Whoever holds claims is reaped, or else comes back and reports what it holds as done.
    """
    worker_id = await register_worker(
        connection,
        uuid4(),
        name="finisher",
        host="here",
        pid=1,
        queues=["default"],
        slots={SlotKind.ASYNC: 1000},
        lease_seconds=15,
    )
    for _ in range(_ROUNDS_MAX):
        if not await _one_round(connection, worker_id, reap=reap):
            break
    problems = [
        f"{row['id']} reaches no end: {row['state']}"
        for row in await fetch(connection, _STILL_OPEN)
    ]
    if not problems:
        problems = [
            f"{row['id']} ended {row['ends']} times in generation {row['generation']}"
            for row in await fetch(connection, _ENDED_OTHERWISE_THAN_ONCE)
        ]
    return problems


async def _one_round(connection: Connection, worker_id: int, *, reap: bool) -> bool:
    """Wake, reap, claim, complete; False when there was nothing to do."""
    woken = await wake_backoff(connection, FAR_FUTURE, _LIMIT)
    started = await wake_starts(connection, FAR_FUTURE, _LIMIT)
    reaper = Reap(SILENT)
    holders = [Lease(*row) for row in await fetch(connection, _HOLDERS, worker_id)]
    for holder in holders:
        if reap:
            async with connection.transaction():
                await reaper._reap(connection, holder, FAR_FUTURE, _LIMIT)
        else:
            held = await read_claims(connection, holder.worker_id, None, _LIMIT)
            await _complete(connection, holder.worker_id, held, {})
            await drop_claims(connection, holder.worker_id, None)
    claimed: list[Claimed] = []
    lanes = await fetch(connection, "select distinct lane from mainspring.ready")
    for row in lanes:
        claimed += await claim_attempts(connection, uuid4(), worker_id, row["lane"], _LIMIT)
    await _complete(connection, worker_id, claimed, {row["lane"]: 100 for row in lanes})
    return bool(woken.due + started.due or holders or lanes)


async def _complete(
    connection: Connection,
    worker_id: int,
    claimed: Sequence[Claimed | Held],
    slots: dict[int, int],
) -> None:
    """Including what is granted for it."""
    while claimed:
        completed = await complete_attempts(
            connection,
            worker_id,
            [_succeeded(item) for item in claimed],
            emptied=sorted({item.claim_id for item in claimed}),
            grant_claim=uuid4(),
            grant_slots=slots,
        )
        claimed = completed.grants


def _succeeded(item: Claimed | Held) -> Completion:
    return Completion(
        item.task_id,
        item.term,
        item.claim_id,
        item.run_id if item.many else None,
        decide(Succeeded(), TASK, item.attempt, item.lost, 0.0),
        round(FAR_FUTURE.timestamp() * 1_000_000) - 1000,
        round(FAR_FUTURE.timestamp() * 1_000_000),
        chained=True,
    )
