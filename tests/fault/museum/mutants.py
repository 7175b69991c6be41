"""The bug museum: bugs that other schedulers had, put into our code while it runs.

A mutant replaces text of a statement or a function. What it replaces has to be there, word for
word, so a change of the code that makes an exhibit meaningless is noticed at once. Where the
database itself would refuse the bug (a trigger, a constraint), that guard is taken away too: the
question is whether the harness sees the bug, not whether a second wall stands behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import UUID, uuid4

from mainspring.domain.outcomes import Cancelled
from mainspring.engine import reap
from mainspring.executors.jobs import Ended
from mainspring.schedule import firing
from mainspring.store import attempts, schedule_changes, statements
from mainspring.store.connection import Connection, fetch
from mainspring.store.duties import Lease
from mainspring.store.schedules import lock_schedules, standing_schedules
from mainspring.store.settling import Settler
from mainspring.worker import incarnation, sql_claims

_WITHOUT_TURN = "on s.schedule_id = u.schedule_id"

_CONSTANTS = {
    "register_worker": "_REGISTER",
    "claim_attempts": "_CLAIM",
    "renew_lease": "_RENEW",
    "complete_attempts": "_COMPLETE",
}
"""Statements that `store.attempts` looks up once."""


class Mutant(NamedTuple):
    name: str
    story: str
    """Who had it."""
    apply: Callable[[ExitStack], None]
    unguard: str = ""
    """SQL that takes away the guards which would refuse it."""

    @contextmanager
    def at_large(self) -> Iterator[None]:
        with ExitStack() as stack:
            self.apply(stack)
            yield


def _rewritten(statement: str, *changes: tuple[str, str]) -> Callable[[ExitStack], None]:
    def apply(stack: ExitStack) -> None:
        sql = statements.STATEMENTS[statement]
        for old, new in changes:
            assert sql.count(old) == 1, f"{statement} has no such text any more: {old}"
            sql = sql.replace(old, new)
        stack.enter_context(patch.dict(statements.STATEMENTS, {statement: sql}))
        if constant := _CONSTANTS.get(statement):
            stack.enter_context(patch.object(attempts, constant, sql))

    return apply


def _replaced(owner: Any, name: str, value: Any) -> Callable[[ExitStack], None]:
    def apply(stack: ExitStack) -> None:
        assert hasattr(owner, name), f"{owner} has no {name} any more"
        stack.enter_context(patch.object(owner, name, value))

    return apply


def _both(*parts: Callable[[ExitStack], None]) -> Callable[[ExitStack], None]:
    def apply(stack: ExitStack) -> None:
        for part in parts:
            part(stack)

    return apply


# --- the exhibits --------------------------------------------------------------------------


async def _claim_under_a_new_name(
    connection: Connection, claim_id: UUID, *args: Any
) -> list[attempts.Claimed]:
    """Each try makes a claim id of its own, so what a lost answer took is taken for ever."""
    return await attempts.claim_attempts(connection, uuid4(), *args)


def _all_time_counts(self: reap.Reap) -> float:
    """Whatever passed since the last look, connected or not, is held against the workers."""
    looked_at = time.monotonic()
    elapsed = looked_at - self._looked_at if self._looked_at else 0.0
    self._looked_at = looked_at
    return elapsed


async def _read_expired(connection: Connection) -> list[Lease]:
    rows = await fetch(
        connection,
        "select worker_id, beat, seconds, '' as name from mainspring.lease"
        " where renewed_at < clock_timestamp() - seconds * interval '1 second'",
    )
    return [Lease(row["worker_id"], row["beat"], row["seconds"], row["name"]) for row in rows]


_ended = incarnation.Incarnation.ended


def _keep_slots_of_the_cancelled(self: incarnation.Incarnation, ended: Sequence[Ended]) -> None:
    _ended(self, ended)
    for end in ended:
        if isinstance(end.outcome, Cancelled):
            holding = self._hand.get(end.task_id, end.term)
            assert holding is not None
            self._slots._taken[holding.kind] += 1


async def _change_without_settling(
    connection: Connection, schedule_id: int, now: datetime | None, tenant_id: int
) -> Any:
    """What was due until now is nobody's concern any more."""
    await lock_schedules(connection, [schedule_id])
    [standing] = await standing_schedules(connection, now, [schedule_id])
    return schedule_changes._Change(connection, standing, Settler(), tenant_id)


