-- Claim, renew, complete: the road of an attempt.
-- Lock order everywhere: lease, claim, run, tasks by id. Nothing here waits for a row in ready.

-- name: register_worker
-- Repeating it with the same incarnation returns the same worker.
-- Who was asked to drain, and joins anew as it was given up meanwhile, still drains.
-- $1 incarnation  $2 name  $3 host  $4 pid  $5 queues  $6 slots  $7 lease seconds  $8 drain, or null
with w as (
  insert into mainspring.worker (incarnation, name, host, pid, queues, slots)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (incarnation) do update set name = excluded.name
  returning id),
l as (
  insert into mainspring.lease (worker_id, seconds, drain, drain_at)
  select id, $7, $8::text, case when $8::text is not null then clock_timestamp() end from w
  on conflict do nothing)
select id from w;

-- name: claim_attempts
-- As many ready tasks of one lane as asked for, most urgent first. The rows come from ready by
-- ctid, so that the plan is an index scan and a TID scan whatever the planner believes of the
-- table's size; each priority is looked at from a position on, so that dead rows which a long
-- snapshot keeps alive are not waded through, and only as far as the limit wants.
--
-- Repeating a claim with the same id (its COMMIT's answer was lost) returns what it holds and
-- takes nothing new. The claim row is made from the tasks that survived the check against their
-- term, so an empty claim cannot remain. The epoch is that of this statement, also of a repeated
-- one: nobody has seen the first answer, and the history that was lost in between may have handed
-- out higher terms under the epoch before.
--
-- Of a paused queue nothing is taken, and nothing of a paused dag. The tasks of such a dag stand
-- aside, at priorities that nobody asks for; what has slipped past the pause, because its transaction
-- had begun before, is passed by. Only while some dag is paused does a row cost that look at its task.
-- $1 claim  $2 worker  $3 lane  $4 how many  $5 priorities, most urgent first  $6 look from here
-- $7 the lane's queue
with again as materialized (
  select task_ids, terms from mainspring.claim where id = $1),
-- The lease first, as everywhere: the claim's foreign key wants it in the end, when rows of ready are
-- locked already. Whoever stops a run waits for those, and may be waited for by our reaper. Who wants
-- the worker to drain has locked it, too, so that from the answer on it is given nothing more.
holder as materialized (
  select worker_id, drain from mainspring.lease where worker_id = $2 for key share),
-- with part: paused_versions
taken as (
  delete from mainspring.ready
  -- Without a lease it goes on, to be refused by the claim's foreign key.
  where not exists (select 1 from again) and (select drain from holder) is null
    and (select paused_at from mainspring.queue where id = $7) is null
    and ctid = any (array(
    select head.row_id
    from unnest($5::smallint[], $6::bigint[]) as f (priority, floor)
    cross join lateral (
      select q.ctid as row_id from mainspring.ready q
      where q.lane = $3 and q.priority = f.priority and q.position >= f.floor
-- with part: of_no_paused_dag
      order by q.position
      limit $4
      for update skip locked) head
    limit $4))
  returning task_id, term),
held as materialized (
  select t.id, t.term
  from taken k join mainspring.task t on t.id = k.task_id
  where t.term = k.term and t.state = 'ready'),
kept as (
  insert into mainspring.claim (id, worker_id, claimed_at, task_ids, terms)
  select $1, $2, clock_timestamp(), array_agg(id), array_agg(term) from held having count(*) > 0),
mine as (
  select id, term from held
  union all
  select a.id, a.term from again, unnest(again.task_ids, again.terms) as a (id, term))
select
-- with part: claimed_tasks
;

-- part: paused_versions
paused as materialized (
  select array(
    select v.id from mainspring.dag d join mainspring.version v on v.dag_id = d.id
    where d.paused_at is not null) as versions),

-- part: of_no_paused_dag
        and case (select cardinality(versions) from paused) when 0 then true else
          (select t.version_id from mainspring.task t where t.id = q.task_id)
            <> all ((select versions from paused)::int[]) end

-- part: claimed_tasks
  t.id, t.run_id, t.version_id, t.node, t.lane, greatest(t.priority, -1 - t.priority) as priority,
  t.position, t.term, t.attempt,
  t.lost, t.generation, r.due_at, r.snapshot_id, r.parameters, r.open_tasks is not null as many,
  r.schedule_id, r.fire_at, r.interval_start,
  (select number from mainspring.epoch where singleton) as epoch,
  (r.options).attempts as attempts_max, (r.options).timeout_seconds
from mine
join mainspring.task t on t.id = mine.id and t.term = mine.term and t.state = 'ready'
join mainspring.run r on r.id = t.run_id

-- name: renew_lease
-- One beat. No row: the worker was reaped. Also brings the stop notes of claimed tasks, and the
-- claims that the worker does not know of although they are older than one renewal: their
-- COMMIT's answer was lost, and the worker hands them back. And whether it is to drain.
-- $1 worker  $2 known claims  $3 draining  $4 age from which a claim must be known
-- $5 attempts of each lane that ended per second, or null
with beat as (
  update mainspring.lease
  set beat = beat + 1, renewed_at = clock_timestamp(), draining = $3, rates = $5::text::jsonb
  where worker_id = $1
  returning drain)
select clock_timestamp() as now, drain,
  array(
    select c.id from mainspring.claim c
    where c.worker_id = $1 and c.id <> all($2::uuid[]) and c.claimed_at < clock_timestamp() - $4::interval
  ) as unknown_claims,
  array(
    -- `limit` keeps it a lookup by id: as few tasks are to stop, the planner would begin with all.
    select k.id || ':' || k.term || ':' || t.stop
    from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    cross join lateral (
      select t.stop from mainspring.task t
      where t.id = k.id and t.term = k.term and t.stop is not null and t.state = 'ready'
      limit 1) t
    where c.worker_id = $1
    union all
    -- Closed by hand under our feet. The remark stays when the task goes to history.
    select k.id || ':' || k.term || ':mark'
    from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    where c.worker_id = $1 and (
      select true from mainspring.remark m
      where m.task_id = k.id and m.term = k.term and m.deed in ('succeeded', 'skipped') limit 1)
  ) as stops
from beat;

-- name: mark_started
-- The start of attempts that last, so that people see it; short ones tell it at their end.
-- $1 workers  $2 task ids, sorted  $3 terms  $4 start times (µs)
update mainspring.task t
set started_at = 'epoch'::timestamptz + u.started_us * interval '1 microsecond',
  worker_id = u.worker_id
from unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[]) as u (worker_id, id, term, started_us)
where t.id = u.id and t.term = u.term and t.state = 'ready';

