-- Runs come in through one door, are stopped, and are opened again.

-- name: reserve_ids
-- $1 how many blocks of 100. Sequences are never rolled back, so a block has one owner for ever.
select nextval('mainspring.id_block') as first from generate_series(1, $1::int);

-- part: make_runs
-- What `wanted` holds becomes runs, with their tasks, and the roots that are due made ready.
-- $1 run ids  $2 versions  $4 tenant
made as (
  insert into mainspring.run (id, created_at, due_at, tenant_id, dag_id, version_id, snapshot_id,
    trigger, created_by, rerun_of, parameters, open_tasks, failed_tasks, cancelled_tasks, state,
    schedule_id, fire_at, interval_start, priority, job_id, options)
  select i.id, i.now, i.due_at, $4, v.dag_id, i.version_id, i.snapshot_id,
    i.trigger::mainspring.trigger_kind, i.created_by, i.rerun_of,
    case when octet_length(i.parameters) > 1024 then ''::bytea else i.parameters end,
    many.tasks, many.none, many.none, many.state::mainspring.run_state,
    i.schedule_id, i.fire_at, i.interval_start, i.priority, i.job_id, i.options
  from wanted i
  join mainspring.version v on v.id = i.version_id
  left join lateral (select v.tasks, 0 as none, 'running' as state where v.tasks > 1) many on true
  -- A run that went to history exists, too: asked once for all, not once for each.
  where i.id not in (select h.id from mainspring.run_history h where h.id = any($1::bigint[]))
  on conflict (id) do nothing
  returning id, created_at, due_at, version_id, priority, options),
drawn as (
  insert into mainspring.task (id, run_id, position, due_at, tenant_id, version_id, node, lane,
    unmet, state, priority)
  select m.id + n.number, m.id,
    case when n.parents = 0 and m.due_at <= m.created_at then nextval('mainspring.position') end,
    m.due_at, $4, m.version_id, n.number,
    -- A lane is a queue and one of eight kinds; the kind is always the task's.
    coalesce((m.options).queue_id * 8 + n.lane % 8, n.lane), n.parents,
    (case when n.parents = 0 and m.due_at <= m.created_at then 'ready' else 'waiting' end)
      ::mainspring.task_state,
    -- Of a paused dag it is below 0, and so are what it is instead and what it may be at most.
    case when m.priority is null and (m.options).priority is null then n.priority
      when n.priority < 0 then greatest(-1 - (m.options).priority, -1 - m.priority,
        case when (m.options).priority is null then n.priority end)
      else least((m.options).priority, m.priority,
        case when (m.options).priority is null then n.priority end) end
  from made m
  join mainspring.node n on n.version_id = m.version_id
  returning id, lane, priority, position, term, state),
queued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, term from drawn where state = 'ready'
  returning lane),
delayed as (
  insert into mainspring.timer (kind, due_at, subject, term)
  select 'start', due_at, id, 0 from made where due_at > created_at),
limited as (
  insert into mainspring.timer (kind, due_at, subject, term)
  select 'deadline', m.due_at + v.timeout_seconds * interval '1 second', m.id, 0
  from made m join mainspring.version v on v.id = m.version_id
  -- Most dags have no timeout: asked once for all versions of the set.
  where m.version_id = any (array(
    select id from mainspring.version where id = any($2::int[]) and timeout_seconds is not null))),
large as (
  insert into mainspring.payload (owner_id, kind, content)
  select id, 'parameters', parameters from wanted
  -- `is true` keeps it from becoming a join of two sets, which without hash joins is quadratic.
  where octet_length(parameters) > 1024 and (id in (select id from made)) is true
  on conflict do nothing)

-- name: create_runs
-- The door for runs: one statement, all or nothing.
-- A run id that exists already, or a key that another run holds, makes nothing and is missing
-- from the answer; `read_keys` then tells who won. Keys go in sorted, so that two callers with
-- overlapping keys wait for each other in one order. Every parameter has a cast: users' own
-- connections send this, too, and not all of their drivers ask the server for types.
-- $1 run ids  $2 versions  $3 snapshots  $4 tenant  $5 triggers  $6 parameters  $7 due times
-- $8 creators  $9 keys  $10 digests  $11 rerun_of  $12 now
with clock as materialized (select coalesce($12::timestamptz, clock_timestamp()) as now),
item as materialized (
  select u.id, u.version_id, u.snapshot_id, u.trigger, u.parameters,
    coalesce(u.due_at, clock.now) as due_at, u.created_by, u.key, u.digest, u.rerun_of, clock.now
  from clock, unnest(
    $1::bigint[], $2::int[], $3::int[], $5::text[], $6::bytea[], $7::timestamptz[],
    $8::text[], $9::text[], $10::bytea[], $11::bigint[])
    as u (id, version_id, snapshot_id, trigger, parameters, due_at, created_by, key, digest, rerun_of)),
