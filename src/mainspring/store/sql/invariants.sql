-- The promises as queries that must return no rows. Each returns the ids of what breaks it.
-- Used after every integration test, by the fault harness, the benchmark and `mainspring doctor`.

-- name: L1_one_live_claim_per_task
select k.id, k.term
from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
join mainspring.task t on t.id = k.id and t.term = k.term and t.state = 'ready'
group by k.id, k.term having count(*) > 1;

-- name: L1_a_claimed_task_is_not_in_a_queue
select k.id, k.term
from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
join mainspring.ready q on q.task_id = k.id and q.term = k.term;

-- name: L2_attempts_ended_under_terms_below_the_task
select a.task_id, a.term, t.term as task_term
from mainspring.attempt a join mainspring.task_view t on t.id = a.task_id
where a.term > t.term
  or (a.term = t.term and t.finished_at is null);

-- name: L2_a_later_generation_has_the_higher_terms
select a.task_id, a.term, a.generation
from mainspring.attempt a join mainspring.task_view t on t.id = a.task_id
where a.generation > t.generation
  or exists (select 1 from mainspring.attempt b
    where b.task_id = a.task_id and b.term > a.term and b.generation < a.generation);

-- name: N1_a_queue_row_stands_for_one_ready_task
select q.task_id, q.term
from mainspring.ready q left join mainspring.task t on t.id = q.task_id
where t.id is null or t.state <> 'ready' or t.term <> q.term or t.position <> q.position
  or t.lane <> q.lane or t.priority <> q.priority;

-- name: N1_every_ready_task_is_queued_or_claimed
select t.id, t.term
from mainspring.task t
where t.state = 'ready'
  and not exists (select 1 from mainspring.ready q
    where q.lane = t.lane and q.priority = t.priority and q.position = t.position)
  and not exists (select 1 from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)
    where k.id = t.id and k.term = t.term);

-- name: N1_every_task_in_backoff_has_its_timer
select t.id, t.term
from mainspring.task t
where t.state = 'backoff' and not exists (select 1 from mainspring.timer m
  where m.kind = 'backoff' and m.subject = t.id and m.term = t.term);

-- name: N1_every_waiting_task_waits_for_something
select t.id
from mainspring.task t
where t.state = 'waiting' and t.unmet = 0 and not exists (select 1 from mainspring.timer m
  where m.kind = 'start' and m.subject = t.run_id);

-- name: N1_every_open_run_with_a_time_limit_has_its_deadline
-- Counted from its start or its last rerun; one that has passed has left a note on what is open.
select r.id
from mainspring.run r join mainspring.version v on v.id = r.version_id
where v.timeout_seconds is not null
  and exists (select 1 from mainspring.task t
    where t.id >= r.id and t.id < r.id + v.tasks and t.finished_at is null and t.stop is null)
  and not exists (select 1 from mainspring.timer m
    where m.kind = 'deadline' and m.subject = r.id and m.term = (
      select sum(t.generation - 1) from mainspring.task t
      where t.id >= r.id and t.id < r.id + v.tasks));

-- name: N1_every_run_has_all_its_tasks
select r.id
from mainspring.run r join mainspring.version v on v.id = r.version_id
where v.tasks <> (select count(*) from mainspring.task t where t.id >= r.id and t.id < r.id + v.tasks);

-- name: N1_a_run_is_open_or_history_and_never_both
select r.id from mainspring.run r join mainspring.run_history h on h.id = r.id
union all
select t.id from mainspring.task t join mainspring.task_history h on h.id = t.id;

-- name: N1_history_keeps_all_tasks_of_a_run
select h.id
from mainspring.run_history h
where h.tasks <> (
  select count(*) from mainspring.task_history t where t.id >= h.id and t.id < h.id + h.tasks);

