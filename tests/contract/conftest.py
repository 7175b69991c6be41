"""A real server on a real port, a real database behind it, and a token of each role."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import structlog

from mainspring.api.server import Server
from mainspring.api.stream.hub import Hub
from mainspring.bundles.pack import pack
from mainspring.bundles.snapshot import digest_of
from mainspring.bundles.tree import Entry
from mainspring.cli import run_command
from mainspring.config import Config, Listening
from mainspring.domain.lanes import SlotKind
from mainspring.domain.roles import Role
from mainspring.domain.specs import DagSpec, ParameterSpec, TaskSpec
from mainspring.domain.written_dags import WrittenDag, WrittenTask, spec_of
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.attempts import claim_attempts, register_worker
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.dead_letters import list_groups
from mainspring.store.letter_shapes import group_id
from mainspring.store.logs import append_log
from mainspring.store.schedule_changes import Intent, create_schedule, put_calendar
from mainspring.store.snapshots import keep_snapshot
from mainspring.store.tokens import create_token, new_secret
from mainspring.store.written_dags import put_written_dag
from tests.support.factory import DEFAULT_LANE, BareWorker, failure, start_run
from tests.support.job_stage import JobStage, command

DAILY_SALES = DagSpec(
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


SALES_FILES = [
    Entry("__init__.py", False, b""),
    Entry("sales.py", False, b"# The sales of a day.\n"),
]
"""What `daily_sales` was read from."""
SALES_SNAPSHOT = digest_of(SALES_FILES)


WEEKLY_ORDERS = WrittenDag(
    name="weekly_orders", tasks=[WrittenTask(name="count", command=["wc", "-l", "orders.csv"])]
)
"""Written as JSON, not in a file."""

_ELSEWHERE = ("/healthz", "/readyz", "/metrics", "/docs", "/login", "/api", "/none")


class CommandLine:
    """`mainspring` with `--json`, beside the database that the server asks."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    async def __call__(self, *words: str) -> Any:
        assert await asyncio.to_thread(run_command, [*words, "--json"]) == 0
        return json.loads(self._capsys.readouterr().out)


