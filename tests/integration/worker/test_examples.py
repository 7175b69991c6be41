"""The examples on a real engine and a real worker, as after `make up`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.launcher import Launcher
from tests.support.team import Team

EXAMPLES = Path(__file__).parents[3] / "examples"

HURRIED: dict[str, dict[str, Any]] = {"long_task": {"pages": 3, "seconds": 0.1}}
"""Parameters of examples that take their time."""


@pytest.mark.slow
async def test_every_example_succeeds(
    database_url: str, tmp_path: Path, launcher: Launcher
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        for file in EXAMPLES.glob("*.py"):
            shutil.copy(file, team.dags)
        team.start_engine()
        team.start_worker()
        names = sorted(file.stem for file in EXAMPLES.glob("*.py"))
        runs = {}
        for name in names:
            await team.known(name)
            runs[name] = await team.trigger(name, HURRIED.get(name))
        ends = {name: await team.ended(run_id) for name, run_id in runs.items()}
        assert ends == dict.fromkeys(names, "succeeded")