-- name: N1_periods_cover_all_ids_without_a_gap
select p.first_id
from (select first_id, lag(until_id) over (order by first_id) as before from mainspring.period) p
where p.before <> p.first_id
union all
select last_value from mainspring.id_block
where last_value >= (select max(until_id) from mainspring.period);

-- name: N1_what_stands_aside_is_of_a_paused_dag_and_all_of_it_does
-- Until all tasks have followed a pause or resume, `shifted_by` says so.
select t.id, t.priority
from mainspring.task t
join mainspring.version v on v.id = t.version_id
join mainspring.dag d on d.id = v.dag_id
where t.finished_at is null and d.shifted_by is null and (t.priority < 0) <> (d.paused_at is not null)
union all
select n.version_id, n.priority
from mainspring.node n
join mainspring.version v on v.id = n.version_id
join mainspring.dag d on d.id = v.dag_id
where (n.priority < 0) <> (d.paused_at is not null);

-- name: N2_a_key_belongs_to_one_existing_run
select i.key, i.run_id
from mainspring.idempotency i
where not exists (select 1 from mainspring.run_index r where r.id = i.run_id)
  and i.run_id >= (select min(first_id) from mainspring.period);

-- name: D1_a_task_starts_only_after_all_its_parents_succeeded
select t.id, t.state::text, p.id as parent, p.state::text as parent_state
from mainspring.task t
join mainspring.edge e on e.version_id = t.version_id and e.after = t.node
join mainspring.task p on p.id = t.run_id + e.before
where p.state <> 'succeeded'
  and (t.state in ('ready', 'backoff', 'parked', 'failed') or t.started_at is not null);

-- name: D1_a_success_that_never_began_was_made_by_hand
select t.id, t.term
from mainspring.task_view t
where t.state = 'succeeded' and t.started_at is null and not exists (
  select 1 from mainspring.remark m
  where m.task_id = t.id and m.term = t.term - 1 and m.deed = 'succeeded');

-- name: D1_a_run_knows_which_of_its_tasks_were_closed_by_hand
select r.id, r.marked
from mainspring.run r join mainspring.version v on v.id = r.version_id
where r.open_tasks is not null and coalesce(r.marked, '{}') <> array(
  select t.node from mainspring.task t
  join mainspring.remark m on m.task_id = t.id and m.term = t.term - 1 and m.deed::text = t.state::text
  where t.id >= r.id and t.id < r.id + v.tasks
  order by t.node);

-- name: D1_unmet_counts_the_parents_that_have_not_succeeded
select t.id, t.unmet
from mainspring.task t
where t.state = 'waiting' and t.unmet <> (
  select count(*) from mainspring.edge e
  join mainspring.task p on p.id = t.run_id + e.before and p.state <> 'succeeded'
  where e.version_id = t.version_id and e.after = t.node);

-- name: D1_nothing_waits_for_a_parent_that_will_never_succeed
select t.id, p.id as parent, p.state::text
from mainspring.task t
join mainspring.edge e on e.version_id = t.version_id and e.after = t.node
join mainspring.task p on p.id = t.run_id + e.before
where t.state = 'waiting' and p.state in ('failed', 'skipped', 'upstream_failed', 'cancelled');

-- name: D3_open_tasks_counts_the_open_tasks
select r.id, r.open_tasks
from mainspring.run r join mainspring.version v on v.id = r.version_id
where r.open_tasks is not null and r.open_tasks <> (
  select count(*) from mainspring.task t
  where t.id >= r.id and t.id < r.id + v.tasks
    and t.state in ('waiting', 'ready', 'backoff', 'parked'));

-- name: D3_the_verdict_is_a_function_of_the_tasks
select r.id, r.state::text, y.verdict
from mainspring.run r
join mainspring.version v on v.id = r.version_id
join lateral (
  select case
    when count(*) filter (where t.state in ('waiting', 'ready', 'backoff', 'parked')) > 0 then 'running'
    when count(*) filter (where t.state in ('failed', 'upstream_failed')) > 0 then 'failed'
    when count(*) filter (where t.state = 'cancelled') > 0
      then case r.stop when 'deadline' then 'failed' else 'cancelled' end
    else 'succeeded' end as verdict
  from mainspring.task t where t.id >= r.id and t.id < r.id + v.tasks) y on true
