"""The largest dag that there may be: ten thousand tasks."""

from mainspring import RetryPolicy, TaskDefaults, dag, task
from mainspring.demo.acting import act

PICTURES = 9_998


@task
async def list_pictures() -> int:
    return await act("listing pictures", PICTURES, risky=False)


@task
async def resize(pictures: int, number: int) -> int:
    return number


@task
async def make_sheet(sizes: list[int]) -> int:
    """One page to look at all of them."""
    return await act("making the sheet", len(sizes), risky=False)


@dag(
    tags=["shop", "pictures"],
    owner="shop team",
    schedule="15 1 * * *",
    timezone="Europe/Berlin",
    defaults=TaskDefaults(queue="pictures", retry=RetryPolicy(attempts=2, first="2s")),
)
def resize_pictures() -> None:
    """All pictures of the catalogue in all sizes, each night."""
    pictures = list_pictures()
    make_sheet([resize(pictures, number) for number in range(PICTURES)])
