-- Closed runs leave the hot tables, and history leaves by dropped partitions.

-- name: archive_runs
-- Moves runs of one slice of ids that closed before an instant, with all their tasks. Nothing
-- but a rerun touches a closed run, and that locks it first, so a locked one is left for later.
-- One that was reopened since this statement began, and is not locked any more, is told by its own
-- rows: a run of many tasks by `finished_at`, a run of one by its task, which then stays; and a run
-- goes only if its tasks went. Whoever the dag names is to be told of the end: see `engine/notify.py`.
-- Each end is added to the statistics of its minute here, since a run comes by once for each end.
-- $1 above this id  $2 look at so many runs  $3 closed before
with slice as materialized (
  select r.id, v.tasks, r.created_at,
    case when r.open_tasks is null then t.finished_at else r.finished_at end as finished_at
  from mainspring.run r
  join mainspring.version v on v.id = r.version_id
  left join mainspring.task t on r.open_tasks is null and t.id = r.id
  where r.id > $1
  order by r.id
  limit $2),
locked as materialized (
  select r.id, s.tasks
  from slice s join mainspring.run r on r.id = s.id
  where s.finished_at < $3 and (r.open_tasks is null or r.finished_at < $3)
  order by r.id
  for update of r skip locked),
tasks as (
  delete from mainspring.task t using locked l
  where t.id >= l.id and t.id < l.id + l.tasks and t.finished_at is not null
  returning t.*),
kept_tasks as (
  insert into mainspring.task_history (id, run_id, due_at, started_at, finished_at, tenant_id,
    version_id, node, index, lane, term, worker_id, state, stop, priority, attempt, lost, generation,
    result)
  select id, run_id, due_at, started_at, finished_at, tenant_id, version_id, node, index, lane, term,
    worker_id, state, stop, priority, attempt, lost, generation, result
  from tasks),
facts as materialized (
  select run_id, count(*)::int as tasks, min(started_at) as started_at, max(finished_at) as finished_at,
    (count(*) filter (where state in ('failed', 'upstream_failed')))::int as failed,
    (count(*) filter (where state = 'cancelled'))::int as cancelled, max(stop) as stop,
    sum(attempt - 1) as retries, max(generation) > 1 as again
  from tasks group by run_id),
runs as (
  delete from mainspring.run r using facts f where r.id = f.run_id
  returning r.*),
kept_runs as (
  insert into mainspring.run_history (id, created_at, due_at, started_at, finished_at, tenant_id,
    dag_id, version_id, snapshot_id, trigger, state, stop, tasks, failed_tasks, created_by, rerun_of,
    parameters, schedule_id, fire_at, interval_start, job_id, options)
  select r.id, r.created_at, r.due_at, f.started_at, coalesce(r.finished_at, f.finished_at),
    r.tenant_id, r.dag_id, r.version_id, r.snapshot_id, r.trigger,
    coalesce(r.state, (case
      when f.failed > 0 or (f.cancelled > 0 and f.stop = 'deadline') then 'failed'
      when f.cancelled > 0 then 'cancelled'
      else 'succeeded' end)::mainspring.run_state),
    case when r.open_tasks is null then f.stop else r.stop end, f.tasks, f.failed, r.created_by,
    r.rerun_of, r.parameters, r.schedule_id, r.fire_at, r.interval_start, r.job_id, r.options
  from runs r join facts f on f.run_id = r.id
  returning id, tenant_id, dag_id, state, tasks, failed_tasks, due_at, started_at, finished_at),
ends as (
  -- What was measured of a run that had ended before would count the time between.
  select k.tenant_id, k.dag_id, date_bin('1 minute', k.finished_at, 'epoch') as at, k.state, k.tasks,
    k.failed_tasks, f.retries, f.again, m.duration, m.lag,
    width_bucket(m.duration, powers.bounds) as duration_at, width_bucket(m.lag, powers.bounds) as lag_at
  from kept_runs k
  join facts f on f.run_id = k.id
-- with part: measured_ends
  ),
