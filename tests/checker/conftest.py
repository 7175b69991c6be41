"""A small piece of real life, played once through the real store, with the logs that go with it.

The checker's own modules import nothing of Mainspring; this file and the tests beside it do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar
from uuid import uuid4

import msgspec
import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Error, HandedBack, Lost, Outcome, Succeeded
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.attempts import (
    Claimed,
    Completed,
    complete_attempts,
    drop_claims,
    end_worker,
    register_worker,
    renew_lease,
)
from mainspring.store.connection import Connection, connect
from mainspring.store.dags import register_dag
from mainspring.store.duties import renew_shard, take_shard, wake_backoff
from mainspring.store.history import archive_runs
from mainspring.store.ids import Ids
from mainspring.store.logs import append_log
from mainspring.store.marks import Mark, mark_task
from mainspring.store.pauses import pause_dag, pause_queue, resume_dag, resume_queue, shift_slice
from mainspring.store.runs import (
    Deed,
    NewRun,
    create_runs,
    read_standing,
    reopen_run,
    stop_runs,
)
from mainspring.store.schedule_changes import (
    Intent,
    pause_schedule,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from mainspring.store.shards import SHARDS
from tests.checker.case import Case, read_case
from tests.checker.evidence import (
    CLIENT,
    FAULTS,
    OUTPUT,
    RELEASES,
    Answered,
    Asked,
    Fault,
    Log,
    Output,
    Release,
    What,
    now,
)
from tests.checker.journal import install_journal
from tests.checker.promises import PROMISES
from tests.checker.sinks import fenced, line, raw
from tests.conftest import Server
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, failure
from tests.support.invariants import violations

_T = TypeVar("_T")

PATIENT = RetrySpec(attempts=3, first_seconds=0.0)
DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4, name="diamond", retry=PATIENT)
ONE = dag_of(name="one")
URGENT, CALM = (
    DagSpec(
        name=name,
        tasks=(TaskSpec(name="t0", entry="sample:task", kind=SlotKind.ASYNC, priority=priority),),
    )
    for name, priority in (("urgent", 9), ("calm", 1))
)


class Player(BareWorker):
    """A worker whose tasks tell the sinks what they do."""

    name = ""
    pid = 0
    folder = Path()
    releases: Mapping[int, int] = {}
    """Which release each run is of."""

    async def take(self) -> Claimed:
        """One task, the next."""
        [claimed] = await self.claim(1)
        return claimed

    def token(self, claimed: Claimed) -> int:
        return (claimed.epoch << 32) + claimed.term

    def tell(self, claimed: Claimed, phase: Literal["begin", "end"]) -> None:
        raw(
            self.folder,
            phase,
            run=claimed.run_id,
            task=f"t{claimed.node}",
            attempt=claimed.attempt,
            generation=claimed.generation,
            token=self.token(claimed),
            key=f"{claimed.run_id}/t{claimed.node}/{claimed.generation}",
            kind="async",
            releases=[self.releases[claimed.run_id]],
        )

    async def print(self, claimed: Claimed, lines: int, *, kept: int | None = None) -> None:
        """So many lines, of which so many are kept."""
        run, task, token = claimed.run_id, f"t{claimed.node}", self.token(claimed)
        log = Log(self.folder / OUTPUT)
        log.write(Output(now(), "before", run, task, token, lines))
        text = "".join(line(run, task, token, number) for number in range(lines)[:kept])
        await append_log(self.connection, [(claimed.task_id, claimed.term, 0, text.encode())])
        log.write(Output(now(), "after", run, task, token, lines))
        log.close()

    def write_fenced(self, claimed: Claimed) -> bool:
        return fenced(
            self.folder,
            key=f"{claimed.run_id}/t{claimed.node}/{claimed.generation}",
            token=self.token(claimed),
            run=claimed.run_id,
            task=f"t{claimed.node}",
        )

    async def work(
        self,
        claimed: Claimed,
        outcome: Outcome | None = None,
        *,
        spec: DagSpec = ONE,
        grant: Mapping[int, int] | None = None,
    ) -> Completed:
        self.tell(claimed, "begin")
        self.tell(claimed, "end")
        return await self.report(claimed, outcome, spec=spec, grant=grant)

    async def report(
        self,
        claimed: Claimed,
        outcome: Outcome | None = None,
        *,
        spec: DagSpec = ONE,
        grant: Mapping[int, int] | None = None,
    ) -> Completed:
        self.spec = spec
        others = await self.connection.fetchval(
            "select count(*) from mainspring.claim c, unnest(c.task_ids, c.terms) as k (id, term)"
            " join mainspring.task t on t.id = k.id and t.term = k.term and t.state = 'ready'"
            " where c.id = $1 and t.id <> $2",
            claimed.claim_id,
            claimed.task_id,
        )
        return await complete_attempts(
            self.connection,
            self.id,
            [self.completion(claimed, outcome or Succeeded())],
            emptied=() if others else [claimed.claim_id],
            grant_claim=uuid4(),
            grant_slots=grant,
        )


class Scene:
    """Plays parts through the store, and keeps the logs that a harness would."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self.connection = connection
        self.folder = folder
        self._client = Log(folder / CLIENT)
        self._faults = Log(folder / FAULTS)
        self._ids = Ids()
        self._asked = 0
        self._release = 0
        self.releases: dict[int, int] = {}
        """By run."""
        self.deploy()

    def deploy(self) -> None:
        """Other code, from now on."""
        self._release += 1
        log = Log(self.folder / RELEASES)
        log.write(Release(now(), self._release, self._digest))
        log.close()

    @property
    def _digest(self) -> str:
        return f"snapshot {self._release}"

    def close(self) -> None:
        self._client.close()
        self._faults.close()

    def ask(
        self,
        what: What,
        answer: Literal["ok", "failed", "unknown"],
        *,
        dag: str = "",
        key: str | None = None,
        run: int | None = None,
        made: int | None = None,
        queue: str = "",
        schedule: str = "",
    ) -> None:
        self._asked += 1
        asked = Asked(self._asked, now(), what, dag, key, run, queue=queue, schedule=schedule)
        self._client.write(asked)
        self._client.write(Answered(self._asked, now(), answer, made))

    async def trigger(
        self,
        spec: DagSpec,
        *,
        answer: Literal["ok", "unknown"] = "ok",
        key: str | None = None,
    ) -> int:
        self._asked += 1
        number = self._asked
        self._client.write(Asked(number, now(), "trigger", spec.name, key))
        dag = await register_dag(self.connection, spec, self._digest)
        id_ = await self._ids.take(self.connection, len(spec.tasks))
        run = NewRun(id_, dag.version_id, dag.snapshot_id, key=key)
        [run_id] = (await create_runs(self.connection, [run])).ids
        self.releases[run_id] = self._release
        told = run_id if answer == "ok" else None
        self._client.write(Answered(number, now(), answer, told))
        return run_id

    async def join(self, name: str, pid: int, *, slots: int = 4, lease: float = 15.0) -> Player:
        worker_id = await register_worker(
            self.connection,
            uuid4(),
            name=name,
            host="here",
            pid=pid,
            queues=["default"],
            slots={SlotKind.ASYNC: slots},
            lease_seconds=lease,
        )
        player = Player(self.connection, worker_id, ONE)
        player.name, player.pid, player.folder = name, pid, self.folder
        player.releases = self.releases
        await renew_lease(
            self.connection, worker_id, [], draining=False, claims_known_after=timedelta(seconds=5)
        )
        return player

    def fault(self, kind: str, victim: Player, *, seconds: float = 0.0) -> None:
        """From now on, for so long; the log does not say when it was written."""
        target = victim.name.replace("-", " ")
        self._faults.write(Fault(now(), now() + seconds, kind, target, victim.pid))

    async def reap(self, victim: Player, claims: Sequence[Claimed]) -> None:
        """As the engine does it: the attempts are lost in the name of their holder."""
        async with self.connection.transaction():
            lost = Lost(Error("WorkerLost", "the worker was not heard of again"))
            await complete_attempts(
                self.connection, victim.id, [victim.completion(item, lost) for item in claims]
            )
            await drop_claims(self.connection, victim.id, None)
            await end_worker(self.connection, victim.id, "reaped")

    async def mark(self, run_id: int, node: int, state: Mark) -> None:
        standing = await read_standing(self.connection, run_id)
        term = standing.tasks[node].term
        await mark_task(self.connection, run_id, node, term, state, Deed("a player"))
        self.ask("mark", "ok", run=run_id)

    async def put(self, seconds: int) -> None:
        """A schedule of that interval."""
        spec = ScheduleSpec(when=(IntervalSpec(seconds),), grace_seconds=3600)
        self._asked += 1
        number = self._asked
        encoded = msgspec.json.encode(spec, order="deterministic").decode()
        asked = Asked(number, now(), "put_schedule", schedule="tick", spec=encoded)
        self._client.write(asked)
        await put_schedule(self.connection, Intent("tick", ONE.name, spec), by="a player")
        self._client.write(Answered(number, now(), "ok"))

    async def fire(self, worker: Player) -> None:
        """Wait until it is due, fire, and do what it asks for."""
        settler = Settler()
        beginning = datetime(1970, 1, 1, tzinfo=UTC)
        shards = list(range(1, SHARDS + 1))
        while not (due := await due_schedules(self.connection, None, shards, beginning, 10)):
            await self.connection.fetch("select pg_sleep(0.05)")
        await settler.settle(self.connection, due, None)
        for item in await worker.claim():
            self.releases[item.run_id] = self._release
            await worker.work(item)

    @property
    def release(self) -> int:
        return self._release

    async def archive(self) -> None:
        async with self.connection.transaction():
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            await archive_runs(self.connection, 0, 1000, tomorrow)


