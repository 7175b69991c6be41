-- The calls of many workers as one: what a gateway asks in their name.
-- Lock order as everywhere: leases by id, claims, runs, tasks by id.

-- name: join_together
-- As `register_worker`, for many. Who joins again is who it was; who has ended stays so: no row.
-- $1 incarnations  $2 names  $3 hosts  $4 pids  $5 queues, with commas  $6 slots  $7 lease seconds
-- $8 drains, or nulls
with asked as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[],
    $7::float8[], $8::text[]) as a (incarnation, name, host, pid, queues, slots, seconds, drain)),
joined as (
  insert into mainspring.worker as w (incarnation, name, host, pid, queues, slots)
  select incarnation, name, host, pid, string_to_array(queues, ','), slots
  from asked order by incarnation
  on conflict (incarnation) do update set name = excluded.name where w.ended_at is null
  returning w.id, w.incarnation, w.queues, w.slots),
leased as (
  insert into mainspring.lease (worker_id, seconds, drain, drain_at)
  select j.id, a.seconds, a.drain, case when a.drain is not null then clock_timestamp() end
  from joined j join asked a using (incarnation) order by j.id
  on conflict do nothing)
select j.id, j.incarnation, j.queues, j.slots, coalesce(l.seconds, a.seconds) as seconds
from joined j join asked a using (incarnation) left join mainspring.lease l on l.worker_id = j.id;

-- name: claim_together
-- As `claim_attempts`, for many workers that wait at one lane. Seats stand in the order in which
-- they are served: each worker has one before any has a second. A worker without a lease has no
-- seat, nor has one that is to drain, and is told so by a row without a task. A claim that is there
-- already (its answer was lost) gives what it holds, and takes no seat.
-- $1 claim of each seat  $2 worker of each seat  $3 distinct claims  $4 distinct workers, sorted
-- $5 lane  $6 the lane's queue  $7 priorities, most urgent first  $8 look from here
with again as materialized (
  select id, worker_id, task_ids, terms from mainspring.claim where id = any($3::uuid[])),
holder as materialized (
  select worker_id, drain from mainspring.lease where worker_id = any($4::int[])
  order by worker_id for key share),
-- Arrays, so that the n-th task finds the n-th seat without a join.
seats as materialized (
  select array_agg(s.claim_id order by s.number) as claims,
    array_agg(s.worker_id order by s.number) as workers, count(*) as number
  from unnest($1::uuid[], $2::int[]) with ordinality as s (claim_id, worker_id, number)
  where (s.worker_id in (select worker_id from holder where drain is null)) is true
    and (s.claim_id in (select id from again)) is not true),
-- with part: paused_versions
taken as (
  delete from mainspring.ready
  where (select number from seats) > 0
    and (select paused_at from mainspring.queue where id = $6) is null
    and ctid = any (array(
    select head.row_id
    from unnest($7::smallint[], $8::bigint[]) as f (priority, floor)
    cross join lateral (
      select q.ctid as row_id from mainspring.ready q
      where q.lane = $5 and q.priority = f.priority and q.position >= f.floor
-- with part: of_no_paused_dag
      order by q.position
      limit (select number from seats)
      for update skip locked) head
    limit (select number from seats)))
  returning task_id, term, priority, position),
held as materialized (
  select t.id, t.term, row_number() over (order by k.priority desc, k.position) as number
  from taken k join mainspring.task t on t.id = k.task_id
  where t.term = k.term and t.state = 'ready'),
seated as materialized (
  select h.id, h.term, s.claims[h.number] as claim_id, s.workers[h.number] as worker_id
  from held h, seats s),
kept as (
  insert into mainspring.claim (id, worker_id, claimed_at, task_ids, terms)
  select claim_id, worker_id, clock_timestamp(), array_agg(id), array_agg(term)
  from seated group by claim_id, worker_id),
