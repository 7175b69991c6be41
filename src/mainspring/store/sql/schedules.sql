-- Schedules are read without locks, decided upon in Python, and moved by one statement that acts
-- only on those which stand as they were read (docs/decisions/0020-a-schedule-moves-by-turns.md).

-- part: standing
-- How the schedules of `chosen` stand, and what their runs would be made of. Runs are looked up one
-- by one, and only where the spec asks for it.
select s.schedule_id, s.turn, s.alike_ids, s.alike_turns, s.tracked, s.next_fire_at, s.cursor_at, s.fired, s.failures, s.range_id,
  s.range_reason::text as range_reason, h.tenant_id, h.name, h.version, h.spec, h.parameters,
  h.paused_at is not null as paused, h.gone_at is not null as gone,
  d.version_id, d.snapshot_id, v.tasks, d.paused_at is not null as dag_paused,
  d.gone_at is not null as dag_gone, (select now from clock) as now,
  case when s.tracked then array(
    select o.run_id from mainspring.schedule_run o where o.schedule_id = s.schedule_id
    order by o.run_id) end as runs,
  case when s.tracked then array(
    select o.run_id from mainspring.schedule_run o
    cross join lateral (
      select 1 from mainspring.run r
      left join mainspring.task t on r.open_tasks is null and t.id = r.id
      where r.id = o.run_id and case when r.open_tasks is null then t.finished_at is null
        else r.open_tasks > 0 end
      limit 1) open
    where o.schedule_id = s.schedule_id
    order by o.run_id) end as open_runs,
  case when s.tracked then array(
    select f.id from mainspring.fire f
    where f.schedule_id = s.schedule_id and f.outcome = 'buffered'
    order by f.fire_at) end as buffered_ids,
  case when s.tracked then array(
    select f.fire_at from mainspring.fire f
    where f.schedule_id = s.schedule_id and f.outcome = 'buffered'
    order by f.fire_at) end as buffered_fires,
  h.job_id
from chosen s
join mainspring.schedule h on h.id = s.schedule_id
join mainspring.dag d on d.id = h.dag_id
join mainspring.version v on v.id = d.version_id

-- name: due_schedules
-- Those of some shards that are due, and those of other shards that are overdue by more than a
-- second: an engine that died or hangs is stood in for. Dead rows before `$3` are not waded through,
-- nor are rows of a shard that is not looked for: the index knows the shard.
-- $1 now  $2 shards  $3 look from here  $4 limit  $5 other shards  $6 up to here, or null
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
bound as materialized (
  select least(now, $6::timestamptz) as due, least(now - interval '1 second', $6) as overdue
  from clock),
due as materialized (
  select * from (
    (select s.* from mainspring.schedule_state s
     where s.next_fire_at >= $3 and s.next_fire_at <= (select due from bound)
       and s.shard = any($2::smallint[])
     order by s.next_fire_at limit $4)
    union all
    (select s.* from mainspring.schedule_state s
     where s.next_fire_at >= $3 and s.next_fire_at < (select overdue from bound)
       and s.shard = any($5::smallint[])
     order by s.next_fire_at limit $4)) due
  order by due.next_fire_at
  limit $4),
-- Those that stand alike do alike: they are told once, and decided upon once.
chosen as materialized (
  select min(s.schedule_id) as schedule_id,
    (array_agg(s.turn order by s.schedule_id))[1] as turn,
    array_agg(s.schedule_id order by s.schedule_id) as alike_ids,
    array_agg(s.turn order by s.schedule_id) as alike_turns,
    bool_or(s.tracked) as tracked, s.next_fire_at, min(s.cursor_at) as cursor_at,
    min(s.fired) as fired, min(s.failures) as failures, min(s.range_id) as range_id,
    min(s.range_reason) as range_reason
  from due s
  join mainspring.schedule h on h.id = s.schedule_id
  group by case when s.alone or s.range_id is not null then s.schedule_id end, s.next_fire_at,
    h.spec, h.parameters, h.version, h.dag_id, h.paused_at is null, h.gone_at is null, h.job_id)
-- with part: standing
order by s.next_fire_at, s.schedule_id;

-- name: next_due
-- When the next one is due, of whatever shard.  $1 now
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now)
select clock.now, (
  select s.next_fire_at from mainspring.schedule_state s where s.next_fire_at > clock.now
  order by s.next_fire_at limit 1) as next_fire_at
