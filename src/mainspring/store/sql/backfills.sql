-- Backfills are read without locks, decided upon in Python, and moved by one statement that acts
-- only if they stand as they were read (docs/decisions/0021-a-backfill-moves-as-schedules-do.md).

-- name: going_backfills
-- Those with something to do or to wait for.  $1 above this id  $2 limit
select id from mainspring.backfill
where (state = 'running' or made > succeeded + failed + cancelled) and id > $1
order by id limit $2;

-- name: standing_backfill
-- How one stands, and what its runs would be made of. Which of its runs have closed is looked up,
-- run by run, and there are never more of them than it may have open.  $1 backfill
select b.id, b.tenant_id, b.turn, b.state::text as state, b.cursor_at, b.plan, b.parameters,
  b.reprocess::text as reprocess, b.concurrency, b.priority, b.created_by, b.schedule_id, b.dag_id,
  d.version_id, d.snapshot_id, v.tasks, d.gone_at is not null as dag_gone, d.name as dag,
  array(
    select f.fire_at from mainspring.backfill_fire f
    where f.backfill_id = b.id and f.outcome = 'made' and f.verdict is null
    order by f.fire_at) as open_fires,
  array(
    select f.run_id from mainspring.backfill_fire f
    where f.backfill_id = b.id and f.outcome = 'made' and f.verdict is null
    order by f.fire_at) as open_runs
from mainspring.backfill b
join mainspring.dag d on d.id = b.dag_id
join mainspring.version v on v.id = d.version_id
where b.id = $1;

-- name: closed_runs
-- Of these runs, those that are over, and how: 'cancelled' for one that retention has taken.
-- $1 run ids
select u.id, coalesce(v.state, 'cancelled') as state
from unnest($1::bigint[]) as u (id)
-- `offset 0` keeps the view a lookup by id.
left join lateral (select * from mainspring.run_view v where v.id = u.id offset 0) v on true
where v.id is null or v.finished_at is not null;

-- name: related_backfills
-- Whose runs count as runs of the same instants: of a schedule, its own and those of its backfills;
-- of a spec, those of the dag's schedules and backfills with the same parameters.
-- $1 dag  $2 schedule, or null  $3 parameters
with schedules as materialized (
  select h.id from mainspring.schedule h
  where case when $2::int is not null then h.id = $2
    else h.dag_id = $1 and h.parameters is not distinct from $3::bytea end)
select array(select id from schedules) as schedules,
  array(
    select b.id from mainspring.backfill b
    where b.schedule_id in (select id from schedules)
      or ($2 is null and b.dag_id = $1 and b.schedule_id is null
        and b.parameters is not distinct from $3)) as backfills;

-- name: existing_fires
-- Which of these instants have a run, and how the latest of them stands: a rerun on a later version
-- counts for the run that it repeats. One that waits in a buffer has none yet, but will; of one that
-- retention has taken nobody knows the state.  $1 fires  $2 schedules  $3 backfills
with found as materialized (
  select f.fire_at, f.run_id from mainspring.fire f
  where f.schedule_id = any($2::int[]) and f.fire_at = any($1::timestamptz[]) and f.outcome <> 'skipped'
  union all
  select f.fire_at, f.run_id from mainspring.backfill_fire f
  where f.backfill_id = any($3::int[]) and f.fire_at = any($1::timestamptz[]) and f.outcome = 'made'),
latest as materialized (
  select f.fire_at, max(f.run_id) as run_id, bool_or(f.run_id is null) as buffered
  from found f group by f.fire_at)
select l.fire_at, coalesce(again.id, l.run_id) as run_id,
  case when l.buffered then 'queued' else v.state end as state
from latest l
left join lateral (
  select max(r.id) as id from (
    select id from mainspring.run where rerun_of = l.run_id
    union all
    select id from mainspring.run_history where rerun_of = l.run_id) r) again on true
left join lateral (
  select * from mainspring.run_view v where v.id = coalesce(again.id, l.run_id) offset 0) v on true
order by l.fire_at;

