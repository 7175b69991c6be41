"""A dag that runs by itself each night, and knows which day it is about.

    mainspring dag show nightly                    # when it fires, and when next
    mainspring schedule preview --cron '0 2 * * *' --timezone Europe/Berlin
    mainspring dag trigger nightly --wait          # by hand, whenever you like
    mainspring dag trigger nightly -p day=2026-11-14 --wait

A run that a schedule makes has a data interval: from the fire before to its own. It is the same
however late the run starts and however often it is tried, so ask it, and not the clock, for which
day there is work to do. A run by hand has none; its day is a parameter.
"""

import datetime

from mainspring import context, dag, task


@task
def choose_day(day: datetime.date | None) -> datetime.date:
    """The day that was asked for, else that of the fire, else yesterday."""
    if day is not None:
        return day
    interval = context().data_interval
    if interval is not None:
        return interval.start.date()
    return datetime.date.today() - datetime.timedelta(days=1)


@task
def count_orders(day: datetime.date) -> str:
    """A real one would ask a database for the orders of that day."""
    line = f"{day}: {day.toordinal() % 90 + 10} orders"
    print(line)
    return line


@dag(tags=["example"], schedule="0 2 * * *", timezone="Europe/Berlin", misfire="all")
def nightly(day: datetime.date | None = None) -> None:
    """Count a day's orders, each night at two."""
    count_orders(choose_day(day))