mine as (
  select id, term, claim_id, worker_id from seated
  union all
  select a.id, a.term, again.id, again.worker_id
  from again, unnest(again.task_ids, again.terms) as a (id, term))
select null::boolean as drains, mine.claim_id, mine.worker_id,
-- with part: claimed_tasks
union all
select (w.id in (select worker_id from holder)) is true, null, w.id, null, null, null, null, null, null,
  null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
from unnest($4::int[]) as w (id)
where (w.id in (select worker_id from holder where drain is null)) is not true;

-- name: renew_together
-- As `renew_lease`, for many workers. No row for those that were reaped.
-- $1 workers  $2 draining  $3 seconds from which a claim of theirs must be known
-- $4 the claims that any of them knows  $5 what of each lane ended per second, or null
with beat as (
  update mainspring.lease l
  set beat = l.beat + 1, renewed_at = clock_timestamp(), draining = u.draining, rates = u.rates::jsonb
  from unnest($1::int[], $2::boolean[], $3::float8[], $5::text[])
    as u (worker_id, draining, known_after, rates)
  where l.worker_id = u.worker_id
  returning l.worker_id, l.drain, u.known_after),
known as materialized (select unnest($4::uuid[]) as id)
select b.worker_id, clock_timestamp() as now, b.drain,
  array(
    select c.id from mainspring.claim c
    where c.worker_id = b.worker_id and (c.id in (select id from known)) is not true
      and c.claimed_at < clock_timestamp() - b.known_after * interval '1 second'
  ) as unknown_claims,
-- with part: stops_of_worker
from beat b;

-- name: read_stops
-- What workers are to stop, asked when somebody has said that there is something; and whether they
-- have been asked to drain, or to go on, without having said yet that they do.  $1 workers
select b.worker_id,
  (select (l.drain is not null) <> l.draining from mainspring.lease l
    where l.worker_id = b.worker_id) as unheard,
-- with part: stops_of_worker
from unnest($1::int[]) as b (worker_id);

-- part: stops_of_worker
  array(
    -- `limit` keeps it a lookup by id: as few tasks are to stop, the planner would begin with all.
    select k.id || ':' || k.term || ':' || t.stop
    from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    cross join lateral (
      select t.stop from mainspring.task t
      where t.id = k.id and t.term = k.term and t.stop is not null and t.state = 'ready'
      limit 1) t
    where c.worker_id = b.worker_id
    union all
    -- Closed by hand under their feet. The remark stays when the task goes to history.
    select k.id || ':' || k.term || ':mark'
    from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    where c.worker_id = b.worker_id and (
      select true from mainspring.remark m
      where m.task_id = k.id and m.term = k.term and m.deed in ('succeeded', 'skipped') limit 1)
  ) as stops

-- name: read_hands
-- All that claims of these workers hold, as a claim tells it.  $1 workers
select c.id as claim_id, c.worker_id,
  t.id, t.run_id, t.version_id, t.node, t.lane, greatest(t.priority, -1 - t.priority) as priority,
  t.position, t.term, t.attempt,
  t.lost, t.generation, r.due_at, r.snapshot_id, r.parameters, r.open_tasks is not null as many,
  r.schedule_id, r.fire_at, r.interval_start,
  (select number from mainspring.epoch where singleton) as epoch,
  (r.options).attempts as attempts_max, (r.options).timeout_seconds
from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
join mainspring.task t on t.id = k.id and t.term = k.term and t.state = 'ready'
join mainspring.run r on r.id = t.run_id
where c.worker_id = any($1::int[]);

-- name: find_worker
-- $1 incarnation
select w.id, w.queues, w.slots, l.seconds
from mainspring.worker w join mainspring.lease l on l.worker_id = w.id
where w.incarnation = $1;

-- name: ended_tokens
-- Of these tokens, those that count no more: who waits with one is let go.  $1 tokens
select id from mainspring.token
where id = any($1::bigint[])
  and (revoked_at is not null or expires_at <= clock_timestamp());
