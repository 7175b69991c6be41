"""Shared readings are never older than the request that they answer."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.sharing import Sharing


class Book:
    """A reading tells what was written when it began, and lasts until it is let go."""

    def __init__(self) -> None:
        self.written = 0
        self.readings = 0
        self.at_once = 0
        self.gates: list[asyncio.Event] = []

    async def read(self) -> int:
        self.readings += 1
        self.at_once += 1
        assert self.at_once == 1, "two readings of one thing at once"
        seen, gate = self.written, asyncio.Event()
        self.gates.append(gate)
        await gate.wait()
        self.at_once -= 1
        return seen


@given(st.lists(st.sampled_from(["ask", "write", "let go", "pause"]), max_size=40))
def test_whoever_asks_sees_all_that_was_written_before(acts: list[str]) -> None:
    async def play() -> None:
        book, sharing = Book(), Sharing[int]()
        asked: list[tuple[int, asyncio.Task[int]]] = []
        for act in acts:
            if act == "ask":
                asked.append((book.written, asyncio.create_task(sharing.share("it", book.read))))
                await asyncio.sleep(0)
            elif act == "write":
                book.written += 1
            elif act == "let go" and book.gates:
                book.gates.pop(0).set()
            for _ in range(5):
                await asyncio.sleep(0)
        while not all(task.done() for _, task in asked):
            for gate in book.gates:
                gate.set()
            await asyncio.sleep(0)
        for written, task in asked:
            assert task.result() >= written
        assert book.readings <= len(asked)
        assert not sharing._under_way
        assert not sharing._to_come

    asyncio.run(play())


async def test_many_who_ask_at_once_cost_two_readings() -> None:
    book, sharing = Book(), Sharing[int]()
    asked = [asyncio.create_task(sharing.share("it", book.read)) for _ in range(100)]
    while not all(task.done() for task in asked):
        for gate in book.gates:
            gate.set()
        await asyncio.sleep(0)
    assert book.readings == 2


async def test_a_reading_that_fails_fails_for_those_who_share_it_and_nobody_after() -> None:
    sharing = Sharing[int]()

    async def fail() -> int:
        raise ValueError("no")

    async def succeed() -> int:
        return 7

    with pytest.raises(ValueError, match="no"):
        await sharing.share("it", fail)
    assert await sharing.share("it", succeed) == 7


async def test_who_goes_away_takes_the_answer_from_nobody() -> None:
    book, sharing = Book(), Sharing[int]()
    first = asyncio.create_task(sharing.share("it", book.read))
    await asyncio.sleep(0)
    second = asyncio.create_task(sharing.share("it", book.read))
    third = asyncio.create_task(sharing.share("it", book.read))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    while not third.done():
        for gate in book.gates:
            gate.set()
        await asyncio.sleep(0)
    assert third.result() == 0
