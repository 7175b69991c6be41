"""The stepper itself: it sees who waits for whom, and what it prints can be played again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest
import pytest_asyncio

from mainspring.store.connection import Connection
from tests.fault.races.arena import Arena
from tests.fault.races.play import Order, replay
from tests.fault.races.stepper import Ending, Stepper, Turn, Unexpected, step_of

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def stepper(arena: Arena) -> AsyncIterator[Stepper]:
    """With a table of three accounts of 0 each."""
    await arena.keeper.execute(
        "create table races.account (id int primary key, amount int);"
        "insert into races.account select id, 0 from generate_series(1, 3) id"
    )
    yield arena.stepper
    await arena.keeper.execute("drop table races.account")


def _adds(*accounts: int) -> Callable[[Connection], Awaitable[object]]:
    """Adds 1 to these accounts, one statement for each; told what the last one has then."""

    async def play(connection: Connection) -> object:
        amount = None
        for account in accounts:
            amount = await connection.fetchval(
                "update races.account set amount = amount + 1 where id = $1 returning amount",
                account,
            )
        return amount

    return play


async def _play(stepper: Stepper, order: str) -> None:
    for number in map(int, order.split()):
        await stepper.step(number)


async def _amounts(arena: Arena) -> list[int]:
    rows = await arena.keeper.fetch("select amount from races.account order by id")
    return [row["amount"] for row in rows]


async def test_a_session_that_meets_a_lock_waits_for_its_holder_and_then_goes_on(
    arena: Arena, stepper: Stepper
) -> None:
    await stepper.begin([[Turn("one", _adds(1))], [Turn("two", _adds(1))]])
    await _play(stepper, "1 2")
    assert stepper.parked() == [2]
    assert list(stepper.steps()) == [1], "who waits stands at no gate"
    await _play(stepper, "1 2")
    assert [line.partition(" returning")[0][:2] for line in stepper.trace] == [
        "1 ",
        "2 ",
        "1 ",
        "2 ",
    ]
    assert stepper.trace[1].endswith(": waits for 1")
    assert stepper.trace[2].endswith("; 2 goes on")
    assert [each.told for each in stepper.played] == [1, 2]
    assert await _amounts(arena) == [2, 0, 0]


async def test_whoever_waits_behind_a_waiting_session_is_seen_to_wait(
    arena: Arena, stepper: Stepper
) -> None:
    await stepper.begin([[Turn(f"{number}", _adds(1))] for number in range(3)])
    await _play(stepper, "1 2 3")
    assert stepper.parked() == [2, 3]
    await _play(stepper, "1")
    # Mostly the one that came first; but the server lets a later one overtake it now and then.
    [last] = stepper.parked()
    await _play(stepper, "2 3" if last == 3 else "3 2")
    assert await _amounts(arena) == [3, 0, 0]


async def test_a_roll_back_frees_whoever_waits_and_leaves_nothing(
    arena: Arena, stepper: Stepper
) -> None:
    await stepper.begin([[Turn("one", _adds(1), Ending.ROLL_BACK)], [Turn("two", _adds(1))]])
    await _play(stepper, "1 2 1 2")
    assert [each.ended for each in stepper.played] == ["rolled back", "committed"]
    assert await _amounts(arena) == [1, 0, 0]


async def test_after_an_unknown_commit_the_whole_operation_is_repeated(
    arena: Arena, stepper: Stepper
) -> None:
    await stepper.begin([[Turn("one", _adds(1, 2), Ending.UNKNOWN_COMMIT)]])
    await _play(stepper, "1 1 1 1 1 1")
    assert not stepper.steps()
    assert [(each.repeat, each.told) for each in stepper.played] == [(0, 1), (1, 2)]
    assert await _amounts(arena) == [2, 2, 0]


async def test_a_killed_connection_loses_its_transaction_and_the_caller_repeats_it(
    arena: Arena, stepper: Stepper
) -> None:
    killed = stepper.connections[0]
    await stepper.begin([[Turn("one", _adds(1), Ending.KILL)], [Turn("two", _adds(1))]])
    await _play(stepper, "1 2 1 2 1 1")
    assert killed.is_closed()
    assert [each.ended for each in stepper.played] == ["killed", "committed", "committed"]
    assert await _amounts(arena) == [2, 0, 0]


async def test_sessions_that_wait_in_a_circle_are_a_failure(arena: Arena, stepper: Stepper) -> None:
    await stepper.begin([[Turn("one", _adds(1, 2))], [Turn("two", _adds(2, 1))]])
    await _play(stepper, "1 2 1")
    with pytest.raises(Unexpected) as failure:
        await _play(stepper, "2")
    assert isinstance(failure.value.__cause__, asyncpg.DeadlockDetectedError)
    assert await _amounts(arena) == [0, 0, 0], "everything was rolled back"


async def test_what_is_abandoned_leaves_nothing(arena: Arena, stepper: Stepper) -> None:
    await stepper.begin([[Turn("one", _adds(1, 2))], [Turn("two", _adds(1))]])
    await _play(stepper, "1 2")
    await stepper.abandon()
    assert not stepper.steps()
    assert await _amounts(arena) == [0, 0, 0]


@pytest.mark.parametrize(
    ("sql", "touches", "reads"),
    [
        ("-- read\n-- for update is said here only\nselect 1 from mainspring.run", "", "run"),
        ("select id from mainspring.run for update", "run", "run"),
        ("select 1 from mainspring.run_view", "", "ready run run_history task task_history"),
        (
            (
                "with gone as (delete from mainspring.ready returning 1)"
                " select 1 from mainspring.run,"
                " (select from mainspring.task t where t.id = (select 1 from gone) for update) t"
            ),
            "ready task",
            "ready run task",
        ),
        ("insert into mainspring.claim select 1", "claim lease", "claim lease"),
        ("delete from mainspring.lease", "claim lease", "claim lease"),
        ("delete from mainspring.claim", "claim", "claim"),
        ("set local enable_seqscan = off", "", ""),
    ],
)
async def test_what_a_statement_touches_and_looks_at_is_read_from_its_text(
    sql: str, touches: str, reads: str
) -> None:
    step = step_of(sql)
    assert step.touches == frozenset(touches.split())
    assert step.reads == frozenset(reads.split())


async def test_an_order_prints_itself_as_a_test_that_plays_it_again(arena: Arena) -> None:
    order = Order(
        "claimed",
        ("complete A", "reap A"),
        (Ending.UNKNOWN_COMMIT, Ending.COMMIT),
        (1, 2, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1),
    )
    printed = order.printed("found by hand")
    assert len(printed.splitlines()) <= 10
    traces: list[list[str]] = []

    async def replay_here(arena: Arena, **options: str) -> None:
        traces.append(await replay(arena, **options))  # type: ignore[arg-type]

    namespace: dict[str, object] = {"Arena": Arena, "replay": replay_here}
    exec(printed, namespace)
    [test] = [value for name, value in namespace.items() if name.startswith("test_")]
    await test(arena)  # type: ignore[operator]
    [trace] = traces
    assert [int(line.split()[0]) for line in trace] == list(order.order)
    assert "2 lock_lease: waits for 1" in trace


@pytest.mark.parametrize(
    ("order", "refusal"), [("1 2 1", "ends before"), ("1 1 2 2 1", "goes on when")]
)
async def test_an_order_that_does_not_fit_its_operations_is_refused(
    arena: Arena, order: str, refusal: str
) -> None:
    with pytest.raises(ValueError, match=refusal):
        await replay(
            arena,
            world="queued",
            operations=("claim A", "claim B"),
            endings=("commit", "commit"),
            order=order,
        )
