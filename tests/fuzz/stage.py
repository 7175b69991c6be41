"""What is there while a server is fuzzed: something of everything, made again when it is gone.

Requests remove, cancel, revoke and prune. So a keeper looks all the time whether each thing is
still there, and writes down what can be asked for: names, numbers, what a worker has in hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from mainspring.client import Client
from mainspring.domain.errors import MainspringError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.roles import Role
from mainspring.domain.specs import DagSpec, ParameterSpec, TaskSpec
from mainspring.domain.written_dags import WrittenDag, WrittenTask, spec_of
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.attempts import Reaped, claim_attempts, register_worker
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.connection import Connection
from mainspring.store.dags import Registered, register_dag
from mainspring.store.dead_letters import list_groups
from mainspring.store.letter_shapes import group_id
from mainspring.store.logs import append_log
from mainspring.store.schedule_changes import Intent, create_schedule, put_calendar
from mainspring.store.snapshots import keep_snapshot
from mainspring.store.tokens import create_token, new_secret
from mainspring.store.written_dags import put_written_dag
from tests.support.factory import DEFAULT_LANE, BareWorker, failure, start_run
from tests.support.job_stage import JobStage, command

STEP_SECONDS = 0.5
LEASE_SECONDS = 120.0
SHOWN_MAX = 40

SALES = DagSpec(
    name="daily_sales",
    tasks=(
        TaskSpec(name="extract", entry="sales:extract", kind=SlotKind.ASYNC),
        TaskSpec(name="load", entry="sales:load", kind=SlotKind.ASYNC),
    ),
    edges=((0, 1),),
    parameters=(
        ParameterSpec(name="region", schema={"type": "string"}, required=False, default="eu"),
    ),
    tags=("sales",),
    owner="sales",
)
ORDERS = WrittenDag(
    name="weekly_orders", tasks=[WrittenTask(name="count", command=["wc", "-l", "orders.csv"])]
)


class Hand(msgspec.Struct, frozen=True):
    """A task that the remote worker has claimed."""

    task: int
    term: int
    claim: str


class Things(msgspec.Struct, frozen=True):
    """What can be asked for now."""

    names: Mapping[str, list[Any]]
    """By the name of the path's part, the query's parameter or the body's field."""
    hand: list[Hand]


