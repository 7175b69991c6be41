-- Many runs at a glance: the last ones of every dag, and the states of a dag's tasks run by run.
-- Every statement is bounded by a number of runs.

-- name: page_strips
-- By name of the dag: its newest runs, the newest first.  $1 tenant  $2 after this name  $3 limit
-- $4 runs of each
with few as materialized (
  select id, tenant_id, name from mainspring.dag
  where tenant_id = $1 and name > $2 and version_id is not null order by name limit $3)
select few.name as dag, r.id, r.state, r.created_at, r.started_at, r.finished_at,
  clock_timestamp() as read_at
from few
left join lateral (
  select i.id from mainspring.run_index i
  where i.tenant_id = few.tenant_id and i.dag_id = few.id
  order by i.tenant_id, i.dag_id, i.id desc limit $4) seen on true
left join lateral (
  select r.id, r.state, r.created_at, r.started_at, r.finished_at from mainspring.run_view r
  where r.id = seen.id offset 0) r on true
order by few.name, r.id desc;

-- name: page_grid
-- Runs of a dag, the newest first, and how their tasks stand: a character for each, by number, which
-- tells the place of the state in $5. The rows of tasks are not joined with their names: these are the
-- same for all runs of a version, and a million rows would be looked up.
-- $1 tenant  $2 dag  $3 below this run  $4 limit  $5 states
with seen as materialized (
  select id from mainspring.run_index
  where tenant_id = $1 and dag_id = $2 and id < $3 order by tenant_id, dag_id, id desc limit $4)
select r.id, r.version_id, r.version, r.state, r.trigger, r.created_at, r.fire_at, r.started_at,
  r.finished_at, clock_timestamp() as read_at, drawn.cells
from seen
join lateral (select * from mainspring.run_view r where r.id = seen.id offset 0) r on true
join lateral (
  select string_agg(
    substr('0123456789abcdefghijklmnopqrstuvwxyz', array_position($5::text[], t.state), 1),
    '' order by t.id) as cells
  from (
    select t.id,
      case
        when t.state = 'ready' and (
          select 1 from mainspring.ready q
          where q.lane = t.lane and q.priority = t.priority and q.position = t.position) is null
        then 'running' else t.state::text
      end as state
    from mainspring.task t where t.id >= r.id and t.id < r.id + r.tasks
    union all
    select t.id, t.state::text from mainspring.task_history t
    where t.id >= r.id and t.id < r.id + r.tasks) t) drawn on true
order by r.id desc;

-- name: read_timeline
-- When the tasks of a run ran, by number, in seconds. Arrays, since ten thousand rows take ten times as
-- long on their way. What the row tells of a running task's start may be of the attempt before.
-- $1 run  $2 how many tasks it has  $3 the instant to count from
with claimed as materialized (
  select k.id, k.term, c.claimed_at
  from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
  where k.id >= $1 and k.id < $1::bigint + $2::int)
select
  coalesce(array_agg((t.id - $1)::int order by t.id), '{}') as nodes,
  coalesce(array_agg(t.state order by t.id), '{}') as states,
  coalesce(array_agg(t.attempt::int order by t.id), '{}') as attempts,
  coalesce(array_agg(
    case
      when t.state = 'running' then round(extract(epoch from greatest(t.started_at, c.claimed_at) - $3::timestamptz), 3)
      when t.finished_at is not null then round(extract(epoch from t.started_at - $3::timestamptz), 3)
    end::float8 order by t.id), '{}') as started,
  coalesce(array_agg(
    case when t.state <> 'running' then round(extract(epoch from t.finished_at - $3::timestamptz), 3) end::float8
    order by t.id), '{}') as finished
from (
  select t.id, t.term, t.attempt, t.started_at, t.finished_at,
    case
      when t.state = 'ready' and (
        select 1 from mainspring.ready q
        where q.lane = t.lane and q.priority = t.priority and q.position = t.position) is null
      then 'running' else t.state::text
    end as state
  from mainspring.task t where t.id >= $1 and t.id < $1::bigint + $2::int
  union all
  select t.id, t.term, t.attempt, t.started_at, t.finished_at, t.state::text
  from mainspring.task_history t where t.id >= $1 and t.id < $1::bigint + $2::int) t
left join claimed c on c.id = t.id and c.term = t.term and t.state = 'running';
