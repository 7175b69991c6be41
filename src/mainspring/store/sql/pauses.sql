-- Pausing dags and queues, and the priority of what waits.
-- Lock order: the dag or queue, the claims as a table; the dag, tasks by id, rows of ready.

-- name: close_gate
-- Waits for the claims and completions under way, and holds back all others until the commit. Who was
-- held back sees what was paused meanwhile: a statement locks its tables first and takes its
-- snapshot then. Nobody holds this lock for long, since claims are no part of users' transactions.
lock table mainspring.claim in share mode;

-- name: hold_queue
-- $1 tenant  $2 name
select id, paused_at, paused_by, pause_note from mainspring.queue
where tenant_id = $1 and name = $2 for no key update;

-- name: pause_queue
-- Again: only the note changes, if there is one.  $1 queue  $2 by whom  $3 note
update mainspring.queue
set paused_at = coalesce(paused_at, clock_timestamp()),
  paused_by = case when paused_at is null then $2 else paused_by end,
  pause_note = case when paused_at is null then $3 else coalesce($3, pause_note) end
where id = $1
returning paused_at, paused_by, pause_note;

-- name: resume_queue
-- $1 queue
update mainspring.queue set paused_at = null, paused_by = null, pause_note = null where id = $1;

-- name: hold_dag
-- First and by itself: a version that is being made is there then, and no other comes.
-- $1 tenant  $2 name
select id, paused_at, paused_by, pause_note from mainspring.dag
where tenant_id = $1 and name = $2 for no key update;

-- name: pause_dag
-- What is made from now on stands aside from the beginning, as its nodes do; what waits already
-- follows by `shift_tasks`.  $1 dag  $2 by whom  $3 note
with nodes as (
  update mainspring.node n set priority = -1 - n.priority
  from mainspring.version v
  where v.dag_id = $1 and n.version_id = v.id and n.priority >= 0)
update mainspring.dag
set paused_at = coalesce(paused_at, clock_timestamp()),
  paused_by = case when paused_at is null then $2 else paused_by end,
  pause_note = case when paused_at is null then $3 else coalesce($3, pause_note) end,
  shifted_by = pg_current_xact_id()
where id = $1
returning paused_at, paused_by, pause_note;

-- name: resume_dag
-- $1 dag
with nodes as (
  update mainspring.node n set priority = -1 - n.priority
  from mainspring.version v
  where v.dag_id = $1 and n.version_id = v.id and n.priority < 0)
update mainspring.dag
set paused_at = null, paused_by = null, pause_note = null, shifted_by = pg_current_xact_id()
where id = $1;

-- name: hold_side
-- On which side the tasks of a dag belong. No pause or resume comes in between until the commit.
-- $1 dag
select paused_at is not null as paused from mainspring.dag where id = $1 for share;

-- name: lock_astray
-- Open tasks of some runs of a dag that are on the wrong side, locked in id order.
-- $1 tenant  $2 dag  $3 above this run  $4 belong aside  $5 so many runs  $6 so many tasks
with slice as materialized (
  select r.id, v.tasks
  from mainspring.run r join mainspring.version v on v.id = r.version_id
  where r.tenant_id = $1 and r.dag_id = $2 and r.id > $3
  order by r.tenant_id, r.dag_id, r.id
  limit $5),
part as materialized (
  select id, tasks
  from (select id, tasks, sum(tasks) over (order by id) - tasks as before from slice) s
  where before < $6
  order by id),
locked as materialized (
  select t.id
  from part s
  cross join lateral (
    select t.id from mainspring.task t
    where t.id >= s.id and t.id < s.id + s.tasks and t.finished_at is null
      and (t.priority < 0) <> $4::boolean
    order by t.id for update) t)
select (select max(id) from part) as last, array(select id from locked) as ids;

-- name: shift_tasks
-- To the other side, in the same order; what is claimed stays claimed. To be asked under the locks
-- above, with a snapshot of its own.  $1 task ids, sorted
with queued as (
  update mainspring.ready q set priority = -1 - q.priority
  from mainspring.task t
  where t.id = any($1::bigint[]) and t.state = 'ready'
    and q.lane = t.lane and q.priority = t.priority and q.position = t.position
  returning q.lane),
shifted as (
  update mainspring.task t set priority = -1 - t.priority where t.id = any($1::bigint[]))
select distinct lane from queued;

-- name: shifting_dags
-- Dags whose tasks may not all stand where they belong. Who made one, or opened one again, may have
-- looked at its dag before the pause or resume and commit after it: that is over when no transaction
-- is left from then.
select id, tenant_id, shifted_by::text::bigint as shifted_by,
  pg_snapshot_xmin(pg_current_snapshot()) > shifted_by as over
from mainspring.dag where shifted_by is not null order by id;

-- name: end_shift
-- $1 dag  $2 of which pause or resume
update mainspring.dag set shifted_by = null
where id = $1 and shifted_by::text::bigint = $2 returning id;

-- name: change_priority
-- Of what has not been claimed, to be asked under the locks of a stop: run, then its open tasks.
-- Places among equals stay. What stands aside stays there.  $1 task ids  $2 priority
with queued as (
  update mainspring.ready q set priority = case when q.priority < 0 then -1 - $2::smallint else $2 end
  from mainspring.task t
  where t.id = any($1::bigint[]) and t.state = 'ready'
    and q.lane = t.lane and q.priority = t.priority and q.position = t.position
  returning q.task_id, q.lane),
changed as (
  update mainspring.task t set priority = case when t.priority < 0 then -1 - $2::smallint else $2 end
  where t.id = any($1::bigint[])
    and (t.state in ('waiting', 'backoff', 'parked') or t.id in (select task_id from queued))
  returning t.id)
select (select count(*) from changed)::int as tasks, array(select distinct lane from queued) as lanes;
