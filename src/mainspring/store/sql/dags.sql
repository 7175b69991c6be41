-- Dags, versions, queues: written when a bundle is read, read when a run is made.

-- name: ensure_queues
-- $1 tenant  $2 names
with made as (
  insert into mainspring.queue (tenant_id, name) select $1, unnest($2::text[]) on conflict do nothing
  returning id, name)
select id, name from made
union
select id, name from mainspring.queue where tenant_id = $1 and name = any($2::text[]);

-- name: find_used_snapshot
-- The snapshot, if it need not be touched: most are asked for again and again.  $1 tenant  $2 digest
select id from mainspring.snapshot
where tenant_id = $1 and digest = $2 and used_at >= clock_timestamp() - interval '10 minutes';

-- name: ensure_snapshot
-- Makes the snapshot if it is new, and keeps it from being forgotten for the better part of an hour.
-- $1 tenant  $2 digest
with made as (
  insert into mainspring.snapshot as s (tenant_id, digest) values ($1, $2)
  on conflict (tenant_id, digest) do update set used_at = clock_timestamp()
  where s.used_at < clock_timestamp() - interval '10 minutes'
  returning id)
select id from made union select id from mainspring.snapshot where tenant_id = $1 and digest = $2;

-- name: has_snapshot_content
-- $1 snapshot
select exists (select 1 from mainspring.snapshot_content where snapshot_id = $1) as kept;

-- name: keep_snapshot_content
-- $1 snapshot  $2 content
insert into mainspring.snapshot_content (snapshot_id, content) values ($1, $2)
on conflict do nothing returning snapshot_id;

-- name: keep_snapshot_object
-- The object is whole, and stands for the content from now on. Refused when somebody else has kept
-- it, or the object took so long that it is being removed.  $1 snapshot  $2 store  $3 key  $4 bytes
with intent as materialized (
  select key from mainspring.object_removal
  where store_id = $2 and key = $3 and not taken
  for update),
kept as (
  insert into mainspring.snapshot_content (snapshot_id, store_id, key, bytes)
  select $1, $2, key, $4 from intent
  on conflict do nothing
  returning key)
delete from mainspring.object_removal r using kept
where r.store_id = $2 and r.key = kept.key
returning r.key;

-- name: locate_snapshot
-- $1 snapshot
select coalesce(c.bytes, octet_length(c.content)) as bytes, s.url as store, c.key
from mainspring.snapshot_content c left join mainspring.object_store s on s.id = c.store_id
where c.snapshot_id = $1;

-- name: read_snapshot_piece
-- $1 snapshot  $2 from this byte on, the first is 0  $3 so many
select substring(content from $2::int + 1 for $3::int) as piece
from mainspring.snapshot_content where snapshot_id = $1;

-- name: forget_snapshots
-- Lets go of the content of snapshots that nobody will run again. What is shown of a run, the digest,
-- stays. A snapshot is taken into use by whoever touches `used_at` first, so that a look at it and
-- the lock on it decide: one that is touched meanwhile is locked, or no longer old.
-- Open runs have no index by snapshot, since it would cost each of them; they are read as a whole,
-- but only if there is something to forget.
-- $1 not used since  $2 so many versions of each dag keep their code  $3 limit
with kept as materialized (
  select v.snapshot_id from mainspring.version v
  where v.number > (select max(number) from mainspring.version w where w.dag_id = v.dag_id) - $2::int
  union all
  select v.snapshot_id from mainspring.dag d join mainspring.version v on v.id = d.folder_version_id
  union all
  select d.snapshot_id from mainspring.dag d where d.snapshot_id is not null),
idle as materialized (
  select s.id
  from mainspring.snapshot_content c join mainspring.snapshot s on s.id = c.snapshot_id
  where s.used_at < $1
    and s.id not in (select snapshot_id from kept)
    and not exists (select 1 from mainspring.run_history h where h.snapshot_id = s.id)
  order by s.id
  for no key update of s skip locked),
open_runs as materialized (
  select distinct r.snapshot_id from mainspring.run r where exists (select 1 from idle)),
gone as (
  delete from mainspring.snapshot_content
  where snapshot_id = any (array(
    select id from idle where id not in (select snapshot_id from open_runs) order by id limit $3))
  returning snapshot_id, store_id, key),
objects as (
  insert into mainspring.object_removal (store_id, key, due_at)
  select store_id, key, clock_timestamp() from gone where key is not null
  on conflict do nothing)
select snapshot_id from gone;

-- name: lock_dag
-- Makes the dag if it is new, and locks it: versions of one dag are numbered one at a time.
-- $1 tenant  $2 name  $3 file  $4 description  $5 doc  $6 owner  $7 tags  $8 of tasks, by name
-- $9 who is told of ends
insert into mainspring.dag
  (tenant_id, name, file, description, doc, owner, tags, task_descriptions, notify)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (tenant_id, name) do update
set file = excluded.file, description = excluded.description, doc = excluded.doc,
  owner = excluded.owner, tags = excluded.tags, task_descriptions = excluded.task_descriptions,
  notify = excluded.notify, gone_at = null
returning id, version_id, snapshot_id, source, rolled_back_at;

-- name: find_version
-- $1 dag  $2 digest
select id, number from mainspring.version where dag_id = $1 and digest = $2;

