"""`store/sql/guards.sql`: the legal moves as triggers, and the enum types as a comment.

The conditions stand in the triggers' WHEN clauses, which PostgreSQL evaluates in place: a legal
move queues no trigger event and calls no function. Each condition says what is allowed and the
trigger asks whether it `is not true`, so that a null refuses the move instead of letting it pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from textwrap import dedent, fill, indent

from mainspring.domain.states import BACKFILL, MACHINES, RUN, TASK, Machine

_HEADER = """\
-- Generated from src/mainspring/domain/states.py by `make gen`; do not edit.
--
-- The database's own guard over the state machines: an UPDATE that makes an illegal move fails
-- with SQLSTATE 23514 and the trigger's name as constraint. Run after the numbered migrations, as
-- one script in one transaction. Each object carries the digest of its text as its comment and is
-- left alone when that is current: then no table is locked.
--
-- A label that ALTER TYPE adds to an enum cannot be used before that transaction has committed
-- (SQLSTATE 55P04), so a migration that adds a state commits before this script runs.
"""

_FUNCTION = """\
create or replace function mainspring.refuse_move() returns trigger language plpgsql as $refuse$
declare
  -- Not tg_table_name: that would be the partition's.
  subject text := tg_argv[0];
  move text := format('from %s to %s', coalesce(old.state::text, 'no state'),
                      coalesce(new.state::text, 'no state'));
begin
  if tg_argv[1] = 'term' then
    move := format('%s with term %s after %s and generation %s after %s', move,
                   new.term, old.term, new.generation, old.generation);
  end if;
  raise exception using
    errcode = 'check_violation',
    message = format('%s %s may not move %s', subject, new.id, move),
    hint = tg_argv[2],
    schema = tg_table_schema, table = tg_table_name, constraint = tg_name;
end
$refuse$;
"""

_MOVE_HINT = "docs/reference/states.md lists the legal moves."
_TERM_HINT = "The term rises with each attempt that leaves its task open, and with the generation."


def render() -> str:
    function = _unless_current(
        "function mainspring.refuse_move()",
        "select from pg_proc p\n"
        "where p.oid = to_regprocedure('mainspring.refuse_move()')\n"
        "  and obj_description(p.oid, 'pg_proc') = {comment}",
        _FUNCTION,
    )
    triggers = (
        _trigger("run", "run_moves", _moves_condition(RUN), "move", _MOVE_HINT),
        _trigger("task", "task_moves", _moves_condition(TASK), "move", _MOVE_HINT),
        _trigger("backfill", "backfill_moves", _moves_condition(BACKFILL), "move", _MOVE_HINT),
        _trigger("task", "task_terms", _terms_condition(TASK), "term", _TERM_HINT),
    )
    return "\n".join((_HEADER, _types(), _block(function, *triggers)))


def _types() -> str:
    """The enum types as the numbered migrations make them, for a test to compare."""
    lines = ["-- The enum types, which the numbered migrations make:", "--"]
    for machine in MACHINES:
        labels = _literals(machine.stored_states)
        statement = f"-- create type mainspring.{machine.name}_state as enum ({labels});"
        lines.append(_wrapped(statement, "--   "))
    return "\n".join(lines) + "\n"


def _moves_condition(machine: Machine) -> str:
    """True of an update that leaves the state alone or makes a legal move."""
    moves = machine.stored()
    arms = []
    for source in machine.stored_states:
        targets = [target for target in machine.stored_states if (source, target) in moves]
        if targets:
            arms.append(f"  when '{source}' then {_is_one_of('new.state', targets)}")
    return "\n".join(
        (
            "old.state is not distinct from new.state",
            "or case old.state",
            *(_wrapped(arm, "    ") for arm in arms),
            "  else false",
            "end",
        )
    )


def _terms_condition(machine: Machine) -> str:
    """True of an update that keeps the fence: see rule 1 of the core protocol.

    An attempt that ends while its task goes back to `ready` changes no stored state and is not
    seen here; the statements that do so raise the term, and their tests prove it.
    """
    (held,) = machine.derived.values()
    left_open = [
        move.target
        for move in machine.moves
        if move.source in machine.derived and move.target in machine.open and move.target != held
    ]
    (reopened,) = {move.target for move in machine.moves if move.source in machine.closed}
    return dedent(f"""\
        new.term >= old.term
        and case
          when old.state = '{held}' and {_is_one_of("new.state", left_open)}
            then new.term > old.term
          when new.state = '{reopened}' and old.state <> '{reopened}'
            then new.term > old.term and new.generation = old.generation + 1
          else true
        end""")


def _trigger(table: str, name: str, allowed: str, kind: str, hint: str) -> str:
    statement = (
        f"create or replace trigger {name} after update on mainspring.{table} for each row\n"
        f"when ((\n{indent(allowed, '  ')}\n) is not true)\n"
        f"execute function mainspring.refuse_move(\n"
        f"  '{table}', '{kind}',\n"
        f"  '{hint}'\n"
        f");\n"
    )
    return _unless_current(
        f"trigger {name} on mainspring.{table}",
        f"select from pg_trigger t\n"
        f"where t.tgrelid = 'mainspring.{table}'::regclass and t.tgname = '{name}'\n"
        f"  and t.tgenabled in ('O', 'A')\n"
        f"  and obj_description(t.oid, 'pg_trigger') = {{comment}}",
        statement,
    )


def _unless_current(thing: str, query: str, statement: str) -> str:
    comment = (
        f"'Generated by make gen, digest {hashlib.sha256(statement.encode()).hexdigest()[:16]}'"
    )
    return (
        f"if not exists (\n{indent(query.format(comment=comment), '  ')}\n) then\n"
        f"{indent(statement, '  ')}"
        f"  comment on {thing} is\n    {comment};\n"
        f"end if;\n"
    )


def _block(*parts: str) -> str:
    body = "\n".join(indent(part, "  ") for part in parts)
    return f"do $guards$\nbegin\n{body}end\n$guards$;\n"


def _wrapped(line: str, margin: str) -> str:
    return fill(line, 92, subsequent_indent=margin)


def _is_one_of(column: str, states: Iterable[str]) -> str:
    states = tuple(states)
    return f"{column} = '{states[0]}'" if len(states) == 1 else f"{column} in ({_literals(states)})"


def _literals(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in states)
