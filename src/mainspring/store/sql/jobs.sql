-- Jobs are made, some with a run at once; triggered, changed, and looked at.
-- Lock order: job, schedule, run, tasks.

-- name: create_jobs
-- Jobs, and a run for each that is to run at once, under the same id: one statement, all or nothing.
-- An id, a name or a key that exists makes nothing and is missing from the answer; `find_jobs` then
-- tells whose it is. They go in by name, so that two who make the same ones wait in one order.
-- $1 ids  $2 versions  $3 snapshots  $4 tenant  $5 kinds  $6 names  $7 parameters, as given
-- $8 parameters of the run, where they are others  $9 queues  $10 priorities  $11 attempts  $12 timeouts
-- $13 by whom  $14 keys  $15 digests  $16 to run at once  $17 now
with clock as materialized (select coalesce($17::timestamptz, clock_timestamp()) as now),
item as materialized (
  select u.id, u.version_id, u.snapshot_id, u.kind, u.name, u.parameters, u.complete, u.created_by,
    u.key, u.digest, u.at_once, clock.now,
    case when num_nonnulls(u.queue_id, u.priority, u.attempts, u.timeout_seconds) > 0
      then row(u.queue_id, u.priority, u.attempts, u.timeout_seconds)::mainspring.run_options
      end as options
  from clock, unnest($1::bigint[], $2::int[], $3::int[], $5::text[], $6::text[], $7::bytea[],
    $8::bytea[], $9::int[], $10::smallint[], $11::smallint[], $12::float8[], $13::text[], $14::text[],
    $15::bytea[], $16::boolean[])
    as u (id, version_id, snapshot_id, kind, name, parameters, complete, queue_id, priority, attempts,
      timeout_seconds, created_by, key, digest, at_once)),
stored as (
  insert into mainspring.job (id, created_at, changed_at, tenant_id, dag_id, kind, name, parameters,
    options, created_by, key, digest)
  select i.id, i.now, i.now, $4::int, v.dag_id, i.kind::mainspring.job_kind, i.name, i.parameters,
    i.options, i.created_by, i.key, i.digest
  -- A version that is not there would make a job without a run.
  from item i join mainspring.version v on v.id = i.version_id
  order by i.name, i.key
  on conflict do nothing
  returning id),
wanted as not materialized (
  select i.id, i.version_id, i.snapshot_id, 'manual'::text as trigger,
    coalesce(i.complete, i.parameters) as parameters, i.now as due_at, i.created_by,
    null::bigint as rerun_of, i.now, null::int as schedule_id, null::timestamptz as fire_at,
    null::timestamptz as interval_start, null::smallint as priority, i.id as job_id, i.options
  from item i where i.at_once and (i.id in (select id from stored)) is true),
-- with part: make_runs
select 'job' as kind, id from stored
union all
select distinct 'lane', lane::bigint from queued;

-- name: find_jobs
-- Whose ids, names and keys these are.  $1 tenant  $2 ids  $3 names  $4 keys
select id, name, key, digest from mainspring.job where id = any($2::bigint[]) and tenant_id = $1
union
select id, name, key, digest from mainspring.job where tenant_id = $1 and name = any($3::text[])
union
select id, name, key, digest from mainspring.job where tenant_id = $1 and key = any($4::text[]);

-- name: schedule_job
-- A job and its schedule learn of each other, in the transaction that made either.
-- $1 job  $2 schedule
with of_job as (update mainspring.schedule set job_id = $1 where id = $2)
update mainspring.job set schedule_id = $2 where id = $1;

-- name: trigger_jobs
-- Runs of jobs that nobody has cancelled. The lock on a job is shared: triggers do not wait for each
-- other, but a cancel waits for them, and they for it; so that it finds their runs, or they find it.
-- $1 run ids  $2 versions  $3 snapshots  $4 tenant  $5 jobs  $6 parameters  $7 by whom  $8 keys
-- $9 digests  $10 now
with clock as materialized (select coalesce($10::timestamptz, clock_timestamp()) as now),
held as materialized (
  select id, options from mainspring.job
  where id = any($5::bigint[]) and tenant_id = $4::int and cancelled_at is null
  order by id for share),
