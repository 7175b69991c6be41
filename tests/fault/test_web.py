"""The bad network before servers finds requests, spoils those it means, and finds who listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checker.evidence import Fault
from tests.fault.web import Requests, WebProxy

pytestmark = pytest.mark.fault

NAMES = st.sampled_from(["claims", "ends", "beats"])


def _request(name: str, body: bytes = b"") -> bytes:
    head = f"POST /api/v1/workers/1/{name}?x=/y HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@given(st.lists(st.tuples(NAMES, st.binary(max_size=50))), st.integers(1, 60))
def test_requests_are_found_however_they_are_cut(said: list[tuple[str, bytes]], size: int) -> None:
    whole = b"".join(_request(name, body) for name, body in said)
    requests = Requests()
    found = [
        name
        for start in range(0, len(whole), size)
        for name in requests.feed(whole[start : start + size])
    ]
    assert found == [name for name, _ in said]


class Web:
    """A proxy, and before it two servers, of which one does not listen."""

    def __init__(self) -> None:
        self.logged: list[Fault] = []
        self.heard: list[bytes] = []
        self.addresses: list[tuple[str, int]] = [("127.0.0.1", 1)]
        self.proxy = WebProxy(lambda: self.addresses, self, name="web", random=Random(7))

    def write(self, record: msgspec.Struct) -> None:
        assert isinstance(record, Fault)
        self.logged.append(record)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(1000):
            self.heard.append(head)
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async def ask(self, name: str) -> bytes:
        """The answer; nothing if it was lost."""
        reader, writer = await asyncio.open_connection(*self.proxy.address)
        writer.write(_request(name))
        try:
            return await reader.read(1000)
        except ConnectionError:
            return b""
        finally:
            writer.close()


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    web = Web()
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.addresses.append(server.sockets[0].getsockname())
    await web.proxy.start()
    yield web
    await web.proxy.close()
    server.close()


async def test_a_server_that_does_not_listen_is_passed_over(web: Web) -> None:
    for _ in range(10):
        assert (await web.ask("beats")).startswith(b"HTTP/1.1 204")


async def test_a_request_is_lost_on_its_way_there_or_back(web: Web) -> None:
    web.proxy.spoil_next("lost_request", aim="ends")
    assert await web.ask("beats") != b""
    assert await web.ask("ends") == b""
    assert [_name(head) for head in web.heard] == ["beats"]
    web.proxy.spoil_next("unknown_commit", aim="claims")
    assert await web.ask("claims") == b""
    assert [_name(head) for head in web.heard] == ["beats", "claims"]
    assert await web.ask("claims") != b""
    assert [(fault.kind, fault.detail) for fault in web.logged] == [
        ("lost_request", "ends: ends"),
        ("unknown_commit", "claims: claims"),
    ]


def _name(head: bytes) -> str:
    [name] = Requests().feed(head)
    return name