-- name: move_backfill
-- The one way in which a backfill moves: its cursor, what became of its instants, and the runs that it
-- makes, or nothing of that. If it moved since it was read nothing happens, and nobody waits here.
-- $1 run ids  $2 versions  $3 snapshots  $4 tenant  $5 parameters  $6 starts of data intervals
-- $7 fires of these runs  $8 now  $9 backfill  $10 turn as read  $11 cursor  $12 state  $13 why it pauses
-- Instants that are not run: $14 fires  $15 outcomes  $16 runs that they have
-- Of its open runs, those that are over: $17 fires  $18 verdicts
with clock as materialized (select coalesce($8::timestamptz, clock_timestamp()) as now),
won as materialized (
  select b.id, b.schedule_id, b.priority, b.created_by from mainspring.backfill b
  where b.id = $9 and b.turn = $10
  for update skip locked),
moved as (
  update mainspring.backfill b
  set turn = b.turn + 1, cursor_at = $11::timestamptz, state = $12::text::mainspring.backfill_state,
    halt_note = coalesce($13::text, b.halt_note),
    halted_by = case when $13 is null then b.halted_by else 'mainspring' end,
    ended_at = case when $12 = 'finished' then clock.now else b.ended_at end,
    made = b.made + cardinality($1::bigint[]),
    existing = b.existing + cardinality(array_positions($15::text[], 'exists')),
    excluded = b.excluded + cardinality(array_positions($15, 'excluded')),
    succeeded = b.succeeded + cardinality(array_positions($18::text[], 'succeeded')),
    failed = b.failed + cardinality(array_positions($18, 'failed')),
    cancelled = b.cancelled + cardinality(array_positions($18, 'cancelled'))
  from clock, won
  where b.id = won.id),
wanted as materialized (
  select u.id, u.version_id, u.snapshot_id, 'backfill'::text as trigger, u.parameters,
    clock.now as due_at, won.created_by, null::bigint as rerun_of, clock.now, won.schedule_id,
    u.fire_at, u.interval_start, won.priority, j.id as job_id, j.options
  from clock, won
  left join mainspring.schedule h on h.id = won.schedule_id
  left join mainspring.job j on j.id = h.job_id
  cross join unnest($1, $2::int[], $3::int[], $5::bytea[], $7::timestamptz[],
    $6::timestamptz[]) as u (id, version_id, snapshot_id, parameters, fire_at, interval_start)),
-- with part: make_runs
,
told as (
  insert into mainspring.backfill_fire (fire_at, run_id, backfill_id, outcome)
  select w.fire_at, w.id, won.id, 'made' from won, wanted w
  union all
  select u.fire_at, u.run_id, won.id, u.outcome::mainspring.backfill_outcome
  from won, unnest($14::timestamptz[], $15, $16::bigint[]) as u (fire_at, outcome, run_id)),
ended as (
  update mainspring.backfill_fire f set verdict = u.verdict::mainspring.run_state
  from won, unnest($17::timestamptz[], $18) as u (fire_at, verdict)
  where f.backfill_id = won.id and f.fire_at = u.fire_at)
select 'backfill' as kind, id from won
union all
select distinct 'lane', lane from queued;

-- name: reserve_backfill
-- A number that its maker owns: who lost the answer asks again with the same one.
select nextval('mainspring.backfill_id_seq')::int as id;

-- name: create_backfill
-- $1 id  $2 tenant  $3 dag  $4 schedule  $5 first of the range  $6 end of the range  $7 plan
-- $8 parameters  $9 reprocess  $10 concurrency  $11 priority  $12 note  $13 by whom  $14 total  $15 now
insert into mainspring.backfill (id, tenant_id, dag_id, schedule_id, since_at, until_at, plan,
  parameters, reprocess, concurrency, priority, note, created_by, total, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::mainspring.reprocess, $10, $11, $12, $13, $14,
  coalesce($15::timestamptz, clock_timestamp()))
on conflict (id) do nothing
returning id;

