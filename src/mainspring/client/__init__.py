"""How applications and the command line speak to Mainspring: start runs, wait for them, stop them.

Over SQL, beside the database; who has no way there asks the server over HTTP. The way of a run
into the database is drawn in `enqueuing`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mainspring.domain.jobs import CommandCall, HttpCall, JobKind, JobStatus

if TYPE_CHECKING:
    from mainspring.client.client import Client
    from mainspring.client.sync import SyncClient
    from mainspring.store.backfill_orders import BackfillOrder
    from mainspring.store.job_orders import JobOrder

__all__ = [
    "BackfillOrder",
    "Client",
    "CommandCall",
    "HttpCall",
    "JobKind",
    "JobOrder",
    "JobStatus",
    "SyncClient",
]

# A command that only looks needs no more than a link, and is not kept waiting for the rest.
_LATER = {
    "Client": "mainspring.client.client",
    "SyncClient": "mainspring.client.sync",
    "BackfillOrder": "mainspring.store.backfill_orders",
    "JobOrder": "mainspring.store.job_orders",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
