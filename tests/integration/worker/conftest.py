from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.launcher import Launcher
from tests.support.team import Team


@pytest.fixture
async def team(database_url: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Team]:
    async with Team(database_url, tmp_path, launcher) as team:
        yield team
