from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop

from tests.integration.executors.trial import Trial, open_trial


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], Any]]:
    """The worker runs on uvloop, so the tests of its hosts do."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def trial() -> AsyncIterator[Trial]:
    async with open_trial() as trial:
        yield trial
