-- What people look at: lists, one run, its tasks and attempts, queues and workers.
-- Every statement is bounded by a limit, by the tasks of one run, or by what is claimed now.

-- name: read_clock
select clock_timestamp() as now;

-- name: page_dags
-- By name.  $1 tenant  $2 after this name  $3 limit  $4 owner or null  $5 tags, all of them
select d.name, d.file, v.number as version, v.tasks, s.digest as snapshot, d.changed_at,
  d.description, d.owner, d.tags, d.gone_at, d.rolled_back_at, d.paused_at, d.paused_by, d.pause_note,
  last.id as last_run_id, last.state as last_run_state, last.created_at as last_run_created_at
from mainspring.dag d
join mainspring.version v on v.id = d.version_id
join mainspring.snapshot s on s.id = d.snapshot_id
left join lateral (
  select i.id from mainspring.run_index i
  where i.tenant_id = d.tenant_id and i.dag_id = d.id
  order by i.tenant_id, i.dag_id, i.id desc limit 1) newest on true
left join lateral (
  select r.id, r.state, r.created_at from mainspring.run_view r
  where r.id = newest.id offset 0) last on true
where d.tenant_id = $1 and d.name > $2
  and ($4::text is null or d.owner = $4) and d.tags @> $5::text[]
order by d.name
limit $3;

-- name: list_dag_names
-- $1 tenant  $2 limit
select name from mainspring.dag where tenant_id = $1 and version_id is not null order by name limit $2;

-- name: page_file_problems
-- $1 tenant  $2 limit
select file, line, message, seen_at from mainspring.file_problem
where tenant_id = $1 order by file limit $2;

-- name: find_dag
-- $1 tenant  $2 name
select id from mainspring.dag where tenant_id = $1 and name = $2;

-- name: read_dag_standing
-- $1 tenant  $2 name
select paused_at, paused_by, pause_note, gone_at from mainspring.dag where tenant_id = $1 and name = $2;

-- name: find_last_run
-- $1 tenant  $2 dag, or null for any.  Two statements in one, each with an index of its own.
select id from (
  (select id from mainspring.run_index where $2::int is null and tenant_id = $1 order by id desc limit 1)
  union all
  (select id from mainspring.run_index where tenant_id = $1 and dag_id = $2 order by id desc limit 1)) as last;

-- name: page_runs
-- Newest first. What is open is looked through, since its state is derived; so is history, but for states
-- that are rare there, which have an index. Each place that is looked at has the same limit, and what lies
-- below the end of one that was not looked through is left for the next page: `stopped`, or null.
-- There is always one row. `offset 0` keeps the view a lookup by id: joined freely, the planner derives
-- the states of all.
-- $1 tenant  $2 dags to look at one by one, or null  $3 below this id  $4 look at  $5 state, or null  $6 limit
-- $7 created since, or null  $8 created before, or null  $9 trigger, or null
-- $10 where to look: all, rare or open  $11 only of these dags, or null
with seen as materialized (
  (select 0 as place, id, dag_id, created_at, trigger, null::text as state from mainspring.run
   where $2::int[] is null and tenant_id = $1 and id < $3 order by id desc limit $4)
  union all
  (select -1, id, dag_id, created_at, trigger, state::text from mainspring.run_history
   where $2::int[] is null and $10::text = 'all' and tenant_id = $1 and id < $3
   order by id desc limit $4)
  union all
  (select -1, id, dag_id, created_at, trigger, state::text from mainspring.run_history
   where $10::text = 'rare' and tenant_id = $1 and state = $5::text::mainspring.run_state
     and state <> 'succeeded' and id < $3
   order by tenant_id, state, id desc limit $4)
  union all
  (select 2 * d.id, r.* from unnest($2::int[]) as d (id)
   cross join lateral (
     select id, dag_id, created_at, trigger, null from mainspring.run
     where tenant_id = $1 and dag_id = d.id and id < $3
     order by tenant_id, dag_id, id desc limit $4) r)
  union all
  (select 2 * d.id + 1, r.* from unnest($2::int[]) as d (id)
   cross join lateral (
     select id, dag_id, created_at, trigger, state::text from mainspring.run_history
     where $10::text = 'all' and tenant_id = $1 and dag_id = d.id and id < $3
     order by tenant_id, dag_id, id desc limit $4) r)),
