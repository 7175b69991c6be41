-- What has changed since it was last looked at, for those who watch. Every row says which transaction
-- wrote it, so nothing has to be written for watchers: a row that a snapshot does not see yet was
-- written since. Only hot tables are read, which hold open work; a closed run stays there for seconds.

-- part: since
-- Ages are short numbers and are compared first; which transactions a snapshot saw is asked only of
-- the few rows that are young enough. A frozen row may look younger than it is, once in 4 billion
-- transactions, and is then told without need.
moment as materialized (
  select pg_current_snapshot() as snapshot, $1::text::pg_snapshot as before),
known as materialized (
  select n - (n & 4294967295) + greatest(n & 4294967295, 3) as xid
  from (select pg_snapshot_xmax(snapshot)::text::bigint as n from moment) as next),
since as materialized (
  select k.xid + age((k.xid & 4294967295)::text::xid) as latest,
    k.xid + age((k.xid & 4294967295)::text::xid)
      - (select pg_snapshot_xmin(before)::text::bigint from moment) as age
  from known k)

-- name: read_moment
-- As long as it is the same, nothing has been written.
select pg_current_snapshot()::text as snapshot;

-- name: changed_runs
-- Open runs that have changed: they, one of their tasks, or a claim on one. It reads the hot tables
-- whole; who asks has to leave rests that are longer.
-- $1 since this snapshot  $2 rows of each table that are looked at, at most
with
-- with part: since
, changed as materialized (
  (select r.id from mainspring.run r
   where age(r.xmin) <= (select age from since)
     and not pg_visible_in_snapshot(
       ((select latest from since) - age(r.xmin))::text::xid8, (select before from moment))
   limit $2)
  union all
  (select t.run_id from mainspring.task t
   where age(t.xmin) <= (select age from since)
     and not pg_visible_in_snapshot(
       ((select latest from since) - age(t.xmin))::text::xid8, (select before from moment))
   limit $2)
  union all
  (select t.run_id
   from mainspring.claim c, unnest(c.task_ids) as k (id)
   cross join lateral (select t.run_id from mainspring.task t where t.id = k.id limit 1) t
   where age(c.xmin) <= (select age from since)
     and not pg_visible_in_snapshot(
       ((select latest from since) - age(c.xmin))::text::xid8, (select before from moment))
   limit $2))
select (select snapshot::text from moment) as snapshot, (select count(*) from changed)::int as rows,
  array(select distinct id from changed) as ids;

-- name: touched_runs
-- Which of these runs have changed, in anything that is shown of them or their tasks.
-- $1 since this snapshot  $2 run ids  $3 how many tasks each has
with
-- with part: since
, claimed as materialized (
  select k.id
  from mainspring.claim c, unnest(c.task_ids) as k (id)
  where age(c.xmin) <= (select age from since)
    and not pg_visible_in_snapshot(
      ((select latest from since) - age(c.xmin))::text::xid8, (select before from moment)))
select (select snapshot::text from moment) as snapshot, array(
  select u.id
  from unnest($2::bigint[], $3::int[]) as u (id, tasks)
  where exists (
      select 1 from mainspring.run r
      where r.id = u.id and age(r.xmin) <= (select age from since))
    or exists (
      select 1 from mainspring.task t
      where t.id >= u.id and t.id < u.id + u.tasks and age(t.xmin) <= (select age from since))
    or exists (
      select 1 from mainspring.progress g
      where g.task_id >= u.id and g.task_id < u.id + u.tasks and age(g.xmin) <= (select age from since))
    or exists (
      select 1 from mainspring.remark m
      where m.task_id >= u.id and m.task_id < u.id + u.tasks and age(m.xmin) <= (select age from since))
    or exists (select 1 from claimed k where k.id >= u.id and k.id < u.id + u.tasks)) as ids;

-- name: read_runs
-- These runs.  $1 tenant  $2 run ids
select r.id, r.dag, r.version, r.version_id, s.digest as snapshot, r.trigger, r.created_at, r.created_by,
  r.due_at, r.rerun_of, r.tasks, r.state, r.stop, r.open_tasks, r.failed_tasks, r.started_at,
  r.finished_at, clock_timestamp() as read_at,
  (select h.name from mainspring.schedule h where h.id = r.schedule_id) as schedule, r.fire_at,
  r.interval_start
from unnest($2::bigint[]) as u (id)
join lateral (
  select * from mainspring.run_view r where r.tenant_id = $1 and r.id = u.id offset 0) r on true
join mainspring.snapshot s on s.id = r.snapshot_id;

-- name: void_tokens
-- Which of these have been revoked, have expired or are gone.  $1 token ids
select u.id from unnest($1::bigint[]) as u (id)
where not exists (
  select 1 from mainspring.token t
  where t.id = u.id and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > clock_timestamp()));