@pytest.fixture
def command_line(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    return CommandLine(capsys)


class Api:
    """The server, and who may ask what."""

    def __init__(
        self,
        server: Server,
        running: asyncio.Task[None],
        tokens: dict[Role, str],
        connection: Connection,
    ) -> None:
        self.server = server
        self.running = running
        self.base = base = f"http://127.0.0.1:{server.port}"
        self.tokens = tokens
        self.connection = connection
        self.http = httpx2.AsyncClient(base_url=base, timeout=60)

    @property
    def hub(self) -> Hub:
        return self.server._services.hub

    async def ask(
        self,
        method: str,
        path: str,
        *,
        role: Role | None = Role.ADMIN,
        headers: dict[str, str] | None = None,
        json: object = None,
        content: bytes | None = None,
    ) -> httpx2.Response:
        """`path` is below `/api/v1` unless it begins elsewhere."""
        sent = dict(headers or {})
        if role is not None:
            sent["Authorization"] = f"Bearer {self.tokens[role]}"
        where = path if path.startswith(_ELSEWHERE) else f"/api/v1{path}"
        more: dict[str, object] = {}
        if json is not None:
            more["json"] = json
        if content is not None:
            more["content"] = content
            sent.setdefault("Content-Type", "application/json")
        return await self.http.request(method, where, headers=sent, **more)  # type: ignore[arg-type]

    async def get(self, path: str, **options: object) -> httpx2.Response:
        return await self.ask("GET", path, **options)  # type: ignore[arg-type]

    async def post(self, path: str, **options: object) -> httpx2.Response:
        return await self.ask("POST", path, **options)  # type: ignore[arg-type]


@pytest.fixture
async def api(database_url: str, connection: Connection, tmp_path: Path) -> AsyncIterator[Api]:
    tokens = {role: new_secret() for role in Role}
    for role, secret in tokens.items():
        await create_token(
            connection,
            secret,
            name=f"the-{role}",
            role=role,
            queues=["default"] if role is Role.WORKER else [],
        )
    # Commands of tests print in this process, too; what the server logs must not mix with that.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    server = Server(Config(home=tmp_path, listening=Listening(port=0)), database_url)
    running = asyncio.create_task(server.run())
    while not server.listens:
        assert not running.done(), running.result()
        await asyncio.sleep(0.005)
    api = Api(server, running, tokens, connection)
    yield api
    await api.http.aclose()
    server.stop()
    await running
    structlog.reset_defaults()


@pytest.fixture
async def finished(connection: Connection) -> int:
    """A run of `daily_sales` that has succeeded; its first task has written 300 bytes."""
    dag = await register_dag(connection, DAILY_SALES, SALES_SNAPSHOT, file="sales.py")
    worker = await BareWorker.join(connection, DAILY_SALES)
    run_id = await start_run(connection, dag, 2)
    [first] = await worker.claim()
    await append_log(connection, [(first.task_id, first.term, 0, b"0123456789" * 30)])
    await worker.end(first)
    [second] = await worker.claim()
    await worker.end(second)
    return run_id


@pytest.fixture
async def things(connection: Connection, finished: int) -> dict[str, str]:
    """What is there, under the names of parts of paths, or for what examples write in bodies."""
    nightly = Intent("nightly_sales", "daily_sales", schedule_from("0 1 * * *"))
    await create_schedule(connection, nightly, by="ada")
    daily = schedule_from("0 3 * * *")
    await JobStage(connection).make(command("tidy", schedule=daily))
    await put_written_dag(connection, spec_of(WEEKLY_ORDERS))
    await keep_snapshot(connection, SALES_SNAPSHOT, pack(SALES_FILES))
    await put_calendar(connection, "weekends", CalendarSpec(weekdays=("sat", "sun")))
    failed = await fail_run(connection, "extract", "connection refused")
    [group] = await list_groups(connection)
    likeness = group_id(group.likeness)
    worker = await BareWorker.join(connection, DAILY_SALES)
    return {
        "reports-1": str(worker.id),
        "run": str(finished),
        "schedule": nightly.name,
        "group": likeness,
        "e-3f9ac1d2": likeness,
        "other": str(failed),
        "4098": str(failed),
        "backfill": str(await backfill_days(connection, 3)),
        "job": "tidy",
    }


async def backfill_days(connection: Connection, days: int) -> int:
    """The number of a backfill of `nightly_sales` over so many days of January."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    order = BackfillOrder(since=begin, until=begin + timedelta(days=days), schedule="nightly_sales")
    number = await reserve_backfill(connection)
    return (await create_backfill(connection, number, order, by="ada")).id


async def fail_run(connection: Connection, task: str, message: str) -> int:
    """A run of `daily_sales` that has failed at this task."""
    dag = await register_dag(connection, DAILY_SALES, SALES_SNAPSHOT, file="sales.py")
    worker = await BareWorker.join(connection, DAILY_SALES)
    run_id = await start_run(connection, dag, 2)
    while claimed := await worker.claim():
        for each in claimed:
            bad = DAILY_SALES.tasks[each.node].name == task
            await worker.end(each, failure(message) if bad else None)
    return run_id


async def far_worker(connection: Connection) -> dict[str, str]:
    """A remote worker of the queue `default` with a task of `daily_sales` in hand."""
    await keep_snapshot(connection, SALES_SNAPSHOT, pack(SALES_FILES))
    dag = await register_dag(connection, DAILY_SALES, SALES_SNAPSHOT, file="sales.py")
    await start_run(connection, dag, 2)
    incarnation = uuid4()
    worker_id = await register_worker(
        connection,
        incarnation,
        name="far",
        host="elsewhere",
        pid=1,
        queues=["default"],
        slots={SlotKind.ASYNC: 10},
        lease_seconds=60,
    )
    [task] = await claim_attempts(connection, uuid4(), worker_id, DEFAULT_LANE, 1)
    return {"worker": str(incarnation), "snapshot": str(task.snapshot_id)}


def as_here(body: object, things: dict[str, str]) -> Any:
    """The body of an example, with numbers and names of what is there."""
    text = json.dumps(body)
    for written in ("e-3f9ac1d2", "4098"):
        text = text.replace(written, things[written])
    return json.loads(text)
