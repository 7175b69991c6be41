-- What people do by hand: look at dead letters, discard them, close a task, and say why.

-- name: page_likenesses
-- Dead letters by what they look like: one step of the index for each likeness, however many
-- letters it has; these are counted up to a limit.
-- $1 tenant  $2 after this likeness  $3 limit  $4 dag or null  $5 task or null  $6 failed since
-- $7 failed until  $8 count up to
with recursive step (likeness) as (
  (select p.likeness from mainspring.problem p
   where p.tenant_id = $1 and p.discarded_at is null and p.likeness > $2::uuid
   order by p.tenant_id, p.likeness limit 1)
  union all
  select (
    select p.likeness from mainspring.problem p
    where p.tenant_id = $1 and p.discarded_at is null and p.likeness > s.likeness
    order by p.tenant_id, p.likeness limit 1)
  from step s where s.likeness is not null),
seen as materialized (
  select likeness from step where likeness is not null limit $3)
select s.likeness, last.found, d.name as dag, last.task, first.failed_at as first_at,
  last.failed_at as last_at, last.run_id, last.task_id, last.term, number.letters, a.error
from seen s
left join lateral (
  -- The last look alike in all that is asked for but the time.
  select true as found, p.* from mainspring.problem p
  where p.tenant_id = $1 and p.discarded_at is null and p.likeness = s.likeness
    and p.failed_at >= $6 and p.failed_at <= $7
    and ($4::int is null or p.dag_id = $4) and ($5::text is null or p.task = $5)
  order by p.tenant_id desc, p.likeness desc, p.failed_at desc, p.task_id desc limit 1) last on true
left join lateral (
  select p.failed_at from mainspring.problem p
  where last.found and p.tenant_id = $1 and p.discarded_at is null and p.likeness = s.likeness
    and p.failed_at >= $6
  order by p.tenant_id, p.likeness, p.failed_at, p.task_id limit 1) first on true
left join lateral (
  select count(*)::int as letters from (
    select 1 from mainspring.problem p
    where last.found and p.tenant_id = $1 and p.discarded_at is null and p.likeness = s.likeness
      and p.failed_at >= $6 and p.failed_at <= $7
    limit $8) as counted) number on true
left join mainspring.dag d on d.id = last.dag_id
left join mainspring.attempt a on a.task_id = last.task_id and a.term = last.term
order by s.likeness;

-- name: find_likenesses
-- Up to two of those that begin alike, as people shorten them.  $1 tenant  $2 from  $3 to
with first as materialized (
  select p.likeness from mainspring.problem p
  where p.tenant_id = $1 and p.discarded_at is null
    and p.likeness >= $2::uuid and p.likeness <= $3::uuid
  order by p.tenant_id, p.likeness limit 1)
select likeness from first
union all
select (
  select p.likeness from mainspring.problem p
  where p.tenant_id = $1 and p.discarded_at is null
    and p.likeness > f.likeness and p.likeness <= $3::uuid
  order by p.tenant_id, p.likeness limit 1)
from first f;

-- name: page_letters
-- Dead letters that look alike, oldest first.
-- $1 tenant  $2 likeness  $3 after this instant  $4 and task id  $5 failed since  $6 failed until
-- $7 limit
with page as materialized (
  select p.* from mainspring.problem p
  where p.tenant_id = $1 and p.discarded_at is null and p.likeness = $2::uuid
    and (p.failed_at, p.task_id) > ($3::timestamptz, $4::bigint)
    and p.failed_at >= $5 and p.failed_at <= $6
  order by p.tenant_id, p.likeness, p.failed_at, p.task_id
  limit $7)
select p.task_id, p.run_id, d.name as dag, p.task, p.term, p.failed_at, p.likeness, a.attempt,
  a.error
from page p
join mainspring.dag d on d.id = p.dag_id
left join mainspring.attempt a on a.task_id = p.task_id and a.term = p.term
order by p.failed_at, p.task_id;