where r.open_tasks is not null
  and (r.state::text <> y.verdict or (r.finished_at is null) <> (y.verdict = 'running'));

-- name: D3_the_verdict_of_history_is_a_function_of_its_tasks
select h.id, h.state::text, y.verdict
from mainspring.run_history h
join lateral (
  select case
    when count(*) filter (where t.state in ('failed', 'upstream_failed')) > 0 then 'failed'
    when count(*) filter (where t.state = 'cancelled') > 0
      then case h.stop when 'deadline' then 'failed' else 'cancelled' end
    else 'succeeded' end as verdict
  from mainspring.task_history t where t.id >= h.id and t.id < h.id + h.tasks) y on true
where h.state::text <> y.verdict;

-- name: T1_closed_tasks_have_an_end_and_open_ones_none
select id, state::text
from mainspring.task
where (finished_at is null) <> (state in ('waiting', 'ready', 'backoff', 'parked'));

-- name: T2_no_more_attempts_than_the_policy_allows
-- The policy of its run, if that has one.
select t.id, t.attempt, (s.spec -> 'tasks' -> t.node -> 'retry' ->> 'attempts')::int as allowed
from mainspring.task t
join mainspring.run r on r.id = t.run_id
join mainspring.version v on v.id = t.version_id,
lateral (select convert_from(v.spec, 'UTF8')::json as spec where t.attempt > 1) as s
where t.attempt > coalesce((r.options).attempts,
  (s.spec -> 'tasks' -> t.node -> 'retry' ->> 'attempts')::int, 1);

-- name: T2_the_charged_attempts_are_all_there
select t.id, t.attempt
from mainspring.task t
where t.attempt > 1 and t.attempt - 1 > (
  select count(*) from mainspring.attempt a
  where a.task_id = t.id and a.generation = t.generation and a.state in ('failed', 'timed_out'));

-- name: T2_lost_attempts_are_counted
select t.id, t.lost
from mainspring.task t
where t.lost > 0 and t.lost <> (
  select count(*) from mainspring.attempt a
  where a.task_id = t.id and a.generation = t.generation and a.state = 'lost');

-- name: T2_a_discarded_problem_says_who_did_it
select p.task_id, p.term
from mainspring.problem p
left join mainspring.remark m on m.task_id = p.task_id and m.term = p.term and m.deed = 'discarded'
where (p.discarded_at is null) <> (m.task_id is null);

-- name: T2_every_failed_task_is_a_problem_and_nothing_else_is
select coalesce(t.id, p.task_id) as id
from (select id from mainspring.task_view where state = 'failed') t
full join mainspring.problem p on p.task_id = t.id
where t.id is null or p.task_id is null;

-- name: N1_a_log_that_has_moved_is_in_one_place
select m.task_id, m.term
from mainspring.long_log m join mainspring.log l on l.task_id = m.task_id and l.term = m.term
where m.moved_at is not null;

-- name: N1_no_object_in_use_is_to_be_removed
select m.task_id, m.term
from mainspring.long_log m
join mainspring.object_removal r on r.store_id = m.store_id and r.key = m.key;

-- name: N1_no_code_in_use_is_to_be_removed
select c.snapshot_id
from mainspring.snapshot_content c
join mainspring.object_removal r on r.store_id = c.store_id and r.key = c.key;

-- name: S1_a_fire_makes_at_most_one_run
select r.schedule_id, r.fire_at
from (
  select schedule_id, fire_at from mainspring.run where trigger = 'schedule'
  union all
  select schedule_id, fire_at from mainspring.run_history where trigger = 'schedule') r
