"""The guard by a clock that we move: how long a token is believed, and how often one may ask."""

from __future__ import annotations

import asyncio

import pytest
from starlette.datastructures import Headers

from mainspring.api.guard import TRUST_SECONDS, Buckets, Guard
from mainspring.api.problems import Refusal
from mainspring.domain.roles import Role, allows
from mainspring.store.tokens import Caller, new_secret


class Office:
    """Where tokens are looked up."""

    def __init__(self) -> None:
        self.now = 100.0
        self.looked = 0
        self.known: dict[str, Caller] = {}

    def clock(self) -> float:
        return self.now

    async def find(self, secret: str) -> Caller | None:
        self.looked += 1
        await asyncio.sleep(0)
        return self.known.get(secret)

    def admit(self, role: Role = Role.VIEWER) -> str:
        secret = new_secret()
        self.known[secret] = Caller(len(self.known) + 1, 1, "token", role, (), "someone")
        return secret


def bearing(secret: str) -> Headers:
    return Headers({"authorization": f"Bearer {secret}"})


async def status(guard: Guard, secret: str, needed: Role = Role.VIEWER) -> int:
    try:
        await guard.admit(needed, "GET", bearing(secret), "10.0.0.1")
    except Refusal as refusal:
        return refusal.status
    return 200


async def test_a_token_is_looked_up_once_for_as_long_as_it_is_believed() -> None:
    office = Office()
    guard = Guard(office.find, rate=1000, clock=office.clock)
    secret = office.admit()
    assert [await status(guard, secret) for _ in range(5)] == [200] * 5
    assert office.looked == 1
    del office.known[secret]
    office.now += TRUST_SECONDS * 0.99
    assert await status(guard, secret) == 200
    office.now += TRUST_SECONDS * 0.02
    assert await status(guard, secret) == 401
    assert TRUST_SECONDS < 1


async def test_callers_that_come_at_once_share_one_look() -> None:
    office = Office()
    guard = Guard(office.find, rate=1000, clock=office.clock)
    secret = office.admit()
    assert await asyncio.gather(*(status(guard, secret) for _ in range(50))) == [200] * 50
    assert office.looked == 1


async def test_a_caller_may_ask_so_often_a_second_and_no_more() -> None:
    office = Office()
    guard = Guard(office.find, rate=3, clock=office.clock)
    first, second = office.admit(), office.admit()
    assert [await status(guard, first) for _ in range(4)] == [200, 200, 200, 429]
    assert await status(guard, second) == 200
    office.now += 1 / 3 + 1e-6
    assert [await status(guard, first) for _ in range(2)] == [200, 429]


async def test_guesses_are_not_even_looked_up_once_there_are_many() -> None:
    office = Office()
    guard = Guard(office.find, rate=1000, clock=office.clock)
    known = office.admit()
    assert await status(guard, known) == 200
    for _ in range(1000):
        assert await status(guard, new_secret()) in (401, 429)
    assert office.looked <= 12
    assert await status(guard, known) == 200, "who is known is not kept out by others"


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("needed", Role)
def test_roles_are_in_order_and_a_worker_is_apart(role: Role, needed: Role) -> None:
    order = [Role.VIEWER, Role.OPERATOR, Role.ADMIN]
    if Role.WORKER in (role, needed):
        assert allows(role, needed) == (role is needed)
    else:
        assert allows(role, needed) == (order.index(role) >= order.index(needed))


def test_a_bucket_never_holds_more_than_a_second_is_worth() -> None:
    now = [0.0]
    buckets = Buckets(5, lambda: now[0])
    now[0] = 1e6
    assert sum(buckets.take("a") for _ in range(100)) == 5
    now[0] += 1e6
    assert sum(buckets.take("a") for _ in range(100)) == 5
