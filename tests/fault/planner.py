"""Somebody who keeps schedules during a storm: makes, changes, pauses, resumes and removes them.

Their fires are seconds apart, and each kind of overlap is among them. What was asked and what was
answered goes into the same books as the wishes of callers, with the spec as it was asked for, so
that the checker can compute by itself when each of them should have fired.

Misfires are off: every one has a grace that no storm outlasts, so each nominal instant must become
a run, or be skipped for a reason that the spec gives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec

from mainspring import Client
from mainspring.domain.errors import UnavailableError
from mainspring.schedule.specs import CronSpec, IntervalSpec, Overlap, ScheduleSpec
from mainspring.store.schedule_changes import (
    Intent,
    pause_schedule,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from tests.checker.evidence import Asked, What
from tests.fault.workload import Books

GRACE_SECONDS = 3600
_EVERY_SECOND, _EVERY_OTHER = IntervalSpec(1), IntervalSpec(2, 1)
_BY_CRON = CronSpec("*/2 * * * * *")
_REST_SECONDS = 0.4


class Plan(msgspec.Struct, frozen=True):
    """A schedule to begin with."""

    name: str
    when: IntervalSpec | CronSpec
    overlap: Overlap
    dag: str
    parameters: dict[str, Any] = {}
    most: int | None = None


PLANS = [
    Plan("all_of_them", _EVERY_SECOND, Overlap.ALLOW_ALL, "single_async", {"seconds": 0.01}),
    Plan("by_cron", _BY_CRON, Overlap.ALLOW_ALL, "single_async", {"seconds": 0.01}),
    Plan("never_beside", _EVERY_SECOND, Overlap.SKIP, "single_async", {"seconds": 1.3}),
    Plan("in_a_row", _EVERY_OTHER, Overlap.BUFFER_ALL, "single_async", {"seconds": 0.5}, 2),
    Plan("one_waits", _EVERY_SECOND, Overlap.BUFFER_ONE, "single_async", {"seconds": 1.3}),
    Plan("the_latest", _EVERY_OTHER, Overlap.CANCEL_OTHER, "single_async", {"seconds": 3.0}),
    Plan("changing", _EVERY_SECOND, Overlap.ALLOW_ALL, "single_async", {"seconds": 0.01}),
    Plan("resting", _EVERY_SECOND, Overlap.ALLOW_ALL, "single_async", {"seconds": 0.01}),
]
CHANGES: list[IntervalSpec | CronSpec] = [_EVERY_SECOND, _EVERY_OTHER, _BY_CRON, IntervalSpec(3)]


class Planner:
    def __init__(self, url: str, books: Books, *, seed: int) -> None:
        self._url = url
        self._books = books
        self._random = Random(f"{seed} planner")
        self._client: Client | None = None

    async def plan_until(self, stop: asyncio.Event) -> None:
        for plan in PLANS:
            await self._insist(lambda plan=plan: self._put(plan, plan.when))  # type: ignore[misc]
        while not stop.is_set():
            await asyncio.sleep(self._random.expovariate(1 / _REST_SECONDS))
            await self._change_something()

    async def settle(self) -> None:
        """Everything is removed, so that the storm can come to its end."""
        for plan in PLANS:
            await self._insist(lambda plan=plan: self._remove(plan.name))  # type: ignore[misc]
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None

    async def _insist(self, ask: Callable[[], Awaitable[str]]) -> None:
        answer = await ask()
        while answer == "unknown":
            await asyncio.sleep(0.1)
            answer = await ask()

    async def _change_something(self) -> None:
        plans = {plan.name: plan for plan in PLANS}
        match self._random.choice(("change", "pause", "any")):
            case "change":
                await self._put(plans["changing"], self._random.choice(CHANGES))
            case "pause":
                await self._pause_and_resume("resting")
            case _:
                await self._pause_and_resume(self._random.choice(PLANS).name)

    async def _pause_and_resume(self, name: str) -> None:
        await self._ask("pause_schedule", name, pause_schedule, by="planner")
        await asyncio.sleep(self._random.uniform(0.1, 2.5))
        await self._insist(lambda: self._ask("resume_schedule", name, resume_schedule))

    async def _put(self, plan: Plan, when: IntervalSpec | CronSpec) -> str:
        spec = ScheduleSpec(
            when=(when,),
            overlap=plan.overlap,
            overlap_max=plan.most,
            grace_seconds=GRACE_SECONDS,
        )
        intent = Intent(plan.name, plan.dag, spec, plan.parameters)
        encoded = msgspec.json.encode(spec, order="deterministic").decode()
        client = await self._connected()

        async def put() -> None:
            await client.ask(put_schedule, intent, by="planner")

        asked = Asked(0, 0.0, "put_schedule", dag=plan.dag, schedule=plan.name, spec=encoded)
        answered = await self._books.asking(asked, put)
        if answered.answer == "failed":
            # Nothing is wrong with any of these plans.
            self._books.surprises.append(f"`{plan.name}` was refused: {answered.error}")
        return answered.answer

    async def _remove(self, name: str) -> str:
        """Once: it is gone, or it was never there."""
        return await self._ask("remove_schedule", name, remove_schedule)

    async def _ask(
        self, what: What, name: str, change: Callable[..., Awaitable[object]], **options: str
    ) -> str:
        client = await self._connected()

        async def ask() -> None:
            await client.ask(change, name, **options)

        return (await self._books.asking(Asked(0, 0.0, what, schedule=name), ask)).answer

    async def _connected(self) -> Client:
        while self._client is None:
            client = Client(self._url, name="planner", patience_seconds=0.0)
            try:
                self._client = await client.__aenter__()
            except UnavailableError:
                await asyncio.sleep(0.1)
        return self._client
