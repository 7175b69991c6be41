"""What happens to a worker that is far from the database between a claim and its work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring import Client
from mainspring.store.runs import Deed
from tests.checker.evidence import FAULTS, Log
from tests.fault.cluster import Cluster, Member
from tests.fault.proxy import Weather
from tests.support.launcher import Launcher

pytestmark = [pytest.mark.fault, pytest.mark.slow]

DAGS = """
from mainspring import dag, task

@task
async def nothing() -> None:
    pass

@dag
def sample() -> None:
    nothing()
"""
_NEWER = "select from mainspring.version where number > 1"
_READING = Weather(kind="half_open", aim="inputs")
"""What a claimed task is made of stays on its way."""


@pytest.fixture
async def cluster(tmp_path: Path, launcher: Launcher) -> AsyncIterator[Cluster]:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "dags.py").write_text(DAGS, "utf-8")
    log = Log(tmp_path / FAULTS)
    async with Cluster(
        tmp_path / "cluster",
        log,
        dags=dags,
        seed=1,
        engines=1,
        workers=0,
        servers=1,
        far=1,
        lease_seconds=60.0,
        launcher=launcher,
    ) as cluster:
        cluster.start()
        await cluster.until(lambda: _any(cluster, "select from mainspring.dag"))
        yield cluster
    log.close()


async def test_a_task_that_is_gone_before_it_is_read_is_let_go_and_a_refused_worker_ends(
    cluster: Cluster,
) -> None:
    [worker] = cluster.far
    async with Client(cluster.client_url) as client:
        worker.proxy.begin(_READING)
        run_id = await client.trigger("sample")
        await cluster.until(lambda: _reads(worker))
        await client.mark(run_id, "nothing", "succeeded", Deed("somebody", "by hand"))
        pid = worker.pid
        worker.proxy.end(_READING)
        assert (await client.wait(await client.trigger("sample"))).state == "succeeded"
        assert worker.pid == pid

        # Another version, which it does not know yet.
        cluster.write_dags("dags.py", DAGS.replace("@task\n", "@task(retries=1)\n"))
        await cluster.until(
            lambda: _any(cluster, "select from mainspring.version where number > 1")
        )
        worker.proxy.begin(_READING)
        run_id = await client.trigger("sample")
        await cluster.until(lambda: _reads(worker))
        await cluster.revoke(worker)
        # Whatever it asks is refused from now on; nobody else is there to do it.
        worker.proxy.end(_READING)
        await worker.ended()
        assert "error: the server refuses: this token is not known" in worker.last_words
        assert "Traceback" not in worker.last_words
    assert cluster.deaths == []


async def _reads(worker: Member) -> bool:
    return "inputs" in worker.proxy.names


async def _any(cluster: Cluster, sql: str) -> bool:
    return bool(await cluster.rows(sql))
