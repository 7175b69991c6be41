"""Hand back what claims hold of which nobody knows that they were granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from uuid import UUID

from mainspring.domain.outcomes import Decision, HandedBack, decide, outcome_at_most_once
from mainspring.domain.specs import DagSpec
from mainspring.store.attempts import Completion, Held, complete_attempts, read_claims
from mainspring.store.connection import Line
from mainspring.store.dags import read_versions

_BATCH = 1000


async def give_back_claims(
    line: Line,
    worker_id: int,
    claims: Sequence[UUID],
    reason: str,
    now_us: int,
    begun: Set[tuple[int, int]] = frozenset(),
) -> set[int]:
    """The lanes that got tasks. `begun` holds (task, term) of what has started."""
    held = await line.call(read_claims, worker_id, claims, _BATCH)
    specs = await line.call(read_versions, [item.version_id for item in held])
    completions = [
        Completion(
            item.task_id,
            item.term,
            item.claim_id,
            item.run_id if item.many else None,
            _decision(item, specs, reason, begun=(item.task_id, item.term) in begun),
            None,
            now_us,
        )
        for item in held
    ]
    completed = await line.call(
        complete_attempts,
        worker_id,
        completions,
        emptied=claims if len(held) < _BATCH else (),
    )
    return completed.lanes


def _decision(item: Held, specs: Mapping[int, DagSpec], reason: str, *, begun: bool) -> Decision:
    task = specs[item.version_id].tasks[item.node]
    outcome = outcome_at_most_once(HandedBack(reason), task, begun=begun)
    return decide(outcome, task, item.attempt, item.lost, 0.0)