stopped as materialized (
  select max(last) as id from (
    select min(id) as last from seen group by place having count(*) = $4) s),
fit as materialized (
  select seen.id from seen
  where seen.id >= coalesce((select id from stopped), 0)
    and ($11::int[] is null or seen.dag_id = any ($11))
    and ($7::timestamptz is null or seen.created_at >= $7)
    and ($8::timestamptz is null or seen.created_at < $8)
    and ($9::text is null or seen.trigger::text = $9)
    and ($5::text is null or $5 = coalesce(seen.state, (
      select r.state from mainspring.run_view r where r.id = seen.id)))
  order by seen.id desc limit $6)
select stopped.id as stopped, (select min(created_at) from seen where seen.id = stopped.id) as stopped_at,
  r.id, r.dag, r.version, r.version_id, s.digest as snapshot, r.trigger, r.created_at, r.created_by,
  r.due_at, r.rerun_of, r.tasks, r.state, r.stop, r.open_tasks, r.failed_tasks, r.started_at,
  r.finished_at, clock_timestamp() as read_at,
  (select h.name from mainspring.schedule h where h.id = r.schedule_id) as schedule, r.fire_at,
  r.interval_start
from stopped
left join fit on true
left join lateral (select * from mainspring.run_view r where r.id = fit.id offset 0) r on true
left join mainspring.snapshot s on s.id = r.snapshot_id
order by r.id desc;

-- name: probe_runs
-- When the runs were made that come next from some places on; nothing for places beyond the last.
-- $1 places
select p.place, least(o.id, h.id) as id,
  case when o.id < h.id or h.id is null then o.created_at else h.created_at end as created_at
from unnest($1::bigint[]) as p (place)
left join lateral (
  select id, created_at from mainspring.run where id >= p.place order by id limit 1) o on true
left join lateral (
  select id, created_at from mainspring.run_history where id >= p.place order by id limit 1) h on true
where o.id is not null or h.id is not null;

-- name: read_run_bounds
-- The lowest and the highest id that there is.
select least((select min(id) from mainspring.run), (select min(id) from mainspring.run_history)) as first,
  greatest((select max(id) from mainspring.run), (select max(id) from mainspring.run_history)) as last;

-- name: choose_dags
-- Dags with a name, all of some tags, and some text in their names.
-- $1 tenant  $2 name, or null  $3 tags  $4 text, or null  $5 limit
select id from mainspring.dag
where tenant_id = $1 and ($2::text is null or name = $2) and tags @> $3::text[]
  and ($4::text is null or position(lower($4) in lower(name)) > 0)
order by id limit $5;

-- name: list_reruns
-- Runs that were made from this one, on a later version.  $1 run  $2 limit
select id from (
  select id from mainspring.run where rerun_of = $1
  union all
  select id from mainspring.run_history where rerun_of = $1) r
order by id limit $2;

-- name: list_paused
-- $1 tenant  $2 limit
select what, name, paused_at, paused_by, pause_note from (
  select 'dag' as what, name, paused_at, paused_by, pause_note from mainspring.dag
  where tenant_id = $1 and paused_at is not null
  union all
  select 'queue', name, paused_at, paused_by, pause_note from mainspring.queue
  where tenant_id = $1 and paused_at is not null) p
order by paused_at, what, name limit $2;

-- name: read_run
-- $1 tenant  $2 run
select r.id, r.dag, r.version, r.version_id, s.digest as snapshot, r.trigger, r.created_at, r.created_by,
  r.due_at, r.rerun_of, r.tasks, r.state, r.stop, r.open_tasks, r.failed_tasks, r.started_at,
  r.finished_at, clock_timestamp() as read_at,
  (select h.name from mainspring.schedule h where h.id = r.schedule_id) as schedule, r.fire_at,
  r.interval_start
from mainspring.run_view r
join mainspring.snapshot s on s.id = r.snapshot_id
where r.tenant_id = $1 and r.id = $2;

-- name: read_run_parameters
-- $1 run
select case when octet_length(r.parameters) = 0 then p.content else r.parameters end as parameters
from mainspring.run_view r
left join mainspring.payload p on p.owner_id = r.id and p.kind = 'parameters'
where r.id = $1;

