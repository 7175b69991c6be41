-- What engines do: hold the shard, wake what is due, reap the dead, audit the open.

-- name: read_shard
-- $1 shard
select term, beat, holder, holder_name, clock_timestamp() as now from mainspring.shard where number = $1;

-- name: take_shard
-- Guarded by the beat that the taker watched for a full lease of its own connected time.
-- $1 shard  $2 holder  $3 holder's name  $4 beat seen
update mainspring.shard
set holder = $2, holder_name = $3, term = term + 1, beat = beat + 1, renewed_at = clock_timestamp()
where number = $1 and beat = $4
returning term, beat;

-- name: renew_shard
-- $1 shard  $2 holder  $3 term
update mainspring.shard set beat = beat + 1, renewed_at = clock_timestamp()
where number = $1 and holder = $2 and term = $3
returning beat;

-- name: free_shard
-- A clean stop leaves the shard to whoever asks next.  $1 shard  $2 holder  $3 term
update mainspring.shard set holder = null, holder_name = null, beat = beat + 1
where number = $1 and holder = $2 and term = $3
returning beat;

-- name: raise_epoch
-- Asked by each connection that hands out terms, before anything else. The timeline is that of the
-- log being written; pg_control_checkpoint() shows a new one only after the first checkpoint that
-- follows a promotion. The number rises with the timeline and not by one: then it also passes what
-- was handed out on a timeline in between, though that, and this very update, were lost with it.
-- Ids leap for the same reason: blocks that were reserved and forgotten are not reserved again.
with server as materialized (
  select s.system_identifier,
    ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline
  from pg_control_system() s),
known as materialized (
  select system_identifier is not null as before from mainspring.epoch),
raised as (
  update mainspring.epoch e
  set number = e.number + case
      when e.system_identifier is null then s.timeline - 1
      when e.system_identifier = s.system_identifier then greatest(s.timeline - e.timeline, 1)
      else s.timeline end,
    system_identifier = s.system_identifier, timeline = s.timeline
  from server s
  where e.system_identifier is distinct from s.system_identifier
    or e.timeline is distinct from s.timeline
  returning e.number)
select r.number, case when k.before then
  setval('mainspring.id_block', nextval('mainspring.id_block') + 1000000) end as last_id
from raised r, known k;

-- name: wake_backoff
-- Due timers become ready tasks. A timer whose term has passed is dropped without effect.
-- $1 now  $2 limit
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
due as (
  delete from mainspring.timer where ctid = any (array(
    select ctid from mainspring.timer
    where kind = 'backoff' and due_at <= (select now from clock)
    order by kind, due_at limit $2 for update skip locked))
  returning subject, term),
locked as materialized (
  select t.id from due d join mainspring.task t on t.id = d.subject and t.term = d.term
  where t.state = 'backoff'
  order by t.id for update of t),
woken as (
  update mainspring.task t set state = 'ready', position = nextval('mainspring.position')
  from locked l where t.id = l.id and t.state = 'backoff'
  returning t.id, t.lane, t.priority, t.position, t.term),
queued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, term from woken
  returning lane)
select (select count(*) from due)::int as due, array(select distinct lane from queued) as lanes;

-- name: wake_starts
-- Runs whose start time has come: their roots become ready.  $1 now  $2 limit
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
due as (
  delete from mainspring.timer where ctid = any (array(
    select ctid from mainspring.timer
    where kind = 'start' and due_at <= (select now from clock)
    order by kind, due_at limit $2 for update skip locked))
  returning subject),
locked as materialized (
  select t.id
  from (
    select r.id, v.tasks
    from due d
    join mainspring.run r on r.id = d.subject
    join mainspring.version v on v.id = r.version_id
    order by r.id) r
  cross join lateral (
    select t.id from mainspring.task t
    where t.id >= r.id and t.id < r.id + r.tasks and t.state = 'waiting' and t.unmet = 0
    order by t.id for update) t),