async def play(scene: Scene) -> None:
    """Everything that a promise is about happens once, and nothing goes wrong."""
    connection = scene.connection
    engine = uuid4()
    term = await take_shard(connection, 0, engine, "engine-1", 0)
    assert term is not None
    assert await renew_shard(connection, 0, engine, term)
    worker = await scene.join("worker-1", 1001)
    await _retry_and_grant(scene, worker)
    await _lose_answers(scene, worker)
    await _choose(scene, worker)
    await _freeze(scene, worker)
    await _kill(scene, worker)
    await _hand_back(scene, worker)
    await _stop(scene, worker)
    await _mark(scene, worker)
    await _pause(scene, worker)
    await _deploy(scene, worker)
    await _rerun(scene, worker)
    await _schedule(scene, worker)


async def _retry_and_grant(scene: Scene, worker: Player) -> None:
    """A diamond: one side fails once and rests, and the join is granted."""
    await scene.trigger(DIAMOND, key="wish")
    await scene.trigger(DIAMOND, key="wish")
    first = await worker.take()
    sides = (await worker.work(first, spec=DIAMOND, grant={DEFAULT_LANE: 2})).grants
    assert len(sides) == 2
    await worker.work(sides[0], spec=DIAMOND)
    await worker.work(sides[1], failure(), spec=DIAMOND)
    assert (await wake_backoff(scene.connection, None, 10)).due == 1
    again = await worker.take()
    [join] = (await worker.work(again, spec=DIAMOND, grant={DEFAULT_LANE: 1})).grants
    await worker.work(join, spec=DIAMOND)


