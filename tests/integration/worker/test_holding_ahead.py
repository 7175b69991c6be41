"""Short tasks are claimed ahead of their slots; behind a long one they go back to the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mainspring.client import Client
from tests.support.team import Team

CODE = """
@task
def short():
    pass

@dag
def shorts():
    short()

@task
def long(gate: str):
    effect("began")
    while not os.path.exists(gate):
        time.sleep(0.02)

@dag
def longs(gate: str):
    long(gate)
"""


async def test_what_was_held_ahead_goes_back_when_a_long_task_is_in_the_way(
    team: Team, tmp_path: Path
) -> None:
    team.write("lengths.py", CODE)
    team.start_engine()
    team.start_worker("--slots", "process=1")
    await team.known("longs")
    gate = tmp_path / "gate"

    async def closed(count: int) -> bool:
        rows = await team.rows("select id from mainspring.run_view where state = 'succeeded'")
        return len(rows) >= count

    async def waiting() -> bool:
        rows = await team.rows("""
            select (select count(*) from mainspring.ready)
                 + (select count(*) from mainspring.run_view where state = 'succeeded') as count""")
        return rows == [{"count": 80}]

    async def beats() -> int:
        [lease] = await team.rows("select beat from mainspring.lease")
        return int(lease["beat"])

    async def handed_back() -> list[dict[str, Any]]:
        return await team.rows("select count(*) from mainspring.attempt where state = 'yielded'")

    async with Client(team.url) as client:
        for _ in range(60):
            await client.trigger("shorts")
        await team.until(lambda: closed(60))
        await client.trigger("longs", {"gate": str(gate)})
        for _ in range(20):
            await client.trigger("shorts")
    await team.until(waiting)
    once, last_beat = await handed_back(), await beats() + 5

    async def a_while_has_passed() -> bool:
        return await beats() >= last_beat

    await team.until(a_while_has_passed)
    assert await waiting(), "they are not claimed while the long task is in the way"
    assert await handed_back() == once
    [task] = await team.rows("select count(*) from mainspring.attempt where state <> 'yielded'")
    assert task["count"] == 0
    gate.touch()
    await team.until(lambda: closed(81))
    attempts = await team.rows("select max(attempt) as most from mainspring.task_view")
    assert attempts == [{"most": 1}], "handing back charges nothing"
