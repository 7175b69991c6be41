"""Extract, transform, load: results travel from task to task.

    mainspring dag trigger etl --wait
    mainspring dag trigger etl -p day=2026-11-14 --wait
    mainspring run show last                       # what every task returned

What a task returns is stored as JSON and becomes an argument of the tasks after it, converted to
what they are annotated with. So a task that is tried again gets the same arguments as before, and
a rerun of `load` alone does not extract anything a second time. Keep results small, up to 4 MiB:
pass the address of a large file and not what is in it.
"""

import csv
import datetime
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mainspring import Skip, context, dag, task

SOURCE = """\
order,customer,cents
1,ada,1250
2,bob,899
3,ada,4100
4,eve,none
"""


@dataclass
class Order:
    order: int
    customer: str
    cents: int


@task
def extract(day: datetime.date) -> list[dict[str, str]]:
    """Fetch the rows as they are. A real one would ask a service or a database."""
    if day > datetime.date.today():
        # Not a failure: what comes after is skipped too, and the run succeeds.
        raise Skip(f"{day} is still to come")
    return list(csv.DictReader(io.StringIO(SOURCE)))


@task
def transform(rows: list[dict[str, str]]) -> list[Order]:
    """Keep what makes sense; a dataclass is a JSON object on its way."""
    good = [row for row in rows if row["cents"].isdigit()]
    print(f"{len(rows) - len(good)} of {len(rows)} rows make no sense")
    return [Order(int(row["order"]), row["customer"], int(row["cents"])) for row in good]


@task
def load(orders: list[Order]) -> str:
    """Write a file, so that doing it twice is the same as doing it once.

    A task can run again after it has done its work, if its worker dies before it could tell. So
    write under a name that is the same for each attempt of this run, and put it in place at once.
    """
    folder = Path(tempfile.gettempdir())
    target = folder / f"mainspring-example-orders-{context().run_id}.csv"
    unfinished = target.with_suffix(f".attempt-{context().attempt}")
    unfinished.write_text("".join(f"{o.order},{o.customer},{o.cents}\n" for o in orders))
    unfinished.replace(target)
    return str(target)


@task
def summarize(orders: list[Order], file: str) -> dict[str, int]:
    """Customers and what they spent."""
    spent: dict[str, int] = {}
    for order in orders:
        spent[order.customer] = spent.get(order.customer, 0) + order.cents
    print(f"{len(orders)} orders are in {file}")
    return spent


@dag(tags=["example"])
def etl(day: datetime.date = datetime.date(2026, 11, 14)) -> None:
    """Fetch a day's orders, clean them, store them, sum them up."""
    orders = transform(extract(day))
    # `orders` is not a list here: it stands for one that is not known yet. Passing it on makes
    # an edge, so `summarize` waits for both `transform` and `load`.
    summarize(orders, load(orders))