MUTANTS = {
    mutant.name: mutant
    for mutant in (
        Mutant(
            "stale_completion_accepted",
            "Fenced by the attempt's number, which a hand-back does not raise: whoever repeats a"
            " report after the task was handed on reports for somebody else.",
            _rewritten(
                "complete_attempts",
                (
                    "term = t.term + case when i.open and t.stop is null then 1 else 0 end",
                    "term = t.term + case when i.open and t.stop is null then i.charged else 0 end",
                ),
                (
                    "error\n  from moved where error is not null),",
                    "error\n  from moved where error is not null on conflict do nothing),",
                ),
            ),
            unguard="drop trigger task_terms on mainspring.task",
        ),
        Mutant(
            "recovery_fences_the_innocent",
            "Recovery takes back all tasks that a dead worker's claims name, also those that"
            " moved on to another worker long ago.",
            _rewritten(
                "read_claims",
                (
                    "on t.id = k.id and t.term = k.term and t.state = 'ready'",
                    "on t.id = k.id and t.state = 'ready'",
                ),
            ),
        ),
        Mutant(
            "claim_lost_at_an_unknown_commit",
            "The answer to a claim's COMMIT is lost, and the worker asks for other tasks instead of"
            " asking for the same ones: the first are claimed by a living worker that never runs"
            " them.",
            _both(
                _replaced(sql_claims, "claim_attempts", _claim_under_a_new_name),
                _rewritten(
                    "renew_lease",
                    (
                        "c.worker_id = $1 and c.id <> all($2::uuid[]) and",
                        "c.worker_id = $1 and c.id <> all($2::uuid[]) and false and",
                    ),
                ),
            ),
        ),
        Mutant(
            "mass_reaping_after_a_database_restart",
            "Time in which the database was away counts as silence of the workers; when it is"
            " back, all of them are given up.",
            _replaced(reap.Reap, "_elapsed", _all_time_counts),
        ),
        Mutant(
            "expiry_by_transaction_start",
            "A renewal writes now(), the start of its transaction. One that waited writes a time"
            " long past, and the worker is given up at the moment it renewed.",
            _both(
                _rewritten("renew_lease", ("renewed_at = clock_timestamp()", "renewed_at = now()")),
                _replaced(reap, "read_leases", _read_expired),
                _replaced(reap, "observe", lambda watches, leases, elapsed: list(leases)),
            ),
        ),
        Mutant(
            "cancel_overtaken_by_completion",
            "A cancel that does not lock the run misses the child that a completion readies at the"
            " same time.",
            _both(
                _rewritten("lock_runs", ("order by id for update", "order by id")),
                _rewritten("lock_tasks", ("order by t.id for update", "order by t.id")),
            ),
        ),
        Mutant(
            "empty_claim_leaks",
            "A claim that found nothing leaves its row behind, one for every look at an empty"
            " queue.",
            _rewritten(
                "claim_attempts",
                (
                    "array_agg(id), array_agg(term) from held having count(*) > 0",
                    """coalesce(array_agg(id), '{}'), coalesce(array_agg(term), '{}') from held
                    where not exists (select 1 from again)""",
                ),
            ),
            unguard="alter table mainspring.claim drop constraint claim_check",
        ),
        Mutant(
            "slot_leak_on_cancel",
            "A task that ends because it was cancelled keeps its slot; after enough of them the"
            " worker beats on and claims nothing.",
            _replaced(incarnation.Incarnation, "ended", _keep_slots_of_the_cancelled),
        ),
        Mutant(
            "lost_wake_up",
            "A timer is taken although the task it stands for is locked by somebody else at that"
            " moment; the task sleeps for ever.",
            _rewritten(
                "wake_backoff",
                ("order by t.id for update of t", "order by t.id for update of t skip locked"),
            ),
        ),
        Mutant(
            "children_granted_twice",
            "A completion whose answer was lost is repeated, and counts as a second parent.",
            _rewritten(
                "complete_attempts",
                (
                    "where t.id = i.id and t.term = i.term and t.state = 'ready' and i.held",
                    "where t.id = i.id and t.term = i.term and i.held",
                ),
            ),
        ),
        Mutant(
            "fire_doubled_at_a_leader_change",
            "The old leader was frozen between its look and its write, and writes when it wakes up"
            " what the new leader has long fired.",
            _rewritten(
                "move_schedules",
                ("on s.schedule_id = u.schedule_id and s.turn = u.turn", _WITHOUT_TURN),
            ),
        ),
        Mutant(
            "fire_lost_when_the_spec_is_edited_just_after_it_was_due",
            "An edit computes the next fire from now on, and what was due a moment ago and not yet"
            " fired is forgotten.",
            _replaced(schedule_changes._Change, "of", staticmethod(_change_without_settling)),
        ),
        Mutant(
            "catch_up_skips_the_last_one",
            "After downtime only the last of what was missed is to be made up for, and that one is"
            " given up with the others.",
            _replaced(firing, "_last_that_counts", lambda timetable, now: None),
        ),
    )
}
