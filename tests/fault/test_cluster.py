"""The cluster starts what dies, knows who is whose, and notices when nothing moves."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring import Client
from tests.checker.evidence import FAULTS, Log
from tests.checker.journal import install_journal
from tests.fault import processes
from tests.fault.cluster import Cluster, Member
from tests.fault.storm import Look, Stuck, liveness

pytestmark = [pytest.mark.fault, pytest.mark.slow]

DAGS = """
import time
from mainspring import dag, task

@task
def sleep(seconds: float) -> None:
    time.sleep(seconds)

@task(queue="elsewhere")
def never() -> None:
    pass

@dag
def sleeping(seconds: float) -> None:
    sleep(seconds)

@dag
def waiting() -> None:
    never()
"""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "dags.py").write_text(DAGS, "utf-8")
    log = Log(tmp_path / FAULTS)
    async with Cluster(
        tmp_path / "cluster", log, dags=dags, seed=1, engines=1, workers=1
    ) as cluster:
        await cluster.line.call(install_journal)
        cluster.start()
        await cluster.until(lambda: _known(cluster))
        yield cluster
    log.close()


async def _known(cluster: Cluster) -> bool:
    return len(await cluster.rows("select 1 from mainspring.dag")) == 2


async def _trigger(cluster: Cluster, dag: str, **parameters: float) -> int:
    async with Client(cluster.client_url) as client:
        return await client.trigger(dag, parameters)


async def _started(member: Member, times: int) -> bool:
    return member.starts == times and member.pid is not None


async def test_a_worker_dies_and_leaves_nobody_and_comes_back(cluster: Cluster) -> None:
    [worker] = cluster.workers
    run = await _trigger(cluster, "sleeping", seconds=600.0)

    async def is_at_work() -> bool:
        return "ProcessHost" in worker.hosts.values()

    await cluster.until(is_at_work)
    hosts, guard = set(worker.hosts), worker.guard
    assert guard is not None
    assert cluster.strays() == set()
    assert worker.signal(signal.SIGKILL) is not None
    await cluster.until(lambda: _started(worker, 2))

    async def are_gone() -> bool:
        return not (hosts | {guard}) & processes.living().keys() and not cluster.strays()

    await cluster.until(are_gone)
    # That was ordered, and this is not.
    assert cluster.deaths == []
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    await cluster.until(lambda: _started(worker, 3))
    [death] = cluster.deaths
    assert (death.member, death.status) == ("worker 1", -signal.SIGKILL)
    async with Client(cluster.client_url) as client:
        await client.cancel(run)
    await liveness(cluster)

    async def has_joined() -> bool:
        # Before that it may not know yet how one leaves.
        return bool(await cluster.rows("select from mainspring.worker where pid = $1", worker.pid))

    await cluster.until(has_joined)
    assert set((await cluster.stop()).values()) == {0}


async def test_a_database_without_a_farewell_keeps_what_was_committed(cluster: Cluster) -> None:
    runs = set()
    for how in ("stop", "kill"):
        runs.add(await _trigger(cluster, "sleeping", seconds=0.0))
        async with cluster.database_down("stop" if how == "stop" else "kill") as pid:
            assert pid is not None
            assert pid not in processes.living()
    found = await cluster.rows("select id from mainspring.run_view")
    assert {row["id"] for row in found} == runs
    await liveness(cluster)
    assert cluster.deaths == []


async def test_a_cluster_that_is_stuck_is_noticed_by_its_own_clocks(cluster: Cluster) -> None:
    run = await _trigger(cluster, "waiting")
    with pytest.raises(Stuck, match=f"'run_id': {run}"):
        await liveness(cluster, still_beats=3)


async def test_the_dump_of_the_database_holds_the_journal(cluster: Cluster, tmp_path: Path) -> None:
    run = await _trigger(cluster, "sleeping", seconds=0.0)
    await liveness(cluster)
    await cluster.dump(tmp_path / "database.sql")
    text = await asyncio.to_thread((tmp_path / "database.sql").read_text, "utf-8")
    assert "COPY checker.move" in text
    assert f'"run_id": {run}' in text


def test_still_means_that_everybody_has_beaten_and_nothing_has_moved() -> None:
    before = Look(open_tasks=1, last_move=7, shard_beat=100, beats={1: 10, 2: 20})

    def after(shard: int, **beats: int) -> Look:
        return Look(1, 7, shard, {int(name[1:]): beat for name, beat in beats.items()})

    assert after(103, w1=13, w2=23).is_still_since(before, 3)
    assert not after(102, w1=13, w2=23).is_still_since(before, 3)
    assert not after(103, w1=13, w2=22).is_still_since(before, 3)
    # Who is new has to show its beats first, and without workers nothing can move.
    assert not after(103, w1=13, w3=90).is_still_since(before, 3)
    assert not after(103).is_still_since(before, 3)