from clock;

-- name: standing_schedules
-- How some of them stand now.  $1 now  $2 schedule ids
with clock as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
chosen as materialized (
  select s.*, null::int[] as alike_ids, null::bigint[] as alike_turns
  from mainspring.schedule_state s where s.schedule_id = any($2::int[]))
-- with part: standing
order by s.schedule_id;

-- name: lock_schedules
-- Before a change by hand. Moves pass by what is locked, and come again.  $1 schedule ids
select schedule_id from mainspring.schedule_state where schedule_id = any($1::int[])
order by schedule_id for update;

-- name: followed_schedules
-- Of the next runs that are followed: the schedules of those that have closed, or for whose end a fire
-- waits; at the beginning of a round also schedules with fires that wait for nothing that is listed. And
-- how far that was, if there may be more.
-- $1 above this schedule  $2 and this one of its runs  $3 limit
with slice as materialized (
  select o.schedule_id, o.run_id from mainspring.schedule_run o
  where (o.schedule_id, o.run_id) > ($1::int, $2::bigint)
  order by o.schedule_id, o.run_id
  limit $3),
found as (
  select s.schedule_id
  from slice s
  left join mainspring.run r on r.id = s.run_id
  left join mainspring.task t on r.open_tasks is null and t.id = r.id
  where r.id is null or coalesce(r.finished_at, t.finished_at) is not null
    or (select true from mainspring.fire f
        where f.schedule_id = s.schedule_id and f.outcome = 'buffered' limit 1)
  union
  select f.schedule_id from (
    select f.schedule_id from mainspring.fire f
    where $1 = 0 and f.outcome = 'buffered' order by f.schedule_id limit $3) f
  where (select true from mainspring.schedule_run o where o.schedule_id = f.schedule_id limit 1) is null)
select array(select schedule_id from found order by 1) as ids, last.schedule_id, last.run_id
from (select 1) as one
left join lateral (
  select * from slice order by schedule_id desc, run_id desc limit 1) last
  on (select count(*) from slice) = $3;

-- name: verdicts
-- Whether runs that have closed had failed, in the order of their ends.  $1 run ids
select v.id, v.state = 'failed' as failed
from unnest($1::bigint[]) as u (id)
-- `offset 0` keeps the view a lookup by id.
cross join lateral (select * from mainspring.run_view v where v.id = u.id offset 0) v
where v.finished_at is not null
order by v.finished_at, v.id;

-- name: move_schedules
-- The one way in which a schedule moves: its cursor, its ledger, and the runs that it makes, or
-- nothing of that. A schedule that moved since it was read is passed by, so is one that is locked:
-- nobody waits here for anybody. The answer names those that moved, and the lanes to wake.
-- Many schedules move alike and make like runs: these name a way to move, or a make of run, by its
-- number from 1.
-- $1 run ids  $4 tenant  $5 their schedules  $6 their makes  $13 now
-- Of each make: $2 version  $3 snapshot  $7 parameters  $8 due  $9 fire  $10 start of its data interval,
-- and if a new row of the ledger tells of it: $11 the schedule's version  $12 next
-- $14 schedules  $15 turns as read  $16 ranges  $17 their ways
-- Of each way: $18 next fire  $19 cursor  $20 how many fired  $21 failures  $22 reason of its range
-- $23 to be paused, with this note
-- What made no run: $24 ids  $25 schedules  $26 versions  $27 fires  $28 ends of ranges  $29 next  $30 counts
-- $31 outcomes  $32 reasons
-- Rows of it that change: $33 ids  $34 schedules  $35 ends of ranges  $36 next  $37 counts to add
-- $38 outcomes  $39 reasons  $40 runs
-- Tracked runs that are over: $41 schedules  $42 runs
-- Of each make also: $43 its job
with clock as materialized (select coalesce($13::timestamptz, clock_timestamp()) as now),
won as materialized (
  select s.ctid as place, s.tracked, u.schedule_id, u.range_id, u.way
  from unnest($14::int[], $15::bigint[], $16::bigint[], $17::int[])
    as u (schedule_id, turn, range_id, way)
  join mainspring.schedule_state s on s.schedule_id = u.schedule_id and s.turn = u.turn
  order by s.schedule_id
  for update of s skip locked),
