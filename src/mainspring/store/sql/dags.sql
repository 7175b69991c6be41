-- Dags, versions, queues: written when a bundle is read, read when a run is made.

-- name: ensure_queues
-- $1 tenant  $2 names
with made as (
  insert into mainspring.queue (tenant_id, name) select $1, unnest($2::text[]) on conflict do nothing
  returning id, name)
select id, name from made
union
select id, name from mainspring.queue where tenant_id = $1 and name = any($2::text[]);

-- name: ensure_snapshot
-- $1 tenant  $2 digest
with made as (
  insert into mainspring.snapshot (tenant_id, digest) values ($1, $2) on conflict do nothing
  returning id)
select id from made union select id from mainspring.snapshot where tenant_id = $1 and digest = $2;

-- name: lock_dag
-- Makes the dag if it is new, and locks it: versions of one dag are numbered one at a time.
-- $1 tenant  $2 name  $3 file
insert into mainspring.dag (tenant_id, name, file) values ($1, $2, $3)
on conflict (tenant_id, name) do update set file = excluded.file
returning id, version_id, snapshot_id;

-- name: find_version
-- $1 dag  $2 digest
select id, number from mainspring.version where dag_id = $1 and digest = $2;

-- name: create_version
-- $1 dag  $2 digest  $3 spec  $4 number of tasks  $5 timeout
insert into mainspring.version (dag_id, number, digest, spec, tasks, timeout_seconds)
select $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5 from mainspring.version where dag_id = $1
returning id, number;

-- name: create_nodes
-- $1 version  $2 numbers  $3 names  $4 lanes  $5 priorities  $6 parents
insert into mainspring.node (version_id, number, name, lane, priority, parents)
select $1, u.number, u.name, u.lane, u.priority, u.parents
from unnest($2::int[], $3::text[], $4::int[], $5::smallint[], $6::int[])
  as u (number, name, lane, priority, parents);

-- name: create_edges
-- $1 version  $2 before  $3 after
insert into mainspring.edge (version_id, before, after)
select $1, u.before, u.after from unnest($2::int[], $3::int[]) as u (before, after);

-- name: use_version
-- What a trigger uses from now on.  $1 dag  $2 version  $3 snapshot
update mainspring.dag set version_id = $2, snapshot_id = $3, changed_at = clock_timestamp()
where id = $1 and (version_id is distinct from $2 or snapshot_id is distinct from $3)
returning id;

-- name: set_file_problems
-- The problems of the last reading replace those of the one before.
-- $1 tenant  $2 files  $3 lines  $4 messages
with gone as (
  delete from mainspring.file_problem where tenant_id = $1 and file <> all($2::text[]))
insert into mainspring.file_problem (tenant_id, file, line, message)
select $1, u.file, u.line, u.message from unnest($2::text[], $3::int[], $4::text[]) as u (file, line, message)
on conflict (tenant_id, file) do update
set line = excluded.line, message = excluded.message, seen_at = clock_timestamp()
where (mainspring.file_problem.line, mainspring.file_problem.message)
  is distinct from (excluded.line, excluded.message);

-- name: read_dag
-- $1 tenant  $2 name
select d.id, d.name, d.file, d.version_id, v.number as version, d.snapshot_id, s.digest as snapshot,
  v.spec, v.created_at, d.changed_at
from mainspring.dag d
join mainspring.version v on v.id = d.version_id
join mainspring.snapshot s on s.id = d.snapshot_id
where d.tenant_id = $1 and d.name = $2;
