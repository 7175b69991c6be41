"""The shop's tasks. Workers import this module: `mainspring worker --app shop.tasks`."""

import asyncio
import datetime
from dataclasses import dataclass

from mainspring import RetryPolicy, task


@dataclass
class Payment:
    card: str
    cents: int


@task(retry=RetryPolicy(attempts=5, backoff="exponential", first="1s", cap="1m"), timeout="30s")
async def charge(order: int, payment: Payment) -> str:
    """Charge the card. Async tasks share a process: a thousand can wait for the bank at once."""
    await asyncio.sleep(0.1)
    print(f"order {order}: charged {payment.cents / 100:.2f} € to {payment.card}")
    return f"receipt-{order}"


@task(retries=3)
def send_mail(to: str, subject: str = "Hello") -> None:
    """Plain functions run in processes of their own, which may block and can be killed."""
    print(f"to {to}: {subject}")


@task(executor="thread")
def report(day: datetime.date) -> str:
    return f"the report of {day:%d %B %Y}"