group by 1, 2 having count(*) > 1
union all
select schedule_id, fire_at from mainspring.fire group by 1, 2 having count(*) > 1;

-- name: S1_a_scheduled_run_is_in_the_ledger
select r.id
from mainspring.run r
where r.trigger = 'schedule' and not exists (
  select 1 from mainspring.fire f
  where f.schedule_id = r.schedule_id and f.fire_at = r.fire_at and f.run_id = r.id)
  and r.id >= (select min(first_id) from mainspring.period);

-- name: S2_each_entry_of_the_ledger_follows_the_one_before
-- Under one version of a schedule; what periods that are gone have told is not asked for.
select f.schedule_id, f.fire_at, f.next_at, f.following
from (
  select schedule_id, version, fire_at, next_at, lead(fire_at) over by_fire as following,
    lead(version) over by_fire as following_version
  from mainspring.fire where id >= (select min(first_id) from mainspring.period)
  window by_fire as (partition by schedule_id order by fire_at)) f
where f.following_version = f.version and f.following is distinct from f.next_at;

-- name: S2_the_next_fire_follows_the_last_entry
select s.schedule_id, s.next_fire_at, f.next_at
from mainspring.schedule_state s
join mainspring.schedule h on h.id = s.schedule_id
cross join lateral (
  select f.next_at, f.version from mainspring.fire f
  where f.schedule_id = s.schedule_id order by f.fire_at desc limit 1) f
where s.next_fire_at is not null and f.version = h.version and f.next_at is distinct from s.next_fire_at;

-- name: S3_nothing_is_fired_early
select f.id, f.fire_at, f.decided_at from mainspring.fire f
where f.outcome <> 'buffered' and f.decided_at < f.until_at
union all
select r.id, r.fire_at, r.created_at from mainspring.run r
where r.trigger = 'schedule' and r.created_at < r.fire_at;

-- name: S3_the_cursor_is_behind_the_next_fire
select schedule_id, cursor_at, next_fire_at from mainspring.schedule_state
where next_fire_at <= cursor_at;

-- name: S3_what_rests_has_no_next_fire
select s.schedule_id from mainspring.schedule_state s join mainspring.schedule h on h.id = s.schedule_id
where s.next_fire_at is not null and (h.paused_at is not null or h.gone_at is not null);

-- name: S2_open_runs_of_tracked_schedules_are_followed
select r.id
from mainspring.run r
join mainspring.version v on v.id = r.version_id
join mainspring.schedule_state s on s.schedule_id = r.schedule_id and s.tracked
left join mainspring.task t on r.open_tasks is null and t.id = r.id
where r.trigger = 'schedule' and coalesce(r.finished_at, t.finished_at) is null
  and r.created_at > (
    select max(v.in_force_from) from mainspring.schedule_version v where v.schedule_id = s.schedule_id)
  and r.rerun_of is null
  and not exists (select 1 from mainspring.schedule_run o
    where o.schedule_id = r.schedule_id and o.run_id = r.id)
  -- One that was followed to its end and opened again by a rerun does not count any more.
  and not exists (select 1 from mainspring.task t
    where t.id >= r.id and t.id < r.id + v.tasks and t.generation > 1);

-- name: B1_an_instant_of_a_backfill_makes_at_most_one_run
-- Reruns are linked to the run that they repeat, and are no runs of the backfill.
select f.run_id
from mainspring.backfill_fire f
where f.outcome = 'made'
group by f.run_id having count(*) > 1
union all
select r.id
from mainspring.run r
where r.trigger = 'backfill' and not exists (
  select 1 from mainspring.backfill_fire f
  where f.run_id = r.id and f.outcome = 'made' and f.fire_at = r.fire_at)
  -- A rerun may bring back one whose backfill is forgotten.
  and r.created_at > clock_timestamp() - interval '1 day';