item as materialized (
  select u.id, u.version_id, u.snapshot_id, u.job_id, u.parameters, u.created_by, u.key, u.digest,
    h.options, clock.now
  from clock, unnest($1::bigint[], $2::int[], $3::int[], $5::bigint[], $6::bytea[], $7::text[],
    $8::text[], $9::bytea[])
    as u (id, version_id, snapshot_id, job_id, parameters, created_by, key, digest)
  join held h on h.id = u.job_id),
keyed as (
  insert into mainspring.idempotency (tenant_id, key, run_id, digest, created_at)
  select $4::int, key, id, digest, now from item where key is not null order by key
  on conflict do nothing
  returning run_id),
wanted as not materialized (
  select i.id, i.version_id, i.snapshot_id, 'manual'::text as trigger, i.parameters, i.now as due_at,
    i.created_by, null::bigint as rerun_of, i.now, null::int as schedule_id,
    null::timestamptz as fire_at, null::timestamptz as interval_start, null::smallint as priority,
    i.job_id, i.options
  from item i where i.key is null or i.id in (select run_id from keyed)),
-- with part: make_runs
select 'run' as kind, id from made
union all
select 'job', id from held
union all
select distinct 'lane', lane::bigint from queued;

-- name: read_job
-- What its runs are made of.  $1 tenant  $2 job
select j.id, j.name, j.version, j.kind::text as kind, d.name as dag, j.parameters, j.cancelled_at,
  h.name as schedule
from mainspring.job j
join mainspring.dag d on d.id = j.dag_id
-- Once it is gone, somebody else may have made one of its name.
left join mainspring.schedule h on h.id = j.schedule_id and h.job_id = j.id and h.gone_at is null
where j.tenant_id = $1 and j.id = $2;

-- name: lock_job
-- Before a change, which then reads it in a statement of its own. Triggers wait, and so do other
-- changes.  $1 tenant  $2 job
select id from mainspring.job where tenant_id = $1 and id = $2 for update;

-- name: change_job
-- Under its lock.  $1 job  $2 cancelled  $3 by whom  $4 note  $5 now
update mainspring.job
set version = version + 1, changed_at = coalesce($5::timestamptz, clock_timestamp()),
  cancelled_at = case when $2::boolean then coalesce($5::timestamptz, clock_timestamp())
    else cancelled_at end,
  cancelled_by = case when $2 then $3::text else cancelled_by end,
  cancel_note = case when $2 then $4::text else cancel_note end
where id = $1;

-- name: open_runs_of_job
-- Runs that a cancel is to stop; some may have closed since they were made.  $1 job
select id from mainspring.run where job_id = $1 order by id;

-- name: identify_job
-- By its number or by its name: a name wins.  $1 tenant  $2 name  $3 number, or null
select id from (
  select id, 0 as rank from mainspring.job where tenant_id = $1 and name = $2
  union all
  select id, 1 from mainspring.job where tenant_id = $1 and id = $3) j
order by rank limit 1;

-- part: job_lines
-- The jobs of `chosen` with how they stand. Of runs that are open, the newest hundred are looked at.
-- `offset 0` keeps the view a lookup by id.
select j.id, j.name, j.kind::text as kind, d.name as dag, j.version, j.parameters, j.created_at,
  j.changed_at, j.created_by, j.cancelled_at, j.cancelled_by, j.cancel_note,
  (j.options).priority, (j.options).attempts, (j.options).timeout_seconds,
  (select q.name from mainspring.queue q where q.id = (j.options).queue_id) as queue,
  h.name as schedule, h.spec as schedule_spec, h.paused_at, h.paused_by, h.pause_note, s.next_fire_at,
  open.running, open.queued,
  last.id as last_run_id, last.state as last_run_state, last.due_at as last_run_due_at,
  last.started_at as last_run_started_at, last.finished_at as last_run_finished_at,
  last.tasks as last_run_tasks, last.open_tasks as last_run_open_tasks,
  told.percent as progress_percent, told.text as progress_text, clock_timestamp() as read_at