-- name: lock_backfill
-- Before a change by hand. Moves pass by what is locked, and come again.  $1 backfill
select state::text as state from mainspring.backfill where id = $1 for update;

-- name: pause_backfill
-- Again: another note.  $1 backfill  $2 by whom  $3 note
update mainspring.backfill
set state = 'paused', turn = turn + 1, halted_by = $2, halt_note = $3
where id = $1;

-- name: resume_backfill
-- $1 backfill
update mainspring.backfill
set state = 'running', turn = turn + 1, halted_by = null, halt_note = null
where id = $1;

-- name: cancel_backfill
-- $1 backfill  $2 by whom  $3 note  $4 now
update mainspring.backfill
set state = 'cancelled', turn = turn + 1, halted_by = $2, halt_note = $3,
  ended_at = coalesce($4::timestamptz, clock_timestamp())
where id = $1;

-- name: open_backfill_runs
-- Runs of it that are not known to be over.  $1 backfill
select run_id from mainspring.backfill_fire
where backfill_id = $1 and outcome = 'made' and verdict is null
order by run_id;

-- name: read_backfills
-- One, or a page of them, newest first.
-- $1 tenant  $2 backfill, or null  $3 dag's name, or null  $4 state, or null  $5 limit
-- $6 below this number, or null
select b.id, d.name as dag, h.name as schedule, b.state::text as state, b.since_at, b.until_at,
  b.reprocess::text as reprocess, b.concurrency, b.priority, b.parameters, b.note, b.created_at,
  b.created_by, b.cursor_at, b.halted_by, b.halt_note, b.ended_at, b.total, b.made, b.existing,
  b.excluded, b.succeeded, b.failed, b.cancelled, clock_timestamp() as read_at
from mainspring.backfill b
join mainspring.dag d on d.id = b.dag_id
left join mainspring.schedule h on h.id = b.schedule_id
where b.tenant_id = $1 and ($2::int is null or b.id = $2) and ($3::text is null or d.name = $3)
  and ($4::text is null or b.state::text = $4) and ($6::int is null or b.id < $6)
order by b.id desc
limit $5;

-- name: read_backfill_plan
-- $1 backfill
select plan from mainspring.backfill where id = $1;

-- name: page_backfill_fires
-- What became of its instants, those with the latest fire first.
-- $1 backfill  $2 before this fire, or null  $3 verdict, or null  $4 limit
select f.fire_at, f.outcome::text as outcome, f.run_id, f.verdict::text as verdict
from mainspring.backfill_fire f
where f.backfill_id = $1 and ($2::timestamptz is null or f.fire_at < $2)
  and ($3::text is null or f.verdict::text = $3)
order by f.fire_at desc
limit $4;

-- name: backfill_of_run
-- $1 run
select backfill_id from mainspring.backfill_fire where run_id = $1::bigint and outcome = 'made';

-- name: past_durations
-- How long the last runs of a dag that succeeded took, from their start, in seconds.
-- $1 tenant  $2 dag  $3 how many
select extract(epoch from h.finished_at - h.started_at)::float8 as seconds
from mainspring.run_history h
where h.tenant_id = $1 and h.dag_id = $2 and h.state = 'succeeded' and h.started_at is not null
order by h.tenant_id, h.dag_id, h.id desc
limit $3;

-- name: forget_backfills
-- What ended long ago, some instants at a time, and then itself.  $1 ended before  $2 limit
with old as materialized (
  select id from mainspring.backfill
  where ended_at < $1 and made = succeeded + failed + cancelled
  order by ended_at limit 1),
fires as (
  delete from mainspring.backfill_fire f using old
  where f.backfill_id = old.id and f.fire_at in (
    select x.fire_at from mainspring.backfill_fire x where x.backfill_id = old.id
    order by x.fire_at limit $2)
  returning 1),
empty as (
  delete from mainspring.backfill b using old
  where b.id = old.id and not exists (
    select 1 from mainspring.backfill_fire f where f.backfill_id = old.id)
  returning 1)
select (select count(*) from fires)::int + (select count(*) from empty)::int as forgotten;
