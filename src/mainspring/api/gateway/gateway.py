"""The calls of remote workers, as sets.

    claim      ──► Waiting ──┐
    renew      ──► Sets ─────┤  a line for each: one statement in flight, and what comes
    complete   ──► Sets ─────┤  meanwhile is the next one's set
    log, tell  ──► Sets ─────┤
    join       ──► Sets ─────┘                              read, give back: aside

Seven connections, however many workers there are; none before the first worker comes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

import asyncpg
import msgspec
import structlog

from mainspring import worker_protocol as protocol
from mainspring.api.gateway.hands import Hands, Key, Member
from mainspring.api.gateway.queues import check_queues, served_queues
from mainspring.api.gateway.sets import Asked, Sets
from mainspring.api.gateway.waiting import Waiting
from mainspring.api.gateway.work import Specs, work_of
from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import HandedBack, Succeeded, decide, outcome_at_most_once
from mainspring.logs.places import Places
from mainspring.patience import set_within
from mainspring.store.attempts import (
    Claimed,
    Completion,
    Ends,
    Reaped,
    claim_attempts,
    complete_together,
    end_worker,
    explain_refused,
    mark_started_together,
    record_progress,
)
from mainspring.store.connection import Line
from mainspring.store.dags import read_snapshots
from mainspring.store.duties import raise_epoch
from mainspring.store.gateway import (
    Beating,
    Joining,
    Living,
    ended_tokens,
    join_together,
    read_stops,
    renew_together,
)
from mainspring.store.giving_back import give_back_claims
from mainspring.store.logs import append_log
from mainspring.store.payloads import read_parameters, read_results
from mainspring.store.schedule_reading import read_schedule_names
from mainspring.store.snapshots import fetch_snapshot
from mainspring.store.tokens import Caller
from mainspring.store.uses import Uses
from mainspring.store.wakeups import Bell, listen

log = structlog.get_logger(__name__)

_BEAT_PATIENCE_SECONDS = 5.0
_ENDS_PER_SET = 1000
_BEATS_PER_SET = 1000
_LOG_BYTES_PER_SET = 1024 * 1024
_TOLD_PER_SET = 1000
_JOINS_PER_SET = 500
_TOKENS_SECONDS = 0.4
_FAILED_SECONDS = 1.0
_STOPS_PAUSE_SECONDS = 0.05
_LEFT = "its worker left"


class Listener:
    """A worker that waits for notes."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.over = asyncio.Event()
        self.stop = False
        """Whether something in its hand is to stop."""