-- By its place: what is locked stays where it is.
moved as (
  update mainspring.schedule_state s
  set turn = s.turn + 1, next_fire_at = ($18::timestamptz[])[w.way],
    cursor_at = ($19::timestamptz[])[w.way], fired = s.fired + ($20::int[])[w.way],
    failures = ($21::int[])[w.way], range_id = w.range_id,
    range_reason = ($22::text[])[w.way]::mainspring.skip_reason
  from won w where s.ctid = w.place),
paused as (
  update mainspring.schedule h
  set paused_at = (select now from clock), paused_by = 'mainspring',
    pause_note = ($23::text[])[w.way]
  from won w where h.id = w.schedule_id and ($23::text[])[w.way] is not null),
-- `is true`, here and below, keeps it from becoming a join of two sets, which without hash joins is
-- quadratic.
wanted as materialized (
  select u.id, ($2::int[])[u.make] as version_id, ($3::int[])[u.make] as snapshot_id,
    'schedule'::text as trigger, ($7::bytea[])[u.make] as parameters,
    ($8::timestamptz[])[u.make] as due_at, null::text as created_by, null::bigint as rerun_of,
    clock.now, u.schedule_id, ($9::timestamptz[])[u.make] as fire_at,
    ($10::timestamptz[])[u.make] as interval_start, ($11::int[])[u.make] as version,
    ($12::timestamptz[])[u.make] as next_at, null::smallint as priority,
    ($43::bigint[])[u.make] as job_id, j.options
  from clock, unnest($1::bigint[], $5::int[], $6::int[]) as u (id, schedule_id, make)
  left join mainspring.job j on j.id = ($43::bigint[])[u.make]
  where (u.schedule_id in (select schedule_id from won)) is true),
-- with part: make_runs
,
told as (
  insert into mainspring.fire (id, fire_at, until_at, next_at, decided_at, run_id, schedule_id, version,
    count, outcome, reason)
  select w.id, w.fire_at, w.fire_at, w.next_at, w.now, w.id, w.schedule_id, w.version, 1, 'fired', null
  from wanted w where w.version is not null
  union all
  select u.id, u.fire_at, u.until_at, u.next_at, clock.now, null, u.schedule_id, u.version, u.count,
    u.outcome::mainspring.fire_outcome, u.reason::mainspring.skip_reason
  from clock, unnest($24::bigint[], $25::int[], $26::int[], $27::timestamptz[], $28::timestamptz[],
    $29::timestamptz[], $30::int[], $31::text[], $32::text[])
    as u (id, schedule_id, version, fire_at, until_at, next_at, count, outcome, reason)
  where (u.schedule_id in (select schedule_id from won)) is true),
retold as (
  update mainspring.fire f
  set until_at = coalesce(u.until_at, f.until_at), decided_at = clock.now,
    next_at = case when u.until_at is null then f.next_at else u.next_at end,
    count = f.count + u.count, outcome = coalesce(u.outcome::mainspring.fire_outcome, f.outcome),
    reason = coalesce(u.reason::mainspring.skip_reason, f.reason), run_id = coalesce(u.run_id, f.run_id)
  from clock, unnest($33::bigint[], $34::int[], $35::timestamptz[], $36::timestamptz[], $37::int[], $38::text[],
    $39::text[], $40::bigint[]) as u (id, schedule_id, until_at, next_at, count, outcome, reason, run_id)
  where f.id = u.id and (u.schedule_id in (select schedule_id from won)) is true),
followed as (
  insert into mainspring.schedule_run (schedule_id, run_id)
  select w.schedule_id, w.id from wanted w
  where (w.schedule_id in (select schedule_id from won where tracked)) is true),
over as (
  delete from mainspring.schedule_run o
  using unnest($41::int[], $42::bigint[]) as u (schedule_id, run_id)
  where o.schedule_id = u.schedule_id and o.run_id = u.run_id
    and (u.schedule_id in (select schedule_id from won)) is true)
select 'schedule' as kind, schedule_id as id from won
union all
select distinct 'lane', lane from queued;

-- name: create_schedules
-- A name that is taken, also by one that is gone, makes nothing and is missing from the answer. They
-- go in by name, so that two who make the same ones wait for each other in one order.
-- $1 tenant  $2 names  $3 dags  $4 specs  $5 parameters  $6 in code  $7 notes  $8 by whom  $9 shards
-- $10 tracked  $11 next fires  $12 now  $13 alone
with item as materialized (
  select u.* from unnest($2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::boolean[], $7::text[],
    $8::text[], $9::smallint[], $10::boolean[], $11::timestamptz[], $13::boolean[])
    as u (name, dag_id, spec, parameters, in_code, note, changed_by, shard, tracked, next_fire_at,
      alone)),
