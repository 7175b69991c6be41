"""For authors of plug-ins: what Mainspring relies on, tried on a plug-in of yours.

    check_executor        real host children, with tasks of yours in them
    check_notifier        notices told, at once and twice
    check_object_store    objects put, read in parts, broken off and deleted
    check_operator        drawn in a dag, stored, found again
    check_schedule        asked forwards and backwards, over years

Each raises `AssertionError` with what is wrong. Call them from your tests; nothing else is needed,
and no database.
"""

from mainspring.testing.conformance.executors import check_executor
from mainspring.testing.conformance.notifiers import check_notifier
from mainspring.testing.conformance.object_stores import check_object_store
from mainspring.testing.conformance.operators import check_operator
from mainspring.testing.conformance.schedules import check_schedule

__all__ = [
    "check_executor",
    "check_notifier",
    "check_object_store",
    "check_operator",
    "check_schedule",
]
