-- What ended, per dag and stretch of time: added up by `archive_runs`, folded and read here.

-- part: into_rollup
  insert into mainspring.rollup as r (tenant_id, dag_id, width, at, succeeded, failed, cancelled, again,
    tasks, failed_tasks, retries, duration_sum, duration_max, lag_sum, lag_max, durations, lags)

-- part: added_to_rollup
-- What is there already, and what comes.
  on conflict (tenant_id, dag_id, width, at) do update set
    succeeded = r.succeeded + excluded.succeeded, failed = r.failed + excluded.failed,
    cancelled = r.cancelled + excluded.cancelled, again = r.again + excluded.again,
    tasks = r.tasks + excluded.tasks, failed_tasks = r.failed_tasks + excluded.failed_tasks,
    retries = r.retries + excluded.retries,
    duration_sum = r.duration_sum + excluded.duration_sum,
    duration_max = greatest(r.duration_max, excluded.duration_max),
    lag_sum = r.lag_sum + excluded.lag_sum, lag_max = greatest(r.lag_max, excluded.lag_max),
    durations = array(select a + b from unnest(r.durations, excluded.durations) as u (a, b)),
    lags = array(select a + b from unnest(r.lags, excluded.lags) as u (a, b))

-- part: counted_ends
-- Of `ends`: how many of each kind, and how long they took.
    count(*) filter (where state = 'succeeded'), count(*) filter (where state = 'failed'),
    count(*) filter (where state = 'cancelled'), count(*) filter (where again),
    sum(tasks), sum(failed_tasks), sum(retries),
    coalesce(sum(duration), '0'), coalesce(max(duration), '0'),
    coalesce(sum(lag), '0'), coalesce(max(lag), '0'),
    array[
      count(*) filter (where duration_at = 0), count(*) filter (where duration_at = 1), count(*) filter (where duration_at = 2), count(*) filter (where duration_at = 3),
      count(*) filter (where duration_at = 4), count(*) filter (where duration_at = 5), count(*) filter (where duration_at = 6), count(*) filter (where duration_at = 7),
      count(*) filter (where duration_at = 8), count(*) filter (where duration_at = 9), count(*) filter (where duration_at = 10), count(*) filter (where duration_at = 11),
      count(*) filter (where duration_at = 12), count(*) filter (where duration_at = 13), count(*) filter (where duration_at = 14), count(*) filter (where duration_at = 15),
      count(*) filter (where duration_at = 16), count(*) filter (where duration_at = 17), count(*) filter (where duration_at = 18), count(*) filter (where duration_at = 19),
      count(*) filter (where duration_at = 20), count(*) filter (where duration_at = 21), count(*) filter (where duration_at = 22), count(*) filter (where duration_at = 23),
      count(*) filter (where duration_at = 24), count(*) filter (where duration_at = 25), count(*) filter (where duration_at = 26), count(*) filter (where duration_at = 27)],
    array[
      count(*) filter (where lag_at = 0), count(*) filter (where lag_at = 1), count(*) filter (where lag_at = 2), count(*) filter (where lag_at = 3),
      count(*) filter (where lag_at = 4), count(*) filter (where lag_at = 5), count(*) filter (where lag_at = 6), count(*) filter (where lag_at = 7),
      count(*) filter (where lag_at = 8), count(*) filter (where lag_at = 9), count(*) filter (where lag_at = 10), count(*) filter (where lag_at = 11),
      count(*) filter (where lag_at = 12), count(*) filter (where lag_at = 13), count(*) filter (where lag_at = 14), count(*) filter (where lag_at = 15),
      count(*) filter (where lag_at = 16), count(*) filter (where lag_at = 17), count(*) filter (where lag_at = 18), count(*) filter (where lag_at = 19),
      count(*) filter (where lag_at = 20), count(*) filter (where lag_at = 21), count(*) filter (where lag_at = 22), count(*) filter (where lag_at = 23),
      count(*) filter (where lag_at = 24), count(*) filter (where lag_at = 25), count(*) filter (where lag_at = 26), count(*) filter (where lag_at = 27)]

-- part: measured_ends
-- How long a run took and how late it was, where it began and had not ended before; and in which places
-- of the histograms that is.
  cross join (
    select array_agg(interval '1 ms' * (1 << n) order by n) as bounds
    from generate_series(0, 26) as n) powers
  left join lateral (
    select greatest(k.finished_at - k.started_at, '0') as duration,
      greatest(k.started_at - k.due_at, '0') as lag
    where k.started_at is not null and not f.again) m on true