class Gateway:
    def __init__(self, url: str, places: Places) -> None:
        self._url = url
        self._places = places
        self._claim_line = Line(url, name="gateway claim", stable_plans=True, greet=raise_epoch)
        self._complete_line = Line(
            url, name="gateway complete", stable_plans=True, greet=raise_epoch
        )
        self._beat_line = Line(
            url,
            name="gateway beat",
            stable_plans=True,
            patience_seconds=_BEAT_PATIENCE_SECONDS,
        )
        self._told_line = Line(url, name="gateway tell")
        self._aside_line = Line(url, name="gateway aside")
        self._hand_line = Line(url, name="gateway hands", stable_plans=True)
        self._bell = Bell(self._hand_line)
        self._uses = Uses(self._aside_line)
        self._hands = Hands(self._hand_line)
        self._specs = Specs(self._hand_line)
        self._waiting = Waiting(self._claim_line)
        self._joins: Sets[Joining, Living] = Sets(
            "join", self._join, weight=lambda _: 1, weight_max=_JOINS_PER_SET
        )
        self._beats: Sets[protocol.Beat, protocol.Renewed] = Sets(
            "renew", self._renew, weight=lambda _: 1, weight_max=_BEATS_PER_SET
        )
        self._ends: Sets[protocol.Ends, tuple[list[protocol.Refused], Sequence[Claimed]]] = Sets(
            "complete",
            self._complete,
            weight=lambda ends: len(ends.ends),
            weight_max=_ENDS_PER_SET,
        )
        self._logs: Sets[protocol.Chunks, None] = Sets(
            "log",
            self._append,
            weight=lambda chunks: sum(len(chunk.content) for chunk in chunks.chunks),
            weight_max=_LOG_BYTES_PER_SET,
        )
        self._told: Sets[protocol.Told, None] = Sets(
            "tell",
            self._tell,
            weight=lambda told: len(told.started) + len(told.progress),
            weight_max=_TOLD_PER_SET,
        )
        self._listening: dict[int, Listener] = {}
        """Workers that wait for notes."""
        self._stops_wanted = asyncio.Event()
        self._used = asyncio.Event()
        """Whether there is a remote worker at all: without one, no connection is made."""

    async def run(self) -> None:
        """Its loops, for ever."""
        loops: Mapping[str, Callable[[], Awaitable[None]]] = {
            "claim": self._waiting.run,
            "join": self._joins.run,
            "renew": self._beats.run,
            "complete": self._ends.run,
            "log": self._logs.run,
            "tell": self._told.run,
            "bell": self._bell.run,
            "uses": self._uses.run,
            "stops": self._stop_loop,
            "tokens": self._token_loop,
            "listen": self._listen,
        }
        try:
            async with asyncio.TaskGroup() as group:
                for name, loop in loops.items():
                    group.create_task(_for_ever(name, loop))
        finally:
            for line in (
                *(self._claim_line, self._complete_line, self._beat_line),
                *(self._told_line, self._aside_line, self._hand_line),
            ):
                await line.close()

    def release(self) -> None:
        """The server stops: who waits is answered, and nobody waits any more."""
        self._waiting.stop()
        for listener in self._listening.values():
            listener.over.set()

    async def _listen(self) -> None:
        await self._used.wait()
        await listen(
            self._url, ready=self._waiting.ready, stop=self._stops_wanted.set, name="gateway"
        )

    async def _member(self, worker: UUID, caller: Caller) -> Member:
        """Reaped if there is none; a refusal if the token is not for all that it serves."""
        self._used.set()
        member = await self._hands.member(worker)
        check_queues(member.queues, caller)
        return member

    async def _token_loop(self) -> None:
        """Tokens are looked at when a call comes; one that waits must not outlive its token."""
        while True:
            await asyncio.sleep(_TOKENS_SECONDS)
            waiting = self._waiting.tokens | {each.token for each in self._listening.values()}
            if not waiting:
                continue
            if ended := await self._hand_line.call(ended_tokens, sorted(waiting)):
                self._waiting.end(ended)
                for listener in self._listening.values():
                    if listener.token in ended:
                        listener.over.set()

    # --- its life --------------------------------------------------------------------------

    async def join(self, worker: UUID, asked: protocol.Join, caller: Caller) -> protocol.Joined:
        self._used.set()
        queues = served_queues(asked.queues, caller)
        joining = Joining(
            worker,
            asked.name,
            asked.host,
            asked.pid,
            queues,
            asked.slots,
            asked.lease_seconds,
            asked.drain,
        )
        joined = await self._joins.ask(worker.int, joining)
        member = self._hands.meet(worker, joined)
        # It may have joined before, for others.
        check_queues(member.queues, caller)
        return protocol.Joined(member.id, member.lease_seconds, member.renew_seconds)

    async def _join(self, asked: Sequence[Asked[Joining]]) -> Sequence[Living | Exception]:
        joining = [one.question for one in asked]
        living = await self._hand_line.call(join_together, joining)
        await self._hands.learn_queues({name for one in living.values() for name in one.queues})
        return [living.get(one.incarnation) or Reaped() for one in joining]

    async def leave(self, worker: UUID, caller: Caller) -> None:
        """Everything was reported; what is left nevertheless goes back."""
        member = await self._member(worker, caller)
        self._waiting.drop(member)
        await self._hands.refresh([(member, [(0, 0)])])
        if claims := list({task.claim_id for task in member.hand.values()}):
            await self._give_back(member, claims, _LEFT)
        try:
            await self._aside_line.call(end_worker, member.id, "stopped")
        except asyncpg.ForeignKeyViolationError:
            # A claim is there that was made just now, elsewhere; the reaper will find it.
            log.warning("a lease is left to the engine", worker=member.id)
        self._hands.forget(member)

    # --- claim -----------------------------------------------------------------------------

    async def claim(self, worker: UUID, wish: protocol.Wish, caller: Caller) -> protocol.Tasks:
        member = await self._member(worker, caller)
        lanes = await self._hands.lanes(member)
        tasks = await self._waiting.claim(
            member, wish.claim, _bounded(wish.slots), lanes, wish.wait_seconds, caller.id
        )
        return await self._tasks(tasks, prepared=wish.prepared)

    async def _tasks(self, tasks: Sequence[Claimed], *, prepared: bool) -> protocol.Tasks:
        work = await work_of(self._aside_line, self._specs, tasks) if prepared and tasks else []
        return protocol.Tasks(list(tasks), work)

    # --- renew -----------------------------------------------------------------------------

    async def renew(self, worker: UUID, beat: protocol.Beat, caller: Caller) -> protocol.Renewed:
        member = await self._member(worker, caller)
        return await self._beats.ask(member.id, beat)

    async def _renew(
        self, asked: Sequence[Asked[protocol.Beat]]
    ) -> Sequence[protocol.Renewed | Exception]:
        beats = [
            Beating(
                one.worker_id,
                one.question.claims,
                one.question.draining,
                self._hands.of(one.worker_id).renew_seconds,
                one.question.rates,
            )
            for one in asked
        ]
        renewed = await self._beat_line.call(renew_together, beats)
        answers: list[protocol.Renewed | Exception] = []
        for one in asked:
            member = self._hands.of(one.worker_id)
            mine = renewed.get(one.worker_id)
            if mine is None:
                self._hands.forget(member)
                answers.append(Reaped())
                continue
            # Of claims that were not named the worker may have heard since it asked: so it says
            # itself which of them it does not know, and hands those back.
            answers.append(
                protocol.Renewed(
                    mine.now,
                    [protocol.Stop(*stop) for stop in mine.stops],
                    mine.drain,
                    mine.unknown_claims,
                )
            )
        return answers

    async def notes(self, worker: UUID, wait_seconds: float, caller: Caller) -> protocol.Note:
        """Wait until something in hand is to stop."""
        member = await self._member(worker, caller)
        if (before := self._listening.get(member.id)) is not None:
            # Asked again: who asked first is not there any more.
            before.over.set()
        listener = self._listening[member.id] = Listener(caller.id)
        await set_within(listener.over, wait_seconds)
        if self._listening.get(member.id) is listener:
            del self._listening[member.id]
        return protocol.Note(renew=listener.stop)

    async def _stop_loop(self) -> None:
        while True:
            await self._stops_wanted.wait()
            self._stops_wanted.clear()
            if workers := sorted(self._listening):
                for worker_id in await self._aside_line.call(read_stops, workers):
                    if listener := self._listening.get(worker_id):
                        listener.stop = True
                        listener.over.set()
            await asyncio.sleep(_STOPS_PAUSE_SECONDS)

    async def give_back(self, worker: UUID, asked: protocol.Return, caller: Caller) -> None:
        member = await self._member(worker, caller)
        await self._give_back(member, asked.claims, asked.reason, frozenset(asked.begun))

    async def _give_back(
        self,
        member: Member,
        claims: Sequence[UUID],
        reason: str,
        begun: frozenset[Key] = frozenset(),
    ) -> None:
        lanes = await give_back_claims(
            self._aside_line, member.id, claims, reason, time.time_ns() // 1000, begun
        )
        gone = set(claims)
        member.let_go([key for key, task in member.hand.items() if task.claim_id in gone])
        self._wake(lanes)

    # --- complete --------------------------------------------------------------------------

    async def complete(self, worker: UUID, ends: protocol.Ends, caller: Caller) -> protocol.Ended:
        _check_results(ends)
        member = await self._member(worker, caller)
        await self._hands.lanes(member)
        refused, grants = await self._ends.ask(member.id, ends)
        return protocol.Ended(refused, await self._tasks(grants, prepared=ends.prepared))

    async def _complete(
        self, asked: Sequence[Asked[protocol.Ends]]
    ) -> Sequence[tuple[list[protocol.Refused], Sequence[Claimed]] | Exception]:
        members = [self._hands.of(one.worker_id) for one in asked]
        keys = [{(end.task, end.term) for end in one.question.ends} for one in asked]
        await self._hands.refresh(list(zip(members, keys, strict=True)))
        held = [
            {key for key in mine if key in member.hand}
            for member, mine in zip(members, keys, strict=True)
        ]
        await self._specs.learn(
            {
                member.hand[key].version_id
                for member, mine in zip(members, held, strict=True)
                for key in mine
            }
        )
        reports = [
            self._report(member, one.question, mine)
            for member, one, mine in zip(members, asked, held, strict=True)
        ]
        completed = await self._complete_line.call(complete_together, reports)
        unexplained = completed.refused + [
            (member.id, task_id, term)
            for member, said, mine in zip(members, keys, held, strict=True)
            for task_id, term in said - mine
        ]
        reasons = (
            await self._complete_line.call(explain_refused, unexplained) if unexplained else {}
        )
        answers: list[tuple[list[protocol.Refused], Sequence[Claimed]] | Exception] = []
        for member, one, mine in zip(members, asked, held, strict=True):
            refused = reasons.get(member.id, {})
            grants: Sequence[Claimed] = completed.grants.get(member.id, [])
            offer = one.question.offer
            if offer is not None and "already_yours" in refused.values():
                # Asked before, and the answer was lost: what was granted then is granted still.
                grants = await self._complete_line.call(
                    claim_attempts, offer.claim, member.id, 0, 0
                )
            self._uses.add(
                (end.task, end.term, end.use)
                for end in one.question.ends
                if end.use is not None
                and (end.task, end.term) in mine
                and (end.task, end.term) not in refused
            )
            member.let_go(mine)
            member.take(grants)
            answers.append(
                ([protocol.Refused(*key, reason) for key, reason in refused.items()], grants)
            )
        self._wake(completed.lanes)
        return answers

    def _report(self, member: Member, asked: protocol.Ends, held: set[Key]) -> Ends:
        """What the worker holds of what it reports, decided by each task's own policy."""
        now_us = time.time_ns() // 1000
        offer = asked.offer
        seen: set[Key] = set()
        completions: list[Completion] = []
        for end in asked.ends:
            key = (end.task, end.term)
            if key in seen or key not in held:
                continue
            seen.add(key)
            claimed = member.hand[key]
            task = self._specs.task(claimed)
            outcome = outcome_at_most_once(end.outcome, task, begun=bool(end.started_us))
            finished_us = now_us if end.finished_us is None else end.finished_us
            started_us = end.started_us
            if started_us is None and not isinstance(outcome, HandedBack):
                started_us = min(member.given_us.get(key, finished_us), finished_us)
            completions.append(
                Completion(
                    end.task,
                    end.term,
                    claimed.claim_id,
                    claimed.run_id if claimed.many else None,
                    decide(outcome, task, claimed.attempt, claimed.lost, random.random()),
                    started_us,
                    finished_us,
                    chained=end.chained and offer is not None,
                )
            )
        return Ends(
            member.id,
            completions,
            member.emptied_by(held),
            None if offer is None else offer.claim,
            {} if offer is None else _shared_out(offer.slots, member.lanes),
        )

    def _wake(self, lanes: set[int]) -> None:
        self._bell.ready(lanes)
        self._waiting.ready(lanes)

    # --- tell ------------------------------------------------------------------------------

    async def append_log(self, worker: UUID, chunks: protocol.Chunks, caller: Caller) -> None:
        member = await self._member(worker, caller)
        await self._logs.ask(member.id, chunks)

    async def _append(self, asked: Sequence[Asked[protocol.Chunks]]) -> Sequence[Exception | None]:
        members = [self._hands.of(one.worker_id) for one in asked]
        keys = [{(chunk.task, chunk.term) for chunk in one.question.chunks} for one in asked]
        await self._hands.refresh(list(zip(members, keys, strict=True)))
        chunks = [
            (chunk.task, chunk.term, chunk.start, chunk.content)
            for member, one in zip(members, asked, strict=True)
            for chunk in one.question.chunks
            # Of what is not in hand any more nothing is taken, and nothing need be told.
            if (chunk.task, chunk.term) in member.hand
        ]
        if chunks:
            await self._told_line.call(append_log, chunks)
        return [None] * len(asked)

    async def tell(self, worker: UUID, told: protocol.Told, caller: Caller) -> None:
        member = await self._member(worker, caller)
        await self._told.ask(member.id, told)

    async def _tell(self, asked: Sequence[Asked[protocol.Told]]) -> Sequence[Exception | None]:
        members = [self._hands.of(one.worker_id) for one in asked]
        keys = [
            {(item.task, item.term) for item in one.question.started}
            | {(item.task, item.term) for item in one.question.progress}
            for one in asked
        ]
        await self._hands.refresh(list(zip(members, keys, strict=True)))
        started = {
            (item.task, item.term): (item.task, item.term, item.started_us, member.id)
            for member, one in zip(members, asked, strict=True)
            for item in one.question.started
            if (item.task, item.term) in member.hand
        }
        progress = {
            (item.task, item.term): (item.percent, item.text)
            for member, one in zip(members, asked, strict=True)
            for item in one.question.progress
            if (item.task, item.term) in member.hand
        }
        if started:
            await self._told_line.call(mark_started_together, list(started.values()))
        if progress:
            await self._told_line.call(record_progress, _last_terms(progress))
        return [None] * len(asked)

    # --- read ------------------------------------------------------------------------------

    async def read(self, worker: UUID, asked: protocol.Read, caller: Caller) -> protocol.Found:
        """What tasks in the worker's hand are made of; of anything else it learns nothing."""
        member = await self._member(worker, caller)
        if not self._concerns(member, asked):
            await self._hands.refresh([(member, [(0, 0)])])
            await self._specs.learn({task.version_id for task in member.hand.values()})
            if not self._concerns(member, asked):
                raise NotFoundError(
                    "something was asked for that no task in this worker's hand needs",
                    hint="ask while the task is in hand",
                )
        await self._specs.learn(set(asked.versions))
        line = self._aside_line
        return protocol.Found(
            versions={number: self._specs[number] for number in asked.versions},
            schedules=await line.call(read_schedule_names, asked.schedules)
            if asked.schedules
            else {},
            snapshots=await line.call(read_snapshots, asked.snapshots) if asked.snapshots else {},
            results=await line.call(read_results, asked.results) if asked.results else {},
            parameters=await line.call(read_parameters, asked.parameters)
            if asked.parameters
            else {},
        )

    def _concerns(self, member: Member, asked: protocol.Read) -> bool:
        hand = list(member.hand.values())
        runs = {task.run_id: task.version_id for task in hand}
        return (
            {task.version_id for task in hand}.issuperset(asked.versions)
            and {task.snapshot_id for task in hand}.issuperset(asked.snapshots)
            and {task.schedule_id for task in hand}.issuperset(asked.schedules)
            and runs.keys() >= set(asked.parameters)
            and all(self._in_run(task_id, runs) for task_id in asked.results)
        )

    def _in_run(self, task_id: int, runs: Mapping[int, int]) -> bool:
        """Whether the task is of one of these runs, which are given with their versions."""
        return any(
            version_id in self._specs and 0 <= task_id - run_id < len(self._specs[version_id].tasks)
            for run_id, version_id in runs.items()
        )

    async def fetch_snapshot(self, worker: UUID, snapshot_id: int, caller: Caller) -> bytes:
        member = await self._member(worker, caller)
        for _ in range(2):
            if any(task.snapshot_id == snapshot_id for task in member.hand.values()):
                content = await fetch_snapshot(
                    self._aside_line.call, snapshot_id, self._places.read
                )
                if content is not None:
                    return content
                break
            await self._hands.refresh([(member, [(0, 0)])])
        raise NotFoundError(f"snapshot {snapshot_id} is not kept, or no task in hand needs it")