made as (
  insert into mainspring.schedule (tenant_id, name, dag_id, version, spec, parameters, in_code, note,
    created_at, changed_at)
  select $1, name, dag_id, 1, spec, parameters, in_code, note, $12::timestamptz, $12
  from item order by name
  on conflict (tenant_id, name) do nothing
  returning id, name),
kept as (
  insert into mainspring.schedule_version (schedule_id, number, spec, parameters, changed_by, in_force_from)
  select m.id, 1, i.spec, i.parameters, i.changed_by, $12 from made m join item i on i.name = m.name),
state as (
  insert into mainspring.schedule_state (schedule_id, tenant_id, shard, tracked, alone, next_fire_at,
    cursor_at)
  select m.id, $1, i.shard, i.tracked, i.alone, i.next_fire_at, $12 from made m join item i on i.name = m.name)
select id, name from made;

-- name: put_schedule
-- The next version comes into force, under the lock of `lock_schedules`, when the one before is
-- settled. What is gone comes back; still paused, if a file of dags says so again.
-- $1 schedule  $2 dag  $3 spec  $4 parameters  $5 in code  $6 note  $7 by whom  $8 tracked  $9 next fire
-- $10 now  $11 alone  $12 the job that it is of
with ended as (
  update mainspring.schedule_version set in_force_until = $10::timestamptz
  where schedule_id = $1 and in_force_until is null),
changed as (
  update mainspring.schedule
  set version = version + 1, dag_id = $2, spec = $3, parameters = $4, in_code = $5, note = $6,
    paused_at = case when gone_at is null or $5 then paused_at end,
    paused_by = case when gone_at is null or $5 then paused_by end,
    pause_note = case when gone_at is null or $5 then pause_note end,
    gone_at = null, changed_at = $10, job_id = $12::bigint
  where id = $1
  returning version, paused_at),
kept as (
  insert into mainspring.schedule_version (schedule_id, number, spec, parameters, changed_by, in_force_from)
  select $1, version, $3, $4, $7, $10 from changed)
update mainspring.schedule_state s
set turn = s.turn + 1, tracked = $8, alone = $11, next_fire_at = case when c.paused_at is null then $9::timestamptz end,
  cursor_at = greatest(s.cursor_at, $10), fired = 0, failures = 0, range_id = null, range_reason = null
from changed c
where s.schedule_id = $1
returning c.version;

-- name: rest_schedule
-- Paused, or gone, when it is settled: no fire is next.
-- $1 schedule  $2 paused  $3 by whom  $4 note  $5 gone  $6 now
with changed as (
  update mainspring.schedule
  set paused_at = case when $2::boolean then $6::timestamptz else paused_at end,
    paused_by = case when $2 then $3::text else paused_by end,
    pause_note = case when $2 then $4::text else pause_note end,
    gone_at = case when $5::boolean then $6::timestamptz else gone_at end
  where id = $1
  returning id),
ended as (
  update mainspring.schedule_version v set in_force_until = $6
  from changed c where v.schedule_id = c.id and v.in_force_until is null and $5)
update mainspring.schedule_state s
set turn = s.turn + 1, next_fire_at = null, cursor_at = greatest(s.cursor_at, $6)
from changed c where s.schedule_id = c.id;

-- name: drop_buffered
-- Of a schedule that goes: nobody would see these wait.  $1 schedule  $2 now
update mainspring.fire set outcome = 'skipped', reason = 'overlap', decided_at = $2::timestamptz
where schedule_id = $1 and outcome = 'buffered';

-- name: note_pause
-- Of what is paused already: since when it is stays.  $1 schedule  $2 by whom  $3 note
update mainspring.schedule set paused_by = $2, pause_note = $3 where id = $1;

-- name: resume_schedule
-- $1 schedule
update mainspring.schedule set paused_at = null, paused_by = null, pause_note = null where id = $1;