async def _lose_answers(scene: Scene, worker: Player) -> None:
    """Two requests without an answer: one made its run, the other did not."""
    await scene.trigger(ONE, answer="unknown")
    scene.ask("trigger", "unknown", dag="one")
    await worker.work(await worker.take())


async def _choose(scene: Scene, worker: Player) -> None:
    for spec in (CALM, URGENT, CALM):
        await scene.trigger(spec)
    for _ in range(3):
        await worker.work(await worker.take())


async def _freeze(scene: Scene, worker: Player) -> None:
    """A worker stands still, is reaped, and wakes up too late."""
    frozen = await scene.join("worker-2", 1002, lease=0.0001)
    await scene.trigger(ONE)
    held = await frozen.take()
    frozen.tell(held, "begin")
    assert frozen.write_fenced(held)
    scene.fault("freeze", frozen, seconds=60)
    await scene.reap(frozen, [held])
    taken = await worker.take()
    worker.tell(taken, "begin")
    assert worker.write_fenced(taken)
    assert not frozen.write_fenced(held)
    refused = (await frozen.report(held)).refused
    assert refused == {(held.task_id, held.term): "superseded"}
    worker.tell(taken, "end")
    await worker.report(taken)


async def _kill(scene: Scene, worker: Player) -> None:
    killed = await scene.join("worker-3", 1003)
    await scene.trigger(ONE)
    held = await killed.take()
    killed.tell(held, "begin")
    scene.fault("kill", killed)
    await scene.reap(killed, [held])
    await worker.work(await worker.take())