async def _for_ever(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    """A loop that failed, which it should not, goes on."""
    while True:
        try:
            await loop()
        except Exception:
            log.exception("a loop of the gateway failed", loop=name)
            await asyncio.sleep(_FAILED_SECONDS)


def _check_results(ends: protocol.Ends) -> None:
    """What is no JSON would spoil the tasks that come after it."""
    for end in ends.ends:
        if isinstance(end.outcome, Succeeded):
            try:
                msgspec.json.decode(end.outcome.result.decode("utf-8"), type=msgspec.Raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(
                    f"the result of task {end.task} is no JSON: {error}",
                    hint="in a message that is JSON, a result is the base64 of its JSON",
                ) from None


def _bounded(slots: Mapping[SlotKind, int]) -> dict[SlotKind, int]:
    return {kind: min(count, protocol.CLAIM_TASKS_MAX) for kind, count in slots.items() if count}


def _shared_out(offered: Mapping[SlotKind, int], lanes: Mapping[int, SlotKind]) -> dict[int, int]:
    """Slots by lane: as many in each lane of a kind, or one in each while there are any."""
    slots: dict[int, int] = {}
    for kind, count in offered.items():
        own = [lane for lane, its_kind in lanes.items() if its_kind == kind]
        share = max(count // len(own), 1) if own else 0
        for lane in own:
            if given := min(share, count):
                slots[lane] = given
                count -= given
    return slots


def _last_terms(
    told: Mapping[Key, tuple[float, str]],
) -> dict[Key, tuple[float, str]]:
    """One word for each task, of its highest term: a statement takes each row once."""
    last = dict(sorted(told))
    return {key: word for key, word in told.items() if last[key[0]] == key[1]}