-- name: read_schedules
-- In the order of their names.  $1 tenant  $2 names, or null  $3 dag's name, or null
-- $4 after this name  $5 limit
select h.id, h.name, d.name as dag, h.version, h.spec, h.parameters, h.in_code, h.note, h.paused_at,
  h.paused_by, h.pause_note, h.created_at, h.changed_at, s.next_fire_at, s.cursor_at, s.fired, s.failures,
  s.shard, s.turn, d.id as dag_id, d.paused_at is not null as dag_paused,
  (select count(*) from mainspring.fire f
   where f.schedule_id = h.id and f.outcome = 'buffered')::int as buffered,
  (select f.fire_at from mainspring.fire f
   where f.schedule_id = h.id and f.outcome = 'fired' order by f.fire_at desc limit 1) as last_fire_at,
  (select f.run_id from mainspring.fire f
   where f.schedule_id = h.id and f.outcome = 'fired' order by f.fire_at desc limit 1) as last_run_id
from mainspring.schedule h
join mainspring.schedule_state s on s.schedule_id = h.id
join mainspring.dag d on d.id = h.dag_id
where h.tenant_id = $1 and h.gone_at is null and ($2::text[] is null or h.name = any($2::text[]))
  and ($3::text is null or d.name = $3) and h.name > $4
order by h.name
limit $5;

-- name: complete_schedule_names
-- For whoever completes or mistypes one.  $1 tenant  $2 how they begin  $3 limit
select name from mainspring.schedule
where tenant_id = $1 and gone_at is null and starts_with(name, $2) order by name limit $3;

-- name: read_run_states
-- $1 run ids
select v.id, v.state
from unnest($1::bigint[]) as u (id)
-- `offset 0` keeps the view a lookup by id.
cross join lateral (select * from mainspring.run_view v where v.id = u.id offset 0) v;

-- name: read_followed_runs
-- Runs of a schedule that are open, oldest first: what a fire in its buffer waits for.
-- $1 schedule  $2 limit
select o.run_id from mainspring.schedule_run o
where o.schedule_id = $1 and exists (
  select 1 from mainspring.run r
  left join mainspring.task t on r.open_tasks is null and t.id = r.id
  where r.id = o.run_id and case when r.open_tasks is null then t.finished_at is null
    else r.open_tasks > 0 end)
order by o.run_id
limit $2;

-- name: glance_at_schedules
-- Some schedules of each of these dags. Not ordered, so that a dag with a million of them is not read
-- as a whole.  $1 tenant  $2 names of dags  $3 limit for each
select d.name as dag, g.name, g.spec, g.in_code, g.paused_at is not null as paused, g.next_fire_at
from mainspring.dag d
cross join lateral (
  select h.name, h.spec, h.in_code, h.paused_at, s.next_fire_at
  from mainspring.schedule h join mainspring.schedule_state s on s.schedule_id = h.id
  where h.dag_id = d.id and h.gone_at is null
  limit $3) g
where d.tenant_id = $1 and d.name = any($2::text[]);

-- name: read_schedule_versions
-- Newest first.  $1 schedule
select number, spec, parameters, changed_by, in_force_from, in_force_until
from mainspring.schedule_version where schedule_id = $1 order by number desc;

-- name: page_fires
-- What became of its fires, newest first.  $1 schedule  $2 before this fire, or null  $3 limit
select f.id, f.fire_at, f.until_at, f.next_at, f.decided_at, f.run_id, f.version, f.count,
  f.outcome::text as outcome, f.reason::text as reason
from mainspring.fire f
where f.schedule_id = $1 and f.fire_at < coalesce($2::timestamptz, 'infinity')
order by f.fire_at desc
limit $3;

-- name: page_skipped
-- What was missed or skipped, of all schedules, newest first; also of those that are gone.
-- $1 tenant  $2 before this fire, or null  $3 and, of the same instant, below this entry  $4 limit
select f.id, s.name as schedule, d.name as dag, s.gone_at is not null as gone, f.fire_at, f.until_at,
  f.count, f.reason::text as reason, f.decided_at
from (
  select * from mainspring.fire
  where outcome = 'skipped'
    and (fire_at, id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::bigint, 0))
  order by fire_at desc, id desc
  limit $4) f
join mainspring.schedule s on s.id = f.schedule_id and s.tenant_id = $1
join mainspring.dag d on d.id = s.dag_id
order by f.fire_at desc, f.id desc;

-- name: find_schedule
-- Also one that is gone.  $1 tenant  $2 name
select id, version, in_code, gone_at is not null as gone, dag_id, spec, parameters, note, job_id
from mainspring.schedule where tenant_id = $1 and name = $2;

