"""`examples/app`: an application of its own, as its first page says it is used."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mainspring.bundles.read import read_bundle
from mainspring.store.connection import Connection, fetch
from tests.support.launcher import Launcher
from tests.support.team import Team

EXAMPLES = Path(__file__).parents[3] / "examples"


async def test_the_shop_takes_orders(
    database_url: str, tmp_path: Path, launcher: Launcher, connection: Connection
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        team.working_folder = EXAMPLES / "app"
        team.start_worker("--app", "shop.tasks")
        shop = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shop"),
            cwd=EXAMPLES / "app",
            env={**os.environ, "MAINSPRING_DATABASE_URL": database_url},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await shop.communicate()
    lines = said.decode().splitlines()
    assert shop.returncode == 0
    assert "refused" in lines[0]
    assert [line.split(" of ")[1] for line in lines[1:]] == [
        "charge succeeded",
        "charge succeeded",
        "report succeeded",
        "send_mail succeeded",
        "send_mail succeeded",
    ]
    orders = await fetch(connection, "select customer from shop_order order by id")
    assert [row["customer"] for row in orders] == ["ada@example.org", "bob@example.org"]


async def test_the_folder_of_examples_is_still_a_folder_of_dags() -> None:
    report = await read_bundle(EXAMPLES)
    assert report.problems == []
    assert {dag.name for dag in report.dags} >= {"hello", "daily_sales"}