rolled as (
  -- In one order, so that two who archive at the same time wait for each other in turn.
-- with part: into_rollup
  select tenant_id, coalesce(dag_id, 0), 'minute', at,
-- with part: counted_ends
  from ends
  group by grouping sets ((tenant_id, at, dag_id), (tenant_id, at))
  order by 1, 2, 4
-- with part: added_to_rollup
  ),
noticed as (
  -- The first condition is asked once, so that where no dag names anybody this costs nothing.
  insert into mainspring.notice (target, content)
  select substring(n.entry from position(' ' in n.entry) + 1),
    jsonb_build_object('run_id', k.id, 'dag', d.name, 'state', k.state, 'tasks', k.tasks,
      'failed_tasks', k.failed_tasks, 'due_at', k.due_at, 'started_at', k.started_at,
      'finished_at', k.finished_at)
  from kept_runs k
  join mainspring.dag d on d.id = k.dag_id
  cross join lateral unnest(d.notify) as n (entry)
  where exists (select 1 from mainspring.dag where notify <> '{}')
    and split_part(n.entry, ' ', 1) = k.state::text)
select (select max(id) from slice) as last, (select count(*) from slice)::int as seen,
  (select count(*) from facts)::int as moved,
  (select min(id) from slice where id not in (select run_id from facts)) as first_left,
  (select bool_or(created_at >= $3) from slice) as recent;

-- name: bring_back_run
-- A run leaves history again, with all its tasks, for a rerun. Who comes second, be it another rerun
-- or retention, waits for the first and then finds nothing.  $1 run
with run as (
  delete from mainspring.run_history where id = $1
  returning *),
gone as (
  delete from mainspring.task_history t using run r
  where t.id >= r.id and t.id < r.id + r.tasks
  returning t.*),
tasks as (
  insert into mainspring.task (id, run_id, due_at, started_at, finished_at, tenant_id, version_id,
    node, index, lane, term, unmet, worker_id, state, stop, priority, attempt, lost, generation,
    result)
  select id, run_id, due_at, started_at, finished_at, tenant_id, version_id, node, index, lane, term,
    0, worker_id, state, stop, priority, attempt, lost, generation, result
  from gone)
insert into mainspring.run (id, created_at, due_at, tenant_id, dag_id, version_id, snapshot_id,
  trigger, created_by, rerun_of, parameters, open_tasks, failed_tasks, cancelled_tasks, state, stop,
  finished_at, marked, schedule_id, fire_at, interval_start, job_id, options)
select r.id, r.created_at, r.due_at, r.tenant_id, r.dag_id, r.version_id, r.snapshot_id, r.trigger,
  r.created_by, r.rerun_of, r.parameters, many.open, many.failed, many.cancelled, many.state,
  many.stop, many.finished_at, many.marked, r.schedule_id, r.fire_at, r.interval_start, r.job_id,
  r.options
from run r
left join lateral (
  -- Progress, which runs of one task do not have.
  select 0 as open, r.failed_tasks as failed,
    (select count(*)::int from gone where state = 'cancelled') as cancelled,
    r.state, r.stop, r.finished_at, (
      select array_agg(g.node order by g.node) from gone g
      join mainspring.remark m
        on m.task_id = g.id and m.term = g.term - 1 and m.deed::text = g.state::text) as marked
  where r.tasks > 1) many on true
returning id;

-- name: read_ids
-- How far ids were handed out, and how far periods reach.
select (select last_value from mainspring.id_block) as last_id, max(until_id) as until_id,
  (select extract(epoch from clock_timestamp() - opened_at) from mainspring.period
   order by first_id desc limit 1)::float8 as newest_age_seconds
from mainspring.period;

-- name: add_period
-- $1 first id  $2 until id
insert into mainspring.period (first_id, until_id) values ($1, $2);