-- name: read_schedule_names
-- $1 schedules
select id, name from mainspring.schedule where id = any($1::int[]);

-- name: code_schedules
-- Those that the files of dags define, and whoever else has or had one of these names.
-- $1 tenant  $2 names
select h.name, d.file, h.id, h.version, h.in_code, h.gone_at is not null as gone, h.dag_id, h.spec,
  h.parameters, h.note
from mainspring.schedule h join mainspring.dag d on d.id = h.dag_id
where h.tenant_id = $1 and (h.in_code and h.gone_at is null or h.name = any($2::text[]))
order by h.name;

-- name: rolled_back_dags
-- $1 tenant
select id from mainspring.dag where tenant_id = $1 and rolled_back_at is not null;

-- name: read_calendars
-- $1 tenant
select name, spec, changed_at from mainspring.calendar where tenant_id = $1 order by name;

-- name: put_calendar
-- $1 tenant  $2 name  $3 spec
insert into mainspring.calendar (tenant_id, name, spec) values ($1, $2, $3)
on conflict (tenant_id, name) do update set spec = excluded.spec, changed_at = clock_timestamp();

-- name: remove_calendar
-- $1 tenant  $2 name
delete from mainspring.calendar where tenant_id = $1 and name = $2 returning name;

-- name: beat_engine
-- One beat of an engine and of the shards of schedules that it holds.
-- $1 engine  $2 name  $3 shards  $4 terms
with beat as (
  insert into mainspring.engine (id, name) values ($1, $2)
  on conflict (id) do update set beat = mainspring.engine.beat + 1, renewed_at = clock_timestamp())
update mainspring.shard s set beat = s.beat + 1, renewed_at = clock_timestamp()
from unnest($3::int[], $4::bigint[]) as u (number, term)
where s.number = u.number and s.term = u.term and s.holder = $1
returning s.number;

-- name: read_engines
select id, name, beat from mainspring.engine;

-- name: read_shards
-- Those of schedules.
select number, holder, term, beat from mainspring.shard where number > 0 order by number;

-- name: forget_engine
-- $1 engine  $2 beat seen, or null
delete from mainspring.engine where id = $1 and beat = coalesce($2, beat);

-- name: list_engines
-- Engines at work, and when they were last heard of.
select id, name, started_at, renewed_at, clock_timestamp() as read_at
from mainspring.engine order by name, id;

-- name: list_shards
-- Who looks first at the schedules of each, how many of them are due, and since when the oldest is.
with due as materialized (
  select s.shard, count(*)::int as due, min(s.next_fire_at) as oldest_at
  from mainspring.schedule_state s where s.next_fire_at <= clock_timestamp() group by s.shard)
select h.number, h.holder, h.holder_name, h.renewed_at, coalesce(d.due, 0) as due, d.oldest_at,
  clock_timestamp() as read_at
from mainspring.shard h left join due d on d.shard = h.number
where h.number > 0 order by h.number;

-- name: count_schedules
-- $1 tenant
select count(*)::int as schedules, count(paused_at)::int as paused
from mainspring.schedule where tenant_id = $1 and gone_at is null;

-- name: list_hindered_schedules
-- Those that need somebody: paused by themselves, fires refused, or a calendar that is not there.
-- $1 tenant  $2 limit
select h.name, d.name as dag, h.paused_at, h.paused_by, h.pause_note,
  coalesce(s.range_reason = 'refused', false) as refused, d.gone_at is not null as dag_gone, missing.calendars
from mainspring.schedule h
join mainspring.schedule_state s on s.schedule_id = h.id
join mainspring.dag d on d.id = h.dag_id
cross join lateral (
  select array(
    select named.calendar
    from jsonb_array_elements_text(
      case when position('"exclude"'::bytea in h.spec) > 0
        then coalesce(convert_from(h.spec, 'UTF8')::jsonb -> 'exclude', '[]') else '[]' end)
      as named (calendar)
    where not exists (
      select 1 from mainspring.calendar c where c.tenant_id = h.tenant_id and c.name = named.calendar)
    order by 1) as calendars) missing
where h.tenant_id = $1 and h.gone_at is null
  and (h.paused_by = 'mainspring' or s.range_reason = 'refused' or missing.calendars <> '{}')
order by h.name
limit $2;
