"""Small graphs of tasks that do next to nothing."""

from mainspring import dag, task


@task(queue="bench")
async def step(x: int) -> int:
    return x + 1


@task(queue="bench")
async def total(parts: list[int]) -> int:
    return sum(parts)


@dag
def bench_chain_40() -> None:
    x = step(0)
    for _ in range(39):
        x = step(x)


@dag
def bench_chain_10(x: int = 0) -> None:
    for _ in range(10):
        x = step(x)


@dag
def bench_1_8_1(x: int = 0) -> None:
    first = step(x)
    total([step(first) for _ in range(8)])
