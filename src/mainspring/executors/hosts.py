"""Runs jobs in host children: the worker's one door to user code.

Every submitted job ends in exactly one `Ended`, whatever user code, the host or the kernel do:
`_finish` is the only place that tells it, and looks at `Held.ended`. The worker's clock is the
truth about time limits; a soft stop is tried first, and when the grace is over the host is
killed with all that it has started. Jobs beside it are lost, those not begun go elsewhere.

One timer, ten times a second while there is work, looks at all running jobs and hosts. A timer
for each job would cost more than the job.

All of it belongs to one event loop in the thread that made it. That thread must live as long
as the worker: the kernel takes its end for the worker's and kills the hosts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence

from mainspring.domain.errors import PluginError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import HandedBack, Outcome, Succeeded
from mainspring.domain.uses import Use
from mainspring.executors import verdicts
from mainspring.executors.board import NOT_BEGUN, OVER, WITHDRAW_SECONDS
from mainspring.executors.calls import whose
from mainspring.executors.frames import Done, Dropped, Ending, FromHost, Log, Used
from mainspring.executors.guard_link import GuardLink
from mainspring.executors.host_link import STRAY_BYTES, HostLink
from mainspring.executors.jobs import Ended, Job, Listener
from mainspring.executors.pools import Held, Pool
from mainspring.plugins import Kind, find_plugin, find_plugins

_log = logging.getLogger(__name__)

_TICK_SECONDS = 0.1
_IDLE_TICK_SECONDS = 1.0
_REPORT_START_SECONDS = 0.3
_LOOK_AT_MEMORY_SECONDS = 1.0
_STRAY_BYTES = 2000

_ALONE_STARTING_MAX = os.cpu_count() or 1
_ALONE_MAX = 32
"""Hosts that run one job each, as a precaution; more jobs of that kind wait for their turn."""
_DRAINING = HandedBack("the worker is draining")
_STOPPED = HandedBack("the worker has stopped")


class Hosts:
    def __init__(
        self,
        listener: Listener,
        *,
        slots: Mapping[SlotKind, int],
        stop_grace_seconds: float = 5.0,
        recycle_after_tasks: int = 1_000_000,
        recycle_rss_mb: int = 2048,
        idle_seconds: float = 300.0,
        idle_hosts_max: int | None = None,
        start_seconds_max: float = 60.0,
        import_seconds_max: float = 120.0,
    ) -> None:
        self._listener = listener
        self._slots = dict(slots)
        self._grace = stop_grace_seconds
        self._recycle_after_tasks = recycle_after_tasks
        self._recycle_rss_bytes = recycle_rss_mb << 20
        self._idle_seconds = idle_seconds
        processes = self._slots.get(SlotKind.PROCESS, 0)
        self._idle_hosts_max = processes + 4 if idle_hosts_max is None else idle_hosts_max
        self._start_seconds_max = start_seconds_max
        self._import_seconds_max = import_seconds_max
        self._loop = asyncio.get_running_loop()
        find_plugins(Kind.EXECUTOR)  # it takes a moment, which nobody should wait for later
        self._guard = GuardLink()
        self._pools: dict[tuple[SlotKind, str, str, bool], Pool] = {}
        self._links: set[HostLink] = set()
        self._held: dict[tuple[int, int], Held] = {}
        self._lonely: deque[tuple[Pool, Held]] = deque()
        """Jobs that wait for a host of their own."""
        self._ticking: asyncio.TimerHandle | None = None
        self._tick_soon = False
        self._memory_seen_at = 0.0
        self._closing = False
        self._empty = asyncio.Event()

    # --- what the worker calls ----------------------------------------------------------------

    def submit(self, jobs: Sequence[Job]) -> None:
        """Run the jobs. More than there are slots wait here, unstarted."""
        assert not self._closing, "submit after close"
        now = time.monotonic()
        held_by_name, pools = self._held, self._pools
        touched: set[Pool] = set()
        for job in jobs:
            name = (job.task_id, job.term)
            assert name not in held_by_name, f"task {job.task_id} of this term is here already"
            held = held_by_name[name] = Held(job, now)
            pool = pools.get((job.kind, job.executor, job.snapshot, job.apart))
            if pool is None:
                pool = self._new_pool(job)
            if job.alone:
                self._lonely.append((pool, held))
            else:
                pool.waiting.append(held)
                touched.add(pool)
        for pool in touched:
            self._assign(pool, now)
        self._run_alone()
        self._tick_within(_TICK_SECONDS)

    def stop(self, task_id: int, term: int, outcome: Outcome, *, at_once: bool = False) -> None:
        """End the job with this outcome, once it really has stopped; unknown ones are ignored.

        `at_once` leaves a process or command no time to tidy up. Code that shares its process with
        others gets the usual time all the same: a kill would take them down, too.
        """
        held = self._held.get((task_id, term))
        if held is None or (held.stop is not None and not held.only_if_unstarted):
            return
        own = held.job.kind in (SlotKind.PROCESS, SlotKind.COMMAND)
        self._stop(held, outcome, time.monotonic(), 0.0 if at_once and own else self._grace)

    def hand_back_unstarted(self) -> list[tuple[int, int]]:
        """End every job that has not begun as `HandedBack`.

        Those that still wait here are in the list (and told to the listener like any end).
        Those already sent to a host end likewise within a moment if they have not begun.
        """
        now = time.monotonic()
        names: list[tuple[int, int]] = []
        for name, held in list(self._held.items()):
            link = held.link
            if link is None:
                names.append(name)
                self._stop(held, _DRAINING, now)
            elif link.meant_for is held:
                if held.stop is None:
                    self._stop(held, _DRAINING, now)
            elif held.stop is None and link.ready and link.board.begun[held.slot] == NOT_BEGUN:
                link.board.withdrawn[held.slot] = 1
                held.stop, held.stop_at, held.only_if_unstarted = _DRAINING, now, True
        return names

    def hand_back_waiting(self, kind: SlotKind, reason: str) -> int:
        """End as `HandedBack` what waits here for a host of this kind; how many that were."""
        now = time.monotonic()
        waiting = [h for h in self._held.values() if h.job.kind is kind and h.link is None]
        for held in waiting:
            self._stop(held, HandedBack(reason), now)
        return len(waiting)

    def lease_until(self, monotonic: float) -> None:
        """The worker's right to run ends then (`time.monotonic()`), unless told again."""
        self._guard.lease_until(monotonic)
        self._tick_within(_IDLE_TICK_SECONDS)

    def pause_reading(self, task_id: int, term: int) -> None:
        """Read no more from the job's host until `resume_reading`, or until the job ends."""
        held = self._held.get((task_id, term))
        if held is not None and held.link is not None:
            held.link.pause_reading(held.slot)

    def resume_reading(self, task_id: int, term: int) -> None:
        held = self._held.get((task_id, term))
        if held is not None and held.link is not None:
            held.link.resume_reading(held.slot)

    def running(self) -> int:
        """Jobs that were submitted and have not ended."""
        return len(self._held)

    def snapshots(self) -> set[str]:
        """The folders of code that hosts run from, or that jobs here wait to run from."""
        return {link.pool.snapshot for link in self._links} | {
            held.job.snapshot for held in self._held.values()
        }

    def processes(self) -> list[int]:
        """The host processes that live now."""
        return sorted(link.pid for link in self._links)

    @property
    def guard_pid(self) -> int | None:
        return self._guard.pid

    async def close(self, *, kill: bool = False) -> None:
        """End all jobs as `HandedBack`, softly or at once, then all hosts and the guard."""
        self._closing = True
        now = time.monotonic()
        for held in list(self._held.values()):
            if held.stop is None or held.only_if_unstarted:
                self._stop(held, _STOPPED, now)
        for link in list(self._links):
            if kill:
                link.kill("the worker has stopped")
            else:
                self._retire(link)
        self._tick_within(_TICK_SECONDS)
        if self._links:
            await self._empty.wait()
        if self._ticking is not None:
            self._ticking.cancel()
        await self._guard.close()

    # --- giving jobs to hosts -----------------------------------------------------------------

    def _new_pool(self, job: Job) -> Pool:
        slots = max(1, self._slots.get(job.kind, 1))
        pool = Pool(job.kind, job.executor or job.kind.value, job.snapshot, slots)
        self._pools[job.kind, job.executor, job.snapshot, job.apart] = pool
        return pool

    def _assign(self, pool: Pool, now: float) -> None:
        waiting = pool.waiting
        while waiting and (link := pool.with_room()) is not None:
            count = min(len(waiting), len(link.free), self._free_slots(pool.kind))
            if count <= 0:
                break
            for _ in range(count):
                link.give(waiting.popleft(), now)
            link.flush()
            pool.used(link)
            if link.taken >= self._recycle_after_tasks:
                self._replace(link)
        for _ in range(pool.hosts_wanted(now)):
            self._make_room(pool)
            if self._start(pool) is None:
                break

    def _free_slots(self, kind: SlotKind) -> int:
        """How many more jobs of this kind may run. Its hosts share the slots, whatever they are
        for: each snapshot has hosts of its own, a worn one runs beside its successor, and jobs
        that run alone have theirs.
        """
        given = sum(
            len(link.held) + (link.meant_for is not None)
            for link in self._links
            if link.pool.kind is kind
        )
        return max(1, self._slots.get(kind, 1)) - given

    def _go_on(self, kind: SlotKind) -> None:
        """Slots of this kind may have come free: first for those alone, then by age."""
        if self._lonely:
            self._run_alone()
        waiting = [pool for pool in self._pools.values() if pool.waiting and pool.kind is kind]
        if waiting:
            waiting.sort(key=lambda pool: pool.waiting[0].sent_at)
            now = time.monotonic()
            for pool in waiting:
                self._assign(pool, now)

    def _run_alone(self) -> None:
        """Start hosts for lonely jobs, a few at a time.

        As many processes at once as there may be jobs would take this worker's breath away, and
        its lease with it.
        """
        alone = [link for link in self._links if link.alone]
        starting = sum(not link.ready for link in alone)
        may_start = min(_ALONE_STARTING_MAX - starting, _ALONE_MAX - len(alone))
        for lonely in list(self._lonely):
            if may_start <= 0:
                break
            pool, held = lonely
            if self._free_slots(pool.kind) <= 0:
                continue
            self._lonely.remove(lonely)
            link = self._start(pool, alone=True)
            if link is None:
                self._finish_soon(held, verdicts.could_not_start("see the worker's log"))
            else:
                held.link = link
                link.meant_for = held
                may_start -= 1

    def _start(self, pool: Pool, *, alone: bool = False) -> HostLink | None:
        slots = 1 if alone else pool.slots_per_host
        try:
            place = find_plugin(Kind.EXECUTOR, pool.executor).place
            link = HostLink(self, self._guard, pool, place, slots=slots, alone=alone)
        except (OSError, PluginError) as error:
            _log.error("cannot start a host process: %s", error)
            self._start_failed(pool, str(error))
            return None
        self._links.add(link)
        if not alone:
            pool.links.append(link)
        self._tick_within(_TICK_SECONDS)
        return link

    def _replace(self, link: HostLink) -> None:
        """Start a fresh host; the old one serves until that is ready, so nobody waits for it."""
        if not link.worn and not link.retiring and not self._closing:
            link.worn = True
            self._start(link.pool)

    def _make_room(self, pool: Pool) -> None:
        """Before a process host is started: idle ones of other snapshots give up theirs."""
        if pool.one_each:
            same = [link for link in self._links if link.pool.one_each and not link.retiring]
            if len(same) >= pool.hosts_max:
                idle = [link for link in same if not link.held and link.ready]
                if idle:
                    self._retire(min(idle, key=lambda link: link.idle_since))

    def _start_failed(self, pool: Pool, reason: str) -> None:
        if pool.start_failed(time.monotonic()):
            waiting, pool.waiting = list(pool.waiting), type(pool.waiting)()
            for held in waiting:
                self._finish_soon(held, verdicts.could_not_start(reason))
        self._tick_within(_TICK_SECONDS)

    # --- what a host tells --------------------------------------------------------------------

    def host_ready(self, link: HostLink) -> None:
        now = time.monotonic()
        link.idle_since = now
        link.pool.start_succeeded()
        if link.alone:
            held, link.meant_for = link.meant_for, None
            if held is not None and not held.ended:
                link.give(held, now)
                link.retiring = True
                link.flush()
            else:
                link.leave()
            self._run_alone()
        elif link.retiring:
            self._retire(link)
        else:
            old = next((old for old in link.pool.links if old.worn and not old.retiring), None)
            if old is not None:
                self._retire(old)
            self._assign(link.pool, now)

    def host_answered(self, link: HostLink, messages: list[FromHost]) -> None:
        ended: list[Ended] = []
        # Monotonic to wall clock, once a frame.
        offset = time.time_ns() - time.monotonic_ns()
        for message in messages:
            if type(message) is Done:
                held = link.release(message.slot)
                if held is not None and not held.ended:
                    self._end(
                        ended,
                        held,
                        Succeeded(message.result),
                        message.started_ns,
                        message.finished_ns,
                        offset,
                    )
            elif type(message) is Log:
                self.host_logged(link, message.slot, message.data)
            elif type(message) is Ending:
                held = link.release(message.slot)
                if held is not None and not held.ended:
                    self._end(
                        ended,
                        held,
                        message.outcome,
                        message.started_ns,
                        message.finished_ns,
                        offset,
                    )
            elif type(message) is Dropped:
                held = link.release(message.slot)
                if held is not None and not held.ended:
                    # Without a stop: it began just when it was withdrawn, and saw that.
                    outcome = held.stop or _DRAINING
                    self._end(ended, held, outcome, NOT_BEGUN, time.monotonic_ns(), offset)
            elif type(message) is Used:
                self._tell_use(link, message)
        if ended:
            self._listener.ended(ended)
        if not self._closing:
            self._go_on(link.pool.kind)
        if not link.held:
            link.idle_since = time.monotonic()
            if link.retiring:
                self._retire(link)

    def _tell_use(self, link: HostLink, message: Used) -> None:
        held = link.held.get(message.slot)
        if held is not None and not held.ended:
            use = Use(max(message.cpu_seconds, 0.0), max(message.peak_bytes, 0) or None)
            self._listener.used(held.job.task_id, held.job.term, use)

    def host_logged(self, link: HostLink, slot: int, data: bytes) -> None:
        held = link.held.get(slot)
        if held is not None and not held.ended:
            self._listener.logged(held.job.task_id, held.job.term, data)
        else:
            link.stray = (link.stray + data)[-STRAY_BYTES:]

    def host_gone(self, link: HostLink) -> None:
        self._links.discard(link)
        pool = link.pool
        if not link.alone:
            pool.links.remove(link)
        if not link.ready and not link.unwanted:
            for old in pool.links:
                old.worn = False
            stray = link.stray.decode("utf-8", "replace").strip()
            self._start_failed(pool, f"{link.reason}: {stray}" if stray else link.reason)
        self._judge(link)
        if self._closing:
            if not self._links:
                self._empty.set()
        else:
            self._go_on(pool.kind)

    def _judge(self, link: HostLink) -> None:
        """Every job that was in the dead host ends, or goes to another."""
        if link.meant_for is not None:
            held, link.meant_for = link.meant_for, None
            if held.stop is not None:
                self._finish_soon(held, held.stop)
            else:
                self._try_elsewhere(held, link)
        open_jobs = {slot: held for slot, held in link.held.items() if not held.ended}
        asked = {
            slot: held.stop
            for slot, held in open_jobs.items()
            if held.stop is not None and not held.only_if_unstarted
        }
        # With those that were asked to stop: one of them may have done it.
        found = verdicts.verdicts(
            {slot: link.progress(slot) for slot in open_jobs},
            link.reason,
            killed=link.killed and len(asked) > 0,
        )
        for slot, held in open_jobs.items():
            outcome = asked.get(slot) or found[slot] or held.stop
            if outcome is None:
                self._try_elsewhere(held, link)
            else:
                begun_ns = link.board.begun[slot]
                # What a process prints is in the pipe at once; the others collect it first.
                log_cut = begun_ns != NOT_BEGUN and link.pool.kind is not SlotKind.PROCESS
                self._finish_soon(held, outcome, begun_ns, log_cut=log_cut)

    def _try_elsewhere(self, held: Held, link: HostLink) -> None:
        held.link = None
        held.tries += 1
        if held.tries >= verdicts.TRIES_MAX:
            self._finish_soon(held, verdicts.gave_up(link.reason))
        elif held.job.alone:
            self._lonely.append((link.pool, held))
        else:
            link.pool.waiting.append(held)

    # --- ends ---------------------------------------------------------------------------------

    def _end(
        self,
        ended: list[Ended],
        held: Held,
        outcome: Outcome,
        started_ns: int,
        finished_ns: int,
        offset_ns: int,
        *,
        log_cut: bool = False,
    ) -> None:
        # An end before the stop was asked for is an end by itself, though told later.
        if (
            held.stop is not None
            and not held.only_if_unstarted
            and finished_ns >= held.stop_at * 1e9
        ):
            outcome = held.stop
        job = held.job
        held.ended = True
        del self._held[job.task_id, job.term]
        ended.append(
            Ended(
                job.task_id,
                job.term,
                outcome,
                (started_ns + offset_ns) // 1000 if started_ns != NOT_BEGUN else None,
                (finished_ns + offset_ns) // 1000,
                log_cut,
            )
        )

    def _finish_soon(
        self, held: Held, outcome: Outcome, begun_ns: int = NOT_BEGUN, *, log_cut: bool = False
    ) -> None:
        """End a job for which its host does not speak; never inside the worker's own call."""
        now_ns = time.monotonic_ns()
        held.stop = None
        ended: list[Ended] = []
        # Of a job that is over and whose answer was lost, only the sending is known.
        started_ns = begun_ns if begun_ns != OVER else int(held.sent_at * 1e9)
        offset_ns = time.time_ns() - now_ns
        self._end(ended, held, outcome, started_ns, now_ns, offset_ns, log_cut=log_cut)
        self._loop.call_soon(self._listener.ended, ended)

    def _stop(
        self, held: Held, outcome: Outcome, at: float, grace_seconds: float | None = None
    ) -> None:
        link = held.link
        if link is None:
            job = held.job
            pool = self._pools[job.kind, job.executor, job.snapshot, job.apart]
            if job.alone:
                self._lonely.remove((pool, held))
            else:
                pool.waiting.remove(held)
            self._finish_soon(held, outcome)
            return
        grace = self._grace if grace_seconds is None else grace_seconds
        held.stop, held.stop_at, held.only_if_unstarted = outcome, at, False
        held.kill_at = at + grace
        if link.meant_for is held:
            link.unwanted = True
            link.kill("stopped before it was ready")
        elif not link.killed:
            link.stop(held, grace)

    def _retire(self, link: HostLink) -> None:
        """No new jobs for this host; it ends when it is empty."""
        link.retiring = True
        link.unwanted = link.unwanted or not link.ready
        if not link.held and link.meant_for is None:
            link.leave()

    # --- time ---------------------------------------------------------------------------------

    def _tick_within(self, seconds: float) -> None:
        soon = seconds <= _TICK_SECONDS
        if self._ticking is not None:
            if self._tick_soon or not soon:
                return
            self._ticking.cancel()
        self._tick_soon = soon
        self._ticking = self._loop.call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        now = time.monotonic()
        self._guard.tick()
        for link in list(self._links):
            if link.held:
                self._look_at_jobs(link, now)
            elif not link.ready and now - link.started_at > self._start_seconds_max:
                link.kill(f"the host process was not ready after {self._start_seconds_max:g} s")
            link.tick(now)
        if now - self._memory_seen_at >= _LOOK_AT_MEMORY_SECONDS:
            self._memory_seen_at = now
            self._recycle_large()
            self._end_idle(now)
        if not self._closing:
            for pool in self._pools.values():
                if pool.waiting:
                    self._assign(pool, now)
        busy = self._held or any(not link.ready or link.retiring for link in self._links)
        self._tick_within(_TICK_SECONDS if busy else _IDLE_TICK_SECONDS)

    def _look_at_jobs(self, link: HostLink, now: float) -> None:
        begun = link.board.begun
        importing = link.board.importing()
        if importing is not None and now - importing[1] / 1e9 > self._import_seconds_max:
            self._import_hangs(link, importing[0])
        for slot, held in list(link.held.items()):
            if held.ended:
                continue
            since = begun[slot]
            if held.stop is not None:
                self._look_at_stop(link, held, now)
            elif since not in (NOT_BEGUN, OVER):
                limit = held.job.timeout_seconds
                if limit is not None and now >= since / 1e9 + limit:
                    self._stop(held, verdicts.timed_out(limit), since / 1e9 + limit)
                elif not held.reported and now - since / 1e9 > _REPORT_START_SECONDS:
                    held.reported = True
                    started_us = (time.time_ns() - time.monotonic_ns() + since) // 1000
                    self._listener.started(held.job.task_id, held.job.term, started_us)
                elif held.reported and link.board.told[slot] != held.told:
                    self._look_at_progress(link, held)

    def _look_at_progress(self, link: HostLink, held: Held) -> None:
        told = link.board.told[held.slot]
        progress = link.board.progress(held.slot, whose(held.job.attempt))
        if progress is not None:
            held.told = told
            self._listener.progressed(held.job.task_id, held.job.term, *progress)

    def _look_at_stop(self, link: HostLink, held: Held, now: float) -> None:
        assert held.stop is not None
        if link.progress(held.slot) is verdicts.Progress.NOT_BEGUN and not link.pool.one_each:
            # See `board.py` for why this wait makes it safe. The slot comes back by `Dropped`.
            if now - held.stop_at > WITHDRAW_SECONDS:
                self._finish_soon(held, held.stop)
        elif held.only_if_unstarted:
            held.stop, held.only_if_unstarted = None, False
        elif now >= held.kill_at:
            link.kill("the host process was killed for the sake of a task that would not stop")

    def _import_hangs(self, link: HostLink, slot: int) -> None:
        held = link.held.get(slot)
        if held is not None and not held.ended and held.stop is None:
            held.stop = verdicts.import_took_too_long(self._import_seconds_max)
            held.stop_at = time.monotonic()
        link.kill("the host process was killed in an import that took too long")

    def _recycle_large(self) -> None:
        for link in self._links:
            used = link.ready and link.taken and not link.retiring
            if used and link.rss_bytes() > self._recycle_rss_bytes:
                self._retire(link)

    def _end_idle(self, now: float) -> None:
        """The least recently used go first, by age and by number."""
        idle = [link for link in self._links if link.ready and not link.held and not link.retiring]
        idle.sort(key=lambda link: link.idle_since)
        surplus = len(idle) - self._idle_hosts_max
        for number, link in enumerate(idle):
            if number < surplus or now - link.idle_since > self._idle_seconds:
                self._retire(link)
        lonely = [pool for pool, _ in self._lonely]
        for name, pool in list(self._pools.items()):
            unused = not pool.links and not pool.waiting and now >= pool.retry_at
            unused = unused and pool not in lonely
            if unused and not any(link.pool is pool for link in self._links):
                del self._pools[name]
