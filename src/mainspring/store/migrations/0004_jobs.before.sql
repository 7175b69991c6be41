-- Jobs: a name for what is to be run, with its parameters and perhaps a schedule; no graph is made.
--
-- Rules that shaped it (docs/decisions/0022-a-job-is-a-row-and-its-options-go-with-the-run.md):
--   What a job says instead of its tasks (queue, priority, attempts, timeout) never changes, and each
--   of its runs carries it: whoever makes, claims or reopens tasks finds it in the row that is read anyway.
--   A run of no job pays nothing: a null takes no room in a row that has nulls, and the indexes are partial.
-- min_code: 4

create type mainspring.job_kind as enum ('command', 'http', 'task');

-- What a run is given instead of what its tasks say; null in a field: as they say.
create type mainspring.run_options as (
  queue_id int, priority smallint, attempts smallint, timeout_seconds double precision);

create table mainspring.job (
  id bigint primary key,          -- reserved as those of runs are; the run that it began with has the same
  created_at timestamptz not null,
  changed_at timestamptz not null,
  cancelled_at timestamptz,       -- since when nothing of it starts
  tenant_id int not null,
  dag_id int not null,
  schedule_id int,                -- null: it was made to run at once, and when it is triggered
  version int not null default 1, -- rises with every change: who changes says which one was seen
  kind mainspring.job_kind not null,
  name text not null,
  parameters bytea,               -- JSON, as given; the dag's defaults come in at each run
  options mainspring.run_options,
  created_by text,
  cancelled_by text,
  cancel_note text,
  key text,                       -- idempotency key, and the digest of what was asked with it
  digest bytea,
  unique (name, tenant_id),       -- in this order, so that a lookup by id cannot take it
  check (num_nulls(key, digest) in (0, 2)))
  with (fillfactor = 90);
create unique index job_key on mainspring.job (key, tenant_id) where key is not null;

alter table mainspring.run add column job_id bigint, add column options mainspring.run_options;
alter table mainspring.run_history
  add column job_id bigint, add column options mainspring.run_options;
-- By time, and not by id: ids come in blocks, of which a quiet engine uses one for days.
create index run_job on mainspring.run (job_id, created_at, id) where job_id is not null;
create index run_history_job on mainspring.run_history (job_id, created_at, id)
  where job_id is not null;

-- The job that a schedule is of: it is changed by way of the job.
alter table mainspring.schedule add column job_id bigint;