from chosen c
join mainspring.job j on j.id = c.id
join mainspring.dag d on d.id = j.dag_id
-- One look each, whatever the planner believes of the tables: hence the limits.
left join lateral (
  select h.id, h.name, h.spec, h.paused_at, h.paused_by, h.pause_note from mainspring.schedule h
  where h.id = j.schedule_id and h.job_id = j.id and h.gone_at is null limit 1) h on true
left join lateral (
  select s.next_fire_at from mainspring.schedule_state s where s.schedule_id = h.id limit 1) s on true
cross join lateral (
  select (count(*) filter (where v.state = 'running'))::int as running,
    (count(*) filter (where v.state = 'queued'))::int as queued
  from (
    select r.id from mainspring.run r where r.job_id = j.id
    order by r.job_id, r.created_at desc, r.id desc limit 100) r
  cross join lateral (select v.state from mainspring.run_view v where v.id = r.id offset 0) v) open
left join lateral (
  select n.id from (
    (select r.id, r.created_at from mainspring.run r where r.job_id = j.id
     order by r.job_id, r.created_at desc, r.id desc limit 1)
    union all
    (select r.id, r.created_at from mainspring.run_history r where r.job_id = j.id
     order by r.job_id, r.created_at desc, r.id desc limit 1)) n
  order by n.created_at desc, n.id desc limit 1) newest on true
left join lateral (select * from mainspring.run_view v where v.id = newest.id offset 0) last on true
left join lateral (
  select p.percent, p.text from mainspring.progress p
  where last.finished_at is null and p.task_id >= last.id and p.task_id < last.id + last.tasks
  order by p.at desc limit 1) told on true

-- name: read_jobs
-- $1 tenant  $2 ids
with chosen as materialized (
  select id from mainspring.job where id = any($2::bigint[]) and tenant_id = $1)
-- with part: job_lines
order by j.id desc;

-- name: page_jobs
-- Of the next jobs, newest first, those that fit; and how far that was, if there may be more. What is
-- asked for is looked at afterwards: as a condition of the walk it makes the planner sort all jobs.
-- $1 tenant  $2 below this id  $3 look at so many  $4 kind, or null  $5 how names begin
with seen as materialized (
  select id, tenant_id, kind, name from mainspring.job where id < $2 order by id desc limit $3)
select array(
    select id from seen
    where tenant_id = $1 and ($4::text is null or kind = $4::text::mainspring.job_kind)
      and starts_with(name, $5)
    order by id desc) as ids,
  case when (select count(*) from seen) = $3 then (select min(id) from seen) end as last;

-- name: complete_job_names
-- For whoever completes or mistypes one.  $1 tenant  $2 how they begin  $3 limit
select name from mainspring.job
where tenant_id = $1 and starts_with(name, $2) order by name limit $3;

-- name: page_job_runs
-- Newest first. States are derived, so those in another one are left out; the number of runs that are
-- looked at has a limit of its own.
-- $1 job  $2 created at or after  $3 created before this, or then and  $4 with a lower id
-- $5 look at  $6 states, or null  $7 limit
with seen as materialized (
  select id, created_at from (
    (select id, created_at from mainspring.run
     where job_id = $1 and created_at >= $2 and (created_at, id) < ($3::timestamptz, $4::bigint)
     order by job_id, created_at desc, id desc limit $5)
    union all
    (select id, created_at from mainspring.run_history
     where job_id = $1 and created_at >= $2 and (created_at, id) < ($3, $4)
     order by job_id, created_at desc, id desc limit $5)) r
  order by created_at desc, id desc limit $5),
fit as materialized (
  select seen.id
  from seen
  cross join lateral (
    select r.state from mainspring.run_view r where r.id = seen.id offset 0) r
  where $6::text[] is null or r.state = any($6)
  order by seen.created_at desc, seen.id desc limit $7)