async def _hand_back(scene: Scene, worker: Player) -> None:
    await scene.trigger(ONE)
    await worker.report(await worker.take(), HandedBack("not now"))
    await worker.work(await worker.take())


async def _stop(scene: Scene, worker: Player) -> None:
    """One is claimed and gets a note, the other waits in its queue and is closed."""
    running = await scene.trigger(ONE)
    claimed = await worker.take()
    queued = await scene.trigger(DIAMOND)
    for run in (running, queued):
        await stop_runs(scene.connection, [run], "cancel")
        scene.ask("cancel", "ok", run=run)
    await worker.work(claimed, Cancelled("by request"))


async def _pause(scene: Scene, worker: Player) -> None:
    """A dag and a queue, each with a task that waits until they are resumed."""
    await scene.trigger(ONE)
    paused = await pause_dag(scene.connection, ONE.name)
    await shift_slice(scene.connection, paused.id, 0)
    scene.ask("pause_dag", "ok", dag=ONE.name)
    assert not await worker.claim()
    await resume_dag(scene.connection, ONE.name)
    await shift_slice(scene.connection, paused.id, 0)
    scene.ask("resume_dag", "ok", dag=ONE.name)
    await pause_queue(scene.connection, "default")
    scene.ask("pause_queue", "ok", queue="default")
    assert not await worker.claim()
    await resume_queue(scene.connection, "default")
    scene.ask("resume_queue", "ok", queue="default")
    await worker.work(await worker.take())


async def _rerun(scene: Scene, worker: Player) -> None:
    """Of two failed runs one is in history when it is opened again, and so is a diamond that
    succeeded, of which one side runs again.
    """
    failed = await scene.trigger(ONE)
    await worker.work(await worker.take(), failure())
    diamond = await scene.trigger(DIAMOND)
    while claimed := await worker.claim():
        for item in claimed:
            await worker.work(item, spec=DIAMOND)
    await scene.archive()
    for run, node in ((failed, 0), (diamond, 1)):
        await reopen_run(scene.connection, run, {node: 1})
        scene.ask("rerun", "ok", run=run)
    while claimed := await worker.claim():
        for item in claimed:
            await worker.work(item, spec=DIAMOND if item.many else ONE)


async def _schedule(scene: Scene, worker: Player) -> None:
    """Fires, is paused and resumed, is changed, fires again, and is removed."""
    connection = scene.connection
    await scene.put(1)
    await scene.fire(worker)
    await pause_schedule(connection, "tick", by="a player")
    scene.ask("pause_schedule", "ok", schedule="tick")
    await connection.fetch("select pg_sleep(1.1)")
    scene.ask("resume_schedule", "ok", schedule="tick")
    await resume_schedule(connection, "tick")
    await scene.put(2)
    await scene.fire(worker)
    scene.ask("remove_schedule", "ok", schedule="tick")
    await remove_schedule(connection, "tick")
    # What was due until the removal has fired with it.
    for item in await worker.claim():
        scene.releases[item.run_id] = scene.release
        await worker.work(item)


async def _mark(scene: Scene, worker: Player) -> None:
    """One is taken out of its worker's hand, one waits, and one has failed and is in history."""
    held = await scene.trigger(ONE)
    claimed = await worker.take()
    await scene.mark(held, 0, "succeeded")
    await worker.report(claimed)
    diamond = await scene.trigger(DIAMOND)
    await scene.mark(diamond, 3, "succeeded")
    await scene.mark(diamond, 1, "skipped")
    failed = await scene.trigger(DIAMOND)
    await worker.work(await worker.take(), spec=DIAMOND)
    while items := await worker.claim():
        for item in items:
            fails = item.run_id == failed and item.node == 0
            await worker.work(item, failure() if fails else None, spec=DIAMOND)
    await scene.archive()
    await scene.mark(failed, 0, "skipped")