-- name: page_discarded
-- Letters that were taken off the list, the last first, and by whom.
-- $1 tenant  $2 dag  $3 name of a task  $4 failed since  $5 limit  $6 discarded before this instant
-- $7 and task id
select p.task_id, p.run_id, d.name as dag, p.task, p.term, p.failed_at, p.likeness, a.attempt,
  a.error, p.discarded_at, coalesce(m.who, '') as who, coalesce(m.note, '') as note
from (
  select * from mainspring.problem p
  where p.tenant_id = $1 and p.discarded_at is not null
    and ($2::int is null or p.dag_id = $2) and ($3::text is null or p.task = $3)
    and p.failed_at >= $4
    and (p.discarded_at, p.task_id) < ($6::timestamptz, $7::bigint)
  order by p.tenant_id desc, p.discarded_at desc, p.task_id desc
  limit $5) p
join mainspring.dag d on d.id = p.dag_id
left join mainspring.attempt a on a.task_id = p.task_id and a.term = p.term
left join mainspring.remark m on m.task_id = p.task_id and m.term = p.term and m.deed = 'discarded'
order by p.discarded_at desc, p.task_id desc;

-- name: letters_of_run
-- $1 tenant  $2 run
select p.task_id, p.run_id, d.name as dag, p.task, p.term, p.failed_at, p.likeness, a.attempt,
  a.error
from (
  select version_id from mainspring.run where id = $2
  union all
  select version_id from mainspring.run_history where id = $2) r
join mainspring.version v on v.id = r.version_id
cross join lateral (
  select * from mainspring.problem p
  where p.task_id >= $2 and p.task_id < $2::bigint + v.tasks
    and p.tenant_id = $1 and p.discarded_at is null
  order by p.task_id) p
join mainspring.dag d on d.id = p.dag_id
left join mainspring.attempt a on a.task_id = p.task_id and a.term = p.term
order by p.task_id;

-- name: discard_letters
-- They leave the list and stay in history. One that failed again since it was looked at is another
-- letter, and stays.  $1 task ids  $2 terms  $3 who  $4 note
with letter as materialized (
  select p.task_id, p.term
  from unnest($1::bigint[], $2::int[]) as u (id, term)
  join mainspring.problem p on p.task_id = u.id and p.term = u.term
  -- The ids again, so that the key is used however few problems the planner believes in.
  where p.task_id = any($1::bigint[]) and p.discarded_at is null
  order by p.task_id for update of p),
discarded as (
  update mainspring.problem p set discarded_at = clock_timestamp()
  from letter l
  where p.task_id = any($1::bigint[]) and p.task_id = l.task_id and p.term = l.term
    and p.discarded_at is null
  returning p.task_id, p.term, p.discarded_at)
insert into mainspring.remark (task_id, term, deed, at, who, note)
select task_id, term, 'discarded', discarded_at, $3, $4 from discarded
on conflict do nothing
returning task_id;

-- name: add_remarks
-- Under the locks of what was done.  $1 task ids  $2 deed  $3 who  $4 note
insert into mainspring.remark (task_id, term, deed, at, who, note)
select t.id, t.term, $2::text::mainspring.deed, clock_timestamp(), $3, $4
from mainspring.task t where t.id = any($1::bigint[])
on conflict do nothing;

-- name: page_remarks
-- $1 run  $2 how many tasks it has  $3 limit
select task_id, term, deed::text as deed, at, who, note from mainspring.remark
where task_id >= $1 and task_id < $1::bigint + $2::int
order by at, task_id
limit $3;

-- name: unqueue_task
-- Whether a ready task is unclaimed: its row can still be deleted. A claim under way is waited for.
-- $1 task
delete from mainspring.ready q using mainspring.task t
where t.id = $1 and t.state = 'ready'
  and q.lane = t.lane and q.priority = t.priority and q.position = t.position
returning q.task_id;