class Keeper:
    def __init__(self, connection: Connection, client: Client, told: Path) -> None:
        self._connection = connection
        self._client = client
        self._told = told
        self._sales: Registered
        self._bare: BareWorker | None = None
        self._bare_until = 0.0
        self._failing: set[int] = set()
        self._far: tuple[UUID, int] | None = None

    async def begin(self) -> None:
        self._sales = await register_dag(self._connection, SALES, "snapshot")
        await keep_snapshot(self._connection, "snapshot", b"packed")
        await self.step()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            try:
                await self.step()
            except (MainspringError, Reaped, asyncpg.PostgresError) as error:
                # A request came in between: what it changed is seen in the next step.
                self._bare = None
                print(f"the keeper: {error!r}")

    async def step(self) -> None:
        await self._resume()
        await self._keep_named()
        await self._make_runs()
        hand = await self._keep_far_worker()
        things = Things(await self._names(), hand)
        fresh = self._told.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(things))
        fresh.rename(self._told)

    async def _resume(self) -> None:
        """What was paused or revoked by a request would let nothing else get far."""
        await self._connection.execute(
            "update mainspring.token set revoked_at = null"
            " where name like 'fuzz-%' and revoked_at is not null"
        )
        for name in await self._all("select name from mainspring.dag where paused_at is not null"):
            # A dag may be paused and gone.
            with contextlib.suppress(MainspringError):
                await self._client.resume_dag(name)
        for name in await self._all(
            "select name from mainspring.queue where paused_at is not null"
        ):
            await self._client.resume_queue(name)

    async def _keep_named(self) -> None:
        connection = self._connection
        await put_written_dag(connection, spec_of(ORDERS))
        if not await self._all("select 1 from mainspring.calendar where name = 'weekends'"):
            await put_calendar(connection, "weekends", CalendarSpec(weekdays=("sat", "sun")))
        if not await self._all(
            "select 1 from mainspring.schedule where name = 'nightly_sales' and gone_at is null"
        ):
            intent = Intent("nightly_sales", "daily_sales", schedule_from("0 1 * * *"))
            await create_schedule(connection, intent, by="ada")
        if not await self._all(
            "select 1 from mainspring.token where name = 'passing' and revoked_at is null"
        ):
            await create_token(connection, new_secret(), name="passing", role=Role.VIEWER)
        if not await self._all(
            "select 1 from mainspring.job where name = 'tidy' and cancelled_at is null"
        ):
            tidy = command("tidy", schedule=schedule_from("0 3 * * *"))
            await JobStage(connection).make(tidy)
        if not await self._all("select 1 from mainspring.backfill where ended_at is null"):
            begin = datetime(2026, 1, 1, tzinfo=UTC)
            # Long enough to be found open.
            until = begin + timedelta(days=300)
            order = BackfillOrder(since=begin, until=until, schedule="nightly_sales")
            number = await reserve_backfill(connection)
            await create_backfill(connection, number, order, by="ada")

    async def _make_runs(self) -> None:
        """One that succeeds, one that fails, and one that waits for the remote worker."""
        now = time.monotonic()
        if self._bare is None or now > self._bare_until:
            self._bare = await BareWorker.join(self._connection, SALES)
            self._bare_until = now + 10
        await start_run(self._connection, self._sales, 2)
        self._failing.add(await start_run(self._connection, self._sales, 2))
        for _ in SALES.tasks:
            for each in await self._bare.claim(20):
                if each.version_id != self._sales.version_id:
                    continue
                await append_log(self._connection, [(each.task_id, each.term, 0, b"hello\n")])
                fails = each.run_id in self._failing
                await self._bare.end(each, failure("connection refused") if fails else None)
        await start_run(self._connection, self._sales, 2)

    async def _keep_far_worker(self) -> list[Hand]:
        """A remote worker, and what it has in hand."""
        if self._far is None or not await self._all(
            "select 1 from mainspring.lease where worker_id = $1"
            " and renewed_at + make_interval(secs => seconds / 2) > clock_timestamp()",
            self._far[1],
        ):
            incarnation = uuid4()
            worker_id = await register_worker(
                self._connection,
                incarnation,
                name="far",
                host="elsewhere",
                pid=1,
                queues=["default"],
                slots={SlotKind.ASYNC: 1000},
                lease_seconds=LEASE_SECONDS,
            )
            self._far = incarnation, worker_id
        await claim_attempts(self._connection, uuid4(), self._far[1], DEFAULT_LANE, 2)
        rows = await self._connection.fetch(
            "select c.id, h.task, h.term from mainspring.claim c,"
            " unnest(c.task_ids, c.terms) as h(task, term) where c.worker_id = $1",
            self._far[1],
        )
        return [Hand(row["task"], row["term"], str(row["id"])) for row in rows]

    async def _names(self) -> dict[str, list[Any]]:
        assert self._far is not None
        runs = await self._some("select id from mainspring.run_view order by id desc")
        schedules = await self._some(
            "select name from mainspring.schedule where gone_at is null order by id desc"
        )
        jobs = await self._some("select name from mainspring.job order by id desc")
        dags = await self._some("select name from mainspring.dag order by id")
        backfills = await self._some(
            "select id from mainspring.backfill order by ended_at desc nulls first"
        )
        calendars = await self._some("select name from mainspring.calendar order by id")
        queues = await self._some("select name from mainspring.queue order by id")
        now = datetime.now(UTC)
        groups = [group_id(group.likeness) for group in await list_groups(self._connection)]
        return {
            "dag": dags,
            "run": runs,
            "other": runs,
            "before": runs,
            "task": [*(task.name for task in SALES.tasks), "count"],
            "number": [1],
            "version": [1],
            "since": [_written(now - timedelta(hours=age)) for age in (1, 24)],
            "until": [_written(now), _written(now + timedelta(hours=1))],
            "term": [1],
            "schedule": schedules,
            "calendar": calendars,
            "exclude": calendars,
            # Of jobs with a schedule there is one for certain.
            "job": [*jobs[:10], *["tidy"] * 10],
            "backfill": backfills[:5],
            "group": groups[:SHOWN_MAX],
            "queue": queues,
            "tag": ["sales"],
            "token": await self._some(
                "select id from mainspring.token where name = 'passing' order by id desc"
            ),
            "code": [await self._login_link()],
            "worker_name": ["far", "bare"],
            "worker": [str(self._far[0])],
            "snapshot": [self._sales.snapshot_id],
        }

    async def _login_link(self) -> str:
        secret = new_secret()
        await create_token(
            self._connection, secret, name="up", role=Role.VIEWER, kind="link", seconds=60
        )
        return secret

    async def _some(self, sql: str) -> list[Any]:
        return await self._all(f"{sql} limit {SHOWN_MAX}")

    async def _all(self, sql: str, *args: object) -> list[Any]:
        return [row[0] for row in await self._connection.fetch(sql, *args)]


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