keyed as (
  insert into mainspring.idempotency (tenant_id, key, run_id, digest, created_at)
  select $4::int, key, id, digest, now from item where key is not null order by key
  on conflict do nothing
  returning run_id),
-- A rerun on the latest version is for the fire and the job of the run before. Mostly there is none:
-- asked once.
former as materialized (
  select id, schedule_id, fire_at, interval_start, job_id, options from (
    select id, schedule_id, fire_at, interval_start, job_id, options from mainspring.run
    union all
    select id, schedule_id, fire_at, interval_start, job_id, options from mainspring.run_history) r
  where exists (select 1 from item where rerun_of is not null)
    and r.id = any($11::bigint[]) and (r.fire_at is not null or r.job_id is not null)),
wanted as not materialized (
  select i.*, f.schedule_id, f.fire_at, f.interval_start, null::smallint as priority, f.job_id, f.options
  from item i left join former f on f.id = i.rerun_of
  where i.key is null or i.id in (select run_id from keyed)),
-- with part: make_runs
select 'run' as kind, id from made
union all
select distinct 'lane', lane::bigint from queued;

-- name: read_keys
-- Who holds these idempotency keys. $1 tenant  $2 keys
select key, run_id, digest from mainspring.idempotency
where tenant_id = $1::int and key = any($2::text[]);

-- name: existing_runs
-- Which of these runs were made, for a caller that lost the answer and comes back late: by then a
-- run may be over and moved, and its id would be free to be made again.  $1 run ids
select id from mainspring.run where id = any($1::bigint[])
union all
select id from mainspring.run_history where id = any($1::bigint[]);

-- name: lock_runs
-- The first of the three statements of a stop: in id order, before any task. Reruns and deadlines
-- begin with it, too.  $1 run ids
select id from mainspring.run where id = any($1::bigint[]) order by id for update;

-- name: lock_tasks
-- The second: the open tasks of those runs, in id order, which is run by run. Each run reads its
-- own range: joined freely, a planner without statistics reads the whole table.  $1 run ids
select t.id
from (
  select r.id, v.tasks
  from mainspring.run r join mainspring.version v on v.id = r.version_id
  where r.id = any($1::bigint[])
  order by r.id) r
cross join lateral (
  select t.id from mainspring.task t
  where t.id >= r.id and t.id < r.id + r.tasks
    and t.state in ('waiting', 'ready', 'backoff', 'parked')
  order by t.id for update) t;

-- name: stop_tasks
-- The third, with a snapshot taken after the locks: unclaimed tasks are closed, claimed ones get
-- a note that the next renewal brings to their worker. A task is unclaimed if its row in ready
-- can still be deleted.  $1 run ids  $2 kind of stop  $3 task ids  $4 now
with clock as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
unqueued as (
  delete from mainspring.ready q using mainspring.task t
  where t.id = any($3::bigint[]) and t.state = 'ready'
    and q.lane = t.lane and q.priority = t.priority and q.position = t.position
  returning q.task_id),
closed as (
  update mainspring.task t
  set state = 'cancelled', stop = coalesce(t.stop, $2::text::mainspring.stop_kind),
    term = t.term + 1, finished_at = (select now from clock)
  where t.id = any($3::bigint[])
    and (t.state in ('waiting', 'backoff', 'parked') or t.id in (select task_id from unqueued))
  returning t.run_id),
noted as (
  update mainspring.task t set stop = coalesce(t.stop, $2::text::mainspring.stop_kind)
  where t.id = any($3::bigint[]) and t.state = 'ready' and t.id not in (select task_id from unqueued)
  returning t.id),
tally as materialized (
  select run_id, sum(closed)::int as closed
  from (
    select unnest($1::bigint[]) as run_id, 0 as closed
    union all
    select run_id, 1 from closed) as ends
  group by run_id),
progress as (
  update mainspring.run r
  set stop = coalesce(r.stop, $2::text::mainspring.stop_kind),
    open_tasks = r.open_tasks - y.closed,
    cancelled_tasks = r.cancelled_tasks + y.closed,
    state = case when r.open_tasks > y.closed then r.state
      when r.failed_tasks > 0 or coalesce(r.stop::text, $2) = 'deadline' then 'failed'
      else 'cancelled' end::mainspring.run_state,
    finished_at = case when r.open_tasks = y.closed then (select now from clock) end
  from tally y
  where r.id = y.run_id and r.open_tasks > 0
  returning r.id)
select (select count(*) from closed) as closed, (select count(*) from noted) as noted,
  (select count(*) from progress) as runs;

-- name: overdue_runs
-- Of deadlines that passed, those that still stand, asked under the locks of their runs: a rerun
-- gives its run a new one, and a deadline's term says how often tasks of the run had been opened
-- again when it was set.  $1 run ids  $2 terms
select r.id
from unnest($1::bigint[], $2::int[]) as u (id, term)
join mainspring.run r on r.id = u.id
join mainspring.version v on v.id = r.version_id
where u.term = (
  select sum(t.generation - 1) from mainspring.task t where t.id >= r.id and t.id < r.id + v.tasks)
