"""Remote workers by the thousand: how many tasks a second go through one server.

The workers are simulated, so that they cost little: one process holds all of them. Each has three
connections, as a real one has, and speaks the worker protocol: it claims for its free slots, holds
every task for a while, reports those that are over together, and beats. A queue of their own is
kept full, so nothing but the server and the database decides how fast it goes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID, uuid4

import httptools
import msgspec

from mainspring import worker_protocol as protocol
from mainspring.bench.load import Load
from mainspring.domain.errors import UnavailableError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded
from mainspring.domain.roles import Role
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import DagRow, read_dag, register_dag
from mainspring.store.tokens import create_token, new_secret

WORKERS = 1_000
SLOTS = 10
QUEUE = "bench-remote"
HOLD_SECONDS = 1.0
"""How long simulated tasks take on average: the slots together want more than the server can do.
Claims differ by half of it, or the workers would march in step."""
LEASE_SECONDS = 15.0
_WAIT_SECONDS = 20.0
_BACKLOG_PER_SLOT = 2
_BATCH = 1_000
_LOOK_SECONDS = 0.25
_DRAIN_SECONDS = 60.0
_JOINS_AT_ONCE = 100

_encode = msgspec.msgpack.Encoder().encode
_OK = Succeeded(b"null")


class GatewayFigures(msgspec.Struct, frozen=True):
    tasks_per_s: float
    held: float
    """Tasks that the workers held, on average."""
    beat_late_p99_ms: float
    """From when a beat was due until it was answered."""
    beat_late_max_ms: float
    late_beats: int
    """Beats that were answered when their worker would have stopped trusting itself."""
    requests_per_s: float
    connections: int
    """Of the server to the database, at most."""


async def measure_gateway(
    url: str,
    port: int,
    *,
    seconds: float,
    warm_up_seconds: float,
    workers: int = WORKERS,
    slots: int = SLOTS,
) -> GatewayFigures:
    """Of the server at this port of ours, which uses the database at `url`."""
    connection = await connect(url, name="bench remote", stable_plans=True)
    try:
        dag, token = await _prepare(connection)
        async with _crowd(port, token, workers, slots) as crowd:
            pouring = asyncio.create_task(_pour(Load(connection), dag, crowd, workers * slots))
            watch = await connect(url, name="bench look")
            try:
                await _let_pass(warm_up_seconds, crowd, pouring, watch)
                crowd.begin()
                begun = time.monotonic()
                held, connections = await _let_pass(seconds, crowd, pouring, watch)
                figures = crowd.figures(time.monotonic() - begun, held, connections)
            finally:
                pouring.cancel()
                await asyncio.gather(pouring, return_exceptions=True)
                await watch.close()
            await crowd.drain()
        return figures
    finally:
        await connection.close()


async def _prepare(connection: Connection) -> tuple[DagRow, str]:
    spec = DagSpec(
        name="bench_remote",
        tasks=(TaskSpec(name="hold", entry="bench:hold", kind=SlotKind.ASYNC, queue=QUEUE),),
    )
    await register_dag(connection, spec, "bench")
    made = await create_token(
        connection, new_secret(), name=f"bench-{uuid4()}", role=Role.WORKER, queues=[QUEUE]
    )
    return await read_dag(connection, spec.name), made.token


async def _pour(load: Load, dag: DagRow, crowd: Crowd, slots: int) -> None:
    """Keep the queue full."""
    while True:
        while load.made - crowd.taken < _BACKLOG_PER_SLOT * slots:
            await load.make(dag, _BATCH)
        await asyncio.sleep(0.02)


async def _let_pass(
    seconds: float, crowd: Crowd, pouring: asyncio.Task[None], watch: Connection
) -> tuple[float, int]:
    """How many tasks were held meanwhile, on average, and connections at most."""
    until = time.monotonic() + seconds
    seen: list[int] = []
    connections = 0
    while (left := until - time.monotonic()) > 0:
        await asyncio.wait([pouring, crowd.failed], timeout=min(left, _LOOK_SECONDS))
        for one in (pouring, crowd.failed):
            if one.done():
                one.result()
        seen.append(crowd.held)
        connections = max(connections, await _connections(watch))
    return sum(seen) / max(len(seen), 1), connections


async def _connections(watch: Connection) -> int:
    [row] = await fetch(
        watch,
        "select count(*) from pg_stat_activity where datname = current_database() and"
        " application_name ~ '^mainspring (server|gateway)'",
    )
    count: int = row["count"]
    return count


@asynccontextmanager
async def _crowd(port: int, token: str, workers: int, slots: int) -> AsyncIterator[Crowd]:
    crowd = Crowd(port, token, slots)
    try:
        for first in range(0, workers, _JOINS_AT_ONCE):
            count = min(_JOINS_AT_ONCE, workers - first)
            await asyncio.gather(*(crowd.join() for _ in range(count)))
        yield crowd
    finally:
        await crowd.close()


class Crowd:
    """All the simulated workers, and what they have seen."""

    def __init__(self, port: int, token: str, slots: int) -> None:
        self.port = port
        self.slots = slots
        self.head = (
            f"host: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n"
            f"accept: {protocol.MSGPACK}\r\ncontent-type: {protocol.MSGPACK}\r\n"
        )
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.held = self.taken = self.ended = self.asked = 0
        self.late_seconds: list[float] = []
        self.stopping = False
        self._workers: list[_Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended_before = self._asked_before = 0

    async def join(self) -> None:
        worker = _Worker(self)
        await worker.join()
        self._workers.append(worker)
        for loop in (worker.claim_loop(), worker.end_loop(), worker.beat_loop()):
            task = asyncio.create_task(loop)
            self._tasks.add(task)
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.failed.done():
            self.failed.set_exception(error)

    def begin(self) -> None:
        self._ended_before, self._asked_before = self.ended, self.asked
        self.late_seconds.clear()

    def figures(self, seconds: float, held: float, connections: int) -> GatewayFigures:
        late = sorted(self.late_seconds) or [0.0]
        spare_seconds = LEASE_SECONDS * 4 / 5 - LEASE_SECONDS / 3
        return GatewayFigures(
            tasks_per_s=(self.ended - self._ended_before) / seconds,
            held=held,
            beat_late_p99_ms=late[int(len(late) * 0.99)] * 1000,
            beat_late_max_ms=late[-1] * 1000,
            late_beats=sum(each > spare_seconds for each in late),
            requests_per_s=(self.asked - self._asked_before) / seconds,
            connections=connections,
        )

    async def drain(self) -> None:
        """What is in the queue still is done, and nothing is held any more."""
        until = time.monotonic() + _DRAIN_SECONDS
        quiet = 0
        while quiet < 5:
            ended = self.ended
            await asyncio.wait([self.failed], timeout=_LOOK_SECONDS)
            if self.failed.done():
                self.failed.result()
            quiet = quiet + 1 if not self.held and ended == self.ended else 0
            if time.monotonic() > until:
                raise UnavailableError(f"remote workers hold {self.held} tasks for too long")

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for first in range(0, len(self._workers), _JOINS_AT_ONCE):
            leaving = self._workers[first : first + _JOINS_AT_ONCE]
            await asyncio.gather(*(each.leave() for each in leaving), return_exceptions=True)
        if self.failed.done():
            self.failed.exception()


class _Task(msgspec.Struct, frozen=True):
    """As much of a claimed task as a worker needs that does nothing."""

    claim_id: UUID
    task_id: int
    term: int


class _Claim(msgspec.Struct, frozen=True):
    tasks: list[_Task]


class _Worker:
    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._path = f"/api/v1/workers/{uuid4()}"
        self._claims = _Channel(crowd)
        self._ends = _Channel(crowd)
        self._beats = _Channel(crowd)
        self._free = crowd.slots
        self._freed = asyncio.Event()
        self._known: dict[UUID, int] = {}
        """Claims, and how many tasks of each are in hand."""
        self._over: list[_Task] = []
        self._some_over = asyncio.Event()
        self._renew_seconds = 0.0

    async def join(self) -> None:
        asked = protocol.Join(
            name="simulated",
            queues=[QUEUE],
            slots={SlotKind.ASYNC: self._crowd.slots},
            lease_seconds=LEASE_SECONDS,
        )
        content = await self._beats.ask("PUT", self._path, asked)
        self._renew_seconds = msgspec.msgpack.decode(content, type=protocol.Joined).renew_seconds

    async def leave(self) -> None:
        channel = _Channel(self._crowd)
        await channel.ask("DELETE", self._path)
        for each in (self._claims, self._ends, self._beats, channel):
            each.close()

    async def claim_loop(self) -> None:
        path, loop = f"{self._path}/claims", asyncio.get_running_loop()
        while True:
            while not self._free:
                self._freed.clear()
                await self._freed.wait()
            claim = uuid4()
            self._known[claim] = 0
            wish = protocol.Wish(
                claim=claim, slots={SlotKind.ASYNC: self._free}, wait_seconds=_WAIT_SECONDS
            )
            content = await self._claims.ask("POST", path, wish)
            tasks = msgspec.msgpack.decode(content, type=_Claim).tasks
            if not tasks:
                del self._known[claim]
                continue
            self._known[claim] = len(tasks)
            self._free -= len(tasks)
            self._crowd.held += len(tasks)
            self._crowd.taken += len(tasks)
            loop.call_later(random.uniform(0.5, 1.5) * HOLD_SECONDS, self._finish, tasks)

    def _finish(self, tasks: Sequence[_Task]) -> None:
        self._over += tasks
        self._some_over.set()

    async def end_loop(self) -> None:
        path = f"{self._path}/ends"
        while True:
            await self._some_over.wait()
            self._some_over.clear()
            tasks, self._over = self._over, []
            ends = [protocol.End(task=t.task_id, term=t.term, outcome=_OK) for t in tasks]
            content = await self._ends.ask("POST", path, protocol.Ends(ends=ends))
            refused = msgspec.msgpack.decode(content, type=protocol.Ended).refused
            if refused:
                raise UnavailableError(f"ends of a simulated worker were refused: {refused[:3]}")
            for task in tasks:
                self._known[task.claim_id] -= 1
                if not self._known[task.claim_id]:
                    del self._known[task.claim_id]
            self._free += len(tasks)
            self._crowd.held -= len(tasks)
            self._crowd.ended += len(tasks)
            self._freed.set()

    async def beat_loop(self) -> None:
        path = f"{self._path}/beats"
        # Real workers do not start at the same instant.
        due = time.monotonic() + self._renew_seconds * (hash(self._path) % 1000) / 1000
        while True:
            await asyncio.sleep(max(due - time.monotonic(), 0))
            await self._beats.ask("POST", path, protocol.Beat(claims=list(self._known)))
            self._crowd.late_seconds.append(time.monotonic() - due)
            due += self._renew_seconds


class _Channel(asyncio.Protocol):
    """One connection that is kept, with one request in flight."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._content = bytearray()
        self._answer: asyncio.Future[bytes] | None = None

    async def ask(self, method: str, path: str, said: object = None) -> bytes:
        if self._transport is None:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: self, "127.0.0.1", self._crowd.port)
        assert self._transport is not None
        body = b"" if said is None else _encode(said)
        head = f"{method} {path} HTTP/1.1\r\n{self._crowd.head}content-length: {len(body)}\r\n\r\n"
        self._answer = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._content.clear()
        self._transport.write(head.encode() + body)
        self._crowd.asked += 1
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of it.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._content += body

    def on_message_complete(self) -> None:
        assert self._answer is not None
        if self._answer.done():
            return
        status, content = self._parser.get_status_code(), bytes(self._content)
        if status < 300:
            self._answer.set_result(content)
        else:
            self._answer.set_exception(
                UnavailableError(f"a simulated worker was answered with {status}: {content!r}")
            )

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(
                UnavailableError("the server closed the connection of a simulated worker")
            )
