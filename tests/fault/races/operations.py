"""The operations that race: thin calls of the product, with answers that can be compared.

An operation has one part or several; each part is a transaction, as it is in the product. What a
caller is told comes in the world's labels, so that answers from two copies of a world are equal
when they say the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID, uuid5

import asyncpg

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.outcomes import HandedBack, Outcome, Succeeded
from mainspring.engine.deadlines import Deadlines
from mainspring.engine.fire_schedules import FireSchedules
from mainspring.engine.follow_runs import FollowRuns
from mainspring.engine.reap import Reap
from mainspring.engine.shards import Shards
from mainspring.engine.wake import Wake
from mainspring.store.attempts import (
    Claimed,
    Completed,
    Reaped,
    claim_attempts,
    complete_attempts,
    end_worker,
    mark_started,
    read_claims,
    renew_lease,
)
from mainspring.store.backfilling import Stepper
from mainspring.store.backfills import (
    BackfillLine,
    cancel_backfill,
    pause_backfill,
    resume_backfill,
    standing_backfill,
    stop_backfill_runs,
)
from mainspring.store.connection import Connection, Line
from mainspring.store.duties import Lease, free_shard, read_leases, take_shard, wake_starts
from mainspring.store.history import archive_runs, forget_keys, forget_runs
from mainspring.store.jobs import cancel_job, create_jobs, trigger_job
from mainspring.store.marks import Mark, mark_task
from mainspring.store.pauses import change_priority
from mainspring.store.runs import (
    Deed,
    NewRun,
    create_runs,
    read_standing,
    reopen_run,
    stop_runs,
)
from mainspring.store.schedule_changes import (
    pause_schedule,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from mainspring.store.schedules import standing_schedules
from mainspring.store.settling import Settler
from mainspring.store.shards import beat_engine
from mainspring.store.wakeups import Bell
from tests.fault.races.numbering import TAKING
from tests.fault.races.worlds import (
    FAILED,
    FAR_FUTURE,
    GIVEN_UP,
    LATER,
    RUN_IDS,
    SHARD,
    World,
)

LIMIT = 1000
GRANTS = 2

_SHARED_PLACE = 30
_FIRST_PLACE = 32
TURNS_MAX = 4


class Caller(NamedTuple):
    """Who plays: the names of its claims and the ids of its runs follow from this."""

    world: World
    session: int
    turn: int

    def claim_id(self) -> UUID:
        return self.world.claim_id(self.session, self.turn)

    def place(self, number: int = 0) -> int:
        """Ids of its own, above those that the world was made with."""
        assert number < RUN_IDS
        turns = TURNS_MAX * (self.session - 1) + self.turn
        return _FIRST_PLACE + RUN_IDS * turns + number


class Answer(NamedTuple):
    """What the caller is told, and what that means for a worker's hand."""

    told: object
    worker: str = ""
    taken: Sequence[Claimed] = ()
    reported: Collection[tuple[int, int]] = ()

    def settle(self, world: World) -> None:
        """Bring the hand up to date, where hands follow what is told."""
        if self.worker:
            kept = [
                item
                for item in world.hands[self.worker]
                if (item.task_id, item.term) not in self.reported
            ]
            known = {(item.task_id, item.term) for item in kept}
            fresh = [item for item in self.taken if (item.task_id, item.term) not in known]
            world.hands[self.worker] = kept + fresh


Play = Callable[[Connection, Caller], Awaitable[Answer]]


class Operation(NamedTuple):
    name: str
    parts: tuple[Play, ...]
    refusals: tuple[type[Exception], ...] = ()
    passes_by: str = ""
    """What it takes with `skip locked`: rows of a table, or timers of a kind."""
    main: int = 0
    """The part whose ending varies; the others commit."""


# --- coming in ----------------------------------------------------------------------------