-- name: count_tasks
-- $1 run  $2 how many tasks it has
select state, count(*)::int as tasks from mainspring.task_view
where id >= $1 and id < $1::bigint + $2::int
group by state;

-- name: page_tasks
-- Who runs a task is told by the claim until the worker has written its start, and what the row
-- tells of a running task's start may be of the attempt before.
-- $1 run  $2 how many tasks it has  $3 states, or null for all  $4 limit  $5 how much of a result
with claimed as materialized (
  select k.id, k.term, c.worker_id, c.claimed_at
  from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
  where k.id >= $1 and k.id < $1::bigint + $2::int)
select t.id, t.node, t.name, t.lane, t.priority, t.state, t.term, t.attempt, t.lost, t.generation,
  t.unmet, t.stop, t.due_at, t.aside,
  case t.state when 'running' then greatest(t.started_at, c.claimed_at) else t.started_at end
    as started_at,
  t.finished_at, w.name as worker,
  substring(case when octet_length(t.result) = 0 then p.content else t.result end for $5::int) as result,
  octet_length(case when octet_length(t.result) = 0 then p.content else t.result end) as result_bytes,
  g.percent as progress_percent, g.text as progress_text, g.at as progress_at
from mainspring.task_view t
left join claimed c on c.id = t.id and c.term = t.term
left join mainspring.progress g
  on g.task_id = t.id and g.term = t.term and t.state = 'running'
left join mainspring.worker w on w.id = case
  when t.state = 'running' then coalesce(c.worker_id, t.worker_id)
  when t.finished_at is not null then t.worker_id end
left join mainspring.payload p
  on octet_length(t.result) = 0 and p.owner_id = t.id and p.kind = 'result'
where t.id >= $1 and t.id < $1::bigint + $2::int and ($3::text[] is null or t.state = any($3))
order by t.id
limit $4;

-- name: page_attempts
-- Those that ended in any way but plain success.  $1 run  $2 how many tasks it has  $3 limit
select a.task_id, a.term, a.generation, a.attempt, a.state::text as state, a.started_at, a.finished_at,
  w.name as worker, a.error
from mainspring.attempt a
left join mainspring.worker w on w.id = a.worker_id
where a.task_id >= $1 and a.task_id < $1::bigint + $2::int
order by a.task_id, a.term
limit $3;

-- name: last_attempts
-- The newest of each task.  $1 task ids
select a.task_id, a.term, a.generation, a.attempt, a.state::text as state, a.started_at, a.finished_at,
  w.name as worker, a.error
from unnest($1::bigint[]) as u (id)
join lateral (
  select * from mainspring.attempt a where a.task_id = u.id order by a.term desc limit 1) a on true
left join mainspring.worker w on w.id = a.worker_id;

-- name: page_problems
-- What failed for good in a run, with the attempt that tells why.
-- $1 run  $2 how many tasks it has  $3 limit
select a.task_id, a.term, a.generation, a.attempt, a.state::text as state, a.started_at, a.finished_at,
  w.name as worker, a.error
from mainspring.problem p
join mainspring.attempt a on a.task_id = p.task_id and a.term = p.term
left join mainspring.worker w on w.id = a.worker_id
where p.task_id >= $1 and p.task_id < $1::bigint + $2::int
order by p.task_id
limit $3;

-- name: page_workers
-- The living: those with a lease.  $1 limit
select w.id, w.name, w.host, w.pid, w.queues, w.slots, w.started_at, l.renewed_at,
  l.seconds::float8 as lease_seconds, l.draining or l.drain is not null as draining, l.drain,
  l.drain_at, l.drain_by, l.drain_note, l.rates::text as rates, clock_timestamp() as read_at
from mainspring.lease l join mainspring.worker w on w.id = l.worker_id
order by w.name, w.id
limit $1;

-- name: count_claimed
-- What each worker has in hand, by lane.
select c.worker_id, t.lane, count(*)::int as tasks
from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
join mainspring.task t on t.id = k.id and t.term = k.term and t.state = 'ready'
group by c.worker_id, t.lane;

