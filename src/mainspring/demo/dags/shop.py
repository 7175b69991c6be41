"""The shop: orders, prices, stock, search."""

from typing import Literal

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act, nothing_new

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=3, first="5s", cap="1m"))
Country = Literal["de", "fr", "jp", "uk", "us"]


@task
async def check_stock(order: int) -> int:
    """See whether everything is there."""
    return await act("checking stock", order)


@task(queue="payments", priority=8)
async def charge(order: int) -> str:
    """Take the money."""
    return await act("charging the card", f"payment-{order}")


@task
async def reserve(order: int) -> str:
    """Put the goods aside."""
    return await act("reserving", f"shelf-{order % 90}")


@task
async def confirm(payment: str, shelf: str) -> str:
    """Write to the customer."""
    return await act("sending the confirmation", f"{payment} {shelf}")


@dag(tags=["shop", "orders"], owner="shop team", defaults=RETRIES, timeout="30m")
def order_placed(order: int = 1, country: Country = "de", express: bool = False) -> None:
    """An order: stock, payment, confirmation."""
    checked = check_stock(order)
    confirm(charge(checked), reserve(checked))


@task
async def fetch_feed(market: str) -> int:
    """Fetch the suppliers' prices."""
    return await act(f"fetching the feed of {market}", 4_200)


@task
async def validate(rows: int) -> int:
    """Leave out what cannot be."""
    return await act("validating", rows)


@task
async def compare(rows: int) -> int:
    """See what has changed."""
    nothing_new(0.12)
    return await act("comparing", rows // 9)


@task
async def publish(rows: int) -> int:
    """Show the new prices."""
    return await act("publishing", rows)


ZONES = {
    "eu": "Europe/Berlin",
    "uk": "Europe/London",
    "us": "America/New_York",
    "jp": "Asia/Tokyo",
}

for market, zone in ZONES.items():

    @dag(
        name=f"prices_{market}",
        description=f"Prices of the shop in {market.upper()}, every quarter of an hour by day.",
        tags=["shop", "prices", market],
        owner="pricing",
        defaults=RETRIES,
        schedule=Schedule("*/15 6-21 * * *", timezone=zone, parameters={"market": market}),
    )
    def prices(market: str, limit: int = 5000) -> None:
        publish(compare(validate(fetch_feed(market))))


@task
async def count_shelves() -> int:
    """Ask all warehouses."""
    return await act("counting shelves", 31_000)


@task
async def tell_shop(rows: int) -> int:
    """Let the shop know what is left."""
    return await act("telling the shop", rows)


@dag(tags=["shop", "stock"], owner="shop team", defaults=RETRIES, schedule="*/5 * * * *")
def stock_sync() -> None:
    """What is left of everything, every five minutes."""
    tell_shop(count_shelves())


@task
async def find_carts(hours: int) -> int:
    """Carts that were left standing."""
    return await act("looking for carts", 120)


@task(queue="mail")
async def remind(carts: int) -> int:
    """One friendly mail each."""
    return await act("writing mails", carts)


@dag(
    tags=["shop", "mail"],
    owner="marketing",
    defaults=RETRIES,
    schedule="15 * * * *",
    timezone="Europe/Berlin",
)
def cart_reminders(hours: int = 24, dry_run: bool = False) -> None:
    """Remind people of what they have left in their carts."""
    remind(find_carts(hours))


@task
async def read_catalogue() -> int:
    return await act("reading the catalogue", 88_000)


@task
async def build_segment(rows: int, number: int) -> int:
    return await act(f"segment {number}", rows // 4)


@task
async def swap_index(segments: list[int]) -> int:
    """Search uses the new index from here on."""
    return await act("swapping the index", sum(segments))


@task  # new
async def warm_caches(rows: int) -> int:  # new
    """Ask what people ask most."""  # new
    return await act("warming caches", rows)  # new


@dag(tags=["shop", "search"], owner="search", defaults=RETRIES, schedule="20 * * * *")
def search_index() -> None:
    """Build the index of the search anew."""
    rows = read_catalogue()
    swapped = swap_index([build_segment(rows, number) for number in range(4)])
    warm_caches(swapped)  # new