-- name: count_history
-- What is in history already and was never counted, added up in stretches of the width that their age
-- asks for. Whoever stores finished runs in some other way than by `archive_runs` calls it once.
-- $1 first run  $2 below this run  $3 minutes from here on  $4 hours from here on
with ends as (
  select k.tenant_id, k.dag_id, w.width, date_bin(w.length, k.finished_at, 'epoch') as at, k.state, k.tasks,
    k.failed_tasks, f.retries, f.again, m.duration, m.lag,
    width_bucket(m.duration, powers.bounds) as duration_at, width_bucket(m.lag, powers.bounds) as lag_at
  from mainspring.run_history k
  cross join lateral (
    select case when k.finished_at >= $3 then 'minute' when k.finished_at >= $4 then 'hour' else 'day' end
        ::mainspring.rollup_width as width,
      case when k.finished_at >= $3 then interval '1 minute' when k.finished_at >= $4 then interval '1 hour'
        else interval '1 day' end as length) w
  cross join lateral (
    select sum(t.attempt - 1) as retries, max(t.generation) > 1 as again
    from mainspring.task_history t where t.id >= k.id and t.id < k.id + k.tasks) f
-- with part: measured_ends
  where k.id >= $1 and k.id < $2)
-- with part: into_rollup
  select tenant_id, coalesce(dag_id, 0), width, at,
-- with part: counted_ends
  from ends
  group by grouping sets ((tenant_id, width, at, dag_id), (tenant_id, width, at))
  order by 1, 2, 4
-- with part: added_to_rollup
;

-- name: read_rollups
-- What ended between two instants, added up in steps. A row that is wider than a step would be told at
-- its beginning; the caller asks for no step that is not kept so far back.
-- $1 tenant  $2 dag, or 0 for all  $3 from when  $4 till when  $5 step  $6 widths that are not wider
with stretches as materialized (
  select date_bin($5::interval, r.at, 'epoch') as step, r.*
  from mainspring.rollup r
  where r.tenant_id = $1 and r.dag_id = $2 and r.width = any ($6::mainspring.rollup_width[])
    and r.at >= $3 and r.at < $4),
counts as (
  select step, array_agg(duration order by number) as durations, array_agg(lag order by number) as lags
  from (
    select stretches.step, n.number, sum(n.duration)::bigint as duration, sum(n.lag)::bigint as lag
    from stretches cross join lateral unnest(stretches.durations, stretches.lags) with ordinality as n (duration, lag, number)
    group by stretches.step, n.number) n
  group by step)
select s.*, c.durations, c.lags
from (
  select step as at, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed,
    sum(cancelled)::bigint as cancelled, sum(again)::bigint as again, sum(tasks)::bigint as tasks,
    sum(failed_tasks)::bigint as failed_tasks, sum(retries)::bigint as retries,
    extract(epoch from sum(duration_sum))::float8 as duration_sum,
    extract(epoch from max(duration_max))::float8 as duration_max,
    extract(epoch from sum(lag_sum))::float8 as lag_sum,
    extract(epoch from max(lag_max))::float8 as lag_max
  from stretches group by step) s
join counts c on c.step = s.at
order by s.at;

-- name: fold_rollups
-- Some of the oldest rows of one width become part of wider ones. Who adds to a row meanwhile is waited
-- for, or makes it anew, and then it is folded the next time.
-- $1 width  $2 into width  $3 how long that is  $4 before  $5 limit
with old as (
  delete from mainspring.rollup r
  where (r.tenant_id, r.dag_id, r.width, r.at) in (
    select tenant_id, dag_id, width, at from mainspring.rollup
    where width = $1::mainspring.rollup_width and at < $4 order by at limit $5)
  returning r.*, date_bin($3::interval, r.at, 'epoch') as into_at),
counts as (
  select tenant_id, dag_id, into_at, array_agg(duration order by number) as durations,
    array_agg(lag order by number) as lags
  from (
    select old.tenant_id, old.dag_id, old.into_at, n.number, sum(n.duration)::int as duration,
      sum(n.lag)::int as lag
    from old cross join lateral unnest(old.durations, old.lags) with ordinality as n (duration, lag, number)
    group by old.tenant_id, old.dag_id, old.into_at, n.number) n
  group by tenant_id, dag_id, into_at),
folded as (
-- with part: into_rollup
  select s.tenant_id, s.dag_id, $2::mainspring.rollup_width, s.into_at, s.succeeded, s.failed, s.cancelled,
    s.again, s.tasks, s.failed_tasks, s.retries, s.duration_sum, s.duration_max, s.lag_sum, s.lag_max,
    c.durations, c.lags
  from (
    select tenant_id, dag_id, into_at, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
      sum(cancelled)::int as cancelled, sum(again)::int as again, sum(tasks)::bigint as tasks,
      sum(failed_tasks)::bigint as failed_tasks, sum(retries)::bigint as retries,
      sum(duration_sum) as duration_sum, max(duration_max) as duration_max,
      sum(lag_sum) as lag_sum, max(lag_max) as lag_max
    from old group by tenant_id, dag_id, into_at) s
  join counts c using (tenant_id, dag_id, into_at)
  order by 1, 2, 4
-- with part: added_to_rollup
  )
select count(*)::int as folded from old;

-- name: forget_rollups
-- $1 before  $2 limit
delete from mainspring.rollup r
where (r.tenant_id, r.dag_id, r.width, r.at) in (
  select tenant_id, dag_id, width, at from mainspring.rollup
  where width = 'day' and at < $1 order by at limit $2)
returning r.at;
