-- What attempts printed: chunks in the database, and what became objects elsewhere.
-- Lock order: log, long_log, object_removal; nothing here locks a run or a task.

-- name: append_log
-- Accepted from the current term only; a chunk that is there already stays as it is. A log that is
-- long by now is noted, so that nobody has to look for it.
-- $1 task ids  $2 terms  $3 starts  $4 contents  $5 from so many bytes on a log is long
with added as (
  insert into mainspring.log (task_id, term, start, written_at, content)
  select u.id, u.term, u.start, clock_timestamp(), u.content
  from unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[]) as u (id, term, start, content)
  join mainspring.task t on t.id = u.id and t.term = u.term and t.finished_at is null
  on conflict do nothing
  returning task_id, term, start + octet_length(content) as until)
insert into mainspring.long_log (task_id, term)
select distinct task_id, term from added where until >= $5
on conflict do nothing;

-- name: list_logs
-- The tries of neighbouring tasks, in order, each with how much of its log there is, and where. A
-- short log comes along. Every try but the current one has a row in attempt, and so has the current
-- one if it ended in any way but plain success: that row is the one to believe.
-- $1 first task  $2 below this task  $3 a log that comes along has at most so many bytes
with tries as (
  select distinct on (task_id, term) task_id, term, attempt, state, ended
  from (
    select 1 as place, a.task_id, a.term, a.attempt, a.state::text as state, true as ended
    from mainspring.attempt a where a.task_id >= $1 and a.task_id < $2
    union all
    select 2, t.id, t.term, t.attempt, t.state, t.finished_at is not null
    from mainspring.task_view t where t.id >= $1 and t.id < $2) as both_kinds
  order by task_id, term, place)
select y.task_id, y.term, y.attempt, y.state, y.ended,
  coalesce(m.bytes, c.bytes, 0) as bytes, coalesce(m.lost, c.cut, false) as cut, c.hole_at,
  s.url as store, m.key, m.frames,
  case when c.chunks = 1 and c.bytes <= $3::int then (
    select l.content from mainspring.log l where l.task_id = y.task_id and l.term = y.term
    limit 1) end as content
from tries y
left join mainspring.long_log m
  on m.task_id = y.task_id and m.term = y.term and m.moved_at is not null
left join mainspring.object_store s on s.id = m.store_id
left join lateral (
  select count(*) as chunks, max(start + size) as bytes, bool_or(size = 0) as cut,
    min(expected) filter (where start <> expected) as hole_at
  from (
    select l.start, octet_length(l.content) as size,
      coalesce(lag(l.start + octet_length(l.content)) over (order by l.start), 0) as expected
    from mainspring.log l where l.task_id = y.task_id and l.term = y.term) as pieces
  where m.key is null) c on true
order by y.task_id, y.term;

-- name: read_chunks
-- The chunks of one log from the one that holds a byte on.
-- $1 task  $2 term  $3 from byte  $4 to byte  $5 limit
select task_id, term, start, content from mainspring.log
where task_id = $1 and term = $2 and start < $4 and start >= coalesce((
  select max(start) from mainspring.log where task_id = $1 and term = $2 and start <= $3), 0)
order by start
limit $5;

-- name: find_long_logs
-- Logs to be moved: their attempt is over, and its last chunk has been there for a while, so none
-- is on its way.  $1 limit  $2 seconds
select l.task_id, l.term, c.start + octet_length(c.content) as bytes
from mainspring.long_log l
cross join lateral (
  select c.start, c.content, c.written_at from mainspring.log c
  where c.task_id = l.task_id and c.term = l.term order by c.start desc limit 1) c
where l.moved_at is null and not l.stays
  and c.written_at < clock_timestamp() - $2::float8 * interval '1 second'
  and not exists (
    select 1 from mainspring.task t
    where t.id = l.task_id and t.term = l.term and t.finished_at is null)
order by l.task_id, l.term
limit $1;

-- name: intend_object
-- Before an object is put: if nobody takes it into use, it will be removed.
-- $1 store url  $2 key  $3 seconds
with known as (
  insert into mainspring.object_store (url) values ($1)
  on conflict (url) do update set url = excluded.url
  returning id)
insert into mainspring.object_removal (store_id, key, due_at)
select id, $2, clock_timestamp() + $3::float8 * interval '1 second' from known
on conflict (store_id, key) do update set due_at = excluded.due_at
returning store_id;

-- name: adopt_log
-- The object is whole: it takes the place of the chunks. Refused when somebody else has moved the
-- log, or the run was pruned, or the object took so long that it is being removed.
-- $1 task  $2 term  $3 store  $4 key  $5 bytes  $6 frames
with intent as materialized (
  select key from mainspring.object_removal
  where store_id = $3 and key = $4 and not taken
  for update),
moved as (
  update mainspring.long_log l
  set moved_at = clock_timestamp(), bytes = $5, store_id = $3, key = $4, frames = $6,
    lost = exists (
      select 1 from mainspring.log c
      where c.task_id = $1 and c.term = $2 and c.start = $5 and octet_length(c.content) = 0)
  where l.task_id = $1 and l.term = $2 and l.moved_at is null and exists (select 1 from intent)
  returning task_id, term),
chunks as (
  delete from mainspring.log c using moved m where c.task_id = m.task_id and c.term = m.term),
unlisted as (
  delete from mainspring.object_removal r using moved
  where r.store_id = $3 and r.key = $4)
select task_id from moved;

-- name: let_log_stay
-- A log with a hole keeps its chunks, which tell where the hole is.  $1 task  $2 term
update mainspring.long_log set stays = true where task_id = $1 and term = $2 and moved_at is null;

-- name: list_objects_of_period
-- Objects of logs that leave with their period; those of open runs stay.  $1 first id  $2 until id
insert into mainspring.object_removal (store_id, key, due_at)
select l.store_id, l.key, clock_timestamp() from mainspring.long_log l
where l.task_id >= $1 and l.task_id < $2 and l.moved_at is not null
  and not exists (select 1 from mainspring.task t where t.id = l.task_id)
on conflict do nothing;

-- name: take_removals
-- Objects to be removed now. One whose remover died is taken again after a while.
-- $1 limit
with due as materialized (
  select store_id, key from mainspring.object_removal
  where due_at <= clock_timestamp()
  order by due_at limit $1
  for update skip locked),
taken as (
  update mainspring.object_removal r
  set taken = true, due_at = clock_timestamp() + interval '10 minutes'
  from due where r.store_id = due.store_id and r.key = due.key
  returning r.store_id, r.key)
select s.url, t.store_id, t.key from taken t join mainspring.object_store s on s.id = t.store_id
order by t.store_id, t.key;

-- name: forget_removals
-- They are gone.  $1 store  $2 keys
delete from mainspring.object_removal where store_id = $1 and key = any($2::text[]) and taken;

-- name: count_removals
-- How many objects are still to be removed.
select count(*)::int as objects from mainspring.object_removal where due_at <= clock_timestamp() or taken;