-- name: record_progress
-- What running attempts tell of themselves. Of a term that is over nothing is taken.
-- $1 task ids, sorted  $2 terms  $3 percents  $4 texts
insert into mainspring.progress (task_id, term, percent, text)
select u.id, u.term, u.percent, u.text
from unnest($1::bigint[], $2::int[], $3::real[], $4::text[]) as u (id, term, percent, text)
join mainspring.task t on t.id = u.id and t.term = u.term and t.state = 'ready'
order by u.id
on conflict (task_id) do update
set term = excluded.term, percent = excluded.percent, text = excluded.text, at = clock_timestamp()
where mainspring.progress.term <= excluded.term;

-- name: forget_progress
-- Of attempts that are over. The term again, for a row that the next attempt has taken meanwhile.
-- $1 limit
delete from mainspring.progress p using (
  select o.task_id, o.term from mainspring.progress o
  where not exists (
    select from mainspring.task t where t.id = o.task_id and t.term = o.term and t.state = 'ready')
  limit $1) as over
where p.task_id = over.task_id and p.term = over.term
returning p.task_id;

-- name: complete_attempts
-- The one door out: closes attempts, moves tasks, lowers the unmet counts of their children and
-- readies those that have none left, closes the descendants of what failed or was skipped,
-- ends runs, and grants ready children straight to the completing worker. A gateway reports for
-- many workers at once: each item says whose it is, and so does each offer of slots. A child whose
-- parents ended in several hands at once goes to one of these.
--
-- Fenced by (task, term), and by the claim, which a restored database may not know. Items come
-- sorted by task id and are updated in that order; runs of many tasks are locked first, in id
-- order, and everything inside such a run happens under that lock. Rows that changed between
-- this statement's snapshot and its lock are re-read by the UPDATEs (READ COMMITTED), which is
-- why every decision stands in a SET or WHERE on the row itself.
--
-- Answers only what the caller cannot assume: refused items, grants, lanes that got rows.
-- $1 workers  $2 task ids  $3 terms  $4 claims  $5 runs, null for runs of one task
-- $6 task states  $7 attempt states  $8 charged  $9 lost  $10 started (µs)  $11 finished (µs)
-- $12 delays (µs)  $13 results  $14 errors  $15 may be granted on
-- $16 distinct runs of many tasks  $17 claims that are now empty
-- $18 claims for the grants  $19 lanes to grant in  $20 free slots in those lanes  $21 now
-- $22 likenesses of the errors, in the order of the items; empty if nothing failed
-- $23 distinct workers, sorted  $24 workers of the empty claims  $25 workers of the lanes
with recursive clock as materialized (
  select coalesce($21::timestamptz, clock_timestamp()) as now),