async def _create(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    runs = [world.new_run("one", caller.place(0)), world.new_run("pair", caller.place(1))]
    return await _created(connection, world, runs)


async def _create_again(connection: Connection, caller: Caller) -> Answer:
    """All sessions send the same id, as a caller does who has lost an answer."""
    run = caller.world.new_run("pair", _SHARED_PLACE)
    return await _created(connection, caller.world, [run])


def _enqueue(*keys: str, body: bytes = b"a wish") -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        runs = [
            world.new_run("one", caller.place(number), key=f"{world.key}{key}", body=body)
            for number, key in enumerate(keys)
        ]
        # Each session names the keys in another order.
        return await _created(connection, world, runs[:: 1 if caller.session % 2 else -1])

    return play


async def _created(connection: Connection, world: World, runs: Sequence[NewRun]) -> Answer:
    created = await create_runs(connection, runs, now=world.now)
    pairs = zip(runs, created.ids, strict=True)
    return Answer(
        {
            "runs": sorted(
                ((run.key or "").removeprefix(world.key), world.place_of(run_id))
                for run, run_id in pairs
            ),
            "made": sorted(map(world.place_of, created.made)),
            "lanes": len(created.lanes),
        }
    )


# --- a worker's work ----------------------------------------------------------------------


def _claim(worker: str, limit: int = 10) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        claimed = await claim_attempts(
            connection, caller.claim_id(), world.workers[worker], world.lane, limit
        )
        return Answer(_tasks(world, claimed), worker, claimed)

    return play


def _tasks(world: World, claimed: Sequence[Claimed]) -> object:
    return sorted(
        (world.place_of(each.task_id), each.term, each.attempt, each.lost, each.generation)
        for each in claimed
    )


def _renew(worker: str, *, knows_its_claims: bool = True) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        known = [item.claim_id for item in world.hands[worker]] if knows_its_claims else []
        renewed = await renew_lease(
            connection,
            world.workers[worker],
            known,
            draining=False,
            claims_known_after=timedelta(0),
        )
        return Answer(
            {
                "unknown": sorted(map(world.claim_name, renewed.unknown_claims)),
                "stops": sorted(
                    (world.place_of(task_id), term, kind) for task_id, term, kind in renewed.stops
                ),
            }
        )

    return play


def _hand_back_unknown(worker: str) -> Play:
    """What `store/giving_back.py` does with claims that it does not know: here, all of them."""

    async def play(connection: Connection, caller: Caller) -> Answer:
        world, worker_id = caller.world, caller.world.workers[worker]
        held = await read_claims(connection, worker_id, None, LIMIT)
        # Also claims of which nothing is left, since somebody closed it by hand.
        claims = {item.claim_id for item in held} | {item.claim_id for item in world.hands[worker]}
        completed = await complete_attempts(
            connection,
            worker_id,
            [world.completion(item, HandedBack("unknown")) for item in held],
            emptied=sorted(claims),
            now=world.now,
        )
        # What has moved on since it was read is refused, and nobody minds.
        return Answer({"lanes": len(completed.lanes)})

    return play


def _start(worker: str) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        started_us = round(world.now.timestamp() * 1_000_000)
        await mark_started(
            connection,
            world.workers[worker],
            [(item.task_id, item.term, started_us) for item in world.hands[worker]],
        )
        return Answer(None)

    return play


def _complete(worker: str, outcome: Outcome, *, grants: int = GRANTS) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        # Who lost the answer repeats what it asked, whatever has come to its hand meanwhile.
        asked = world.asked.setdefault((caller.session, caller.turn), list(world.hands[worker]))
        items = list(asked)
        completed = await complete_attempts(
            connection,
            world.workers[worker],
            [world.completion(item, outcome) for item in items],
            emptied=sorted({item.claim_id for item in items}),
            grant_claim=caller.claim_id(),
            grant_slots={world.lane: grants} if grants else {},
            now=world.now,
        )
        reported = {(item.task_id, item.term) for item in items}
        return Answer(_completed(world, completed), worker, completed.grants, reported)

    return play


def _completed(world: World, completed: Completed) -> object:
    return {
        "refused": sorted(
            (world.place_of(task_id), term, reason)
            for (task_id, term), reason in completed.refused.items()
        ),
        "grants": _tasks(world, completed.grants),
        "lanes": len(completed.lanes),
    }


def _leave(worker: str) -> Play:
    """As `worker/sql_depot.py: leave`: a claim that it does not know keeps the lease."""

    async def play(connection: Connection, caller: Caller) -> Answer:
        try:
            async with connection.transaction():
                await end_worker(connection, caller.world.workers[worker], "stopped")
        except asyncpg.ForeignKeyViolationError:
            return Answer("left to the reaper")
        return Answer("left")

    return play


# --- the engine's duties and people's wishes ----------------------------------------------


def _reap(worker: str) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        seen = await _seen(connection, world, world.workers[worker])
        # What follows when its patience is over; the rest of `Reap` counts time. What it says is
        # how many it has looked at, and some may be closed by hand since.
        await Reap(SILENT)._reap(connection, seen, world.now, LIMIT)
        return Answer(None)

    return play


async def _seen(connection: Connection, world: World, worker_id: int) -> Lease:
    """The lease as the reaper has watched it: at its first beat, unless the world moves on."""
    if world.lively:
        for lease in await read_leases(connection):
            if lease.worker_id == worker_id:
                return lease
    return Lease(worker_id, 0, 15.0, "a worker of a race")


SILENT = Bell(Line("", name="nobody"))
"""It is never asked to send what it is told."""


async def _wake(connection: Connection, caller: Caller) -> Answer:
    """The first step of the duty, which is for backoffs."""
    return Answer(await Wake(SILENT).step(connection, caller.world.now + LATER, LIMIT))


async def _wake_starts(connection: Connection, caller: Caller) -> Answer:
    """The second step."""
    woken = await wake_starts(connection, caller.world.now + LATER, LIMIT)
    return Answer({"due": woken.due, "lanes": len(woken.lanes)})


async def _cancel(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    return Answer(await stop_runs(connection, world.runs, "cancel", now=world.now))


async def _prioritize(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    number = (caller.session + caller.turn) % len(world.runs) if world.lively else 0
    tasks, lanes = await change_priority(connection, world.runs[number], 9)
    return Answer({"tasks": tasks, "lanes": len(lanes)})


async def _time_out(connection: Connection, caller: Caller) -> Answer:
    now = caller.world.now + LATER
    return Answer(await Deadlines(SILENT).step(connection, now, LIMIT))


async def _reopen(connection: Connection, caller: Caller) -> Answer:
    """From its first task on, as whoever has seen it in its first generation wishes."""
    world = caller.world
    number = (caller.session + caller.turn) % len(world.runs) if world.lively else 0
    reopened = await reopen_run(connection, world.runs[number], {0: 1}, now=world.now)
    return Answer({"tasks": reopened.nodes, "lanes": len(reopened.lanes)})


def _mark(node: int, state: Mark) -> Play:
    """By hand, by somebody who has seen the world when it was made."""

    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        number = (caller.session + caller.turn) % len(world.runs) if world.lively else 0
        run_id = world.runs[number]
        if world.lively:
            standing = await read_standing(connection, run_id)
            place = node % len(standing.tasks)
            term = standing.tasks[place].term
        else:
            place, term = node, world.seen[run_id + node]
        marked = await mark_task(
            connection, run_id, place, term, state, Deed("a race"), now=world.now
        )
        return Answer(
            {
                "claimed": marked.claimed,
                "opened": list(marked.opened),
                "lanes": len(marked.lanes),
                "repeated": marked.repeated,
            }
        )

    return play


async def _retry(connection: Connection, caller: Caller) -> Answer:
    """A dead letter of the first run, as whoever has seen it in its first generation wishes."""
    world = caller.world
    reopened = await reopen_run(
        connection, world.runs[0], {0: 1}, retried=Deed("a race"), now=world.now
    )
    return Answer({"tasks": reopened.nodes, "lanes": len(reopened.lanes)})


async def _archive(connection: Connection, caller: Caller) -> Answer:
    archived = await archive_runs(connection, caller.world.first_id - 1, LIMIT, FAR_FUTURE)
    return Answer({"seen": archived.seen, "moved": archived.moved})


async def _forget_keys(connection: Connection, caller: Caller) -> Answer:
    return Answer(await forget_keys(connection, caller.world.now + LATER, LIMIT))


async def _forget_runs(connection: Connection, caller: Caller) -> Answer:
    return Answer(await forget_runs(connection, caller.world.now + LATER, LIMIT))


# --- schedules ------------------------------------------------------------------------------


def _numbered(play: Play) -> Play:
    """What it makes has the ids of this turn, and of its repetition others than before."""

    async def with_ids(connection: Connection, caller: Caller) -> Answer:
        world, turn = caller.world, (caller.session, caller.turn)

        def take(count: int) -> int:
            first = world.id_of(caller.place(world.taken[turn]))
            world.taken[turn] += count
            return first

        TAKING.set(take)
        return await play(connection, caller)

    return with_ids


async def _fire(connection: Connection, caller: Caller) -> Answer:
    """The tick of an engine that holds no shard: what is overdue is anyone's."""
    nobody = Line("", name="nobody")
    tick = FireSchedules(nobody, Shards(nobody, _engine(caller, "a tick"), "a tick"), SILENT)
    await tick.step(connection, caller.world.now + timedelta(seconds=2))
    return Answer(None)


async def _fire_as_seen(connection: Connection, caller: Caller) -> Answer:
    """An engine that was frozen between its reading and its move."""
    world = caller.world
    now = world.now + timedelta(seconds=2)
    moved = await Settler().settle(connection, world.standing, now)
    return Answer({"lanes": len(moved.lanes), "moved": len(moved.schedules)})


async def _follow(connection: Connection, caller: Caller) -> Answer:
    """Also worlds before this one may have something to follow, and their ids are lower."""
    world = caller.world
    duty = FollowRuns(Line("", name="nobody"), SILENT)
    duty._above = (world.schedule_id - 1, 2**62)
    await duty.step(connection, world.now)
    return Answer(None)


async def _move(connection: Connection, caller: Caller) -> Answer:
    """The first transaction of that duty, where it has two."""
    world = caller.world
    standing = await standing_schedules(connection, world.now, [world.schedule_id])
    moved = await Settler().settle(connection, standing, world.now)
    return Answer({"lanes": len(moved.lanes)})


async def _stop_replaced(connection: Connection, caller: Caller) -> Answer:
    """The second, by what was read before the first."""
    [standing] = caller.world.standing
    await FollowRuns(Line("", name="nobody"), SILENT)._stop_replaced(connection, standing)
    return Answer(None)


def _put(version: int | None = None) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        now = world.now + timedelta(seconds=3)
        put = await put_schedule(
            connection, world.intent(90), version=version, by="a race", now=now
        )
        return Answer({"version": put.version, "lanes": len(put.lanes)})

    return play


async def _pause(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    now = world.now + timedelta(seconds=3)
    paused = await pause_schedule(connection, world.schedule, by="a race", now=now)
    return Answer({"lanes": len(paused.lanes)})


async def _resume(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    now = world.now + timedelta(seconds=3)
    resumed = await resume_schedule(connection, world.schedule, now=now)
    return Answer({"lanes": len(resumed.lanes)})


async def _remove(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    now = world.now + timedelta(seconds=3)
    removed = await remove_schedule(connection, world.schedule, now=now)
    return Answer({"lanes": len(removed.lanes)})


# --- jobs -----------------------------------------------------------------------------------


def _make_jobs(*keys: str, priority: int = 7) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        jobs = [
            world.new_job(caller.place(number), key, priority) for number, key in enumerate(keys)
        ]
        # Each session names the keys in another order.
        jobs = jobs[:: 1 if caller.session % 2 else -1]
        created = await create_jobs(connection, jobs, now=world.now)
        pairs = zip(jobs, created.ids, strict=True)
        return Answer(
            {
                "runs": sorted(
                    ((job.draft.order.key or "").removeprefix(world.key), world.place_of(job_id))
                    for job, job_id in pairs
                ),
                "made": sorted(map(world.place_of, created.made)),
                "lanes": len(created.lanes),
            }
        )

    return play


def _trigger_job(key: str) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        run = world.new_job_run(caller.place(), key)
        triggered = await trigger_job(connection, run, now=world.now)
        return Answer(
            {
                "runs": [(key, world.place_of(triggered.run_id))],
                "made": triggered.made,
                "lanes": len(triggered.lanes),
            }
        )

    return play


async def _cancel_job(connection: Connection, caller: Caller) -> Answer:
    world = caller.world
    cancelled = await cancel_job(connection, world.job_id, by="a race", now=world.now)
    return Answer(
        {
            "version": cancelled.version,
            "stopping": cancelled.stopping,
            "changed": cancelled.changed,
        }
    )


_JOBS = (
    Operation("make job", (_make_jobs("wish"),), (ConflictError,)),
    Operation("make job otherwise", (_make_jobs("wish", priority=3),), (ConflictError,)),
    Operation("make job two", (_make_jobs("wish", "other"),), (ConflictError,)),
    Operation("make the same job", (_make_jobs("made"),), (ConflictError,)),
    Operation("trigger job", (_trigger_job("first"),), (ConflictError,)),
    Operation("trigger job again", (_trigger_job("second"),), (ConflictError,)),
    Operation("cancel job", (_cancel_job,)),
)


# --- backfills ------------------------------------------------------------------------------


async def _step_backfill(connection: Connection, caller: Caller) -> Answer:
    """Who finds that it has moved since it was read comes again, as an engine does."""
    world, turn = caller.world, (caller.session, caller.turn)
    taken = world.taken[turn]
    while True:
        world.taken[turn] = taken
        before = await standing_backfill(connection, world.backfill_id)
        stepped = await Stepper().step(connection, world.backfill_id, world.now)
        after = await standing_backfill(connection, world.backfill_id)
        assert before is not None
        assert after is not None
        if stepped.moved or before.turn == after.turn:
            return Answer({"lanes": len(stepped.lanes), "moved": stepped.moved})


def _change_backfill(change: Callable[[Connection, int], Awaitable[BackfillLine]]) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        return Answer((await change(connection, caller.world.backfill_id)).state)

    return play


async def _stop_backfill_runs(connection: Connection, caller: Caller) -> Answer:
    """As after a cancel: what is not known to be over is stopped."""
    await stop_backfill_runs(connection, caller.world.backfill_id)
    return Answer(None)


_BACKFILLS = (
    Operation("step backfill", (_numbered(_step_backfill),), passes_by="backfill"),
    Operation("pause backfill", (_change_backfill(pause_backfill),), (ConflictError,)),
    Operation("resume backfill", (_change_backfill(resume_backfill),), (ConflictError,)),
    Operation("cancel backfill", (_change_backfill(cancel_backfill),), (ConflictError,)),
    Operation("stop backfill runs", (_stop_backfill_runs,)),
)


def _engine(caller: Caller, name: str) -> UUID:
    return uuid5(caller.world.claim_id(0, 0), name)


def _take_shard(engine: str) -> Play:
    async def play(connection: Connection, caller: Caller) -> Answer:
        world = caller.world
        term = await take_shard(
            connection, SHARD, _engine(caller, engine), engine, world.shard_beat
        )
        return Answer(None if term is None else term - world.shard_term)

    return play


async def _beat(connection: Connection, caller: Caller) -> Answer:
    """As if it had taken the shard when the world was made."""
    terms = {SHARD: caller.world.shard_term + 1}
    held = await beat_engine(connection, _engine(caller, "A"), "A", terms)
    return Answer(sorted(held))


async def _free_shard(connection: Connection, caller: Caller) -> Answer:
    term = caller.world.shard_term + 1
    await free_shard(connection, SHARD, _engine(caller, "A"), term)
    return Answer(None)


_SCHEDULES = (
    Operation("fire", (_numbered(_fire),), passes_by="schedule"),
    Operation("fire as seen", (_numbered(_fire_as_seen),), passes_by="schedule"),
    Operation("follow", (_numbered(_follow),), passes_by="schedule"),
    Operation("move", (_numbered(_move),), passes_by="schedule"),
    Operation("stop replaced", (_stop_replaced,)),
    Operation("put", (_numbered(_put()),), (ConflictError,)),
    Operation("put version 1", (_numbered(_put(1)),), (ConflictError,)),
    Operation("pause", (_numbered(_pause),), (NotFoundError,)),
    Operation("resume", (_numbered(_resume),), (NotFoundError,)),
    Operation("remove", (_numbered(_remove),), (NotFoundError,)),
    Operation("take shard A", (_take_shard("A"),)),
    Operation("take shard B", (_take_shard("B"),)),
    Operation("beat A", (_beat,)),
    Operation("free shard A", (_free_shard,)),
)


def _worker_operations(name: str) -> tuple[Operation, ...]:
    hand_back = _complete(name, HandedBack("it stops"), grants=0)
    beat, unknown = _renew(name, knows_its_claims=False), _hand_back_unknown(name)
    return (
        Operation(f"claim {name}", (_claim(name),), (Reaped,), passes_by="ready"),
        Operation(f"claim one {name}", (_claim(name, 1),), (Reaped,), passes_by="ready"),
        Operation(f"renew {name}", (_renew(name),), (Reaped,)),
        Operation(f"renew {name} forgetfully", (beat, unknown), (Reaped,), main=1),
        Operation(f"start {name}", (_start(name),)),
        Operation(f"complete {name}", (_complete(name, Succeeded()),)),
        Operation(f"fail {name}", (_complete(name, FAILED),)),
        Operation(f"give up {name}", (_complete(name, GIVEN_UP),)),
        Operation(f"drain {name}", (hand_back, _leave(name))),
        Operation(f"reap {name}", (_reap(name),)),
    )


_ALL = (
    Operation("create", (_create,)),
    Operation("create again", (_create_again,)),
    Operation("enqueue", (_enqueue("wish"),), (ConflictError,)),
    Operation("enqueue otherwise", (_enqueue("wish", body=b"another"),), (ConflictError,)),
    Operation("enqueue two", (_enqueue("wish", "other"),), (ConflictError,)),
    Operation("enqueue the kept key", (_enqueue("kept"),), (ConflictError,)),
    *(operation for worker in "AB" for operation in _worker_operations(worker)),
    Operation("wake", (_wake,), passes_by="backoff"),
    Operation("wake starts", (_wake_starts,), passes_by="start"),
    Operation("cancel", (_cancel,)),
    Operation("prioritize", (_prioritize,)),
    Operation("time out", (_time_out,), passes_by="deadline"),
    Operation("reopen", (_reopen,), (ConflictError, NotFoundError)),
    Operation("retry", (_retry,), (ConflictError, NotFoundError)),
    Operation("mark", (_mark(0, "succeeded"),), (ConflictError, NotFoundError)),
    Operation("skip", (_mark(0, "skipped"),), (ConflictError, NotFoundError)),
    Operation("mark second", (_mark(1, "succeeded"),), (ConflictError, NotFoundError)),
    Operation("skip second", (_mark(1, "skipped"),), (ConflictError, NotFoundError)),
    Operation("archive", (_archive,), passes_by="run"),
    Operation("forget", (_forget_keys, _forget_runs), passes_by="run_history", main=1),
    *_SCHEDULES,
    *_JOBS,
    *_BACKFILLS,
)

OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _ALL}
