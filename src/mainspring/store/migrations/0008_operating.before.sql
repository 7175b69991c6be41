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
