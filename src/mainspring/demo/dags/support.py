"""The support desk."""

from mainspring import RetryPolicy, TaskDefaults, dag, task
from mainspring.demo.acting import act, nothing_new

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=2, first="5s"), queue="support")


@task
async def read_tickets() -> int:
    return await act("reading", 40)


@task
async def sort_tickets(tickets: int) -> int:
    nothing_new(0.1)
    return await act("sorting", tickets)


@task
async def assign(tickets: int) -> int:
    return await act("assigning", tickets)


@dag(tags=["support"], owner="support", schedule="*/10 * * * *", defaults=RETRIES)
def triage_tickets() -> None:
    """Who answers which ticket."""
    assign(sort_tickets(read_tickets()))
