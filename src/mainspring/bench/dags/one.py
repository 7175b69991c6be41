"""A run of one task that does nothing."""

from mainspring import dag, task


@task(queue="bench")
async def echo(x: int) -> int:
    return x


@dag
def bench_one(x: int = 0) -> None:
    echo(x)
