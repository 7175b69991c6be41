"""What keeps the rest going: backups, events, quality, certificates."""

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=2, first="10s"))


@task
async def dump(database: str) -> str:
    return await act(f"dumping {database}", f"{database}.dump")


@task
async def upload(file: str) -> str:
    return await act("uploading", file)


@task
async def try_restore(file: str) -> bool:
    """A backup that nobody has restored is none."""
    return await act("restoring elsewhere", True)


for number, database in enumerate(("orders", "customers", "events", "catalogue")):

    @dag(
        name=f"backup_{database}",
        description=f"Back up {database}, and see that it can be restored.",
        tags=["platform", "backup"],
        owner="platform",
        defaults=RETRIES,
        schedule=Schedule(f"{10 * number} 1 * * *", parameters={"database": database}),
    )
    def backup(database: str) -> None:
        try_restore(upload(dump(database)))


@task
async def land(source: str) -> int:
    return await act(f"landing {source}", 50_000)


@task
async def clean(rows: int) -> int:
    return await act("cleaning", rows)


@task
async def merge(rows: list[int]) -> int:
    return await act("merging", sum(rows))


@task
async def build_marts(rows: int, mart: str) -> int:
    return await act(f"mart {mart}", rows)


@dag(
    tags=["platform", "events"],
    owner="data platform",
    defaults=RETRIES,
    schedule="5 * * * *",
    overlap="skip",
)
def load_events() -> None:
    """Events of all sources into the warehouse of data."""
    landed = [clean(land(source)) for source in ("web", "app", "mail", "till")]
    rows = merge(landed)
    for mart in ("sales", "finance", "support"):
        build_marts(rows, mart)


@task
async def count_rows() -> int:
    return await act("counting", 1_000)


@task
async def check_rules(rows: int) -> int:
    return await act("checking", rows)


@dag(tags=["platform", "quality"], owner="data platform", schedule="*/30 * * * *", defaults=RETRIES)
def check_quality() -> None:
    """Whether the data can be what they say."""
    check_rules(count_rows())


@task(queue="realtime")
async def probe() -> bool:
    return await act("asking all services", True)


@dag(tags=["platform"], owner="platform", schedule="*/5 * * * *")
def health_probe() -> None:
    """Ask every service how it is."""
    probe()


@task
async def collect_logs() -> int:
    return await act("collecting", 90)


@task
async def compress(files: int) -> int:
    return await act("compressing", files)


@dag(tags=["platform", "logs"], owner="platform", schedule="50 * * * *", defaults=RETRIES)
def archive_logs() -> None:
    compress(collect_logs())


@task
async def renew_certificates() -> int:
    return await act("asking for certificates", 14)


@dag(tags=["platform"], owner="platform", schedule="0 5 * * *", defaults=RETRIES)
def certificates() -> None:
    """Before they run out."""
    renew_certificates()


@task
async def vacuum(table: str) -> str:
    return await act(f"vacuuming {table}", table)


@dag(tags=["platform"], owner="platform", schedule="0 3 * * sun", defaults=RETRIES)
def tidy_tables() -> None:
    """Once a week, one table after another."""
    before = None
    for table in ("orders", "events", "customers"):
        after = vacuum(table)
        if before is not None:
            before >> after
        before = after


@task
async def find_traces(customer: int) -> list[int]:
    return await act("finding traces", [1, 2, 3])


@task
async def erase(traces: list[int]) -> int:
    return await act("erasing", len(traces))


@dag(tags=["privacy"], owner="legal", defaults=RETRIES)
def erase_customer(customer: int = 1) -> None:
    """Somebody wants to be forgotten."""
    erase(find_traces(customer))


@task
async def talk(megabytes: float) -> int:
    """Say much: for looking at a long log."""
    line, size, count = "x" * 60, 0, 0
    while size < megabytes * 1_000_000:
        count += 1
        word = "\x1b[31mERROR\x1b[0m" if count % 50_000 == 0 else "\x1b[32mINFO\x1b[0m"
        text = f"{word} line {count}: {line[: count % 60]}"
        print(text)
        size += len(text) + 1
    return count


@dag(tags=["platform", "logs"], owner="platform")
def long_log(megabytes: float = 5.0) -> None:
    """A task with very much to say."""
    talk(megabytes)
