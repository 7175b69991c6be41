-- Statistics: what ended, per dag and stretch of time. Statistics read this and nothing else, so what
-- they cost depends neither on open work nor on how much history is kept.

create type mainspring.rollup_width as enum ('minute', 'hour', 'day');

create table mainspring.rollup (
  tenant_id int not null,
  dag_id int not null,            -- 0: all dags together
  width mainspring.rollup_width not null,
  at timestamptz not null,        -- where the stretch begins; runs are told where they ended
  succeeded int not null,         -- ends of runs, by state
  failed int not null,
  cancelled int not null,
  again int not null,             -- how many of these were ends of a run that had ended before
  tasks bigint not null,
  failed_tasks bigint not null,
  retries bigint not null,
  -- Of runs that started, and that ended for the first time.
  duration_sum interval not null, -- start to end
  duration_max interval not null,
  lag_sum interval not null,      -- due to start
  lag_max interval not null,
  -- Counts by powers of two: below 1 ms, 2 ms, 4 ms, …, 2^26 ms, and above.
  durations int[] not null check (cardinality(durations) = 28),
  lags int[] not null check (cardinality(lags) = 28),
  primary key (tenant_id, dag_id, width, at))
  with (fillfactor = 50);         -- the row of this minute is written again and again
create index rollup_age on mainspring.rollup (width, at);
