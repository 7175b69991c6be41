"""What people read in the morning."""

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act, nothing_new

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=2, first="20s"), queue="reports")


@task
async def query(department: str) -> int:
    """Ask the warehouse of data."""
    return await act(f"asking for {department}", 12_000)


@task
async def draw_charts(rows: int) -> int:
    return await act("drawing", rows // 1000)


@task
async def write_summary(rows: int) -> str:
    nothing_new(0.04)
    return await act("writing", f"{rows} rows")


@task(queue="mail")
async def send(charts: int, summary: str) -> int:
    return await act("sending", charts)


DEPARTMENTS = {
    "sales": ("0 7 * * *", "Europe/Berlin"),
    "finance": ("30 7 * * mon-fri", "Europe/Berlin"),
    "marketing": ("0 8 * * mon-fri", "America/New_York"),
    "support": ("15 6 * * *", "Asia/Kolkata"),
    "board": ("0 9 * * mon", "Europe/London"),
}

for department, (cron, zone) in DEPARTMENTS.items():

    @dag(
        name=f"report_{department}",
        description=f"The report for {department}.",
        tags=["reports", department],
        owner="analytics",
        defaults=RETRIES,
        schedule=Schedule(
            cron, timezone=zone, exclude="holidays", parameters={"department": department}
        ),
    )
    def report(department: str, days: int = 1) -> None:
        rows = query(department)
        send(draw_charts(rows), write_summary(rows))


@task
async def freeze_books() -> int:
    return await act("freezing the books", 1)


@task
async def consolidate(books: int, country: str) -> int:
    return await act(f"consolidating {country}", books)


@task
async def file_statement(books: list[int]) -> int:
    return await act("filing", sum(books))


@dag(
    tags=["reports", "finance"],
    owner="finance",
    defaults=RETRIES,
    schedule="0 22 l * *",
    timezone="Europe/Berlin",
)
def month_end() -> None:
    """Close the books of a month."""
    books = freeze_books()
    file_statement([consolidate(books, country) for country in ("de", "fr", "jp", "uk", "us")])
