-- Our own record of every move in the database under test, written by triggers in the same
-- transaction as the move itself.
--
-- Why `number` orders the moves of one row. A row that a transaction has changed is locked until
-- that transaction ends, and the triggers run when the statement has made its changes: so whoever
-- changes the row next draws its number after the first has committed. The same holds for whoever
-- merely saw it: its snapshot was taken after that commit. The numbers of transactions that neither
-- touched nor saw each other say nothing, and nothing is concluded from them.
--
-- Statement triggers, because they cost half of what row triggers cost: the way of 500 runs of one
-- task, from creation to completion, took 19 ms without a journal, 47 ms with this one and 78 ms
-- with row triggers (2 busy cores, November 2026). Old and new rows are joined by their key; hash
-- joins are turned on for that, since the product's connections turn them off and a nested loop
-- over two sets is quadratic.
create schema checker;

create table checker.move (
  number bigserial primary key,
  transaction xid8 not null,
  at timestamptz not null,
  relation text not null,
  kind char(1) not null check (kind in ('F', 'I', 'U', 'D')),  -- found, inserted, updated, deleted
  before jsonb,
  after jsonb,
  snapshot pg_snapshot);          -- what the statement saw, of claims and of what leaves a queue

-- What the database's clock said when ours said so.
create table checker.clock (
  at timestamptz not null,
  monotonic float8 not null,
  trip_seconds float8 not null);

create function checker.seen() returns pg_snapshot language sql stable
return nullif(current_setting('checker.snapshot', true), '')::pg_snapshot;

create function checker.note_insert() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into checker.move (transaction, at, relation, kind, after, snapshot)
  select pg_current_xact_id(), clock_timestamp(), tg_table_name, 'I',
    to_jsonb(n) - array['parameters', 'result', 'error', 'digest'],
    case tg_table_name when 'claim' then checker.seen() end
  from new_rows n;
  return null;
end $$;

create function checker.note_delete() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into checker.move (transaction, at, relation, kind, before, snapshot)
  select pg_current_xact_id(), clock_timestamp(), tg_table_name, 'D',
    to_jsonb(o) - array['parameters', 'result', 'error', 'digest'],
    case tg_table_name when 'ready' then checker.seen() end
  from old_rows o;
  return null;
end $$;

-- The arguments are the columns of the key. A full join: if a key was changed, both halves are
-- noted, and the checker finds a row that came from nowhere.
create function checker.note_update() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_hashjoin = on set enable_nestloop = off as $$
begin
  insert into checker.move (transaction, at, relation, kind, before, after)
  select pg_current_xact_id(), clock_timestamp(), tg_table_name, 'U', o.content, n.content
  from (
    select to_jsonb(r) - array['parameters', 'result', 'error', 'digest'] as content
    from old_rows r) o
  full join (
    select to_jsonb(r) - array['parameters', 'result', 'error', 'digest'] as content
    from new_rows r) n
  on o.content -> tg_argv[0] = n.content -> tg_argv[0]
    and coalesce(o.content -> tg_argv[1], 'null') = coalesce(n.content -> tg_argv[1], 'null');
  return null;
end $$;

-- The condition of a trigger is evaluated under the snapshot of the statement itself; inside the
-- function it would be a newer one. So the condition takes the snapshot down, and is always true.
do $$
declare
  relation text;
  key text;
  seeing constant text :=
    'when (set_config(''checker.snapshot'', pg_current_snapshot()::text, true) is not null)';
begin
  for relation, key in values
    ('run', '''id'''), ('task', '''id'''), ('ready', '''position'''), ('claim', '''id'''),
    ('lease', '''worker_id'''), ('worker', '''id'''), ('timer', '''subject'', ''due_at'''),
    ('attempt', '''task_id'', ''term'''), ('problem', '''task_id'''),
    ('remark', '''task_id'', ''term'''),
    ('idempotency', '''tenant_id'', ''key'''), ('job', '''id'''), ('shard', '''number'''),
    ('run_history', '''id'''), ('task_history', '''id'''), ('dag', '''id'''), ('queue', '''id'''),
    ('schedule', '''id'''), ('schedule_state', '''schedule_id'''), ('fire', '''id''')
  loop
    execute format(
      'create trigger checker_insert after insert on mainspring.%I referencing new table as new_rows'
      ' for each statement %s execute function checker.note_insert()',
      relation, case relation when 'claim' then seeing else '' end);
    execute format(
      'create trigger checker_delete after delete on mainspring.%I referencing old table as old_rows'
      ' for each statement %s execute function checker.note_delete()',
      relation, case relation when 'ready' then seeing else '' end);
    execute format(
      'create trigger checker_update after update on mainspring.%I'
      ' referencing old table as old_rows new table as new_rows'
      ' for each statement execute function checker.note_update(%s)',
      relation, key);
    -- What is there already, so that the story has a beginning.
    execute format(
      'insert into checker.move (transaction, at, relation, kind, after)'
      ' select pg_current_xact_id(), clock_timestamp(), %L, ''F'','
      ' to_jsonb(r) - array[''parameters'', ''result'', ''error'', ''digest''] from mainspring.%I r',
      relation, relation);
  end loop;
end $$;
