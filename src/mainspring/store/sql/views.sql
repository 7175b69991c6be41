-- What people see, open work and history alike: derived states, made anew after every migration.
-- Within one snapshot a run is either in the hot tables or in history, never in both.

-- A task in state ready whose row in ready is gone has been claimed: it runs. The tasks of a paused
-- dag stand aside, with a priority below 0; people see the one that they gave.
create or replace view mainspring.task_view as
select t.id, t.run_id, t.tenant_id, t.version_id, t.node, t.index, n.name, t.lane,
  greatest(t.priority, -1 - t.priority)::smallint as priority,
  case
    -- Not written with `exists`, which the planner may turn into a scan of the whole queue.
    when t.state = 'ready' and (
      select 1 from mainspring.ready q
      where q.lane = t.lane and q.priority = t.priority and q.position = t.position) is null
    then 'running' else t.state::text
  end as state,
  t.term, t.attempt, t.lost, t.generation, t.unmet, t.stop::text as stop,
  t.due_at, t.started_at, t.finished_at, t.worker_id, t.result, t.priority < 0 as aside
from mainspring.task t
join mainspring.node n on n.version_id = t.version_id and n.number = t.node
union all
select t.id, t.run_id, t.tenant_id, t.version_id, t.node, t.index, n.name, t.lane,
  greatest(t.priority, -1 - t.priority)::smallint as priority,
  t.state::text, t.term, t.attempt, t.lost, t.generation, 0, t.stop::text,
  t.due_at, t.started_at, t.finished_at, t.worker_id, t.result, false
from mainspring.task_history t
join mainspring.node n on n.version_id = t.version_id and n.number = t.node;

-- For lists: newest first by (tenant, dag), without looking at states.
create or replace view mainspring.run_index as
select id, tenant_id, dag_id from mainspring.run
union all
select id, tenant_id, dag_id from mainspring.run_history;

-- The state of a run of one task is its task's; of a run of many, its verdict, or whether
-- any task has started. A term above the first tells that an attempt has ended: a task that was
-- handed back is ready again, but its run does not go back to queued.
create or replace view mainspring.run_view as
select r.id, r.tenant_id, r.dag_id, d.name as dag, r.version_id, v.number as version,
  r.snapshot_id, r.trigger::text as trigger, r.created_at, r.created_by, r.due_at, r.rerun_of,
  r.parameters, v.tasks,
  case
    when r.open_tasks is null then
      case one.state
        when 'waiting' then 'queued' when 'ready' then case one.term when 1 then 'queued' else 'running' end
        when 'backoff' then 'running' when 'parked' then 'running'
        when 'skipped' then 'succeeded' when 'upstream_failed' then 'failed'
        when 'cancelled' then case one.stop when 'deadline' then 'failed' else 'cancelled' end
        else one.state
      end
    when r.state <> 'running' then r.state::text
    when exists (
      select 1 from mainspring.task_view t
      where t.id >= r.id and t.id < r.id + v.tasks
        and (t.state not in ('waiting', 'ready') or t.term > 1))
    then 'running' else 'queued'
  end as state,
  coalesce(r.stop::text, one.stop) as stop,
  coalesce(r.open_tasks, case when one.finished_at is null then 1 else 0 end) as open_tasks,
  coalesce(r.failed_tasks, case one.state when 'failed' then 1 else 0 end) as failed_tasks,
  case when r.open_tasks is null then one.started_at
    else (select min(t.started_at) from mainspring.task t where t.id >= r.id and t.id < r.id + v.tasks)
  end as started_at,
  coalesce(r.finished_at, one.finished_at) as finished_at,
  r.schedule_id, r.fire_at, r.interval_start, r.job_id, r.options
from mainspring.run r
join mainspring.dag d on d.id = r.dag_id
join mainspring.version v on v.id = r.version_id
left join mainspring.task_view one on r.open_tasks is null and one.id = r.id
union all
select h.id, h.tenant_id, h.dag_id, d.name, h.version_id, v.number, h.snapshot_id, h.trigger::text,
  h.created_at, h.created_by, h.due_at, h.rerun_of, h.parameters, h.tasks, h.state::text,
  h.stop::text, 0, h.failed_tasks, h.started_at, h.finished_at, h.schedule_id, h.fire_at,
  h.interval_start, h.job_id, h.options
from mainspring.run_history h
join mainspring.dag d on d.id = h.dag_id
join mainspring.version v on v.id = h.version_id;
