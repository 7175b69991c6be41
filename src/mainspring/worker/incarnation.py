"""One life of a worker under one lease: claim, run, report, beat, until drained or reaped.

    claim loop ──► prepare ──► hosts ──► completion loop ──► (grants) ──► prepare …
                                 │
                                 └► log loop, start loop          beat loop

Each loop has a connection of its own with one statement in flight; whatever piles up meanwhile
is its next batch. The beat loop decides how long the hosts may be trusted: after each answered
beat the guard is told until when, counted from the moment the beat was *sent*. When no answer
comes the guard freezes the hosts before anybody else may take their tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import structlog

from mainspring import faults
from mainspring.config import Config
from mainspring.domain.lanes import EVERY_QUEUE, Lane, SlotKind
from mainspring.domain.outcomes import (
    Cancelled,
    Decision,
    Error,
    HandedBack,
    Lost,
    Outcome,
    Succeeded,
    decide,
)
from mainspring.domain.specs import DagSpec
from mainspring.executors.hosts import Hosts
from mainspring.executors.jobs import Ended
from mainspring.store.attempts import (
    Completed,
    Completion,
    Held,
    Renewed,
    claim_attempts,
    complete_attempts,
    end_worker,
    mark_started,
    read_claims,
    record_progress,
    register_worker,
    renew_lease,
)
from mainspring.store.connection import Connection, Line
from mainspring.store.dags import ensure_queues, list_queue_ids, read_versions
from mainspring.store.duties import raise_epoch
from mainspring.store.wakeups import Bell, listen
from mainspring.worker.clock import DatabaseClock
from mainspring.worker.floors import Floors
from mainspring.worker.hand import Hand, Holding
from mainspring.worker.inputs import Inputs
from mainspring.worker.logs import Logs
from mainspring.worker.slots import Slots

log = structlog.get_logger(__name__)

CLAIM_BATCH = 500
COMPLETION_BATCH = 1000
LINKS_MAX = 100
"""Grants in a row after which a chain goes through the queue once, so that others get a turn."""

_STOPS = {
    "cancel": "by request",
    "terminate": "by request, at once",
    "deadline": "the run's timeout passed",
    "mark": "it was marked by hand",
}
"""What a stop note says, in words."""
_POLL_SECONDS = 0.25
_START_SECONDS = 0.2
_NEW_QUEUES_SECONDS = 1.0
_PROGRESS_SECONDS = 1.0
_UNPREPARED_DELAY_SECONDS = 5.0


class Incarnation:
    def __init__(
        self,
        config: Config,
        url: str,
        *,
        name: str,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
    ) -> None:
        self._leases = config.leases
        self._url = url
        self._name = name
        self._queues = list(queues)
        self._slot_sizes = {kind: count for kind, count in slots.items() if count}
        self._slots = Slots(self._slot_sizes)
        self._hand = Hand()
        self._clock = DatabaseClock()
        self._claim_line = Line(url, name=f"{name} claim", stable_plans=True, greet=raise_epoch)
        self._complete_line = Line(
            url, name=f"{name} complete", stable_plans=True, greet=raise_epoch
        )
        # A line that went dead without a word is given up while there is time for another beat.
        self._beat_line = Line(
            url, name=f"{name} beat", patience_seconds=self._leases.trusted_seconds / 2
        )
        self._aside_line = Line(url, name=f"{name} aside")
        self._log_line = Line(url, name=f"{name} log")
        self._bell_line = Line(url, name=f"{name} notify")
        self._bell = Bell(self._bell_line)
        self._hosts = Hosts(self, slots=self._slot_sizes)
        self._inputs = Inputs(config, self._aside_line, self._hosts.snapshots)
        self._logs = Logs(
            self._log_line,
            hold=self._hosts.pause_reading,
            release=self._hosts.resume_reading,
        )
        self._worker_id = 0
        self._lanes: dict[int, SlotKind] = {}
        self._floors: dict[int, Floors] = {}
        self._promising: set[int] = set()
        """Lanes in which the next claim may find something."""
        self._claim_wanted = asyncio.Event()
        self._beat_wanted = asyncio.Event()
        self._ended: list[tuple[Holding, Ended]] = []
        self._ended_wanted = asyncio.Event()
        self._started: list[tuple[int, int, int]] = []
        self._progress: dict[tuple[int, int], tuple[float, str]] = {}
        """By task and term: the last word of each, not written yet."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._asking: set[UUID] = set()
        """Claims that are asked for and not answered yet: known, though not in hand."""
        self._group = asyncio.TaskGroup()
        self.draining = False

    # --- its life --------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; raises Reaped when the lease is lost."""
        await self._join()
        async with self._group as group:
            for loop in (
                self._beat_loop(),
                self._claim_loop(),
                self._completion_loop(),
                self._start_loop(),
                self._queue_loop(),
                self._logs.run(),
                self._bell.run(),
                listen(
                    self._url, ready=self._on_ready, stop=self._beat_wanted.set, name=self._name
                ),
            ):
                group.create_task(loop)

    async def drain(self, grace_seconds: float) -> None:
        """Claim no more; let what runs finish, hand back what does not by then."""
        self.draining = True
        self._beat_wanted.set()
        self._hosts.hand_back_unstarted()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), grace_seconds)
        await self.hand_back("the worker stopped before the task had ended")

    async def hand_back(self, reason: str) -> None:
        """Stop everything that runs, and hand it back uncharged."""
        self.draining = True
        for holding in self._hand:
            self._hosts.stop(holding.claimed.task_id, holding.claimed.term, HandedBack(reason))
        await self._idle.wait()

    async def leave(self) -> None:
        """Give the lease back. Everything in hand has been reported."""
        try:
            await self._beat_line.call(end_worker, self._worker_id, "stopped")
        except asyncpg.ForeignKeyViolationError:
            # A claim whose answer was lost is still there; the reaper will find it.
            log.warning("the lease is left to the engine")

    async def close(self) -> None:
        await self._hosts.close(kill=True)
        for line in (
            self._claim_line,
            self._complete_line,
            self._beat_line,
            self._aside_line,
            self._log_line,
            self._bell_line,
        ):
            await line.close()

    async def _join(self) -> None:
        self._worker_id = await self._beat_line.call(
            register_worker,
            uuid4(),
            name=self._name,
            host=socket.gethostname(),
            pid=os.getpid(),
            queues=self._queues,
            slots=self._slot_sizes,
            lease_seconds=self._leases.lease_seconds,
        )
        if self._queues == [EVERY_QUEUE]:
            await self._serve_new_queues()
        else:
            queues = await self._beat_line.call(ensure_queues, self._queues)
            self._serve(queues.values())
        log.info("worker joined", worker=self._name, id=self._worker_id, queues=self._queues)

    def _serve(self, queue_ids: Iterable[int]) -> None:
        for queue_id in queue_ids:
            for kind in self._slot_sizes:
                lane = Lane(queue_id, kind).number
                if lane not in self._lanes:
                    self._lanes[lane] = kind
                    self._floors[lane] = Floors()
                    self._promising.add(lane)
                    self._claim_wanted.set()

    async def _serve_new_queues(self) -> None:
        self._serve(await self._aside_line.call(list_queue_ids))

    async def _queue_loop(self) -> None:
        """Who serves all queues looks for new ones."""
        while self._queues == [EVERY_QUEUE]:
            await asyncio.sleep(_NEW_QUEUES_SECONDS)
            await self._serve_new_queues()

    # --- claim -----------------------------------------------------------------------------

    def _on_ready(self, lanes: set[int]) -> None:
        self._promising |= lanes & self._lanes.keys()
        self._claim_wanted.set()

    async def _claim_loop(self) -> None:
        self._promising = set(self._lanes)
        while True:
            claimed_any = False
            for lane in self._next_lanes():
                claimed_any |= await self._claim(lane)
            if not claimed_any:
                try:
                    await asyncio.wait_for(self._claim_wanted.wait(), _POLL_SECONDS)
                except TimeoutError:
                    self._promising = set(self._lanes)
                self._claim_wanted.clear()

    def _next_lanes(self) -> list[int]:
        """Promising lanes with a free slot, in random order so that no queue comes first."""
        if self.draining:
            return []
        lanes = [lane for lane in self._promising if self._slots.free(self._lanes[lane]) > 0]
        random.shuffle(lanes)
        return lanes

    async def _claim(self, lane: int) -> bool:
        kind = self._lanes[lane]
        rivals = sum(1 for other in self._promising if self._lanes[other] == kind)
        count = min(-(-self._slots.free(kind) // rivals), CLAIM_BATCH)
        if count <= 0:
            return False
        self._slots.take(kind, count, time.monotonic())
        # One id for all repetitions: after a lost answer the same tasks come again.
        claim_id = uuid4()
        self._asking.add(claim_id)
        floors = self._floors[lane]
        batch = await self._claim_line.call(
            claim_attempts, claim_id, self._worker_id, lane, count, floors.next(time.monotonic())
        )
        short = len(batch) < count
        floors.learn(batch, time.monotonic(), short=short)
        self._slots.give_back(kind, count - len(batch))
        if short:
            self._promising.discard(lane)
        self._take([Holding(claimed, kind) for claimed in batch], {})
        self._asking.discard(claim_id)
        return bool(batch)

    def _take(self, holdings: Sequence[Holding], known_results: Mapping[int, bytes | None]) -> None:
        """Tasks are in hand: prepare and start them, without keeping the caller waiting."""
        if not holdings:
            return
        if forgotten := self._hand.already_there(holdings):
            self._group.create_task(self._give_up_forgotten(forgotten, holdings))
            return
        self._hand.take(holdings)
        self._idle.clear()
        self._group.create_task(self._prepare(holdings, known_results))

    async def _give_up_forgotten(
        self, forgotten: Sequence[Holding], holdings: Sequence[Holding]
    ) -> None:
        """A failover lost the claim of what runs here, and it was claimed again.

        Its end could not be reported any more. So it stops, and the new claim goes back as a
        whole: the next one comes under a higher term.
        """
        log.warning("claimed what runs here already", tasks=len(forgotten))
        reason = "a failover of the database lost its claim"
        begun = {(holding.claimed.task_id, holding.claimed.term) for holding in forgotten}
        for task_id, term in begun:
            self._hosts.stop(task_id, term, HandedBack(reason))
        for holding in holdings:
            self._slots.give_back(holding.kind)
        await self._hand_back_claims([holdings[0].claimed.claim_id], reason, begun)

    async def _prepare(
        self, holdings: Sequence[Holding], known_results: Mapping[int, bytes | None]
    ) -> None:
        batch = [holding.claimed for holding in holdings]
        try:
            jobs, unable = await self._inputs.prepare(batch, known_results)
        except Exception as error:
            # Whatever one task's data does to us, the worker and its other tasks live on.
            log.exception("tasks could not be prepared")
            back = HandedBack(f"could not be prepared: {error!r}", _UNPREPARED_DELAY_SECONDS)
            jobs, unable = [], [(claimed, back) for claimed in batch]
        if self.draining:
            held = {(claimed.task_id, claimed.term): claimed for claimed in batch}
            back = HandedBack("the worker is draining")
            unable += [(held[job.task_id, job.term], back) for job in jobs]
        else:
            faults.point("tasks are in hand and not started")
            self._hosts.submit(jobs)
        now_us = time.time_ns() // 1000
        self.ended([Ended(c.task_id, c.term, outcome, None, now_us) for c, outcome in unable])

    # --- what the hosts tell ---------------------------------------------------------------

    def started(self, task_id: int, term: int, started_us: int) -> None:
        self._started.append((task_id, term, self._clock.database_us(started_us)))

    def progressed(self, task_id: int, term: int, percent: float, text: str) -> None:
        self._progress[task_id, term] = (percent, text)

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        self._logs.add(task_id, term, data)

    def ended(self, ended: Sequence[Ended]) -> None:
        for end in ended:
            holding = self._hand.get(end.task_id, end.term)
            assert holding is not None, "a task ended that this worker does not hold"
            self._slots.give_back(holding.kind)
            if end.log_cut:
                self._logs.cut(end.task_id, end.term)
            if end.started_us is not None:
                seconds = (end.finished_us - end.started_us) / 1e6
                self._slots.learn(holding.kind, seconds, time.monotonic())
            self._ended.append((holding, end))
        if self._ended:
            self._ended_wanted.set()
            self._claim_wanted.set()

    async def _start_loop(self) -> None:
        progress_at = 0.0
        while True:
            await asyncio.sleep(_START_SECONDS)
            for kind in self._slots.blocked(time.monotonic()):
                if self._hosts.hand_back_waiting(kind, "it waited behind a long task"):
                    self._slots.expect_long(kind)
            started, self._started = self._started, []
            if started:
                await self._aside_line.call(mark_started, self._worker_id, started)
            if self._progress and time.monotonic() >= progress_at:
                progress_at = time.monotonic() + _PROGRESS_SECONDS
                told, self._progress = self._progress, {}
                await self._aside_line.call(record_progress, told)

    # --- completion ------------------------------------------------------------------------

    async def _completion_loop(self) -> None:
        while True:
            await self._ended_wanted.wait()
            batch, self._ended = (
                self._ended[:COMPLETION_BATCH],
                self._ended[COMPLETION_BATCH:],
            )
            if not self._ended:
                self._ended_wanted.clear()
            await self._complete(batch)
            if not len(self._hand):
                self._idle.set()

    async def _complete(self, batch: Sequence[tuple[Holding, Ended]]) -> None:
        keys = [(end.task_id, end.term) for _, end in batch]
        if unwritten := [key for key in keys if self._logs.pending(key)]:
            # The log is accepted under the term that this completion may end.
            await self._logs.flush(unwritten)
        for key in keys:
            self._logs.forget(key)
        holdings = [holding for holding, _ in batch]
        completions = [self._completion(holding, end) for holding, end in batch]
        grants = self._reserve_grants(batch)
        faults.point("tasks have ended and are not reported")
        grant_claim = uuid4()
        self._asking.add(grant_claim)
        completed = await self._complete_line.call(
            complete_attempts,
            self._worker_id,
            completions,
            emptied=self._hand.emptied_by(holdings),
            grant_claim=grant_claim,
            grant_slots=grants,
        )
        self._hand.let_go(holdings)
        self._give_back_unused(grants, completed)
        self._follow(batch, completed)
        self._asking.discard(grant_claim)

    def _completion(self, holding: Holding, end: Ended) -> Completion:
        claimed = holding.claimed
        task = self._inputs.task(claimed)
        outcome = end.outcome
        if isinstance(outcome, HandedBack) and end.started_us and task.on_lost == "fail":
            # At most once: what has begun is not begun again, whoever stopped it.
            outcome = Lost(Error("Stopped", outcome.reason))
        decision = decide(
            outcome,
            task,
            claimed.attempt,
            claimed.lost,
            random.random(),
        )
        return Completion(
            claimed.task_id,
            claimed.term,
            claimed.claim_id,
            claimed.run_id if claimed.many else None,
            decision,
            None if end.started_us is None else self._clock.database_us(end.started_us),
            self._clock.database_us(end.finished_us),
            chained=holding.links < LINKS_MAX,
        )

    def _reserve_grants(self, batch: Sequence[tuple[Holding, Ended]]) -> dict[int, int]:
        """Free slots, by lane, for the children of this batch: at most as many as it freed."""
        if self.draining:
            return {}
        parents = sum(
            1
            for holding, end in batch
            if holding.claimed.many and isinstance(end.outcome, Succeeded)
        )
        grants: dict[int, int] = {}
        for kind in self._slot_sizes if parents else ():
            lanes = [lane for lane, its_kind in self._lanes.items() if its_kind == kind]
            share = min(self._slots.free(kind), parents) // len(lanes) or min(
                self._slots.free(kind), 1
            )
            for lane in lanes:
                count = min(share, self._slots.free(kind))
                if count:
                    self._slots.take(kind, count, time.monotonic())
                    grants[lane] = count
        return grants

    def _give_back_unused(self, grants: Mapping[int, int], completed: Completed) -> None:
        used: dict[int, int] = {}
        for grant in completed.grants:
            used[grant.lane] = used.get(grant.lane, 0) + 1
        for lane, count in grants.items():
            self._slots.give_back(self._lanes[lane], count - used.get(lane, 0))

    def _follow(self, batch: Sequence[tuple[Holding, Ended]], completed: Completed) -> None:
        """Start what was granted, and wake whoever can run the rest."""
        results: dict[int, bytes | None] = {}
        links: dict[int, int] = {}
        for holding, end in batch:
            claimed = holding.claimed
            if claimed.many and isinstance(end.outcome, Succeeded):
                results[claimed.task_id] = end.outcome.result
                links[claimed.run_id] = max(links.get(claimed.run_id, 0), holding.links)
        for key, reason in completed.refused.items():
            results.pop(key[0], None)
            if reason == "superseded":
                log.warning("completion refused: superseded", task=key[0], term=key[1])
        self._take(
            [
                Holding(grant, self._lanes[grant.lane], links.get(grant.run_id, 0) + 1)
                for grant in completed.grants
            ],
            results,
        )
        self._bell.ready(completed.lanes)
        self._on_ready(completed.lanes)

    # --- beat ------------------------------------------------------------------------------

    async def _beat_loop(self) -> None:
        # The first answer on a connection is slow and tells the time badly; the next one is not.
        await self._beat_line.call(self._beat)
        while True:
            renewed = await self._beat_line.call(self._beat)
            self._heed_stops(renewed.stops)
            if renewed.unknown_claims:
                # Their answer never reached us: nobody runs them.
                await self._hand_back_claims(
                    renewed.unknown_claims, "the answer to its claim was lost"
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._beat_wanted.wait(), self._leases.renew_seconds)
            self._beat_wanted.clear()

    async def _beat(self, connection: Connection) -> Renewed:
        sent_at, asked_ns = time.monotonic(), time.time_ns()
        renewed = await renew_lease(
            connection,
            self._worker_id,
            [*self._hand.claims, *self._asking],
            draining=self.draining,
            claims_known_after=timedelta(seconds=self._leases.renew_seconds),
        )
        self._clock.learn(renewed.now, asked_ns, time.time_ns())
        self._hosts.lease_until(sent_at + self._leases.trusted_seconds)
        return renewed

    def _heed_stops(self, stops: Sequence[tuple[int, int, str]]) -> None:
        for task_id, term, kind in stops:
            if self._hand.get(task_id, term):
                outcome = Cancelled(_STOPS[kind])
                self._hosts.stop(task_id, term, outcome, at_once=kind == "terminate")

    async def _hand_back_claims(
        self, claims: Sequence[UUID], reason: str, begun: Set[tuple[int, int]] = frozenset()
    ) -> None:
        held = await self._beat_line.call(read_claims, self._worker_id, claims, COMPLETION_BATCH)
        specs = await self._beat_line.call(read_versions, [item.version_id for item in held])
        completions = [
            Completion(
                item.task_id,
                item.term,
                item.claim_id,
                item.run_id if item.many else None,
                _given_back(item, specs, reason, begun=(item.task_id, item.term) in begun),
                None,
                self._clock.now_us(),
            )
            for item in held
        ]
        completed = await self._beat_line.call(
            complete_attempts,
            self._worker_id,
            completions,
            emptied=claims if len(held) < COMPLETION_BATCH else (),
        )
        self._bell.ready(completed.lanes)
        self._on_ready(completed.lanes)


def _given_back(item: Held, specs: Mapping[int, DagSpec], reason: str, *, begun: bool) -> Decision:
    task = specs[item.version_id].tasks[item.node]
    outcome: Outcome = HandedBack(reason)
    if begun and task.on_lost == "fail":
        # At most once: what has begun is not begun again.
        outcome = Lost(Error("Stopped", reason))
    return decide(outcome, task, item.attempt, item.lost, 0.0)