order by r.id;

-- name: read_standing
-- How all tasks of a run stand, open or in history, and what comes before each.  $1 run
select t.node, t.name, t.lane, t.state, t.term, t.generation, r.stop is not null as stopped,
  array(
    select e.before from mainspring.edge e where e.after = t.node and e.version_id = t.version_id
    order by e.before) as before
from (
  select id, version_id, stop from mainspring.run where id = $1
  union all
  select id, version_id, stop from mainspring.run_history where id = $1) r
join mainspring.version v on v.id = r.version_id
join lateral (
  -- `offset 0` keeps the view a lookup by id.
  select * from mainspring.task_view t where t.id >= r.id and t.id < r.id + v.tasks offset 0) t on true
order by t.node;

-- name: lock_standing
-- The same of a run that is locked, with its tasks locked in id order: each as it is now, and not
-- as it was when we began to wait for it.  $1 run
select t.node, n.name, t.lane, t.state::text as state, t.term, t.generation,
  r.stop is not null as stopped,
  array(
    select e.before from mainspring.edge e where e.after = t.node and e.version_id = t.version_id
    order by e.before) as before
from mainspring.run r
join mainspring.version v on v.id = r.version_id
cross join lateral (
  select * from mainspring.task t
  where t.id >= r.id and t.id < r.id + v.tasks
  order by t.id for update) t
join mainspring.node n on n.version_id = t.version_id and n.number = t.node
where r.id = $1
order by t.node;

-- name: reopen_tasks
-- Closed tasks wait again, as if new, under the next term and generation; to be asked under the
-- locks above, and followed by `ready_tasks`. What they did before stays in `attempt`: the plain
-- success that only the task's own row has told is written down there.
-- $1 run  $2 task ids  $3 how many tasks before each are opened, too  $4 now
with clock as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
closed as materialized (
  select * from mainspring.task where id = any($2::bigint[]) and finished_at is not null),
told as (
  insert into mainspring.attempt (task_id, term, attempt, generation, worker_id, state, started_at,
    finished_at)
  select id, term, attempt, generation, worker_id, 'succeeded', started_at, finished_at
  -- What was marked by hand never began under this term.
  from closed where state = 'succeeded' and started_at is not null),
opened as (
  update mainspring.task t
  set state = 'waiting', term = t.term + 1, generation = t.generation + 1, attempt = 1, lost = 0,
    unmet = u.unmet, due_at = (select now from clock), position = null, started_at = null,
    finished_at = null, worker_id = null, stop = null, result = null,
    -- Aside or not, as those of its dag are now: it may have closed before a pause, or under one.
    priority = (select case when n.priority < 0 then least(t.priority, -1 - t.priority)
        else greatest(t.priority, -1 - t.priority) end
      from mainspring.node n where n.version_id = t.version_id and n.number = t.node)
  from unnest($2::bigint[], $3::int[]) as u (id, unmet)
  where t.id = u.id and t.finished_at is not null),
results as (
  delete from mainspring.payload where owner_id = any($2::bigint[]) and kind = 'result'),
problems as (
  delete from mainspring.problem where task_id = any($2::bigint[])),
limited as (
  insert into mainspring.timer (kind, due_at, subject, term)
  select 'deadline', clock.now + v.timeout_seconds * interval '1 second', r.id, (
      select sum(t.generation - 1) from mainspring.task t
      where t.id >= r.id and t.id < r.id + v.tasks) + (select count(*) from closed)
  from clock, mainspring.run r join mainspring.version v on v.id = r.version_id
  where r.id = $1 and v.timeout_seconds is not null)
update mainspring.run r
set state = 'running', stop = null, finished_at = null,
  marked = nullif(array(
    select node from unnest(r.marked) as node where r.id + node <> all($2::bigint[])), '{}'),
  open_tasks = r.open_tasks + y.closed,
  failed_tasks = r.failed_tasks - y.failed,
  cancelled_tasks = r.cancelled_tasks - y.cancelled
from (
  select count(*)::int as closed,
    (count(*) filter (where state in ('failed', 'upstream_failed')))::int as failed,
    (count(*) filter (where state = 'cancelled'))::int as cancelled
  from closed) as y
where r.id = $1 and r.open_tasks is not null;

-- name: ready_tasks
-- The second move of those that wait for nothing: into their queues.  $1 task ids
with readied as (
  update mainspring.task t set state = 'ready', position = nextval('mainspring.position')
  where t.id = any($1::bigint[]) and t.state = 'waiting' and t.unmet = 0
  returning t.id, t.lane, t.priority, t.position, t.term)
insert into mainspring.ready (lane, priority, position, task_id, term)
select lane, priority, position, id, term from readied;
