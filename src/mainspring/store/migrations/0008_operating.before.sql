-- What somebody wants of a worker: that it claim no more, and then stay until it is resumed, or stop.
-- The intent stands beside the lease, where every claim looks anyway; `draining` stays what the worker
-- itself tells. All are null for all others, so a beat writes as many bytes as before.
alter table mainspring.lease
  add column drain text check (drain in ('stay', 'stop')),
  add column drain_at timestamptz,
  add column drain_by text,
  add column drain_note text,
  add check ((drain is null) = (drain_at is null));

-- What was missed or skipped, of all schedules, newest first. Fires that made a run are not in it, so
-- they cost no more than before.
create index fire_skipped on mainspring.fire (fire_at, id) where outcome = 'skipped';

-- How many attempts of each lane ended per second, as the worker told with its last beat: what queues get
-- through, without counting anything where it ends.
alter table mainspring.lease add column rates jsonb;

-- What attempts used that ran in a process of their own, and lasted. Others have no row here, and the
-- statements of the hot path know nothing of it.
create table mainspring.attempt_use (
  task_id bigint not null,
  term int not null,
  cpu_seconds real not null,
  peak_bytes bigint,              -- null: not known
  primary key (task_id, term)) partition by range (task_id);

do $$
declare
  period record;
begin
  execute format(
    'create table mainspring.%I partition of mainspring.attempt_use for values from (minvalue) to (%s)',
    'attempt_use_older', (select min(first_id) from mainspring.period));
  for period in select first_id, until_id from mainspring.period loop
    execute format(
      'create table mainspring.%I partition of mainspring.attempt_use for values from (%s) to (%s)',
      'attempt_use_' || period.first_id, period.first_id, period.until_id);
  end loop;
end $$;