-- name: mark_task
-- An open task is closed by hand, under the locks of its run and of all its tasks, with a snapshot
-- that was taken after them. Its term rises, so that whoever has it in hand is refused; his attempt
-- ends here. What follows is what follows a completion.
-- $1 run  $2 task  $3 its state from now on  $4 result  $5 who  $6 note  $7 whether it was unclaimed
-- $8 what the attempt in hand ends with  $9 now
with recursive clock as materialized (select coalesce($9::timestamptz, clock_timestamp()) as now),
before as materialized (
  select * from mainspring.task where id = $2 and finished_at is null),
moved as (
  update mainspring.task t
  set state = $3::text::mainspring.task_state, term = t.term + 1, started_at = null,
    finished_at = (select now from clock), worker_id = null,
    result = case when octet_length($4::bytea) > 1024 then ''::bytea else $4 end
  from before b where t.id = b.id
  returning t.id, t.version_id, t.node),
remarks as (
  insert into mainspring.remark (task_id, term, deed, at, who, note)
  select id, term, $3::text::mainspring.deed, (select now from clock), $5, $6 from before),
fenced as (
  insert into mainspring.attempt (task_id, term, attempt, generation, worker_id, state, started_at,
    finished_at, error)
  select b.id, b.term, b.attempt, b.generation, c.worker_id, 'cancelled',
    case when b.started_at >= c.claimed_at then b.started_at end, (select now from clock), $8
  from before b
  left join lateral (
    select c.worker_id, c.claimed_at
    from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    where k.id = b.id and k.term = b.term limit 1) c on true
  where b.state = 'ready' and not $7::boolean),
payloads as (
  insert into mainspring.payload (owner_id, kind, content)
  select $2, 'result', $4 from before where octet_length($4) > 1024
  on conflict (owner_id, kind) do update set content = excluded.content),
doom (node) as (
  select e.after
  from moved m
  join mainspring.edge e on e.version_id = m.version_id and e.before = m.node
  join mainspring.task t on t.id = $1::bigint + e.after and t.state = 'waiting'
  where $3 = 'skipped'
  union
  select e.after
  from doom d
  join moved m on true
  join mainspring.edge e on e.version_id = m.version_id and e.before = d.node
  join mainspring.task t on t.id = $1::bigint + e.after and t.state = 'waiting'),
closed_unrun as (
  update mainspring.task c set state = 'skipped', finished_at = (select now from clock)
  from doom d where c.id = $1::bigint + d.node and c.state = 'waiting'
  returning c.id),
children as (
  update mainspring.task c
  set unmet = c.unmet - 1,
    state = (case when c.unmet = 1 then 'ready' else 'waiting' end)::mainspring.task_state,
    due_at = case when c.unmet = 1 then (select now from clock) else c.due_at end,
    position = case when c.unmet = 1 then nextval('mainspring.position') end
  from moved m
  join mainspring.edge e on e.version_id = m.version_id and e.before = m.node
  where $3 = 'succeeded' and c.id = $1::bigint + e.after and c.state = 'waiting'
  returning c.id, c.lane, c.priority, c.position, c.term, c.unmet),
queued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, term from children where unmet = 0
  returning lane),
tally as materialized (
  select ((select count(*) from moved) + (select count(*) from closed_unrun))::int as closed),
progress as (
  update mainspring.run r
  set open_tasks = r.open_tasks - y.closed,
    marked = array(select unnest(r.marked) union select node from moved order by 1),
    state = (case
      when r.open_tasks > y.closed then 'running'
      when r.failed_tasks > 0 then 'failed'
      when r.cancelled_tasks > 0 then case r.stop when 'deadline' then 'failed' else 'cancelled' end
      else 'succeeded' end)::mainspring.run_state,
    finished_at = case when r.open_tasks = y.closed then (select now from clock) end
  from tally y
  where r.id = $1 and r.open_tasks is not null and y.closed > 0)
select distinct lane from queued;

-- name: find_mark
-- Whether a task was closed by hand as it stands.  $1 task  $2 its term  $3 its state
select note from mainspring.remark where task_id = $1 and term = $2::int - 1 and deed::text = $3;
