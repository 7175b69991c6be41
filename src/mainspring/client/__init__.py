"""How applications and the command line speak to Mainspring: start runs, wait for them, stop them.

Over SQL, beside the database; who has no way there asks the server over HTTP. The way of a run
into the database is drawn in `enqueuing`.
"""

from mainspring.client.client import Client
from mainspring.client.sync import SyncClient
from mainspring.domain.jobs import CommandCall, HttpCall, JobKind, JobStatus
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
