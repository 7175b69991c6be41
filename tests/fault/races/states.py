"""What a world has come to, read from the tables as they are, in labels and without times.

Two copies of a world that came to the same give equal states. Nothing here asks the product: its
views and functions are under test.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from mainspring.store.connection import Connection
from tests.fault.races.worlds import World

State = dict[str, Any]

_READ = """
with ids as (select $1::bigint as first, $2::bigint as until),
run_row as (
  select id, 'open' as place, state::text, stop::text, open_tasks, failed_tasks, cancelled_tasks,
    rerun_of, finished_at is not null as finished, marked, options::text, job_id
  from mainspring.run, ids where id >= first and id < until
  union all
  select id, 'history', state::text, stop::text, tasks, failed_tasks, null, rerun_of, true, null,
    options::text, job_id
  from mainspring.run_history, ids where id >= first and id < until),
task_row as (
  select id, 'open' as place, state::text, stop::text, term, attempt, lost, generation, unmet,
    priority, worker_id, result, started_at is not null as started,
    finished_at is not null as finished
  from mainspring.task, ids where id >= first and id < until
  union all
  select id, 'history', state::text, stop::text, term, attempt, lost, generation, null, priority,
    worker_id,
    result, started_at is not null, true
  from mainspring.task_history, ids where id >= first and id < until),
ready_row as (
  select task_id as id, term, priority from mainspring.ready, ids
  where task_id >= first and task_id < until),
timer_row as (
  select kind::text, subject as id, term from mainspring.timer, ids
  where subject >= first and subject < until),
attempt_row as (
  select task_id as id, term, attempt, generation, worker_id, state::text
  from mainspring.attempt, ids where task_id >= first and task_id < until),
problem_row as (
  select task_id as id, term from mainspring.problem, ids
  where task_id >= first and task_id < until),
remark_row as (
  select task_id as id, term, deed::text from mainspring.remark, ids
  where task_id >= first and task_id < until),
key_row as (
  select key, run_id as id from mainspring.idempotency where starts_with(key, $4)),
job_row as (
  select id, key, version, cancelled_at is not null as cancelled
  from mainspring.job, ids where id >= first and id < until),
claim_row as (
  select c.id as claim, c.worker_id, k.id, k.term
  from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
  where c.worker_id = any($3::int[])),
lease_row as (
  select worker_id, beat, draining from mainspring.lease where worker_id = any($3::int[])),
worker_row as (
  select id as worker_id, ending from mainspring.worker where id = any($3::int[])),
schedule_row as (
  select h.version, h.paused_at is not null as paused, h.gone_at is not null as gone, s.tracked,
    s.fired, s.failures, extract(epoch from s.next_fire_at - $5::timestamptz)::int as next,
    extract(epoch from s.cursor_at - $5)::int as cursor, s.range_id as id, s.range_reason::text
  from mainspring.schedule h join mainspring.schedule_state s on s.schedule_id = h.id
  where starts_with(h.name, $4)),
version_row as (
  select v.number, convert_from(v.spec, 'utf8') as spec, v.in_force_until is null as in_force
  from mainspring.schedule_version v
  where v.schedule_id in (select h.id from mainspring.schedule h where starts_with(h.name, $4))),
fire_row as (
  select id, run_id as rerun_of, version, count, outcome::text, reason::text,
    extract(epoch from fire_at - $5)::int as fire, extract(epoch from until_at - $5)::int as until,
    extract(epoch from next_at - $5)::int as next
  from mainspring.fire, ids where id >= first and id < until),
followed_row as (
  select run_id as id from mainspring.schedule_run, ids where run_id >= first and run_id < until),
backfill_row as (
  select b.state::text, b.made, b.existing, b.succeeded, b.failed, b.cancelled, b.halted_by,
    extract(epoch from b.cursor_at - b.since_at)::int as cursor
  from mainspring.backfill b where starts_with(b.note, $4)),
backfill_fire_row as (
  select f.run_id as id, f.outcome::text, f.verdict::text,
    extract(epoch from f.fire_at - b.since_at)::int as fire
  from mainspring.backfill b join mainspring.backfill_fire f on f.backfill_id = b.id
  where starts_with(b.note, $4)),
shard_row as (
  select term - $7::bigint as term, beat - $6::bigint as beat, holder_name
  from mainspring.shard where number = 1)
select json_build_object(
  'runs', (select json_agg(r) from run_row r),
  'tasks', (select json_agg(r) from task_row r),
  'ready', (select json_agg(r) from ready_row r),
  'timers', (select json_agg(r) from timer_row r),
  'attempts', (select json_agg(r) from attempt_row r),
  'problems', (select json_agg(r) from problem_row r),
  'remarks', (select json_agg(r) from remark_row r),
  'keys', (select json_agg(r) from key_row r),
  'jobs', (select json_agg(r) from job_row r),
  'claims', (select json_agg(r) from claim_row r),
  'leases', (select json_agg(r) from lease_row r),
  'workers', (select json_agg(r) from worker_row r),
  'schedules', (select json_agg(r) from schedule_row r),
  'versions', (select json_agg(r) from version_row r),
  'fires', (select json_agg(r) from fire_row r),
  'followed', (select json_agg(r) from followed_row r),
  'backfills', (select json_agg(r) from backfill_row r),
  'backfill_fires', (select json_agg(r) from backfill_fire_row r),
  'shards', (select json_agg(r) from shard_row r))
"""


async def read_state(connection: Connection, world: World) -> State:
    text: str = await connection.fetchval(
        _READ,
        world.first_id,
        world.id_of(99) + 1,
        list(world.workers.values()),
        world.key,
        world.now,
        world.shard_beat,
        world.shard_term,
    )
    return {table: _labelled(world, rows or []) for table, rows in json.loads(text).items()}


def _labelled(world: World, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        for column in ("id", "rerun_of", "job_id"):
            if row.get(column) is not None:
                row[column] = world.place_of(row[column])
        if "worker_id" in row:
            row["worker_id"] = world.worker_name(row["worker_id"])
        if "claim" in row:
            row["claim"] = world.claim_name(UUID(row["claim"]))
        if "key" in row:
            row["key"] = row["key"].removeprefix(world.key)
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def differences(expected: State, found: State) -> list[str]:
    """What distinguishes two states, row by row."""
    lines = []
    for table in expected:
        lines += [f"- {table} {row}" for row in expected[table] if row not in found[table]]
        lines += [f"+ {table} {row}" for row in found[table] if row not in expected[table]]
    return lines
