"""The checks can fail: the oracle, the finisher and the search for the order that is to blame.

The bugs here show only when two transactions meet; one after the other, the statement is right.
The museum (`tests/fault/museum`) has more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import NamedTuple
from unittest.mock import patch

import pytest

from mainspring.store import attempts, statements
from tests.conftest import Server
from tests.fault.races.arena import Arena, Case, Failure
from tests.fault.races.mixes import play_mix, replay_mix
from tests.fault.races.oracle import serial_orders
from tests.fault.races.play import play_pair
from tests.fault.races.stepper import Played

pytestmark = pytest.mark.fault

Bug = Callable[[], AbstractContextManager[None]]


def _broken(name: str, constant: str, old: str, new: str) -> Bug:
    """Enters the same statement with a piece of it replaced."""

    @contextmanager
    def at_large() -> Iterator[None]:
        sql = statements.STATEMENTS[name]
        assert sql.count(old) == 1, f"{name} has no such text any more: {old}"
        with ExitStack() as stack:
            stack.enter_context(patch.dict(statements.STATEMENTS, {name: sql.replace(old, new)}))
            if constant:
                stack.enter_context(patch.object(attempts, constant, sql.replace(old, new)))
            yield

    return at_large


OLD_SNAPSHOT = _broken(
    "complete_attempts",
    "_COMPLETE",
    "set open_tasks = r.open_tasks - y.closed,\n    failed_tasks",
    "set open_tasks = (select s.open_tasks from mainspring.run s where s.id = r.id) - y.closed,"
    "\n    failed_tasks",
)


async def _found(server: Server, first: str, second: str, bug: Bug) -> str:
    """What is said about the first order that shows the bug."""
    name = await server.create()
    report = await play_pair(server.url(name), first, second, limit=4, disguise=bug)
    await server.drop(name)
    assert report.failures, "nobody has noticed"
    assert "await replay(" in report.failures[0].printed
    return report.failures[0].reason


async def test_a_progress_counted_from_an_old_snapshot_is_noticed(server: Server) -> None:
    """Two completers of one run both count from what they saw before they waited."""
    reason = await _found(server, "complete A", "complete B", OLD_SNAPSHOT)
    assert "no serial order ends like this" in reason


async def test_a_stop_that_looks_before_it_has_locked_is_noticed(server: Server) -> None:
    """It takes the tasks that it saw to be queued, and closes one that is being claimed."""
    bug = _broken(
        "stop_tasks",
        "",
        "or t.id in (select task_id from unqueued))",
        "or t.state = 'ready')",
    )
    await _found(server, "claim A", "cancel", bug)


async def test_a_key_that_is_looked_up_and_then_taken_is_noticed(server: Server) -> None:
    """Who comes second runs into the first one's key instead of reading it."""
    bug = _broken("create_runs", "", "order by key\n  on conflict do nothing", "order by key")
    assert "UniqueViolationError" in await _found(server, "enqueue", "enqueue", bug)


async def test_random_mixes_notice_it_too(server: Server) -> None:
    name = await server.create()
    async with Arena.open(server.url(name)) as arena:
        arena.disguise = OLD_SNAPSHOT
        failures: list[Failure] = []
        for seed in range(200):
            failure = await play_mix(arena, seed)
            if failures := [failure] if failure else await arena.failures():
                break
        assert failures, "nobody has noticed"
        assert f"replay_mix(arena, seed={seed})" in failures[0].printed
        with pytest.raises(AssertionError):
            await replay_mix(arena, seed=seed, times=200)
        arena.disguise = nullcontext
        await replay_mix(arena, seed=seed)
    await server.drop(name)


async def test_sound_statements_pass_the_same_orders(server: Server) -> None:
    """What the tests above find is the bug, and not the race."""
    name = await server.create()
    for first, second, world in (
        ("complete A", "complete B", "half a diamond"),
        ("claim A", "cancel", "queued"),
        ("enqueue", "enqueue", "empty"),
    ):
        report = await play_pair(server.url(name), first, second, worlds=[world], limit=4)
        report.check()
        assert report.counts.with_waiting
    await server.drop(name)


def test_what_had_ended_when_another_began_comes_before_it() -> None:
    ended = Played(1, 0, 0, first_step=1, last_step=2)
    meanwhile = Played(2, 0, 0, first_step=1, last_step=4)
    later = Played(3, 0, 0, first_step=3, last_step=5)
    sessions = [
        [each.session for each in order] for order in serial_orders([ended, meanwhile, later])
    ]
    assert sessions == [[1, 2, 3], [1, 3, 2], [2, 1, 3]]


class Damage(NamedTuple):
    """Something that leaves its world as no race should."""

    name: str
    sql: str = "select"

    async def play(self, arena: Arena) -> None:
        world = await arena.world("claimed", Case(lambda reason: self.name))
        await arena.keeper.execute(
            self.sql.replace("$worker", str(world.workers["A"])).replace("$run", str(world.runs[0]))
        )


DAMAGES = [
    (Damage("forgotten", "delete from mainspring.claim where worker_id = $worker"), "N1_"),
    (
        Damage(
            "ended unseen",
            "update mainspring.task set state = 'succeeded', finished_at = clock_timestamp()"
            " where id = $run; delete from races.ending where task_id = $run",
        ),
        "ended 0 times",
    ),
    (
        Damage(
            "ended twice",
            "update mainspring.task set state = 'succeeded', finished_at = clock_timestamp()"
            " where id = $run; update mainspring.task set worker_id = 1 where id = $run",
        ),
        "ended 2 times",
    ),
    (
        Damage(
            "without an end",
            "update mainspring.task set state = 'backoff', term = term + 1 where id = $run;"
            " insert into mainspring.timer values ('backoff', 'infinity', $run, 2)",
        ),
        "reaches no end: backoff",
    ),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES, ids=[case.name for case, _ in DAMAGES])
async def test_of_a_batch_of_worlds_the_damaged_one_is_blamed(
    server: Server, damage: Damage, reason: str
) -> None:
    name = await server.create()
    async with Arena.open(server.url(name)) as arena:
        for case in (Damage("sound"), damage, Damage("sound too")):
            await case.play(arena)
        [failure] = await arena.failures()
        assert failure.printed == damage.name
        assert reason in failure.reason
        await Damage("sound").play(arena)
        assert not await arena.failures(), "nothing is left of it"
    await server.drop(name)
