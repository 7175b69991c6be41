"""Dags for the tests of the page: one that goes well, one that fails, one that waits."""

from pathlib import Path

from mainspring import RetryPolicy, context, dag, task

KEY = Path("key-of-the-till")  # the tests write here where it is to be brought


@task
def fetch(region: str) -> int:
    print(f"fetching \x1b[32m{region}\x1b[0m")
    return len(region)


@task
def total(count: int) -> int:
    print("counted", count)
    return count * 2


@dag(tags=["shop"], schedule="0 2 * * *", timezone="Europe/Berlin")
def sales(region: str = "eu", limit: int = 10, dry: bool = False) -> None:
    """Sums up what was sold."""
    total(fetch(region))


@task(retry=RetryPolicy(attempts=1))
def open_till() -> str:
    """Fails until somebody has brought the key."""
    if not KEY.exists():
        raise FileNotFoundError("the key of the till is not there")
    return KEY.read_text()


@task
def close_till(key: str) -> None:
    print("closed with", key)


@dag(tags=["shop"])
def till() -> None:
    close_till(open_till())


@task(queue="nobody")
def knock() -> None:
    print("somebody opened", context().run_id)


@dag
def door() -> None:
    """Waits for a queue that no worker serves."""
    knock()