-- The leases first: the claims of the grants need them in the end, and whoever reaps a worker
-- holds its lease. So the two never meet half-way.
holder as materialized (
  select worker_id, drain from mainspring.lease where worker_id = any($23::int[])
  order by worker_id for key share),
-- Found by the claims' ids alone: the index on the worker is full of claims that are gone.
emptied as (
  delete from mainspring.claim
  where id = any($17::uuid[]) and (select count(*) from holder) >= 0
    -- `is true` keeps it a lookup in a hash: as a join, each claim would walk through all.
    and ((id, worker_id) in (select * from unnest($17::uuid[], $24::int[]))) is true
  returning 1),
runs as materialized (
  select id, marked from mainspring.run
  where id = any($16::bigint[]) and (select count(*) from emptied) >= 0
  order by id for update),
-- Whether the claim is there is asked here, by hash: joined to the claims, the tasks would be
-- updated in another order than their ids', and each claim would walk through all items.
item as materialized (
  select u.*, u.state in ('ready', 'backoff') as open, clock.now,
    (u.claim_id, u.worker_id) in (
      select id, worker_id from mainspring.claim where id = any($4::uuid[])) as held
  from clock, unnest(
    $1::int[], $2::bigint[], $3::int[], $4::uuid[], $5::bigint[], $6::text[], $7::text[], $8::smallint[],
    $9::smallint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::bytea[],
    $15::boolean[])
    as u (worker_id, id, term, claim_id, run_id, state, attempt_state, charged, lost, started_us, finished_us,
      delay_us, result, error, chained)),
moved as (
  update mainspring.task t
  set state = (case when i.open and t.stop is not null then 'cancelled' else i.state end)
      ::mainspring.task_state,
    term = t.term + case when i.open and t.stop is null then 1 else 0 end,
    attempt = t.attempt + case when i.open and t.stop is null then i.charged else 0 end,
    lost = t.lost + i.lost,
    due_at = case when i.open and t.stop is null
      then i.now + i.delay_us * interval '1 microsecond' else t.due_at end,
    position = case when i.state = 'ready' and t.stop is null
      then nextval('mainspring.position') else t.position end,
    worker_id = i.worker_id,
    started_at = 'epoch'::timestamptz + i.started_us * interval '1 microsecond',
    finished_at = case when i.open and t.stop is null then null
      else 'epoch'::timestamptz + i.finished_us * interval '1 microsecond' end,
    result = case when octet_length(i.result) > 1024 then ''::bytea else i.result end
  from item i
  where t.id = i.id and t.term = i.term and t.state = 'ready' and i.held
    and (select count(*) from runs) >= 0
  returning t.id, i.worker_id, i.run_id, t.version_id, t.node, t.tenant_id, t.state, t.term as new_term, i.term,
    t.attempt - case when i.open and t.stop is null then i.charged else 0 end as attempt,
    t.generation, t.lane, t.priority, t.position, t.due_at, t.started_at, i.finished_us,
    i.attempt_state, i.error, i.chained,
    case when octet_length(i.result) > 1024 then i.result end as large),
-- What the moved tasks themselves leave behind.
history as (
  insert into mainspring.attempt (task_id, term, attempt, generation, worker_id, state, started_at,
    finished_at, error)
  select id, term, attempt, generation, worker_id, attempt_state::mainspring.attempt_state, started_at,
    'epoch'::timestamptz + finished_us * interval '1 microsecond', error
  from moved where error is not null),
problems as (
  insert into mainspring.problem (task_id, run_id, tenant_id, dag_id, term, task, failed_at, likeness)
  select m.id, coalesce(m.run_id, m.id), m.tenant_id, v.dag_id, m.term, n.name,
    (select now from clock),
    md5(concat_ws('/', v.dag_id, n.name, ($22::uuid[])[array_position($2::bigint[], m.id)]))::uuid
  from moved m
  join mainspring.version v on v.id = m.version_id
  join mainspring.node n on n.version_id = m.version_id and n.number = m.node
  where m.state = 'failed'
  on conflict (task_id) do update
  set term = excluded.term, failed_at = excluded.failed_at, likeness = excluded.likeness,
    discarded_at = null),
payloads as (
  insert into mainspring.payload (owner_id, kind, content)
  select id, 'result', large from moved where large is not null
  on conflict (owner_id, kind) do update set content = excluded.content),
timers as (
  insert into mainspring.timer (kind, due_at, subject, term)
  select 'backoff', due_at, id, new_term from moved where state = 'backoff'),
