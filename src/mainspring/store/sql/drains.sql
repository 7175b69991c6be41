-- What somebody wants of a worker. Lock order: the lease, and nothing else.

-- name: find_living
-- By id or by name.  $1 id or name
select w.id from mainspring.lease l join mainspring.worker w on w.id = l.worker_id
where w.name = $1 or w.id::text = $1
order by w.id limit 20;

-- name: hold_worker
-- `for update`, though no key changes: claims and completions hold a key share of their leases to the
-- end, so that this waits for those under way, and those that come later see what is written next.
-- $1 worker
select drain, drain_at, drain_by, drain_note from mainspring.lease where worker_id = $1 for update;

-- name: drain_worker
-- Again: only what then, and the note if there is one.  $1 worker  $2 then  $3 by whom  $4 note
update mainspring.lease
set drain = $2,
  drain_at = coalesce(drain_at, clock_timestamp()),
  drain_by = case when drain_at is null then $3 else drain_by end,
  drain_note = case when drain_at is null then $4 else coalesce($4, drain_note) end
where worker_id = $1;

-- name: resume_worker
-- $1 worker
update mainspring.lease set drain = null, drain_at = null, drain_by = null, drain_note = null
where worker_id = $1;
