"""The client over HTTP against a real server, over a real network, also a bad one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from mainspring.domain.errors import (
    InputError,
    MainspringError,
    NotFoundError,
    Outdated,
    UnavailableError,
)
from mainspring.domain.roles import Role
from mainspring.domain.states import RunState
from mainspring.http import HttpClient, Refused, SyncHttpClient
from mainspring.schedule.parsing import schedule_from
from mainspring.store.connection import Connection, fetch
from tests.contract.conftest import Api
from tests.support.job_stage import JobStage, command


@pytest.fixture
async def client(api: Api) -> AsyncIterator[HttpClient]:
    async with HttpClient(api.base, api.tokens[Role.ADMIN]) as client:
        yield client


async def test_answers_are_typed(client: HttpClient, finished: int) -> None:
    run = await client.runs.show(finished)
    assert (run.id, run.dag, run.state) == (finished, "daily_sales", RunState.SUCCEEDED)
    assert [task.name for task in run.tasks] == ["extract", "load"]
    page = await client.runs.list(dag="daily_sales", state=RunState.SUCCEEDED, limit=10)
    assert [run.id for run in page.items] == [finished]


async def test_all_pages_of_a_list_are_one_iteration(
    client: HttpClient, connection: Connection, finished: int
) -> None:
    made = [finished] + [(await client.dags.create_run("daily_sales")).id for _ in range(6)]
    found = [run.id async for run in client.runs.each(dag="daily_sales", limit=2)]
    assert found == sorted(made, reverse=True)


async def test_the_sync_twin_does_the_same(api: Api, finished: int) -> None:
    def ask() -> list[int]:
        with SyncHttpClient(api.base, api.tokens[Role.OPERATOR]) as client:
            made = client.dags.create_run("daily_sales", parameters={"region": "us"})
            assert client.runs.cancel(made.id).state is RunState.CANCELLED
            with pytest.raises(NotFoundError):
                client.runs.show(10**9)
            return [run.id for run in client.runs.each(limit=1)]

    found = await asyncio.to_thread(ask)
    assert found[-1] == finished
    assert len(found) == 2


async def test_a_part_of_a_log_is_read_by_its_bytes(client: HttpClient, finished: int) -> None:
    whole = await client.runs.read_log(finished, "extract", 1)
    assert whole.content == b"0123456789" * 30
    part = await client.runs.read_log(finished, "extract", 1, byte_range=(5, 15))
    assert (part.status, part.content) == (206, b"5678901234")
    assert whole.headers["mainspring-log"] == "complete"


async def test_a_problem_is_the_error_that_it_was_on_the_server(
    client: HttpClient, api: Api, finished: int
) -> None:
    with pytest.raises(NotFoundError) as missing:
        await client.dags.show("daily_sale")
    assert missing.value.message == "there is no dag `daily_sale`"
    assert missing.value.hint == "did you mean `daily_sales`?"
    with pytest.raises(InputError) as wrong:
        await client.dags.create_run("daily_sales", parameters={"reg": 1})
    assert "`reg`" in wrong.value.message
    with pytest.raises(InputError) as large:
        await client.runs.list(limit=100_000)
    assert isinstance(large.value, Refused)
    assert [each.pointer for each in large.value.problem.errors] == ["query/limit"]
    async with HttpClient(api.base, api.tokens[Role.VIEWER]) as viewer:
        with pytest.raises(Refused, match="needs a token of role `operator`"):
            await viewer.runs.cancel(finished)


async def test_without_a_token_the_error_says_what_to_set(api: Api) -> None:
    async with HttpClient(api.base) as nobody:
        with pytest.raises(Refused) as unknown:
            await nobody.runs.list()
    assert unknown.value.code == "unauthenticated"
    assert "MAINSPRING_TOKEN" in unknown.value.hint


async def test_a_change_of_what_has_changed_meanwhile_tells_how_it_is(
    client: HttpClient, connection: Connection
) -> None:
    await JobStage(connection).make(command("tidy", schedule=schedule_from("0 3 * * *")))
    changed = await client.jobs.change("tidy", paused=True, if_match=1)
    assert changed.version == 2
    with pytest.raises(Outdated) as outdated:
        await client.jobs.change("tidy", paused=False, if_match=1)
    assert isinstance(outdated.value, Refused)
    current = outdated.value.problem.current
    assert isinstance(current, dict)
    assert current["version"] == 2


async def test_null_and_nothing_are_told_apart(client: HttpClient, connection: Connection) -> None:
    await JobStage(connection).make(command("tidy", schedule=schedule_from("0 3 * * *")))
    assert (await client.jobs.change("tidy", schedule=None)).schedule is None


async def test_nobody_at_the_address_is_told_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with HttpClient(f"http://127.0.0.1:{port}", patience_seconds=1e9) as client:
            with pytest.raises(UnavailableError) as nobody:
                await client.runs.list()
    assert f"the server at http://127.0.0.1:{port} cannot be reached" in nobody.value.message
    assert "MAINSPRING_URL" in nobody.value.hint


async def test_what_is_no_server_of_ours_is_told(api: Api) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno")
        writer.close()

    async with _listening(answer) as url, HttpClient(url) as client:
        with pytest.raises(UnavailableError, match="is no Mainspring server"):
            await client.runs.list()


async def test_answers_that_got_lost_are_asked_for_again_and_nothing_is_done_twice(
    api: Api, connection: Connection, finished: int
) -> None:
    """The network takes every request there, and loses two of three answers."""
    asked = 0

    async def lose(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        there, back = await asyncio.open_connection("127.0.0.1", int(api.base.rpartition(":")[2]))
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line[15:])
                        for line in head.split(b"\r\n")
                        if line.lower()[:15] == b"content-length:"
                    ),
                    0,
                )
                back.write(head + await reader.readexactly(length))
                answer = await there.read(65536)
                asked += 1
                if asked % 3:
                    break
                writer.write(answer)
        back.close()
        writer.close()

    async with _listening(lose) as url, HttpClient(url, api.tokens[Role.ADMIN]) as client:
        made = [(await client.dags.create_run("daily_sales")).id for _ in range(3)]
        await client.dags.pause("daily_sales", note="once")
    rows = await fetch(connection, "select id from mainspring.run where id <> $1", finished)
    assert sorted(row["id"] for row in rows) == sorted(made)
    assert asked == 12


async def test_a_change_that_may_have_been_done_is_not_asked_for_again(
    api: Api, finished: int
) -> None:
    asked = 0

    async def lose(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        writer.close()

    async with _listening(lose) as url, HttpClient(url, "msp_x") as client:
        with pytest.raises(UnavailableError, match="did not answer"):
            await client.tokens.delete(1)
    assert asked == 1


async def test_a_server_without_time_is_asked_again_when_it_says(api: Api, finished: int) -> None:
    asked = 0

    async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        if asked < 3:
            writer.write(b"HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n")
        else:
            content = b'{"items": [], "next": null}'
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(content), content)
            )
        writer.close()

    async with _listening(busy) as url, HttpClient(url) as client:
        assert (await client.runs.list()).items == []
    assert asked == 3


async def test_patience_ends(api: Api) -> None:
    async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Busy\r\nretry-after: 20\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with _listening(busy) as url, HttpClient(url, patience_seconds=5) as client:
        with pytest.raises(MainspringError):
            await client.runs.list()


@contextlib.asynccontextmanager
async def _listening(answer: object) -> AsyncIterator[str]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)  # type: ignore[arg-type]
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
