"""A day of sales: fetch from every shop of a region at once, sum up, report.

    mainspring dag trigger daily_sales --wait
    mainspring dag trigger daily_sales -p region=us --wait
    mainspring dag show daily_sales                # when it runs by itself

The service for exchange rates drops the first call of every session, so `fetch_rates` fails
once and is tried again. All figures are made up, and the same all day long, so that you can
change something and see what it does. A run takes about four seconds.
"""

import asyncio
import datetime
import logging
import random
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from mainspring import RetryPolicy, Schedule, dag, task

log = logging.getLogger("daily_sales")

SHOPS = {
    "eu": ["berlin", "lyon", "porto", "turin"],
    "us": ["austin", "boston", "denver", "seattle"],
}


class Day(TypedDict):
    session: uuid.UUID
    shops: list[str]


@dataclass
class Sale:
    article: str
    dollars: float


@dataclass
class Total:
    shop: str
    sales: int
    euros: float


@task
def open_day(region: str) -> Day:
    """Open a session with the region's shops."""
    if region not in SHOPS:
        raise ValueError(f"no shops in region {region!r}; there are {', '.join(SHOPS)}")
    log.info("opening %s", region)
    return {"session": uuid.uuid4(), "shops": SHOPS[region]}


@task(retry=RetryPolicy(attempts=3, backoff="exponential", first="1s", cap="10s"), timeout="1m")
def fetch_rates(session: uuid.UUID) -> dict[str, float]:
    """Ask for exchange rates; the first call of a session is always dropped."""
    called_before = Path(tempfile.gettempdir(), f"mainspring-example-{session}")
    if not called_before.exists():
        called_before.touch()
        raise ConnectionError("the rate service hung up")
    called_before.unlink()
    return {"euro": 0.92}


@task(timeout="1m")
async def extract(shop: str) -> list[Sale]:
    """Fetch one shop's sales; all shops are asked at the same time."""
    chance = random.Random(f"{shop} {datetime.date.today()}")
    await asyncio.sleep(chance.uniform(1, 2.5))
    articles = ["bread", "coffee", "tea"]
    count = chance.randint(20, 60)
    log.info("%s sales in %s", count, shop)
    return [Sale(chance.choice(articles), round(chance.uniform(1, 9), 2)) for _ in range(count)]


@task
def sum_up(shop: str, sales: list[Sale], rates: dict[str, float]) -> Total:
    """One shop's total, in euros."""
    time.sleep(1)
    euros = sum(sale.dollars for sale in sales) * rates["euro"]
    return Total(shop, len(sales), round(euros, 2))


@task
def report(region: str, totals: list[Total]) -> str:
    """Print the day's table."""
    for total in sorted(totals, key=lambda total: -total.euros):
        print(f"{total.shop:<10} {total.sales:>4} sales {total.euros:>10,.2f} €")
    euros = sum(total.euros for total in totals)
    line = f"{region}: {euros:,.2f} €"
    print(line)
    return line


@task(priority=3)
def close_day(session: uuid.UUID) -> None:
    """Close the session, when nobody needs it any more."""
    log.info("closed session %s", session)


@dag(
    tags=["example", "sales"],
    owner="sales team",
    timeout="10m",
    # Each morning, as the clocks of the region show it. A day that is late does not overtake the
    # day before; after days of downtime all of them are made up for.
    schedule=[
        Schedule(
            "30 6 * * *",
            name=region,
            timezone=timezone,
            parameters={"region": region},
            overlap="buffer_all",
            misfire="all",
            max_count=7,
        )
        for region, timezone in (("eu", "Europe/Berlin"), ("us", "America/New_York"))
    ],
)
def daily_sales(region: str = "eu") -> None:
    """Fetch, sum up and report a day of sales."""
    day = open_day(region)
    rates = fetch_rates(day["session"])
    shops = [day["shops"][number] for number in range(4)]
    totals = [sum_up(shop, extract(shop), rates) for shop in shops]
    report(region, totals) >> close_day(day["session"])