requeued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, new_term from moved where state = 'ready'
  returning lane),
-- What follows in runs of many tasks. A task that ended without success dooms its descendants, as
-- every one of them needs the success of all its parents; but what was closed by hand is not doomed,
-- nor what comes after that alone. This is told by the locked row of the run, which is current, and
-- not by the tasks, of which this statement may have an old picture.
marked as materialized (
  select id as run_id, unnest(marked) as node from runs where marked is not null),
doom (run_id, version_id, node, failed) as (
  select m.run_id, m.version_id, e.after, m.state <> 'skipped'
  from moved m
  join mainspring.edge e on e.version_id = m.version_id and e.before = m.node
  where m.run_id is not null and m.state in ('failed', 'skipped', 'cancelled')
    and (m.run_id, e.after) not in (select run_id, node from marked)
  union
  select d.run_id, d.version_id, e.after, d.failed
  from doom d
  join mainspring.edge e on e.version_id = d.version_id and e.before = d.node
  where (d.run_id, e.after) not in (select run_id, node from marked)),
doomed as materialized (
  select run_id + node as id, bool_or(failed) as failed from doom group by 1),
closed_unrun as (
  update mainspring.task c
  set state = (case when d.failed then 'upstream_failed' else 'skipped' end)::mainspring.task_state,
    finished_at = (select now from clock)
  from doomed d
  where c.id = d.id and c.state = 'waiting'
  returning c.run_id, c.state),
steps as materialized (
  select m.run_id + e.after as id, count(*)::int as met, bool_and(m.chained) as chained,
    max(m.worker_id) as worker_id
  from moved m
  join mainspring.edge e on e.version_id = m.version_id and e.before = m.node
  where m.run_id is not null and m.state = 'succeeded'
    and m.run_id + e.after not in (select id from doomed)
  group by 1),
children as (
  update mainspring.task c
  set unmet = c.unmet - s.met,
    state = (case when c.unmet = s.met then 'ready' else 'waiting' end)::mainspring.task_state,
    due_at = case when c.unmet = s.met then (select now from clock) else c.due_at end,
    position = case when c.unmet = s.met then nextval('mainspring.position') end
  from steps s
  where c.id = s.id and c.state = 'waiting'
  returning c.id, c.version_id, c.lane, c.priority, c.position, c.term, c.unmet, s.chained,
    s.worker_id),
able as materialized (
  select *, row_number() over (
    partition by worker_id, lane order by priority desc, id) as place
  from children where unmet = 0),
free as materialized (
  select g.lane, g.slots, g.worker_id, g.claim_id, (
    select q.priority from mainspring.ready q where q.lane = g.lane
    order by q.lane, q.priority desc, q.position limit 1) as urgent
  from unnest($19::int[], $20::int[], $25::int[], $18::uuid[]) as g (lane, slots, worker_id, claim_id)
  -- A lane is a queue and one of eight kinds.
  where (select k.paused_at from mainspring.queue k where k.id = g.lane / 8) is null
    and (g.worker_id in (select worker_id from holder where drain is not null)) is not true),
-- with part: paused_versions
granted as materialized (
  select a.id, a.term, f.worker_id, f.claim_id
  from able a join free f on f.lane = a.lane and f.worker_id = a.worker_id
  -- At least 0: what stands aside is not granted, and does not keep others from it.
  where a.chained and a.place <= f.slots and a.priority >= greatest(f.urgent, 0)
    and a.version_id <> all ((select versions from paused)::int[])),
queued as (
  insert into mainspring.ready (lane, priority, position, task_id, term)
  select lane, priority, position, id, term from able where id not in (select id from granted)
  returning lane),
kept as (
  insert into mainspring.claim (id, worker_id, claimed_at, task_ids, terms)
  select claim_id, worker_id, clock_timestamp(), array_agg(id), array_agg(term) from granted
  group by claim_id, worker_id),
tally as materialized (
  select run_id, count(*)::int as closed,
    (count(*) filter (where state in ('failed', 'upstream_failed')))::int as failed,
    (count(*) filter (where state = 'cancelled'))::int as cancelled
  from (
    select run_id, state from moved where run_id is not null and state not in ('ready', 'backoff')
    union all
    select run_id, state from closed_unrun) as ends
  group by run_id),
progress as (
  update mainspring.run r
  set open_tasks = r.open_tasks - y.closed,
    failed_tasks = r.failed_tasks + y.failed,
    cancelled_tasks = r.cancelled_tasks + y.cancelled,
    state = (case
      when r.open_tasks > y.closed then 'running'
      when r.failed_tasks + y.failed > 0 then 'failed'
      when r.cancelled_tasks + y.cancelled > 0 then
        case r.stop when 'deadline' then 'failed' else 'cancelled' end
      else 'succeeded' end)::mainspring.run_state,
    finished_at = case when r.open_tasks = y.closed then (select now from clock) end
  from tally y
  where r.id = y.run_id)
