"""A client on a bad network tells whoever asks, and nobody else."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from mainspring import Client
from tests.fault.conftest import Network
from tests.integration.client.bakery import bake

pytestmark = pytest.mark.fault


async def test_ids_that_cannot_be_fetched_ahead_are_no_error_of_their_own(network: Network) -> None:
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: complaints.append(about))
    async with Client(network.url, patience_seconds=0.0) as client:
        await client.enqueue(bake, loaves=1)
        lost = network.proxy.spoil_next("lost_request", aim="reserve_ids")
        # Few ids are left then, so that more are asked for meanwhile, and that is lost.
        await client.enqueue_many(bake, [{"loaves": 1}] * 80)
        await lost.wait()
        assert len(await client.enqueue_many(bake, [{"loaves": 1}] * 80)) == 80
    gc.collect()
    assert complaints == []