woken as (
  update mainspring.task t set state = 'ready', position = nextval('mainspring.position')
  from locked l where t.id = l.id and t.state = 'waiting' and t.unmet = 0
  returning t.id, t.lane, t.priority, t.position, t.term),
queued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, term from woken
  returning lane)
select (select count(*) from due)::int as due, array(select distinct lane from queued) as lanes;

-- name: due_deadlines
-- Runs whose time is up, or was once, before a rerun: `overdue_runs` tells. Their timers go.
-- $1 now  $2 limit
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now)
delete from mainspring.timer where ctid = any (array(
  select ctid from mainspring.timer
  where kind = 'deadline' and due_at <= (select now from clock)
  order by kind, due_at limit $2 for update skip locked))
returning subject as run_id, term;

-- name: read_leases
select l.worker_id, l.beat, l.seconds, w.name
from mainspring.lease l join mainspring.worker w on w.id = l.worker_id;

-- name: lock_lease
-- Reaping begins by locking the lease at the beat that was watched: from here on the worker can
-- neither renew nor claim until we are done.  $1 worker  $2 beat seen
select worker_id from mainspring.lease where worker_id = $1 and beat = $2 for update;

-- name: audit_open
-- Open tasks of a slice that nothing would ever move on: neither in ready, nor claimed, nor
-- timed, nor waiting for a parent. In a sound system it finds none.
-- $1 first task id  $2 how many
with slice as materialized (
  select * from mainspring.task where id >= $1 order by id limit $2),
claimed as materialized (
  select k.id, k.term from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)),
stuck as (
  select s.id, s.state::text as state, s.term
  from slice s
  where s.state = 'ready'
    and not exists (select 1 from mainspring.ready q
      where q.lane = s.lane and q.priority = s.priority and q.position = s.position)
    and (s.id, s.term) not in (select id, term from claimed)
  union all
  select s.id, s.state::text, s.term from slice s
  where s.state = 'backoff' and not exists (select 1 from mainspring.timer m
    where m.kind = 'backoff' and m.subject = s.id and m.term = s.term and m.due_at = s.due_at)
  union all
  select s.id, s.state::text, s.term from slice s
  where s.state = 'waiting' and s.unmet = 0 and not exists (select 1 from mainspring.timer m
    where m.kind = 'start' and m.subject = s.run_id and m.due_at = s.due_at))
select (select max(id) from slice) as last, (select count(*) from slice)::int as seen,
  array(select id from stuck) as stuck_ids, array(select term from stuck) as stuck_terms;

-- name: mend_stuck
-- Puts what the audit found back into its queue, under a higher term.
-- $1 task ids  $2 terms
with locked as materialized (
  select t.id, t.term
  from unnest($1::bigint[], $2::int[]) as u (id, term)
  join mainspring.task t on t.id = u.id and t.term = u.term
  order by t.id for update of t),
mended as (
  update mainspring.task t
  set state = 'ready', term = t.term + 1, position = nextval('mainspring.position')
  from locked l
  where t.id = l.id and t.term = l.term and t.unmet = 0 and t.state in ('ready', 'backoff', 'waiting')
  returning t.id, t.lane, t.priority, t.position, t.term)
insert into mainspring.ready (lane, priority, position, task_id, term)
select lane, priority, position, id, term from mended
returning lane;

-- name: take_notices
-- Those that are due. What is taken is due again after a rest that doubles, whoever took it.
-- $1 limit
update mainspring.notice n
set attempts = n.attempts + 1,
  due_at = clock_timestamp() + least(10 * 2 ^ n.attempts, 3600) * interval '1 second'
where n.id = any (array(
  select id from mainspring.notice where due_at <= clock_timestamp()
  order by due_at limit $1 for update skip locked))
returning n.id, n.target, n.attempts, n.content::text as content;

-- name: forget_notices
-- Told, or given up.  $1 ids
delete from mainspring.notice where id = any ($1::bigint[]);
