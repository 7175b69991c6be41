"""Mainspring: one engine for cron, DAGs and durable jobs, on one PostgreSQL.

These are the names for authors of dags. Importing them loads neither a database driver nor a web
framework.
"""

from __future__ import annotations

from mainspring.authoring.dags import Dag, dag
from mainspring.authoring.ends import Fail, Retry, Skip
from mainspring.authoring.retries import RetryPolicy
from mainspring.authoring.tasks import Task, task
from mainspring.domain.errors import (
    ConflictError,
    DefinitionError,
    InputError,
    MainspringError,
    NotFoundError,
    UnavailableError,
)

__all__ = [
    "ConflictError",
    "Dag",
    "DefinitionError",
    "Fail",
    "InputError",
    "MainspringError",
    "NotFoundError",
    "Retry",
    "RetryPolicy",
    "Skip",
    "Task",
    "UnavailableError",
    "dag",
    "task",
]