-- name: B1_no_more_runs_are_open_than_a_backfill_may_have
-- One that was followed to its end and opened again by a rerun does not count any more.
-- `offset 0` keeps each part a lookup by key, also where nobody has analyzed anything.
select f.backfill_id, count(*)
from mainspring.run r
cross join lateral (
  select f.backfill_id, f.verdict from mainspring.backfill_fire f
  where f.run_id = r.id and f.outcome = 'made' offset 0) f
cross join lateral (
  select bool_or(t.finished_at is null) as open, max(t.generation) as generation
  from mainspring.task t
  where t.id >= r.id
    and t.id < r.id + (select v.tasks from mainspring.version v where v.id = r.version_id)
  offset 0) t
where r.trigger = 'backfill' and t.open and (f.verdict is null or t.generation = 1)
group by f.backfill_id
having count(*) > (select b.concurrency from mainspring.backfill b where b.id = f.backfill_id);

-- name: B2_a_backfill_counts_what_became_of_its_instants
select b.id
from mainspring.backfill b
cross join lateral (
  select (count(*) filter (where f.outcome = 'made'))::int as made,
    (count(*) filter (where f.outcome = 'exists'))::int as existing,
    (count(*) filter (where f.outcome = 'excluded'))::int as excluded,
    (count(*) filter (where f.verdict = 'succeeded'))::int as succeeded,
    (count(*) filter (where f.verdict = 'failed'))::int as failed,
    (count(*) filter (where f.verdict = 'cancelled'))::int as cancelled
  from mainspring.backfill_fire f where f.backfill_id = b.id) c
where (b.made, b.existing, b.excluded, b.succeeded, b.failed, b.cancelled)
    <> (c.made, c.existing, c.excluded, c.succeeded, c.failed, c.cancelled)
  -- What is being let go, because it ended so long ago, goes in pieces.
  and (b.ended_at is null or b.ended_at > clock_timestamp() - interval '1 day');

-- name: B2_a_finished_backfill_has_dealt_with_every_instant
select id from mainspring.backfill
where state = 'finished'
  and (made + existing + excluded <> total or made <> succeeded + failed + cancelled);

-- name: B3_a_backfill_keeps_to_its_range_and_behind_its_cursor
select f.backfill_id, f.fire_at
from mainspring.backfill_fire f
join mainspring.backfill b on b.id = f.backfill_id
where f.fire_at < b.since_at or f.fire_at >= b.until_at or b.cursor_at is null
  or f.fire_at > case when convert_from(b.plan, 'UTF8')::jsonb ? 'newest_first'
    then b.until_at else b.cursor_at end
  or f.fire_at < case when convert_from(b.plan, 'UTF8')::jsonb ? 'newest_first'
    then b.cursor_at else b.since_at end;

-- name: N1_a_run_of_a_job_is_of_its_dag
select r.id, r.job_id
from (
  select id, job_id, dag_id, tenant_id from mainspring.run where job_id is not null
  union all
  select id, job_id, dag_id, tenant_id from mainspring.run_history where job_id is not null) r
left join mainspring.job j on j.id = r.job_id
where (j.dag_id, j.tenant_id) is distinct from (r.dag_id, r.tenant_id);

-- name: N1_an_immediate_job_has_its_run
-- Under the same id, so there is one. Of what is older than an hour the run may have been let go.
select j.id
from mainspring.job j
left join (
  select id, job_id from mainspring.run
  union all
  select id, job_id from mainspring.run_history) r on r.id = j.id
where r.job_id <> j.id
  or (r.id is null and j.schedule_id is null
    and j.created_at > clock_timestamp() - interval '1 hour');

-- name: N1_a_job_and_its_schedule_know_each_other
select h.id as schedule_id, h.job_id
from mainspring.schedule h
left join mainspring.job j on j.id = h.job_id
where h.job_id is not null and h.gone_at is null
  and ((j.schedule_id, j.dag_id, j.tenant_id) is distinct from (h.id, h.dag_id, h.tenant_id)
    or j.cancelled_at is not null);
