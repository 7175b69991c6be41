"""Warehouses, parcels and vans."""

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act, nothing_new

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=2, first="10s"), queue="logistics")


@task
async def read_scanners(site: str) -> int:
    return await act(f"reading the scanners of {site}", 900)


@task
async def book_goods(scans: int) -> int:
    return await act("booking goods", scans)


@task
async def order_refills(booked: int) -> int:
    return await act("ordering refills", booked // 30)


SITES = {
    "hamburg": "Europe/Berlin",
    "lyon": "Europe/Paris",
    "leeds": "Europe/London",
    "austin": "America/Chicago",
    "osaka": "Asia/Tokyo",
}

for site, zone in SITES.items():

    @dag(
        name=f"warehouse_{site}",
        description=f"Scans and bookings of the warehouse in {site.title()}.",
        tags=["logistics", "warehouse"],
        owner="logistics",
        defaults=RETRIES,
        schedule=Schedule("*/15 * * * *", timezone=zone, parameters={"site": site}),
    )
    def warehouse(site: str) -> None:
        order_refills(book_goods(read_scanners(site)))


@task
async def ask_carriers() -> int:
    return await act("asking carriers", 5_100)


@task
async def store_events(events: int) -> int:
    nothing_new(0.05)
    return await act("storing", events)


@task(queue="mail")
async def tell_people(events: int) -> int:
    return await act("telling people", events // 12)


@dag(tags=["logistics", "parcels"], owner="logistics", defaults=RETRIES, schedule="*/10 * * * *")
def track_parcels() -> None:
    """Where all parcels are."""
    tell_people(store_events(ask_carriers()))


@task
async def gather_orders() -> int:
    return await act("gathering orders", 2_400)


@task
async def plan_van(orders: int, van: int) -> int:
    return await act(f"van {van}", orders // 8)


@task
async def hand_out(stops: list[int]) -> int:
    """Drivers see their routes."""
    return await act("handing out", sum(stops))


@dag(
    tags=["logistics", "routes"],
    owner="logistics",
    defaults=RETRIES,
    schedule="0 4 * * *",
    timezone="Europe/Berlin",
)
def plan_routes(vans: int = 8) -> None:
    """The day's routes, before drivers arrive."""
    orders = gather_orders()
    hand_out([plan_van(orders, van) for van in range(8)])
