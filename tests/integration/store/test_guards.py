"""The database refuses what the tables in `domain/states.py` do not allow, whoever asks."""

from __future__ import annotations

from itertools import product

import asyncpg
import pytest

from mainspring.domain.states import BACKFILL, MACHINES, RUN, TASK, Machine
from mainspring.store.connection import Connection, fetch

_INSERT = {
    "run": """
        insert into mainspring.run (id, created_at, due_at, tenant_id, dag_id, version_id,
          snapshot_id, trigger, state)
        values (1, now(), now(), 1, 1, 1, 1, 'manual', $1::text::mainspring.run_state)""",
    "task": """
        insert into mainspring.task (id, run_id, due_at, tenant_id, version_id, node, lane, unmet,
          state, priority, term)
        values (1, 1, now(), 1, 1, 0, 8, 0, $1::text::mainspring.task_state, 5, 7)""",
    "backfill": """
        with d as (insert into mainspring.dag (tenant_id, name) values (1, 'd') returning id)
        insert into mainspring.backfill (id, tenant_id, dag_id, since_at, until_at, plan, reprocess,
          concurrency, priority, total, state, ended_at)
        select 1, 1, d.id, 'yesterday', 'today', '', 'none', 1, 0, 1,
          $1::text::mainspring.backfill_state,
          case when $1::text in ('cancelled', 'finished') then now() end
        from d""",
}


ENDED = ", ended_at = case when '{target}' in ('cancelled', 'finished') then now() end"


async def refusal(
    connection: Connection, table: str, state: str | None, change: str
) -> asyncpg.CheckViolationError | None:
    """How a row in this state refuses a change; nothing stays."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(_INSERT[table], state)
        assert await connection.execute(f"update mainspring.{table} set {change}") == "UPDATE 1"
    except asyncpg.CheckViolationError as error:
        return error
    else:
        return None
    finally:
        await transaction.rollback()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
async def test_the_labels_of_the_type_are_the_stored_states(
    connection: Connection, machine: Machine
) -> None:
    rows = await fetch(
        connection,
        f"select unnest(enum_range(null::mainspring.{machine.name}_state))::text as label",
    )
    assert tuple(row["label"] for row in rows) == machine.stored_states


@pytest.mark.parametrize(
    ("machine", "also"),
    [
        (RUN, ""),
        (TASK, ", term = term + 1, generation = generation + 1"),
        (BACKFILL, ENDED),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
async def test_the_moves_of_the_table_are_allowed_and_no_others(
    connection: Connection, machine: Machine, also: str
) -> None:
    allowed = set()
    for source, target in product(machine.stored_states, repeat=2):
        change = f"state = '{target}'{also.format(target=target)}"
        error = await refusal(connection, machine.name, source, change)
        if error is None:
            allowed.add((source, target))
        else:
            assert error.constraint_name == f"{machine.name}_moves"
            assert f"{machine.name} 1 may not move from {source} to {target}" in str(error)
    same = {(state, state) for state in machine.stored_states}
    assert allowed == machine.stored() | same


@pytest.mark.parametrize("state", TASK.stored_states)
async def test_a_term_never_falls(connection: Connection, state: str) -> None:
    error = await refusal(connection, "task", state, "term = term - 1")
    assert error is not None
    assert error.constraint_name == "task_terms"
    assert await refusal(connection, "task", state, "term = term + 1") is None
    assert await refusal(connection, "task", state, "lost = lost + 1") is None


@pytest.mark.parametrize("target", ["backoff", "parked"])
async def test_an_attempt_that_leaves_its_task_open_raises_the_term(
    connection: Connection, target: str
) -> None:
    error = await refusal(connection, "task", "ready", f"state = '{target}'")
    assert error is not None
    assert error.constraint_name == "task_terms"


@pytest.mark.parametrize("state", sorted(TASK.closed))
async def test_reopening_takes_a_higher_term_and_the_next_generation(
    connection: Connection, state: str
) -> None:
    for change in (
        "state = 'waiting'",
        "state = 'waiting', term = term + 1",
        "state = 'waiting', generation = generation + 1",
        "state = 'waiting', term = term + 1, generation = generation + 2",
    ):
        error = await refusal(connection, "task", state, change)
        assert error is not None, change
        assert error.constraint_name == "task_terms"


async def test_a_run_of_one_task_has_no_state_and_gets_none(connection: Connection) -> None:
    assert await refusal(connection, "run", None, "finished_at = now()") is None
    for state in RUN.stored_states:
        error = await refusal(connection, "run", None, f"state = '{state}'")
        assert error is not None, state
        error = await refusal(connection, "run", state, "state = null")
        assert error is not None, state


async def test_a_refusal_says_what_to_read(connection: Connection) -> None:
    error = await refusal(connection, "task", "succeeded", "state = 'failed'")
    assert error is not None
    assert error.hint == "docs/reference/states.md lists the legal moves."
    assert (error.schema_name, error.table_name) == ("mainspring", "task")


async def test_a_claim_is_never_empty(connection: Connection) -> None:
    for tasks, terms in (("{}", "{}"), ("{1}", "{}"), ("{1}", "{1,2}")):
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(
                "insert into mainspring.claim"
                f" values (gen_random_uuid(), 1, now(), '{tasks}', '{terms}')"
            )


async def test_a_task_has_the_id_that_its_place_gives_it(connection: Connection) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await connection.execute(_INSERT["task"].replace("values (1, 1,", "values (2, 1,"), "ready")
