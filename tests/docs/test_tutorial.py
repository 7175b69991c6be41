"""The tutorial, played on a real engine and a real worker, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_documents import ROOT, blocks_of
from tests.support.launcher import Launcher
from tests.support.team import Team

PAGE = ROOT / "docs" / "tutorial" / "bill.md"


def step(mark: str) -> str:
    [block] = [b for b in blocks_of(PAGE) if (b.language, b.mark) == ("python", mark)]
    return block.text


class Reader:
    """Somebody who does what the page says."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._text = step("dag").replace("time.sleep(5)", "time.sleep(0.1)")

    async def saves(self, mark: str | None = None) -> None:
        """Replaces what a later block defines anew, and waits until the engine has read it."""
        if mark is not None:
            self._text += f"\n\n{step(mark)}".replace('"4s"', '"200ms"')
        before = await self._snapshot()
        (self._team.dags / "bill.py").write_text(self._text, "utf-8")

        async def read() -> bool:
            return await self._snapshot() not in (None, before)

        await self._team.until(read)

    async def _snapshot(self) -> object:
        rows = await self._team.rows("select snapshot_id from mainspring.dag where name = 'bill'")
        return rows[0]["snapshot_id"] if rows else None

    async def bill_of(self, run_id: int) -> str:
        assert await self._team.ended(run_id) == "succeeded"
        return (await self._team.log_of(run_id)).decode()


@pytest.mark.slow
async def test_the_tutorial_does_what_it_says(
    database_url: str, tmp_path: Path, launcher: Launcher
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        reader = Reader(team)
        team.start_engine()
        team.start_worker()
        await reader.saves()
        run_id = await team.trigger("bill", {"month": "2026-11"})
        assert await reader.bill_of(run_id) == "2026-11: 16.05 €\n"

        await reader.saves("retry")
        pinned = await team.trigger("bill", {"month": "2026-11"})
        await team.until(lambda: team.rows("select 1 from mainspring.attempt where attempt = 1"))
        await reader.saves("change")
        newer = await team.trigger("bill", {"month": "2026-11"})
        assert await reader.bill_of(pinned) == "2026-11: 16.05 €\n"
        assert await reader.bill_of(newer) == "Please pay 16.05 € for 2026-11.\n"
        versions = "select version_id from mainspring.run_view where id = any($1) order by id"
        rows = await team.rows(versions, [run_id, pinned, newer])
        first, second, third = (row["version_id"] for row in rows)
        assert first != second == third

        await reader.saves("mistake")
        mistaken = await team.trigger("bill", {"month": "2026-12", "cents": 3})
        assert await team.ended(mistaken) == "failed"
        assert "3 cents cannot be right" in await team.error_of(mistaken)
