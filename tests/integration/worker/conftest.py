from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.team import Team


@pytest.fixture
async def team(database_url: str, tmp_path: Path) -> AsyncIterator[Team]:
    async with Team(database_url, tmp_path) as team:
        yield team
