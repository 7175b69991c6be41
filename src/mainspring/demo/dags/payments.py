"""Money: settlements, refunds, fraud, payouts."""

from typing import Literal

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act

CAREFUL = TaskDefaults(retry=RetryPolicy(attempts=3, first="10s", cap="2m"), queue="payments")


@task
async def find_payment(order: int) -> str:
    return await act("finding the payment", f"payment-{order}")


@task(on_lost="fail", priority=8)
async def pay_back(payment: str) -> str:
    """Once and no more: if nobody knows whether it was done, a person looks."""
    return await act("paying back", payment)


@task(queue="mail")
async def tell_customer(payment: str) -> str:
    return await act("telling the customer", payment)


@dag(tags=["payments"], owner="payments", defaults=CAREFUL)
def refund(order: int = 1, reason: Literal["broken", "late", "wrong"] = "late") -> None:
    """Money back for an order."""
    tell_customer(pay_back(find_payment(order)))


@task
async def fetch_statement(provider: str) -> int:
    """What the provider says it has taken."""
    return await act(f"statement of {provider}", 8_000)


@task
async def fetch_bookings(provider: str) -> int:
    """What we have booked."""
    return await act("our bookings", 8_000)


@task
async def match(statement: int, bookings: int) -> int:
    """Find the other half of each."""
    return await act("matching", min(statement, bookings))


@task
async def book_fees(matched: int) -> int:
    return await act("booking fees", matched)


@task
async def close_day(fees: int) -> int:
    return await act("closing the day", fees)


for number, provider in enumerate(("visa", "mastercard", "paypal", "sepa")):

    @dag(
        name=f"settle_{provider}",
        description=f"Settle yesterday's payments by {provider}.",
        tags=["payments", "settlement"],
        owner="finance",
        defaults=CAREFUL,
        timeout="2h",
        schedule=Schedule(
            f"{30 + 5 * number} 2 * * *",
            timezone="Europe/Berlin",
            overlap="buffer_all",
            misfire="all",
            max_count=7,
            parameters={"provider": provider},
        ),
    )
    def settle(provider: str) -> None:
        close_day(book_fees(match(fetch_statement(provider), fetch_bookings(provider))))


@task(queue="realtime", priority=9)
async def score(window_minutes: int) -> int:
    """Give each payment a score."""
    return await act("scoring", 640)


@task(queue="realtime")
async def hold_back(scored: int) -> int:
    """A person looks at the worst."""
    return await act("holding back", scored // 90)


@dag(tags=["payments", "fraud"], owner="risk", schedule="*/5 * * * *")
def fraud_scores(window_minutes: int = 5, threshold: float = 0.93) -> None:
    """Look for payments that look odd."""
    hold_back(score(window_minutes))


@task
async def add_up() -> int:
    return await act("adding up", 10_000)


@task
async def balance(total: int) -> int:
    """Both sides have to be the same."""
    return await act("balancing", total)


@dag(tags=["payments", "ledger"], owner="finance", schedule="10 * * * *", defaults=CAREFUL)
def ledger_check() -> None:
    """Debits and credits, every hour."""
    balance(add_up())


@task
async def list_sellers() -> int:
    return await act("listing sellers", 310)


@task
async def order_transfers(sellers: int) -> int:
    return await act("ordering transfers", sellers)


@task(queue="mail")
async def send_slips(transfers: int) -> int:
    return await act("sending slips", transfers)


@dag(
    tags=["payments", "sellers"],
    owner="finance",
    defaults=CAREFUL,
    schedule=Schedule("0 9 * * mon-fri", timezone="Europe/Berlin", exclude="holidays"),
)
def pay_sellers() -> None:
    """What sellers have earned, on working days."""
    send_slips(order_transfers(list_sellers()))
