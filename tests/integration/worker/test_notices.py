"""Whoever a dag names is told how its runs ended: at least once, and nobody waits for it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring import DefinitionError, dag, task
from mainspring.domain.notices import Notice
from mainspring.domain.specs import DagSpec
from mainspring.engine.notify import Notify
from mainspring.notifiers.log import LogNotifier
from mainspring.notifiers.telling import Told, tell
from mainspring.notifiers.webhook import WebhookNotifier
from mainspring.store.connection import Connection, Line
from mainspring.store.history import archive_runs
from mainspring.store.notices import ATTEMPTS_MAX
from mainspring.store.reading import read_clock
from mainspring.testing.conformance import check_notifier
from tests.support.factory import BareWorker, dag_of, failure, start_dag
from tests.support.launcher import Launcher
from tests.support.packages import install
from tests.support.team import Team


class Hook(ThreadingHTTPServer):
    """A webhook that remembers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 204
        self.heard: list[tuple[str, dict[str, Any]]] = []

    @property
    def target(self) -> str:
        return f"webhook:{self.url}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?team=sales"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        assert self.path == "/hook?team=sales"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append((self.headers["Idempotency-Key"], body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
async def notify(database_url: str) -> AsyncIterator[Notify]:
    line = Line(database_url, name="notify")
    yield Notify(line)
    await line.close()


async def ended(connection: Connection, spec: DagSpec, *, fails: bool) -> int:
    """A run that has ended and is in history."""
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim(1)
    await (worker.end(root, failure()) if fails else worker.end(root))
    await archive(connection)
    return run_id


async def archive(connection: Connection) -> None:
    later = await read_clock(connection) + timedelta(days=1)
    async with connection.transaction():
        await archive_runs(connection, 0, 100, later)


def telling(*notify: str) -> DagSpec:
    return msgspec.structs.replace(dag_of(), notify=notify)


async def kept(connection: Connection) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch("select * from mainspring.notice")]


async def due_now(connection: Connection) -> None:
    await connection.execute("update mainspring.notice set due_at = clock_timestamp()")


# --- from an end to a notice ------------------------------------------------------------------


async def test_an_end_makes_a_notice_for_each_who_wants_to_know(connection: Connection) -> None:
    spec = telling("failed log", "failed webhook:http://a/", "succeeded log")
    failed = await ended(connection, spec, fails=True)
    rows = await kept(connection)
    assert sorted(row["target"] for row in rows) == ["log", "webhook:http://a/"]
    notice = msgspec.json.decode(rows[0]["content"], type=Notice)
    assert (notice.run_id, notice.dag, notice.state) == (failed, spec.name, "failed")
    assert (notice.tasks, notice.failed_tasks) == (1, 1)
    await ended(connection, spec, fails=False)
    assert len(await kept(connection)) == 3


async def test_dags_that_name_nobody_make_no_notice(connection: Connection) -> None:
    await ended(connection, dag_of(), fails=True)
    assert await kept(connection) == []


# --- from a notice to whoever is told ---------------------------------------------------------


async def test_a_notice_is_told_and_gone(
    connection: Connection, notify: Notify, hook: Hook
) -> None:
    run_id = await ended(connection, telling(f"failed {hook.target}"), fails=True)
    assert await notify.step() == 1
    [(_, told)] = hook.heard
    assert (told["run_id"], told["state"]) == (run_id, "failed")
    assert await kept(connection) == []
    assert await notify.step() == 0


async def test_what_was_not_heard_is_told_again_later_under_the_same_key(
    connection: Connection, notify: Notify, hook: Hook
) -> None:
    await ended(connection, telling(f"failed {hook.target}"), fails=True)
    hook.status = 503
    await notify.step()
    [row] = await kept(connection)
    assert row["attempts"] == 1
    assert row["due_at"] > await read_clock(connection)
    assert await notify.step() == 0
    hook.status = 200
    await due_now(connection)
    assert await notify.step() == 1
    assert await kept(connection) == []
    (first, _), (second, _) = hook.heard
    assert first == second


async def test_an_engine_that_dies_while_it_tells_leaves_the_notice_to_the_next(
    connection: Connection, notify: Notify, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended(connection, telling(f"failed {hook.target}"), fails=True)

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mainspring.engine.notify.forget_notices", dies)
        with pytest.raises(KeyboardInterrupt):
            await notify.step()
    await due_now(connection)
    await notify.step()
    assert len(hook.heard) == 2
    assert await kept(connection) == []


async def test_a_notice_that_nobody_ever_hears_is_given_up(
    connection: Connection, notify: Notify, hook: Hook
) -> None:
    hook.status = 500
    await ended(connection, telling(f"failed {hook.target}"), fails=True)
    await connection.execute("update mainspring.notice set attempts = $1", ATTEMPTS_MAX - 1)
    await notify.step()
    assert await kept(connection) == []


async def test_notifiers_that_hang_or_crash_fail_alone_or_with_their_batch(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        "rude",
        """
        [mainspring.notifiers]
        hangs = rude:Hangs
        crashes = rude:Crashes
        raises = rude:Raises
        """,
        rude="""
        import os, time
        class Hangs:
            def __init__(self, address): ...
            def notify(self, notice): time.sleep(1000)
        class Crashes(Hangs):
            def notify(self, notice): os._exit(3)
        class Raises(Hangs):
            def notify(self, notice): print("on stdout"); raise ValueError("no")
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://secret")
    now = datetime.now(UTC)
    notice = Notice(1, "d", "failed", 1, 1, now, None, now)
    targets = ["hangs", "raises", hook.target, "nobody"]
    errors = await tell([Told(target, notice) for target in targets], seconds=3)
    assert errors == [
        "took longer than 3 s",
        "ValueError: no",
        "",
        "there is no notifier `nobody`",
    ]
    assert await tell([Told("crashes", notice)]) == ["the process of the notifiers ended with 3"]


@pytest.mark.slow
async def test_engines_tell_of_runs_of_real_dags(
    database_url: str,
    tmp_path: Path,
    launcher: Launcher,
    hook: Hook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK", hook.url)
    async with Team(database_url, tmp_path, launcher) as team:
        team.write(
            "pays.py",
            """
            @task
            def work(): 1 / 0

            @dag(notify={"failed": ["webhook:$HOOK", "log"], "succeeded": ["log"]})
            def pays(): work()
            """,
        )
        team.start_engine()
        team.start_worker()
        await team.known("pays")
        run_id = await team.trigger("pays")
        assert await team.ended(run_id) == "failed"

        async def told() -> bool:
            return bool(hook.heard) and '"event":"run ended"' in team.log()

        await team.until(told)
        assert [body["run_id"] for _, body in hook.heard] == [run_id]


# --- what authors write, and what the kit finds -----------------------------------------------


@task
def work() -> None: ...


@pytest.mark.parametrize(
    ("notify", "message"),
    [
        (["pigeon"], "there is no notifier `pigeon`"),
        (["webhook:nowhere"], "the address of a webhook cannot be understood"),
        (["log:loud"], "the notifier `log` has no address"),
        ("log", "expected a list"),
        ({"running": ["log"]}, "expected one of `failed`, `succeeded` and `cancelled`"),
    ],
)
def test_a_notifier_that_cannot_be_is_refused_when_the_dag_is_read(
    notify: Any, message: str
) -> None:
    def draw() -> None:
        work()

    with pytest.raises(DefinitionError, match=message):
        dag(notify=notify)(draw)


def test_a_change_of_who_is_told_makes_no_new_version() -> None:
    assert telling("failed log").digest() == dag_of().digest()


def test_our_own_notifiers_conform(hook: Hook, capfd: pytest.CaptureFixture[str]) -> None:
    told = check_notifier(
        WebhookNotifier, hook.url, deaf_address="http://127.0.0.1:1/", wrong_address="ftp://x"
    )
    assert sorted(key for key, _ in hook.heard) == sorted(notice.key for notice in told)
    check_notifier(LogNotifier, wrong_address="loud")
    assert capfd.readouterr().err.count("run ended") == 4


class Shrugs:
    def __init__(self, address: str) -> None: ...

    def notify(self, notice: Notice) -> None: ...


def test_the_kit_finds_notifiers_that_would_lose_a_notice() -> None:
    with pytest.raises(AssertionError, match="such a notice would be lost"):
        check_notifier(Shrugs, deaf_address="nowhere")
    with pytest.raises(AssertionError, match="was accepted"):
        check_notifier(Shrugs, wrong_address="")