-- name: create_version
-- $1 dag  $2 digest  $3 spec  $4 number of tasks  $5 timeout  $6 snapshot
insert into mainspring.version (dag_id, number, digest, spec, tasks, timeout_seconds, snapshot_id)
select $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6 from mainspring.version where dag_id = $1
returning id, number;

-- name: read_from_snapshot
-- The last code that a version was read from is what a rollback to it runs.  $1 version  $2 snapshot
update mainspring.version set snapshot_id = $2 where id = $1 and snapshot_id <> $2;

-- name: create_nodes
-- Those of a paused dag draw tasks that stand aside.
-- $1 version  $2 numbers  $3 names  $4 lanes  $5 priorities  $6 parents
insert into mainspring.node (version_id, number, name, lane, priority, parents)
select $1, u.number, u.name, u.lane, case when d.paused_at is null then u.priority else -1 - u.priority end,
  u.parents
from mainspring.version v join mainspring.dag d on d.id = v.dag_id,
unnest($2::int[], $3::text[], $4::int[], $5::smallint[], $6::int[])
  as u (number, name, lane, priority, parents)
where v.id = $1;

-- name: create_edges
-- $1 version  $2 before  $3 after
insert into mainspring.edge (version_id, before, after)
select $1, u.before, u.after from unnest($2::int[], $3::int[]) as u (before, after);

-- name: use_version
-- What a trigger uses from now on, which ends a rollback. Who has read the dag just before may still
-- make a run of the snapshot that it leaves, so that one is touched.
-- $1 dag  $2 version  $3 snapshot  $4 source
with left_behind as (
  update mainspring.snapshot s set used_at = clock_timestamp()
  from mainspring.dag d
  where d.id = $1 and s.id = d.snapshot_id and s.id <> $3
    and s.used_at < clock_timestamp() - interval '10 minutes')
update mainspring.dag
set version_id = $2, snapshot_id = $3, folder_version_id = $2, source = $4, rolled_back_at = null,
  changed_at = clock_timestamp()
where id = $1 and (version_id is distinct from $2 or snapshot_id is distinct from $3
  or rolled_back_at is not null or source is distinct from $4)
returning id;

-- name: note_folder_version
-- Under a rollback: what the folder has now.  $1 dag  $2 version
update mainspring.dag set folder_version_id = $2 where id = $1 and folder_version_id <> $2;

-- name: mark_gone
-- Dags of the folder that a reading did not find, except those whose file could not be read.
-- $1 tenant  $2 names that were found  $3 files with problems
update mainspring.dag set gone_at = clock_timestamp()
where tenant_id = $1 and file <> '' and gone_at is null
  and name <> all($2::text[]) and file <> all($3::text[])
returning name;

-- name: lock_known_dag
-- $1 tenant  $2 name
select d.id, d.version_id, d.snapshot_id, d.file, d.gone_at, d.source, v.number as version
from mainspring.dag d join mainspring.version v on v.id = d.version_id
where d.tenant_id = $1 and d.name = $2
for no key update of d;

-- name: remove_written_dag
-- It leaves its mark behind, so that whoever comes may take the name.
-- $1 tenant  $2 name  $3 how the sources of written dags begin
update mainspring.dag set gone_at = clock_timestamp(), source = null
where tenant_id = $1 and name = $2 and gone_at is null
  and substring(source for octet_length($3::bytea)) = $3::bytea
returning id;

-- name: written_among
-- $1 tenant  $2 names  $3 how the sources of written dags begin
select name from mainspring.dag
where tenant_id = $1 and name = any($2::text[])
  and substring(source for octet_length($3::bytea)) = $3::bytea;

-- name: touch_snapshot
-- In use from now on: whoever forgets snapshots has done so already, or leaves this one alone.
-- $1 snapshot
update mainspring.snapshot set used_at = clock_timestamp() where id = $1 returning digest;

-- name: roll_back
-- The version that the folder has is no rollback: from there on the dag follows the folder again.
-- $1 dag  $2 version  $3 snapshot
update mainspring.dag
set version_id = $2, snapshot_id = $3, changed_at = clock_timestamp(),
  rolled_back_at = case when folder_version_id = $2 then null else clock_timestamp() end
where id = $1 returning rolled_back_at;

-- name: page_versions
-- Newest first.  $1 dag  $2 limit
select v.number, v.tasks, v.created_at, s.digest as snapshot,
  coalesce(c.bytes, octet_length(c.content)) as packed_bytes,
  v.id = d.version_id as used, v.id = d.folder_version_id as in_folder
from mainspring.version v
join mainspring.dag d on d.id = v.dag_id
join mainspring.snapshot s on s.id = v.snapshot_id
left join mainspring.snapshot_content c on c.snapshot_id = v.snapshot_id
where v.dag_id = $1
order by v.number desc limit $2;

-- name: read_version
-- $1 dag  $2 number
select v.id, v.number, v.spec, v.snapshot_id, s.digest, v.created_at
from mainspring.version v join mainspring.snapshot s on s.id = v.snapshot_id
where v.dag_id = $1 and v.number = $2;

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
  v.spec, v.created_at, d.changed_at, d.gone_at, d.rolled_back_at,
  d.paused_at, d.paused_by, d.pause_note, d.description, d.doc, d.owner, d.tags,
  d.task_descriptions::text as task_descriptions, d.notify
from mainspring.dag d
join mainspring.version v on v.id = d.version_id
join mainspring.snapshot s on s.id = d.snapshot_id
where d.tenant_id = $1 and d.name = $2;
