"""`mainspring job`: as people type it, with a real engine and a real worker where that matters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from mainspring import Client, SyncClient
from mainspring.client import CommandCall, HttpCall, JobOrder, JobStatus
from mainspring.domain.errors import ConflictError, InputError
from mainspring.domain.states import RunState
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from tests.integration.cli.conftest import Command
from tests.support.factory import dag_of
from tests.support.job_stage import JobStage
from tests.support.team import Team

BOTH_ROADS = True


@pytest.fixture
async def team(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Team]:
    async with Team(database_url, tmp_path) as team:
        with monkeypatch.context() as beside:
            # The commands ask a server; these work beside the database.
            beside.delenv("MAINSPRING_URL", raising=False)
            team.start_engine()
            team.start_worker("--queues", "*")
        yield team


async def test_a_command_is_made_runs_and_is_seen_to_have_succeeded(
    command: Command, team: Team
) -> None:
    made = await command("job", "create", "--name", "hello", "--json", "--", "echo", "hi")
    assert (made.code, made.json["name"], made.json["kind"]) == (0, "hello", "command")
    await team.ended(made.json["id"])
    shown = await command("job", "show", "hello")
    assert shown.code == 0
    assert shown.out.splitlines()[0] == f"job {made.json['id']}  hello  ✓ succeeded"
    assert "echo hi" in shown.out
    [line] = (await command("job", "list", "--json")).json
    assert (line["status"], line["last_run"]["state"]) == ("succeeded", "succeeded")
    assert await team.log_of(made.json["id"]) == b"hi\n"
    again = await command("job", "trigger", "hello", "--wait")
    assert again.code == 0
    runs = (await command("job", "runs", "hello", "--json")).json
    assert [run["state"] for run in runs] == ["succeeded", "succeeded"]


async def test_a_worker_honours_retries_timeout_and_queue_of_a_job(
    command: Command, team: Team
) -> None:
    script = 'echo "try $MAINSPRING_ATTEMPT" >> "$EFFECTS_OF"; exit 3'
    failing = await command(
        *("job", "create", "--name", "failing", "--retries", 1, "--queue", "other", "--json"),
        *("-p", f"EFFECTS_OF={team.effects}", "--", "sh", "-c", script),
    )
    hanging = await command(
        *("job", "create", "--name", "hanging", "--timeout", "0.3s", "--json", "--", "sleep", 600)
    )
    assert await team.ended(failing.json["id"]) == "failed"
    assert team.effects_of("try") == ["1", "2"]
    assert await team.ended(hanging.json["id"]) == "failed"
    [attempt] = await team.rows(
        "select state::text from mainspring.attempt where task_id = $1", hanging.json["id"]
    )
    assert attempt["state"] == "timed_out"
    shown = await command("run", "show", failing.json["id"])
    assert " 2 of 2 " in " ".join(shown.out.split())


async def test_a_request_is_sent_and_its_status_decides(command: Command, team: Team) -> None:
    async with answering() as (port, asked):
        base = f"http://127.0.0.1:{port}"
        good = await command(
            *("job", "create", "--name", "good", "--http", f"{base}/orders/{{order}}"),
            *("-p", "order=a b", "--body", "text", "--header", "X-Mark: 1", "--json"),
        )
        bad = await command("job", "create", "--name", "bad", "--http", f"{base}/404", "--json")
        meant = await command(
            *("job", "create", "--name", "meant", "--http", f"{base}/404", "--expect", 404),
            "--json",
        )
        assert await team.ended(good.json["id"]) == "succeeded"
        assert await team.ended(bad.json["id"]) == "failed"
        assert await team.ended(meant.json["id"]) == "succeeded"
    [sent] = [text for text in asked if text.startswith("POST")]
    assert sent.startswith("POST /orders/a%20b HTTP/1.1")
    assert "x-mark: 1" in sent.lower()
    assert sent.endswith("text")


async def test_a_schedule_runs_a_job_again_and_again_until_it_is_cancelled(
    command: Command, team: Team
) -> None:
    made = await command("job", "create", "--name", "tick", "--every", "1s", "--", "true")
    assert "runs every 1 s" in made.out
    await team.until(
        lambda: team.connection.fetchval(
            "select count(*) > 1 from mainspring.run_view where state = 'succeeded'"
        )
    )
    cancelled = await command("job", "cancel", "tick", "--note", "enough", "--json")
    assert cancelled.json["status"] == "cancelled"
    assert cancelled.json["cancelled"]["note"] == "enough"
    assert (await command("job", "trigger", "tick")).code == 2


async def test_what_is_typed_changes_a_job(command: Command) -> None:
    made = await command("job", "create", "--name", "tick", "--every", "1h", "--json", "--", "true")
    assert made.json["status"] == "pending"
    paused = await command("job", "pause", "tick", "--note", "why", "--json")
    assert (paused.json["status"], paused.json["paused"]["note"]) == ("paused", "why")
    assert "paused" in (await command("job", "show", "tick")).out
    assert (await command("job", "resume", "tick", "--json")).json["status"] == "pending"
    stale = await command("job", "reschedule", "tick", "--every", "2h", "--version", 1)
    assert stale.code == 2
    assert "is at version 3, not 1" in stale.err
    moved = await command(
        *("job", "reschedule", "tick", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin"),
        "--json",
    )
    assert moved.json["schedule"]["timezone"] == "Europe/Berlin"
    assert "no schedule" in (await command("job", "reschedule", "tick", "--none")).out
    later = await command("job", "create", "--name", "later", "--in", "10m", "--", "true")
    assert later.code == 0
    assert "next in" in later.out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["create", "--name", "x"], "none is given"),
        (["create", "--http", "nowhere"], "does not begin with"),
        (["create", "--header", "a:b", "--", "true"], "`--header` is of a request"),
        (["create", "--http", "http://h", "--header", "a"], "a name and a value"),
        (["create", "--task", "nothing"], "there is no dag `nothing`"),
        (["create", "--at", "2020-01-01T00:00Z", "--", "true"], "no fire to come"),
        (["create", "--wait", "--in", "1h", "--", "true"], "this job runs later"),
        (["create", "--timezone", "UTC", "--", "true"], "the job has none"),
        (["create", "-p", "x", "--", "true"], "a name and a value"),
        (["create", "--retries", "many", "--", "true"], "many"),
        (["show", "nothing"], "there is no job `nothing`"),
        (["runs", "nothing"], "there is no job `nothing`"),
        (["reschedule", "nothing"], "say when"),
        (["pause", "now"], "no schedule that could be paused"),
    ],
)
async def test_what_cannot_be_is_said_with_a_hint(
    command: Command, typed: list[str], said: str
) -> None:
    await command("job", "create", "--name", "now", "--", "true")
    answer = await command("job", *typed)
    assert answer.code == 2
    assert said in answer.err
    assert "hint:" in answer.err or "Try" in answer.err
    [job] = (await command("job", "list", "--json")).json
    assert job["name"] == "now"


async def test_both_clients_do_what_the_commands_do(
    database_url: str, connection: Connection
) -> None:
    await register_dag(connection, dag_of(name="sample"), "snapshot")
    async with Client(database_url, created_by="tests") as client:
        names = [f"job-{number}" for number in range(50)]
        # Made at once they share statements, and one that clashes does not spoil the others.
        clashing = asyncio.gather(
            *(client.create_job(name, command=["true"]) for name in [*names, "job-7"]),
            return_exceptions=True,
        )
        answers = await clashing
        assert [type(answer) for answer in answers] == [int] * 50 + [ConflictError]
        assert len(await client.list_jobs(limit=99)) == 50
        ids = await client.create_jobs(
            JobOrder(name=f"many-{number}", command=CommandCall(["true"])) for number in range(3)
        )
        assert [job.id for job in await client.list_jobs(beginning="many-", limit=9)] == ids[::-1]
        task = await client.create_job("task", task="sample", retries=2)
        assert (await client.job(task)).retries == 2
        web = await client.create_job("web", http={"url": "http://h/", "method": "POST"})
        assert (await client.job("web")).id == web
        with pytest.raises(InputError, match="`http`"):
            await client.create_job("bad", http={"url": "http://h/", "methods": "POST"})
        with pytest.raises(InputError, match="expected a list"):
            await client.create_job("bad", command="echo hi")
        keyed = await client.create_job("keyed", command=["true"], idempotency_key="k")
        assert keyed == await client.create_job("keyed", command=["true"], idempotency_key="k")
    await asyncio.to_thread(_with_sync_client, database_url)


def _with_sync_client(url: str) -> None:
    with SyncClient(url) as client:
        job_id = client.create_job("sync", http=HttpCall("http://h/"), when="every 1h")
        assert client.job("sync").status is JobStatus.PENDING
        run_id = client.trigger_job("sync", idempotency_key="k")
        assert run_id == client.trigger_job("sync", idempotency_key="k")
        [run] = client.job_runs("sync", states=[RunState.QUEUED])
        assert run.id == run_id
        assert client.job_runs("sync", before=run) == []
        assert client.pause_job("sync", note="why").version == 2
        assert client.resume_job("sync", version=2).version == 3
        assert client.reschedule_job("sync", "0 2 * * *", timezone="Europe/Berlin").version == 4
        assert client.cancel_job("sync").status is JobStatus.CANCELLED
        assert [job.id for job in client.list_jobs(status=JobStatus.CANCELLED)] == [job_id]
        assert len(client.create_jobs([JobOrder(command=CommandCall(["true"]))])) == 1


async def test_a_job_without_a_schedule_is_forgotten_by_prune_with_its_run(
    command: Command, connection: Connection
) -> None:
    stage = JobStage(connection)
    await command("job", "create", "--name", "old", "--", "true")
    await stage.work(await stage.worker())
    assert (await command("prune", "--keep", "0s")).code in (0, 1, 2)
    assert msgspec.json.decode((await command("job", "list", "--json")).out) is not None


@contextlib.asynccontextmanager
async def answering() -> AsyncIterator[tuple[int, list[str]]]:
    """A server on this machine: its port, and what it was asked."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (
                int(line.partition(":")[2])
                for line in head.splitlines()
                if line.lower().startswith("content-length:")
            ),
            0,
        )
        asked.append(head + (await reader.readexactly(length)).decode())
        status = "404 Not Found" if " /404 " in head else "200 OK"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked
