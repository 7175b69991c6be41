from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.launcher import Launcher
from tests.support.team import Team


@pytest.fixture
async def team(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, launcher: Launcher
) -> AsyncIterator[Team]:
    """With `NEAR_AND_FAR` as the mark of a module, its workers make their calls both ways."""
    remote = getattr(request, "param", "") == "through a server"
    async with Team(database_url, tmp_path, launcher, remote=remote) as team:
        yield team