select r.id, r.dag, r.version, r.version_id, s.digest as snapshot, r.trigger, r.created_at, r.created_by,
  r.due_at, r.rerun_of, r.tasks, r.state, r.stop, r.open_tasks, r.failed_tasks, r.started_at,
  r.finished_at, clock_timestamp() as read_at,
  (select h.name from mainspring.schedule h where h.id = r.schedule_id) as schedule, r.fire_at,
  r.interval_start
from fit
cross join lateral (select * from mainspring.run_view r where r.id = fit.id offset 0) r
join mainspring.snapshot s on s.id = r.snapshot_id
order by r.created_at desc, r.id desc;

-- name: last_seen_job_run
-- Where `page_job_runs` stops looking; no row if it comes to the end.
-- $1 job  $2 created at or after  $3 created before this, or then and  $4 with a lower id  $5 look at
select id, created_at from (
  (select id, created_at from mainspring.run
   where job_id = $1 and created_at >= $2 and (created_at, id) < ($3::timestamptz, $4::bigint)
   order by job_id, created_at desc, id desc limit $5)
  union all
  (select id, created_at from mainspring.run_history
   where job_id = $1 and created_at >= $2 and (created_at, id) < ($3, $4)
   order by job_id, created_at desc, id desc limit $5)) r
order by created_at desc, id desc offset $5 - 1 limit 1;

-- name: jobs_of_runs
-- The jobs that runs are of; those of none are missing.  $1 run ids
select r.id, j.id as job_id, j.name
from (
  select id, job_id from mainspring.run where id = any($1::bigint[]) and job_id is not null
  union all
  select id, job_id from mainspring.run_history where id = any($1::bigint[]) and job_id is not null) r
join mainspring.job j on j.id = r.job_id;

-- name: read_run_options
-- What a run says instead of its tasks.  $1 run
select (r.options).attempts, (r.options).timeout_seconds
from (
  select id, options from mainspring.run
  union all
  select id, options from mainspring.run_history) r
where r.id = $1::bigint and num_nonnulls((r.options).attempts, (r.options).timeout_seconds) > 0;

-- name: lock_old_jobs
-- Of the next jobs, those of which nothing is to come and no run is kept. Whoever triggers one at this
-- moment holds it, and it stays.  $1 changed before  $2 above this id  $3 look at so many
with slice as materialized (
  select j.id, j.created_at from mainspring.job j where j.id > $2 order by j.id limit $3),
held as materialized (
  select j.id from slice s join mainspring.job j on j.id = s.id
  where j.changed_at < $1
    and (j.cancelled_at is not null or not exists (
      select 1 from mainspring.schedule h join mainspring.schedule_state t on t.schedule_id = h.id
      where h.id = j.schedule_id and h.job_id = j.id and h.gone_at is null
        and (t.next_fire_at is not null or h.paused_at is not null)))
    and not exists (select 1 from mainspring.run r where r.job_id = j.id)
    and not exists (select 1 from mainspring.run_history r where r.job_id = j.id)
  order by j.id
  for update of j skip locked)
select array(select id from held order by id) as ids, (select max(id) from slice) as last,
  (select count(*) from slice)::int as seen, (select bool_or(created_at >= $1) from slice) as recent;

-- name: forget_jobs
-- Those that are locked, if they have no run now either: the statement before may have an old picture.
-- A schedule, which has no fire left, goes with its job, so that the name is free.  $1 jobs
with gone as (
  delete from mainspring.job j
  where j.id = any($1::bigint[])
    and not exists (select 1 from mainspring.run r where r.job_id = j.id)
    and not exists (select 1 from mainspring.run_history r where r.job_id = j.id)
  returning j.id, j.schedule_id),
schedules as (
  update mainspring.schedule h set gone_at = clock_timestamp()
  from gone g where h.id = g.schedule_id and h.job_id = g.id and h.gone_at is null
  returning h.id),
versions as (
  update mainspring.schedule_version v set in_force_until = clock_timestamp()
  from schedules h where v.schedule_id = h.id and v.in_force_until is null)
select id from gone;
