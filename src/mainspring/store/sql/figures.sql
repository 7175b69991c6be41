-- Figures of the whole for metrics. They are asked every few seconds for ever: none may read much.

-- name: measure_database
-- What others do is seen as far as our role may see it, which is all that our processes do.
with backend as (
  select pid, xact_start from pg_catalog.pg_stat_activity
  where datname = current_database() and backend_type = 'client backend')
select count(*)::int as connections,
  current_setting('max_connections')::int as connections_max,
  coalesce(extract(epoch from clock_timestamp() - min(xact_start) filter (where pid <> pg_backend_pid())),
    0)::float8 as oldest_transaction_seconds,
  pg_database_size(current_database()) as bytes
from backend;

-- name: measure_tables
-- From the statistics, which take no lock: partitions come and go.
select coalesce(whole.relname, s.relname)::text as name, sum(s.n_live_tup)::bigint as rows,
  sum(s.n_dead_tup)::bigint as dead
from pg_catalog.pg_stat_user_tables s
left join pg_catalog.pg_inherits i on i.inhrelid = s.relid
left join pg_catalog.pg_class whole on whole.oid = i.inhparent
where s.schemaname = 'mainspring'
group by 1 order by 1;

-- name: measure_timers
-- $1 count up to
select k.kind::text as kind, counted.timers::int as count,
  coalesce(greatest(extract(epoch from clock_timestamp() - first.due_at), 0), 0)::float8 as late_seconds
from unnest(enum_range(null::mainspring.timer_kind)) k(kind)
cross join lateral (
  select count(*) as timers
  from (select 1 from mainspring.timer t where t.kind = k.kind limit $1) found) counted
left join lateral (
  select t.due_at from mainspring.timer t where t.kind = k.kind order by t.due_at limit 1) first on true
order by 1;

-- name: count_dead_letters
-- $1 tenant  $2 count up to
select count(*)::int as letters from (
  select 1 from mainspring.problem p where p.tenant_id = $1 and p.discarded_at is null limit $2) found;
