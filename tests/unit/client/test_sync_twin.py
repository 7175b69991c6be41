"""The client without an event loop has what the other one has, with the same arguments."""

from __future__ import annotations

import inspect

from mainspring.client import Client, SyncClient
from tools.generators.sync_twin import BY_HAND, NOT_FOR_IT


def methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_both_clients_have_the_same_methods_with_the_same_signatures() -> None:
    wanted = {name: each for name, each in methods(Client).items() if name not in NOT_FOR_IT}
    found = methods(SyncClient)
    # The asynchronous one is closed by `async with` alone.
    del found["close"]
    assert found == wanted
    assert set(wanted) >= BY_HAND
    assert inspect.signature(Client) == inspect.signature(SyncClient)
    for name in wanted:
        assert inspect.iscoroutinefunction(getattr(Client, name)), name
        assert not inspect.iscoroutinefunction(getattr(SyncClient, name)), name
