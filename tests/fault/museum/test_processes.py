"""Exhibits that live in a worker: real processes with one bug, watched until they stand still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mainspring import Client
from tests.checker.check import check
from tests.checker.evidence import FAULTS, Log
from tests.checker.journal import sample_clock
from tests.fault.cluster import Cluster
from tests.fault.museum.mutants import MUTANTS
from tests.fault.proxy import Weather
from tests.fault.storm import DAGS_FOLDER, Stuck, begin, liveness

pytestmark = [pytest.mark.fault, pytest.mark.slow]

_STILL_BEATS = 8
"""Fewer than in a storm: nothing is wrong here but the bug."""

Scene = Callable[[Cluster, Client], Awaitable[None]]


async def test_claim_lost_at_an_unknown_commit(tmp_path: Path) -> None:
    seen = await _seen(tmp_path, "claim_lost_at_an_unknown_commit", _lose_the_answer_to_a_claim)
    assert seen == "stuck"


async def test_slot_leak_on_cancel(tmp_path: Path) -> None:
    assert await _seen(tmp_path, "slot_leak_on_cancel", _cancel_as_many_as_slots) == "stuck"


async def test_empty_claim_leaks(tmp_path: Path) -> None:
    assert "C1" in await _seen(tmp_path, "empty_claim_leaks", _run_one_and_idle)


# --- scenes --------------------------------------------------------------------------------


async def _lose_the_answer_to_a_claim(cluster: Cluster, client: Client) -> None:
    [worker] = cluster.workers
    # All of them for a while: looks at an empty queue are claims as well.
    weather = Weather(kind="unknown_commit", aim="claim_attempts", share=1.0)
    worker.proxy.begin(weather)
    await client.trigger("single_async", {"seconds": 0.01})

    async def taken() -> bool:
        return bool(await cluster.rows("select 1 from mainspring.claim"))

    await cluster.until(taken)
    worker.proxy.end(weather)


async def _cancel_as_many_as_slots(cluster: Cluster, client: Client) -> None:
    for _ in range(2):
        run_id = await client.trigger("single_async", {"seconds": 600})
        await _begun(cluster, run_id)
        await client.cancel(run_id)
        await client.wait(run_id)
    await client.trigger("single_async", {"seconds": 0.01})


async def _begun(cluster: Cluster, run_id: int) -> None:
    async def begun() -> bool:
        started = "select 1 from mainspring.task where id = $1 and started_at is not null"
        return bool(await cluster.rows(started, run_id))

    await cluster.until(begun)


async def _run_one_and_idle(cluster: Cluster, client: Client) -> None:
    await client.wait(await client.trigger("single_async", {"seconds": 0.01}))
    [before] = await cluster.rows("select beat from mainspring.shard where number = 0")

    async def idled() -> bool:
        [after] = await cluster.rows("select beat from mainspring.shard where number = 0")
        return bool(after["beat"] > before["beat"] + 4)

    await cluster.until(idled)


# --- how a scene is played -----------------------------------------------------------------


async def _seen(folder: Path, name: str, scene: Scene) -> str:
    """What is wrong with the bug; without it, nothing is."""
    clean, mutant = await asyncio.gather(
        _played(folder / "clean", None, scene), _played(folder / "mutant", name, scene)
    )
    assert clean == ""
    assert mutant, "nobody has noticed"
    return mutant


async def _played(folder: Path, name: str | None, scene: Scene) -> str:
    folder.mkdir()
    log = Log(folder / FAULTS)
    cluster = Cluster(
        folder,
        log,
        dags=DAGS_FOLDER,
        seed=1,
        engines=1,
        workers=1,
        slots="async=2",
        program=("mainspring",) if name is None else ("tests.fault.museum", name),
    )
    async with cluster:
        if name is not None and MUTANTS[name].unguard:
            await cluster.rows(MUTANTS[name].unguard)
        await begin(cluster)
        try:
            async with Client(cluster.client_url) as client:
                await scene(cluster, client)
            await liveness(cluster, still_beats=_STILL_BEATS)
        except Stuck:
            return "stuck"
        await cluster.line.call(sample_clock)
        report = await check(folder, cluster.url, ())
        # The callers of this scene keep no books.
        return " ".join(f.promise for f in report.failures if f.promise != "N2")
