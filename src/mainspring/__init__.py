"""Mainspring: one engine for cron, DAGs and durable jobs, on one PostgreSQL.

These are the names for authors of dags, and the clients for applications that enqueue runs.
Importing them loads neither a database driver nor a web framework; the first use of a client does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mainspring.authoring.commands import Command
from mainspring.authoring.context import Context, DataInterval, context
from mainspring.authoring.dags import Dag, dag
from mainspring.authoring.defaults import TaskDefaults
from mainspring.authoring.ends import Fail, Retry, Skip
from mainspring.authoring.retries import RetryPolicy
from mainspring.authoring.schedules import Schedule
from mainspring.authoring.tasks import Task, task
from mainspring.domain.errors import (
    ConflictError,
    DefinitionError,
    InputError,
    MainspringError,
    NotFoundError,
    UnavailableError,
)

if TYPE_CHECKING:
    from mainspring.client import Client, SyncClient

__all__ = [
    "Client",
    "Command",
    "ConflictError",
    "Context",
    "Dag",
    "DataInterval",
    "DefinitionError",
    "Fail",
    "InputError",
    "MainspringError",
    "NotFoundError",
    "Retry",
    "RetryPolicy",
    "Schedule",
    "Skip",
    "SyncClient",
    "Task",
    "TaskDefaults",
    "UnavailableError",
    "context",
    "dag",
    "task",
]

_LATER = ("Client", "SyncClient")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module("mainspring.client"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
