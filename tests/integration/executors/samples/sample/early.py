"""Asks at import, for all attempts to come."""

from mainspring import context, task

KEY = context().idempotency_key


@task(executor="process")
def keyed() -> str:
    return KEY