async def _deploy(scene: Scene, worker: Player) -> None:
    """Code is replaced while a run of it waits; that run and the next one print."""
    await scene.trigger(ONE)
    scene.deploy()
    await scene.trigger(ONE)
    for lines in (3, 4):
        claimed = await worker.take()
        worker.tell(claimed, "begin")
        await worker.print(claimed, lines)
        worker.tell(claimed, "end")
        await worker.report(claimed)


# --- fixtures -----------------------------------------------------------------------------------


class Played(NamedTuple):
    """The piece after its end."""

    url: str
    folder: Path


class Surgery:
    """Works on the tables of the piece, as nobody may, in a transaction that never happens.

    Each step is a transaction of its own as far as the journal knows.
    """

    def __init__(self, played: Played, connection: Connection, folder: Path) -> None:
        self.played = played
        self.connection = connection
        self.scene = Scene(connection, folder)
        self._steps = 0

    async def begin(self) -> None:
        """No guard stands in the way."""
        await self.sql(
            "alter table mainspring.task disable trigger task_moves",
            "alter table mainspring.task disable trigger task_terms",
            "alter table mainspring.run disable trigger run_moves",
        )
        worker_id = await self.connection.fetchval("select worker_id from mainspring.lease")
        self.worker = Player(self.connection, worker_id, ONE)
        self.worker.name, self.worker.pid = "worker-1", 1001
        self.worker.folder = self.scene.folder
        self.worker.releases = self.scene.releases

    async def sql(self, *steps: str) -> None:
        for step in steps:
            await self.does(self.connection.execute(step))

    async def does(self, action: Awaitable[_T]) -> _T:
        result = await action
        self._steps += 1
        await self.connection.execute(
            "update checker.move set transaction ="
            " (pg_current_xact_id()::text::bigint + $1::bigint)::text::xid8"
            " where transaction = pg_current_xact_id()",
            self._steps,
        )
        return result

    async def hold(self, spec: DagSpec = ONE) -> Claimed:
        """A task in the hands of the worker."""
        await self.does(self.scene.trigger(spec))
        return await self.does(self.worker.take())

    async def case(self) -> Case:
        return await read_case(self.played.folder, self.connection)

    async def finds(self, promise: str, *words: str) -> None:
        """The checker sees it, and says what and of which task or run."""
        assert_found(await self.case(), promise, *words)


def assert_found(case: Case, promise: str, *words: str) -> None:
    finding = PROMISES[promise](case)
    assert any(all(word in said for word in words) for said in finding.violations), finding


@pytest.fixture(scope="session")
def played(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("evidence")

    async def prepare() -> str:
        name = await server.create()
        connection = await connect(server.url(name), name="play")
        await install_journal(connection)
        scene = Scene(connection, folder)
        await play(scene)
        scene.close()
        broken = await violations(connection)
        await connection.close()
        assert not broken, broken
        return name

    name = asyncio.run(prepare())
    yield Played(server.url(name), folder)
    asyncio.run(server.drop(name))


@pytest.fixture
async def surgery(played: Played, tmp_path: Path) -> AsyncIterator[Surgery]:
    connection = await connect(played.url, name="surgery")
    transaction = connection.transaction()
    await transaction.start()
    surgery = Surgery(played, connection, tmp_path)
    try:
        await surgery.begin()
        yield surgery
    finally:
        surgery.scene.close()
        await transaction.rollback()
        await connection.close()


@pytest.fixture
async def case(played: Played) -> Case:
    """The evidence as it is; logs may be doctored in place."""
    connection = await connect(played.url, name="read")
    case = await read_case(played.folder, connection)
    await connection.close()
    return case


@pytest.fixture
async def scene(connection: Connection, tmp_path: Path) -> AsyncIterator[Scene]:
    """A stage of one's own."""
    await install_journal(connection)
    scene = Scene(connection, tmp_path)
    yield scene
    scene.close()
