-- What attempts used of their machines.

-- name: record_uses
-- Told again, it stays as it was.  $1 task ids, sorted  $2 terms  $3 CPU seconds  $4 peak bytes, or null
insert into mainspring.attempt_use (task_id, term, cpu_seconds, peak_bytes)
select * from unnest($1::bigint[], $2::int[], $3::real[], $4::bigint[])
on conflict do nothing;

-- name: read_uses
-- Of tasks that follow one another.  $1 the first  $2 how many  $3 limit
select task_id, term, cpu_seconds, peak_bytes from mainspring.attempt_use
where task_id >= $1 and task_id < $1::bigint + $2::int
order by task_id, term
limit $3;
