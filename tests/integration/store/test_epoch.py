"""Over failovers and restores, (epoch, term) of a task only rises."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from mainspring.domain.outcomes import HandedBack
from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.embedded.account import owner_of
from mainspring.embedded.binaries import find_binaries
from mainspring.embedded.child import spawn_server
from mainspring.store.attempts import Claimed, claim_attempts
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.duties import raise_epoch
from mainspring.store.ids import Ids
from mainspring.store.migrate import migrate
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, start_dag

ONE = dag_of()
CHAIN = dag_of([(0, 1)], tasks=2)


async def fork(connection: Connection) -> None:
    """As if the server had another history than the one that was noted."""
    await connection.execute("update mainspring.epoch set system_identifier = 1")


async def epoch_of(connection: Connection) -> int:
    number: int = await connection.fetchval("select number from mainspring.epoch")
    return number


async def end_backends(connection: Connection, name: str) -> None:
    """Ends the connections of that name; back when they are gone."""
    await connection.execute(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
        " where application_name = $1 and datname = current_database()",
        f"mainspring {name}",
    )


# --- the number -----------------------------------------------------------------------------


async def test_the_first_look_notes_the_server_and_later_ones_change_nothing(
    connection: Connection,
) -> None:
    assert await raise_epoch(connection) == 1
    assert await raise_epoch(connection) is None
    assert await epoch_of(connection) == 1


async def test_the_timeline_is_the_one_that_is_written_now(connection: Connection) -> None:
    """After a checkpoint the control file says the same; we ask as a role that is no superuser."""
    await raise_epoch(connection)
    [row] = await fetch(
        connection,
        "select e.timeline, c.timeline_id, e.system_identifier, s.system_identifier as asked,"
        " r.rolsuper"
        " from mainspring.epoch e, pg_control_checkpoint() c, pg_control_system() s, pg_roles r"
        " where r.rolname = current_user",
    )
    assert row["timeline"] == row["timeline_id"]
    assert row["system_identifier"] == row["asked"]
    assert not row["rolsuper"]


@pytest.mark.parametrize("column", ["system_identifier", "timeline"])
async def test_another_server_or_another_timeline_raises_the_epoch_once(
    connection: Connection, column: str
) -> None:
    await raise_epoch(connection)
    await connection.execute(f"update mainspring.epoch set {column} = 999")
    assert await raise_epoch(connection) == 2
    assert await raise_epoch(connection) is None


async def test_the_epoch_passes_what_was_lost_with_a_timeline_in_between(
    connection: Connection,
) -> None:
    """Noted on timeline 1; there was a timeline 2 with epoch 2, of which nothing is left; now 3."""
    await raise_epoch(connection)
    await connection.execute("update mainspring.epoch set timeline = timeline - 2")
    assert await raise_epoch(connection) == 3


async def test_ids_leap_over_what_a_lost_history_may_have_reserved(connection: Connection) -> None:
    await raise_epoch(connection)
    before = await Ids().take(connection, 1)
    await fork(connection)
    await raise_epoch(connection)
    after = await Ids().take(connection, 1)
    assert after > before + 1_000_000
    assert (after - before) % 100 == 0
    assert await raise_epoch(connection) is None
    assert await Ids().take(connection, 1) == after + 100


async def test_many_connections_that_notice_a_fork_raise_the_epoch_by_one(
    connection: Connection, database_url: str
) -> None:
    await raise_epoch(connection)
    await fork(connection)
    lines = [Line(database_url, name=f"{n}", greet=raise_epoch) for n in range(10)]
    seen = await asyncio.gather(*(line.call(epoch_of) for line in lines))
    assert seen == [2] * 10
    for line in lines:
        await line.close()


# --- claims and grants ----------------------------------------------------------------------


async def test_claims_and_grants_carry_the_epoch_that_is_in_force(connection: Connection) -> None:
    await raise_epoch(connection)
    for _ in range(2):
        await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    [before] = await worker.claim(1)
    completed = await worker.end(before, grant={DEFAULT_LANE: 1})
    assert [before.epoch, *(grant.epoch for grant in completed.grants)] == [1, 1]
    await fork(connection)
    await raise_epoch(connection)
    [after] = await worker.claim(1)
    completed = await worker.end(after, grant={DEFAULT_LANE: 1})
    assert [after.epoch, *(grant.epoch for grant in completed.grants)] == [2, 2]


async def test_a_claim_repeated_after_a_failover_carries_the_new_epoch(
    connection: Connection,
) -> None:
    """The history that was lost may have reaped us and handed out term 2 under the old epoch."""
    await raise_epoch(connection)
    await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    claim_id = uuid4()
    [first] = await worker.claim(claim_id=claim_id)
    lost = (first.epoch, first.term + 1)
    await fork(connection)
    await raise_epoch(connection)
    [again] = await worker.claim(claim_id=claim_id)
    assert again.claim_id == first.claim_id
    assert (again.epoch, again.term) == (2, 1) > lost


async def test_grants_returned_again_after_a_failover_carry_the_new_epoch(
    connection: Connection,
) -> None:
    await raise_epoch(connection)
    await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    [root] = await worker.claim()
    claim_id = uuid4()
    await worker.end(root, grant={DEFAULT_LANE: 1}, grant_claim=claim_id)
    await fork(connection)
    await raise_epoch(connection)
    completed = await worker.end(root, grant={DEFAULT_LANE: 1}, grant_claim=claim_id)
    assert [grant.epoch for grant in completed.grants] == [2]


async def test_the_due_time_of_a_claim_is_its_runs_whatever_the_attempt(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, ONE)
    due_at = await connection.fetchval("select due_at from mainspring.run where id = $1", run_id)
    worker = await BareWorker.join(connection, ONE)
    [first] = await worker.claim()
    await worker.end(first, HandedBack("drained"))
    [second] = await worker.claim()
    assert first.term < second.term
    assert first.due_at == second.due_at == due_at


# --- lines ----------------------------------------------------------------------------------


async def test_a_line_greets_each_connection_before_it_is_used(
    connection: Connection, database_url: str
) -> None:
    said: list[tuple[str, int]] = []

    async def greet(connection: Connection) -> None:
        said.append(("greeted", await connection.fetchval("select pg_backend_pid()")))

    async def use(connection: Connection) -> None:
        said.append(("used", await connection.fetchval("select pg_backend_pid()")))

    line = Line(database_url, name="greeter", greet=greet)
    await line.call(use)
    await line.call(use)
    await end_backends(connection, "greeter")
    await line.call(use)
    await line.close()
    first, second = said[0][1], said[-1][1]
    assert first != second
    assert said == [
        ("greeted", first),
        ("used", first),
        ("used", first),
        ("greeted", second),
        ("used", second),
    ]


async def test_a_connection_that_could_not_be_greeted_is_not_used(
    connection: Connection, database_url: str
) -> None:
    greeted: list[Connection] = []

    async def greet(fresh: Connection) -> None:
        greeted.append(fresh)
        if len(greeted) < 3:
            await end_backends(connection, "greeter")
        await fresh.fetchval("select 1")

    async def use(used: Connection) -> bool:
        return used is greeted[-1]

    line = Line(database_url, name="greeter", greet=greet)
    assert await line.call(use)
    assert len(greeted) == 3
    assert all(dropped.is_closed() for dropped in greeted[:-1])
    await line.close()


async def test_a_line_to_a_forked_server_raises_the_epoch_before_it_claims(
    connection: Connection, database_url: str
) -> None:
    for _ in range(2):
        await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    line = Line(database_url, name="claimer", stable_plans=True, greet=raise_epoch)

    async def claim() -> Claimed:
        [item] = await line.call(claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 1)
        return item

    before = await claim()
    await fork(connection)
    await end_backends(connection, "claimer")
    after = await claim()
    await line.close()
    assert (before.epoch, after.epoch) == (1, 2)


async def test_a_line_waits_for_a_server_that_only_reads(
    connection: Connection, database_url: str
) -> None:
    """As a standby does in a failover, before it is promoted."""
    [row] = await fetch(connection, "select quote_ident(current_database()) as name")
    only_read = f"alter database {row['name']} set default_transaction_read_only"
    await connection.execute(f"{only_read} = on")
    line = Line(database_url, name="early", greet=raise_epoch)
    calling = asyncio.create_task(line.call(epoch_of))
    while line.broken == 0:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert not calling.done()
    # The database's own setting would refuse this on a new connection.
    await connection.execute(f"{only_read} = off")
    assert await calling == 1
    await line.close()


# --- for real -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.fault
async def test_a_promoted_standby_that_lost_a_claim_hands_the_task_out_under_a_higher_epoch(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    postgres = EmbeddedPostgres(home, settings={"fsync": "off", "shared_buffers": "16MB"})
    standby: subprocess.Popen[bytes] | None = None
    try:
        # What the standby has: a task that waits, and a worker.
        url = await asyncio.to_thread(postgres.start)
        data = postgres.log_folder.parent / "data"
        connection = await connect(url, name="primary")
        await migrate(connection)
        await start_dag(connection, ONE)
        worker = await BareWorker.join(connection, ONE)
        await connection.close()
        await asyncio.to_thread(postgres.stop)
        await _run("cp", "-a", data, f"{data}.standby")

        # What only the primary has: its epoch, and a claim.
        await asyncio.to_thread(postgres.start)
        line = Line(url, name="claimer", stable_plans=True, greet=raise_epoch)
        [lost] = await line.call(claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 1)
        await asyncio.to_thread(postgres.kill)

        # The standby takes the primary's place, and answers before it is promoted.
        await _run("rm", "-r", data)
        await _run("mv", f"{data}.standby", data)
        (data / "standby.signal").touch()
        standby = await asyncio.to_thread(_start_server, data, tmp_path / "standby.log")
        superuser = await _superuser(url)
        assert await superuser.fetchval("select pg_is_in_recovery()")
        broken = line.broken
        claiming = asyncio.create_task(
            line.call(claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 1)
        )
        while line.broken < broken + 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert not claiming.done()
        assert await superuser.fetchval("select pg_promote()")
        [found] = await claiming
        await superuser.close()
        await line.close()
        assert (found.task_id, found.term) == (lost.task_id, lost.term), "the same term again"
        assert (lost.epoch, found.epoch) == (1, 2)
    finally:
        if standby is not None:
            standby.send_signal(signal.SIGINT)
            await asyncio.to_thread(standby.wait)
        await asyncio.to_thread(postgres.stop)
        destroy(home)


async def _run(*command: str | Path) -> None:
    await asyncio.to_thread(subprocess.run, command, check=True)


def _start_server(data: Path, log: Path) -> subprocess.Popen[bytes]:
    """As the supervisor does, but without the changes that it makes in a server that is ready."""
    account = owner_of(data)
    command: list[str | Path] = [find_binaries(account).postgres, "-D", data]
    command += ["-c", f"config_file={data.parent / 'postgresql.conf'}"]
    with log.open("wb") as output:
        return spawn_server(command, account, output=output.fileno())


async def _superuser(url: str) -> Connection:
    while True:
        try:
            return await asyncpg.connect(url, user="postgres", database="postgres")
        except (OSError, asyncpg.CannotConnectNowError):
            await asyncio.sleep(0.05)
