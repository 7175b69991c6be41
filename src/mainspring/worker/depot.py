"""The depot: where a worker gets its tasks, and where it reports their ends.

These are all the calls that a worker makes. Beside the database they are SQL
(`worker/sql_depot.py`); from afar they are the same over HTTP (`worker/remote_depot.py`).
Whatever is asked is asked until it is answered, across any outage, and asking twice is asking
once: ids of claims are made by the worker, and every change is fenced by its term.

Only `Reaped` comes out of a depot that is out of luck: the lease is gone, and with it all that
the worker held; and `Unwelcome`, when no repetition will help.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from mainspring.domain.draining import Drain
from mainspring.domain.errors import UnavailableError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Outcome
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.domain.uses import Use
from mainspring.store.attempts import Claimed

CLAIM_BATCH = 500
COMPLETION_BATCH = 1000


class Unwelcome(UnavailableError):
    """The server does not take this worker, or takes it no more: its token is refused."""


class Report(msgspec.Struct, frozen=True):
    """The end of one attempt, as its worker tells it; times are the database's."""

    claimed: Claimed
    task: TaskSpec
    outcome: Outcome
    started_us: int | None
    finished_us: int
    chained: bool
    """Whether children may be granted straight to this worker."""
    use: Use | None = None
    """What it used, if that was measured."""


class Reported(msgspec.Struct, frozen=True):
    superseded: Collection[tuple[int, int]]
    """(task, term) of ends that came too late."""
    refused: Collection[tuple[int, int]]
    """Those, and what had been accepted before: nothing that they would have led to is known."""
    grants: Sequence[Claimed]


class Beat(msgspec.Struct, frozen=True):
    """A renewal that was answered, and what it told of the time."""

    now: datetime
    """The database's clock, between `asked_ns` and `answered_ns` of ours."""
    unknown_claims: Sequence[UUID]
    """Those that the question did not name."""
    stops: Sequence[tuple[int, int, str]]
    """(task, term, kind of stop) of what somebody wants stopped, or has closed."""
    drain: Drain | None
    """Whether somebody wants the worker to claim no more, until it is resumed or stopped."""
    sent_at: float
    """When the renewal was sent, by the monotonic clock."""
    asked_ns: int
    answered_ns: int

    def lost_claims(self, known: Collection[UUID]) -> list[UUID]:
        """Those whose answer was lost: nobody runs what they hold.

        `known` are the claims that are known now. The question may have been on its way for long,
        and what was claimed meanwhile is not lost.
        """
        return [claim_id for claim_id in self.unknown_claims if claim_id not in known]


class Taker(Protocol):
    """Who has slots to fill: an incarnation, as its depot sees it."""

    @property
    def draining(self) -> bool:
        """Whether it claims nothing now."""

    @property
    def leaving(self) -> bool:
        """Whether it never will again."""

    def free(self, kind: SlotKind) -> int: ...

    def begin_claim(self, kind: SlotKind, count: int) -> UUID:
        """Slots are taken for a claim with this id, which is known from now on."""

    def end_claim(
        self, claim_id: UUID, kind: SlotKind, count: int, batch: Sequence[Claimed]
    ) -> None:
        """What the claim brought goes to work; slots that it left free are given back."""


class Reading(Protocol):
    """What tasks are made of, read when a worker meets it for the first time."""

    async def read_versions(self, ids: Sequence[int]) -> Mapping[int, DagSpec]: ...

    async def read_schedule_names(self, ids: Sequence[int]) -> Mapping[int, str]: ...

    async def read_results(self, task_ids: Sequence[int]) -> Mapping[int, bytes | None]: ...

    async def read_parameters(self, run_ids: Sequence[int]) -> Mapping[int, bytes]: ...

    async def read_snapshots(self, ids: Sequence[int]) -> Mapping[int, str]:
        """The digest of each."""

    async def fetch_snapshot(self, snapshot_id: int) -> bytes | None:
        """The packed files; None if nobody keeps them any more."""


class Depot(Reading, Protocol):
    async def join(
        self,
        *,
        name: str,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
        drain: Drain | None = None,
    ) -> int:
        """Take a lease, to be drained from the beginning or not; the worker's number."""

    async def supply(self, taker: Taker) -> None:
        """Claim for free slots, for ever."""

    def slots_freed(self) -> None:
        """Look at the slots again: some are free that were not, or the worker drains."""

    async def listen(self, stop: Callable[[], None]) -> None:
        """Call `stop` whenever a task in hand may have to stop, for ever; a hint."""

    async def renew(
        self,
        known_claims: Callable[[], Sequence[UUID]],
        *,
        draining: bool,
        rates: Mapping[int, float],
    ) -> Beat:
        """Renew the lease. Claims are known that are in hand or asked for, at each try.

        `rates` holds how many attempts of each lane ended per second.
        """

    async def complete(
        self,
        reports: Sequence[Report],
        *,
        emptied: Sequence[UUID],
        grant_claim: UUID,
        offered: Mapping[SlotKind, int],
    ) -> Reported:
        """Report ends, and claims of which nothing is left. Children may fill offered slots."""

    def lanes_of(self, kind: SlotKind) -> int:
        """In how many lanes slots of a kind are offered to children."""

    async def give_back(
        self, claims: Sequence[UUID], reason: str, begun: Set[tuple[int, int]] = frozenset()
    ) -> None:
        """Hand back all that these claims hold; what has begun may not be allowed to again."""

    async def mark_started(self, started: Sequence[tuple[int, int, int]]) -> None:
        """(task, term, µs since the epoch) of attempts that last."""

    async def record_progress(self, told: Mapping[tuple[int, int], tuple[float, str]]) -> None:
        """Percent and text by (task, term)."""

    async def append_log(self, chunks: Sequence[tuple[int, int, int, bytes]]) -> None:
        """(task, term, start, content). Empty content: what came next is lost."""

    async def leave(self) -> None:
        """Give the lease back. Everything in hand has been reported."""

    async def close(self) -> None: ...