-- name: page_in_hand
-- What workers have in hand, what they have held longest first.  $1 worker, or null for all  $2 limit
select t.run_id, d.name as dag, n.name as task, t.attempt, t.lane, w.id as worker_id, w.name as worker,
  held.claimed_at
from (
  select c.worker_id, c.claimed_at, k.id, k.term
  from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
  where $1::int is null or c.worker_id = $1
  order by c.claimed_at limit $2) as held
join mainspring.task t on t.id = held.id and t.term = held.term and t.state = 'ready'
join mainspring.node n on n.version_id = t.version_id and n.number = t.node
join mainspring.version v on v.id = t.version_id
join mainspring.dag d on d.id = v.dag_id
join mainspring.worker w on w.id = held.worker_id
order by held.claimed_at, t.id;

-- name: list_queue_ids
-- $1 tenant
select id from mainspring.queue where tenant_id = $1;

-- name: page_queues
-- $1 tenant  $2 limit
select id, name, paused_at, paused_by, pause_note from mainspring.queue
where tenant_id = $1 order by name limit $2;

-- name: measure_lanes
-- How many wait in each lane, counted up to a limit, and since when the first of each priority; how
-- many stand aside, of paused dags.
-- $1 lanes  $2 count up to
select u.lane, depth.tasks, aside.tasks as aside, oldest.due_at as oldest_at
from unnest($1::int[]) as u (lane)
join lateral (
  select count(*)::int as tasks
  from (select 1 from mainspring.ready q where q.lane = u.lane and q.priority >= 0 limit $2)
    as counted) depth on true
join lateral (
  select count(*)::int as tasks
  from (select 1 from mainspring.ready q where q.lane = u.lane and q.priority < 0 limit $2)
    as counted) aside on true
left join lateral (
  select min(t.due_at) as due_at
  from generate_series(0, 9) as p (priority)
  join lateral (
    select q.task_id from mainspring.ready q
    where q.lane = u.lane and q.priority = p.priority
    order by q.lane, q.priority desc, q.position limit 1) head on true
  join mainspring.task t on t.id = head.task_id) oldest on true;

-- name: count_ahead
-- How many tasks will be claimed before these, counted up to a limit.  $1 task ids  $2 count up to
select t.id, (
    select count(*) from (
      select 1 from mainspring.ready q
      where q.lane = t.lane and q.priority > t.priority limit $2) as more_urgent)::int
  + (
    select count(*) from (
      select 1 from mainspring.ready q
      where q.lane = t.lane and q.priority = t.priority and q.position < t.position limit $2)
    as earlier)::int as tasks
from mainspring.task t
where t.id = any($1::bigint[]);

-- name: read_engine
-- Who runs the duties.  $1 shard
select holder_name as name, holder is not null as held, renewed_at, clock_timestamp() as read_at
from mainspring.shard where number = $1;

-- name: recent_problems
-- Failures among the newest problems.  $1 tenant  $2 seconds  $3 look at
select count(*)::int as tasks from (
  select p.failed_at from mainspring.problem p
  where p.tenant_id = $1 order by p.task_id desc limit $3) as newest
where failed_at > clock_timestamp() - $2::float8 * interval '1 second';

-- name: read_server
select current_setting('server_version_num')::int as version_number,
  current_setting('server_version') as version,
  current_user::text as role, current_database()::text as database,
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as superuser;

-- name: find_ended_runs
-- Which of these runs have ended, or are not there.  $1 runs
-- Not written with the view, which looks at all tasks of a run: an end is a fact of one row.
select u.id
from unnest($1::bigint[]) as u (id)
left join mainspring.run r on r.id = u.id
left join mainspring.task one on r.open_tasks is null and one.id = r.id
where r.id is null or r.finished_at is not null or one.finished_at is not null;

-- name: find_grown_logs
-- Which of these logs have something at this byte or after it, or get nothing any more.
-- $1 tasks  $2 their terms  $3 the bytes
select u.task_id, u.term, u.start
from unnest($1::bigint[], $2::int[], $3::bigint[]) as u (task_id, term, start)
left join mainspring.task t
  on t.id = u.task_id and t.term = u.term and t.finished_at is null
where t.id is null or exists (
  select 1 from mainspring.log l
  where l.task_id = u.task_id and l.term = u.term and l.start >= u.start);
