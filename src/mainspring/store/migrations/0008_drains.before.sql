-- What somebody wants of a worker: that it claim no more, and then stay until it is resumed, or stop.
-- The intent stands beside the lease, where every claim looks anyway; `draining` stays what the worker
-- itself tells. All are null for all others, so a beat writes as many bytes as before.
alter table mainspring.lease
  add column drain text check (drain in ('stay', 'stop')),
  add column drain_at timestamptz,
  add column drain_by text,
  add column drain_note text,
  add check ((drain is null) = (drain_at is null));