select 'refused' as kind, i.id, i.term, null::bigint as run_id, null::int as version_id,
  null::int as node, null::int as lane, null::smallint as priority, null::bigint as position,
  null::smallint as attempt, null::smallint as lost, null::smallint as generation,
  null::timestamptz as due_at, null::int as snapshot_id, null::bytea as parameters,
  null::int as schedule_id, null::timestamptz as fire_at, null::timestamptz as interval_start,
  null::int as epoch, null::smallint as attempts_max, null::float8 as timeout_seconds,
  i.worker_id, i.claim_id
from item i where (i.id, i.term) not in (select id, term from moved)
union all
select 'granted', t.id, t.term, t.run_id, t.version_id, t.node, t.lane, t.priority, 0,
  t.attempt, t.lost, t.generation, r.due_at, r.snapshot_id, r.parameters,
  r.schedule_id, r.fire_at, r.interval_start,
  (select number from mainspring.epoch where singleton), (r.options).attempts,
  (r.options).timeout_seconds, g.worker_id, g.claim_id
from granted g
join mainspring.task t on t.id = g.id
join mainspring.run r on r.id = t.run_id
union all
select 'lane', 0, 0, null, null, null, l.lane, null, null, null, null, null, null, null, null, null,
  null, null, null, null, null, null, null
from (select lane from queued union select lane from requeued) as l;

-- name: explain_refused
-- Why items were refused: already_yours when this worker ended exactly that attempt (its answer
-- was lost), else superseded. Attempts are lost, and end by hand, in the name of the worker that
-- held them, so such an end is nobody's.  $1 workers  $2 task ids  $3 terms
select u.id, u.term, u.worker_id,
  coalesce(
    a.state <> 'lost' and not exists (
      select 1 from mainspring.remark m
      where m.task_id = u.id and m.term = u.term and m.deed in ('succeeded', 'skipped')),
    t.worker_id = u.worker_id and t.term = u.term and t.finished_at is not null) as already_yours
from unnest($1::int[], $2::bigint[], $3::int[]) as u (worker_id, id, term)
left join (
  select id, worker_id, term, finished_at from mainspring.task
  union all
  select id, worker_id, term, finished_at from mainspring.task_history) t on t.id = u.id
left join mainspring.attempt a
  on a.task_id = u.id and a.term = u.term and a.worker_id = u.worker_id;

-- name: read_claims
-- What claims hold, for handing back and reaping.  $1 worker  $2 claims, or null for all  $3 limit
select c.id as claim_id, t.id, t.term, t.run_id, t.version_id, t.node, t.attempt, t.lost,
  t.started_at, r.open_tasks is not null as many
from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
join mainspring.task t on t.id = k.id and t.term = k.term and t.state = 'ready'
join mainspring.run r on r.id = t.run_id
where c.worker_id = $1 and ($2::uuid[] is null or c.id = any($2::uuid[]))
limit $3;

-- name: drop_claims
-- Claims of which nothing is left.  $1 worker  $2 claims, or null for all
delete from mainspring.claim where worker_id = $1 and ($2::uuid[] is null or id = any($2::uuid[]));

-- name: end_worker
-- The lease goes only when its claims are gone: the foreign key refuses otherwise.
-- $1 worker  $2 ending
with l as (delete from mainspring.lease where worker_id = $1 returning worker_id)
update mainspring.worker w set ended_at = clock_timestamp(), ending = $2
from l where w.id = l.worker_id
returning w.id;

-- name: read_versions
-- $1 version ids
select v.id, v.number, v.spec, d.name as dag
from mainspring.version v join mainspring.dag d on d.id = v.dag_id
where v.id = any($1::int[]);

-- name: read_snapshots
-- $1 snapshot ids
select id, digest from mainspring.snapshot where id = any($1::int[]);

-- name: read_results
-- The results of these tasks, large ones from payload.  $1 task ids
select t.id, case when octet_length(t.result) = 0 then p.content else t.result end as result
from mainspring.task t
left join mainspring.payload p
  on octet_length(t.result) = 0 and p.owner_id = t.id and p.kind = 'result'
where t.id = any($1::bigint[]);

-- name: read_parameters
-- Large parameters of these runs.  $1 run ids
select owner_id as id, content from mainspring.payload
where owner_id = any($1::bigint[]) and kind = 'parameters';
