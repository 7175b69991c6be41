"""One life of a worker under one lease: claim, run, report, beat, until drained or reaped.

    claim loop ──► prepare ──► hosts ──► completion loop ──► (grants) ──► prepare …
                                 │
                                 └► log loop, start loop          beat loop

Every loop speaks to the depot (`worker/depot.py`) with one call in flight; whatever piles up
meanwhile is its next batch. The beat loop decides how long the hosts may be trusted: after each
answered beat the guard is told until when, counted from the moment the beat was *sent*. When no
answer comes the guard freezes the hosts before anybody else may take their tasks.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID, uuid4

import structlog

from mainspring import faults
from mainspring.config import Config
from mainspring.domain.draining import Drain
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import (
    Cancelled,
    Failed,
    HandedBack,
    Lost,
    Skipped,
    Succeeded,
    TimedOut,
    outcome_at_most_once,
)
from mainspring.domain.uses import Use
from mainspring.executors.hosts import Hosts
from mainspring.executors.jobs import Ended
from mainspring.observe.measures import Measures
from mainspring.patience import set_within
from mainspring.store.attempts import Claimed, Reaped
from mainspring.worker.clock import DatabaseClock
from mainspring.worker.depot import COMPLETION_BATCH, Beat, Depot, Report, Reported, Unwelcome
from mainspring.worker.hand import Hand, Holding
from mainspring.worker.inputs import Inputs
from mainspring.worker.logs import Logs
from mainspring.worker.rates import Rates
from mainspring.worker.slots import Slots

log = structlog.get_logger(__name__)

LINKS_MAX = 100
"""Grants in a row after which a chain goes through the queue once, so that others get a turn."""

_STOPS = {
    "cancel": "by request",
    "terminate": "by request, at once",
    "deadline": "the run's timeout passed",
    "mark": "it was marked by hand",
}
"""What a stop note says, in words."""
_OUTCOMES = {
    Succeeded: "succeeded",
    Failed: "failed",
    TimedOut: "timed_out",
    Skipped: "skipped",
    Lost: "lost",
    Cancelled: "cancelled",
    HandedBack: "handed_back",
}
"""As metrics call them."""
_START_SECONDS = 0.2
_PROGRESS_SECONDS = 1.0
_UNPREPARED_DELAY_SECONDS = 5.0


class Incarnation:
    def __init__(
        self,
        config: Config,
        depot: Depot,
        *,
        name: str,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
        drain: Drain | None,
        measures: Measures,
    ) -> None:
        self._leases = config.leases
        self._depot = depot
        self._name = name
        self._queues = list(queues)
        self._slot_sizes = {kind: count for kind, count in slots.items() if count}
        self._slots = Slots(self._slot_sizes)
        self._hand = Hand()
        self._clock = DatabaseClock()
        self._hosts = Hosts(self, slots=self._slot_sizes)
        self._inputs = Inputs(config, depot, self._hosts.snapshots)
        self._logs = Logs(
            depot.append_log,
            hold=self._hosts.pause_reading,
            release=self._hosts.resume_reading,
        )
        self._beat_wanted = asyncio.Event()
        self._ended: list[tuple[Holding, Ended]] = []
        self._ended_wanted = asyncio.Event()
        self._started: list[tuple[int, int, int]] = []
        self._progress: dict[tuple[int, int], tuple[float, str]] = {}
        """By task and term: the last word of each, not written yet."""
        self._uses: dict[tuple[int, int], Use] = {}
        """Of what has just ended, or is about to."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._asking: dict[UUID, float] = {}
        """Claims that are asked for and not answered yet: known, though not in hand; since when."""
        self._trusted_until = 0.0
        self._rates = Rates(time.monotonic())
        self._measures = measures
        self._show_measures()
        self._group = asyncio.TaskGroup()
        self.leaving = False
        self.drain_wanted = drain
        """What somebody wants of this worker, as far as it has heard."""
        self.done = asyncio.Event()
        """It was asked to stop, and has nothing in hand any more."""

    @property
    def draining(self) -> bool:
        """Whether it claims nothing now: by a signal, or as somebody wants so."""
        return self.leaving or self.drain_wanted is not None

    # --- its life --------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; raises Reaped when the lease is lost."""
        await self._join()
        async with self._group as group:
            for loop in (
                self._beat_loop(),
                self._depot.supply(self),
                self._completion_loop(),
                self._start_loop(),
                self._logs.run(),
                self._depot.listen(self._beat_wanted.set),
            ):
                group.create_task(loop)

    async def drain(self, grace_seconds: float) -> None:
        """Claim no more; let what runs finish, hand back what does not by then."""
        self.leaving = True
        self._beat_wanted.set()
        self._depot.slots_freed()
        self._hosts.hand_back_unstarted()
        await set_within(self._idle, grace_seconds)
        await self.hand_back("the worker stopped before the task had ended")

    async def hand_back(self, reason: str) -> None:
        """Stop everything that runs, and hand it back uncharged."""
        self.leaving = True
        self._depot.slots_freed()
        for holding in self._hand:
            self._hosts.stop(holding.claimed.task_id, holding.claimed.term, HandedBack(reason))
        await self._idle.wait()

    async def leave(self) -> None:
        """Give the lease back. Everything in hand has been reported."""
        await self._depot.leave()

    async def close(self) -> None:
        await self._hosts.close(kill=True)
        await self._depot.close()

    async def _join(self) -> None:
        worker_id = await self._depot.join(
            name=self._name, queues=self._queues, slots=self._slot_sizes, drain=self.drain_wanted
        )
        log.info("worker joined", worker=self._name, id=worker_id, queues=self._queues)

    # --- claim -----------------------------------------------------------------------------

    def free(self, kind: SlotKind) -> int:
        return self._slots.free(kind)

    def begin_claim(self, kind: SlotKind, count: int) -> UUID:
        self._slots.take(kind, count, time.monotonic())
        claim_id = uuid4()
        self._asking[claim_id] = time.monotonic()
        return claim_id

    def end_claim(
        self, claim_id: UUID, kind: SlotKind, count: int, batch: Sequence[Claimed]
    ) -> None:
        self._slots.give_back(kind, count - len(batch))
        self._take([Holding(claimed, kind) for claimed in batch], {})
        asked_at = self._asking.pop(claim_id)
        if batch:
            self._measure_claim(batch[0], time.monotonic() - asked_at)

    def _take(self, holdings: Sequence[Holding], known_results: Mapping[int, bytes | None]) -> None:
        """Tasks are in hand: prepare and start them, without keeping the caller waiting."""
        if not holdings:
            return
        if forgotten := self._hand.already_there(holdings):
            self._group.create_task(self._give_up_forgotten(forgotten, holdings))
            return
        self._hand.take(holdings)
        self._idle.clear()
        self._measures.add("mainspring_claimed_tasks_total", len(holdings))
        retries = sum(1 for holding in holdings if holding.claimed.attempt > 1)
        self._measures.add("mainspring_retries_total", retries)
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
        self._depot.slots_freed()
        await self._depot.give_back([holdings[0].claimed.claim_id], reason, begun)

    async def _prepare(
        self, holdings: Sequence[Holding], known_results: Mapping[int, bytes | None]
    ) -> None:
        batch = [holding.claimed for holding in holdings]
        try:
            jobs, unable = await self._inputs.prepare(batch, known_results)
        except (Reaped, Unwelcome):
            raise
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

    def used(self, task_id: int, term: int, use: Use) -> None:
        self._uses[task_id, term] = use

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
            self._depot.slots_freed()

    async def _start_loop(self) -> None:
        progress_at = 0.0
        while True:
            await asyncio.sleep(_START_SECONDS)
            for kind in self._slots.blocked(time.monotonic()):
                if self._hosts.hand_back_waiting(kind, "it waited behind a long task"):
                    self._slots.expect_long(kind)
            started, self._started = self._started, []
            if started:
                await self._depot.mark_started(started)
            if self._progress and time.monotonic() >= progress_at:
                progress_at = time.monotonic() + _PROGRESS_SECONDS
                told, self._progress = self._progress, {}
                await self._depot.record_progress(told)

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
                self._look_whether_done()

    async def _complete(self, batch: Sequence[tuple[Holding, Ended]]) -> None:
        keys = [(end.task_id, end.term) for _, end in batch]
        if unwritten := [key for key in keys if self._logs.pending(key)]:
            # The log is accepted under the term that this completion may end.
            await self._logs.flush(unwritten)
        for key in keys:
            self._logs.forget(key)
        holdings = [holding for holding, _ in batch]
        reports = [self._report(holding, end) for holding, end in batch]
        offered = self._offer_slots(batch)
        faults.point("tasks have ended and are not reported")
        grant_claim = uuid4()
        self._asking[grant_claim] = time.monotonic()
        reported = await self._depot.complete(
            reports,
            emptied=self._hand.emptied_by(holdings),
            grant_claim=grant_claim,
            offered=offered,
        )
        self._hand.let_go(holdings)
        self._give_back_unused(offered, reported.grants)
        self._follow(batch, reported)
        self._asking.pop(grant_claim)
        self._rates.ended(holding.claimed.lane for holding in holdings)
        self._measure_ends([end for _, end in batch])

    def _report(self, holding: Holding, end: Ended) -> Report:
        task = self._inputs.task(holding.claimed)
        started_us = end.started_us
        return Report(
            holding.claimed,
            task,
            # Whoever stopped it: what has begun is not begun again, if it must not be.
            outcome_at_most_once(end.outcome, task, begun=bool(started_us)),
            None if started_us is None else self._clock.database_us(started_us),
            self._clock.database_us(end.finished_us),
            chained=holding.links < LINKS_MAX,
            use=self._uses.pop((end.task_id, end.term), None) if self._uses else None,
        )

    def _offer_slots(self, batch: Sequence[tuple[Holding, Ended]]) -> dict[SlotKind, int]:
        """Free slots for the children of this batch: at most as many as it freed, or one a lane."""
        if self.draining:
            return {}
        parents = sum(
            1
            for holding, end in batch
            if holding.claimed.many and isinstance(end.outcome, Succeeded)
        )
        offered: dict[SlotKind, int] = {}
        for kind in self._slot_sizes if parents else ():
            lanes, free = self._depot.lanes_of(kind), self._slots.free(kind)
            share = min(free, parents) // lanes or min(free, 1)
            if count := min(share * lanes, free):
                self._slots.take(kind, count, time.monotonic())
                offered[kind] = count
        return offered

    def _give_back_unused(self, offered: Mapping[SlotKind, int], grants: Sequence[Claimed]) -> None:
        used: dict[SlotKind, int] = {}
        for grant in grants:
            kind = Lane.of(grant.lane).kind
            used[kind] = used.get(kind, 0) + 1
        for kind, count in offered.items():
            self._slots.give_back(kind, count - used.get(kind, 0))
        if offered:
            self._depot.slots_freed()

    def _follow(self, batch: Sequence[tuple[Holding, Ended]], reported: Reported) -> None:
        """Start what was granted."""
        results: dict[int, bytes | None] = {}
        links: dict[int, int] = {}
        for holding, end in batch:
            claimed = holding.claimed
            if claimed.many and isinstance(end.outcome, Succeeded):
                results[claimed.task_id] = end.outcome.result
                links[claimed.run_id] = max(links.get(claimed.run_id, 0), holding.links)
        for task_id, _ in reported.refused:
            results.pop(task_id, None)
        for task_id, term in reported.superseded:
            log.warning("completion refused: superseded", task=task_id, term=term)
        self._take(
            [
                Holding(grant, Lane.of(grant.lane).kind, links.get(grant.run_id, 0) + 1)
                for grant in reported.grants
            ],
            results,
        )

    # --- beat ------------------------------------------------------------------------------

    async def _beat_loop(self) -> None:
        # The first answer on a connection is slow and tells the time badly; the next one is not.
        await self._beat()
        while True:
            beat = await self._beat()
            self._heed_stops(beat.stops)
            if beat.drain != self.drain_wanted:
                self._heed_drain(beat.drain)
                # What it does now is told at once.
                continue
            self._look_whether_done()
            if lost := beat.lost_claims(self._known_claims()):
                await self._depot.give_back(lost, "the answer to its claim was lost")
            await set_within(self._beat_wanted, self._leases.renew_seconds)
            self._beat_wanted.clear()

    async def _beat(self) -> Beat:
        rates = self._rates.tell(time.monotonic())
        beat = await self._depot.renew(self._known_claims, draining=self.draining, rates=rates)
        self._clock.learn(beat.now, beat.asked_ns, beat.answered_ns)
        self._trusted_until = beat.sent_at + self._leases.trusted_seconds
        self._hosts.lease_until(self._trusted_until)
        self._measures.took("mainspring_lease_renewal_seconds", time.monotonic() - beat.sent_at)
        return beat

    def _known_claims(self) -> list[UUID]:
        return [*self._hand.claims, *self._asking]

    def _heed_stops(self, stops: Sequence[tuple[int, int, str]]) -> None:
        for task_id, term, kind in stops:
            if self._hand.get(task_id, term):
                outcome = Cancelled(_STOPS[kind])
                self._hosts.stop(task_id, term, outcome, at_once=kind == "terminate")

    def _heed_drain(self, wanted: Drain | None) -> None:
        """What has not begun goes to others; what runs goes on, for as long as it takes."""
        log.info("worker goes on" if wanted is None else "worker drains by request", then=wanted)
        self.drain_wanted = wanted
        if wanted is not None:
            self._hosts.hand_back_unstarted()
        self._depot.slots_freed()

    def _look_whether_done(self) -> None:
        if self.drain_wanted is Drain.STOP and self._idle.is_set():
            self.done.set()

    # --- measure ---------------------------------------------------------------------------

    def _show_measures(self) -> None:
        show = self._measures.show
        show("mainspring_tasks_in_hand", lambda: len(self._hand))
        for kind in self._slot_sizes:
            show("mainspring_slots_free", partial(self._slots.free, kind), kind.value)
        show(
            "mainspring_lease_trusted_seconds",
            lambda: max(self._trusted_until - time.monotonic(), 0.0),
        )

    def _measure_claim(self, first: Claimed, seconds: float) -> None:
        self._measures.took("mainspring_claim_seconds", seconds)
        if first.attempt == 1 and not first.many:
            # Tasks of larger runs become ready at a time that nobody has told us.
            waited = self._clock.now_us() / 1e6 - first.due_at.timestamp()
            self._measures.took("mainspring_pickup_seconds", waited)

    def _measure_ends(self, ended: Sequence[Ended]) -> None:
        """The database knows of these ends now."""
        first_us = min(end.finished_us for end in ended)
        self._measures.took("mainspring_completion_seconds", time.time() - first_us / 1e6)
        for outcome, count in Counter(type(end.outcome) for end in ended).items():
            self._measures.add("mainspring_attempts_total", count, _OUTCOMES[outcome])
