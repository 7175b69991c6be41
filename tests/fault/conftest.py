"""A bad network in front of the test process's PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from urllib.parse import urlsplit

import asyncpg
import msgspec
import pytest

from mainspring.store.connection import Connection
from tests.checker.evidence import Fault
from tests.fault.cluster import socket_of
from tests.fault.proxy import Proxy
from tests.fault.races.summary import pytest_terminal_summary as pytest_terminal_summary

_LONGEST = (
    "test_an_engine_may_die_anywhere",
    "test_a_fresh_storm_breaks_no_promise",
    "test_a_known_storm_breaks_no_promise",
    "test_workers_and_their_server_may_die_anywhere",
    "test_slot_leak_on_cancel",
    "test_claim_lost_at_an_unknown_commit",
    "test_every_race_of_two_ends_as_if_one_had_come_after_the_other",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that keep a test process busy for longest come first: then all of them end together."""
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.name.partition("[")[0], len(places)))


class Network:
    """A proxy, the database behind it, and what it has logged."""

    def __init__(self, url: str, seed: int = 7) -> None:
        self.logged: list[Fault] = []
        self._database = urlsplit(url).path.strip("/")
        self.proxy = Proxy(socket_of(url), self, name="somebody", random=Random(seed))

    def write(self, record: msgspec.Struct) -> None:
        assert isinstance(record, Fault)
        self.logged.append(record)

    @property
    def url(self) -> str:
        return self.proxy.url("mainspring", self._database)

    async def connect(self, name: str = "mainspring test") -> Connection:
        connection: Connection = await asyncpg.connect(
            self.url, server_settings={"application_name": name}
        )
        return connection

    def kinds(self) -> list[str]:
        return [fault.kind for fault in self.logged]


@pytest.fixture
async def network(database_url: str) -> AsyncIterator[Network]:
    network = Network(database_url)
    await network.proxy.start()
    yield network
    await network.proxy.close()