-- name: first_period
-- The oldest period, whether its ids are all handed out, and when its newest run ended or fire was
-- decided upon. Ids rise with time but for the blocks that engines hold, so the last entries of the
-- ledger tell how old it is; a younger one among the others is kept by name: see `_STILL_NEEDED`.
select p.first_id, p.until_id, p.until_id <= (select last_value from mainspring.id_block) as spent,
  greatest(
    (select max(finished_at) from mainspring.run_history
     where id >= p.first_id and id < p.until_id),
    (select max(decided_at) from (
       select decided_at from mainspring.fire
       where id >= p.first_id and id < p.until_id order by id desc limit 1000) newest)) as newest_at
from mainspring.period p order by p.first_id limit 1;

-- name: drop_period
-- $1 first id
delete from mainspring.period where first_id = $1;

-- name: forget_runs
-- Some finished runs that are too old, where they do not fill a period; with all that is theirs.
-- One that a rerun is about to bring back is left alone: it takes its payloads and attempts along.
-- $1 finished before  $2 limit
with old as materialized (
  select id, tasks from mainspring.run_history where finished_at < $1 order by finished_at limit $2
  for update skip locked),
runs as (delete from mainspring.run_history r using old o where r.id = o.id),
tasks as (
  delete from mainspring.task_history t using old o
  where t.id >= o.id and t.id < o.id + o.tasks returning t.id),
attempts as (
  delete from mainspring.attempt a using old o
  where a.task_id >= o.id and a.task_id < o.id + o.tasks),
uses as (
  delete from mainspring.attempt_use u using old o
  where u.task_id >= o.id and u.task_id < o.id + o.tasks),
payloads as (
  delete from mainspring.payload p using old o
  where p.owner_id >= o.id and p.owner_id < o.id + o.tasks),
logs as (
  delete from mainspring.log l using old o
  where l.task_id >= o.id and l.task_id < o.id + o.tasks),
long_logs as (
  delete from mainspring.long_log l using old o
  where l.task_id >= o.id and l.task_id < o.id + o.tasks
  returning l.store_id, l.key),
objects as (
  insert into mainspring.object_removal (store_id, key, due_at)
  select store_id, key, clock_timestamp() from long_logs where key is not null
  on conflict do nothing),
problems as (
  delete from mainspring.problem p using old o
  where p.task_id >= o.id and p.task_id < o.id + o.tasks),
remarks as (
  delete from mainspring.remark m using old o
  where m.task_id >= o.id and m.task_id < o.id + o.tasks)
select count(*)::int as forgotten from old;

-- name: forget_fires
-- Of the ledger what has outlived its period, once nothing needs it any more. The ledger of a period
-- is kept whole until the period goes.  $1 decided before
delete from mainspring.fire f
where f.id < (select min(first_id) from mainspring.period) and f.decided_at < $1
  and f.outcome <> 'buffered'
  and not exists (select 1 from mainspring.run r where r.id = f.run_id)
  and not exists (select 1 from mainspring.run_history r where r.id = f.run_id)
  and not exists (select 1 from mainspring.schedule_state s
    where s.schedule_id = f.schedule_id and s.range_id = f.id);

-- name: count_old
-- $1 finished before
select count(*)::int as runs from mainspring.run_history where finished_at < $1;

-- name: forget_problems
-- Problems and remarks of a period that goes; those of open runs stay.  $1 first id  $2 until id
with remarks as (
  delete from mainspring.remark m
  where m.task_id >= $1 and m.task_id < $2
    and not exists (select 1 from mainspring.task t where t.id = m.task_id))
delete from mainspring.problem p
where p.task_id >= $1 and p.task_id < $2
  and not exists (select 1 from mainspring.task t where t.id = p.task_id);

-- name: forget_keys
-- Keys go before the runs that they stand for.  $1 made before  $2 limit
delete from mainspring.idempotency where ctid = any (array(
  select ctid from mainspring.idempotency where created_at < $1 order by created_at limit $2))
returning key;
