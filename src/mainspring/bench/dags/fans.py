"""One task, many side by side, and one that takes all their results."""

from mainspring import dag, task


@task(queue="bench")
async def part(x: int) -> int:
    return x + 1


@task(queue="bench")
async def total(parts: list[int]) -> int:
    return sum(parts)


@dag
def bench_fan_100() -> None:
    first = part(0)
    total([part(first) for _ in range(100)])


@dag
def bench_fan_1000() -> None:
    first = part(0)
    total([part(first) for _ in range(1_000)])


@dag
def bench_fan_10000() -> None:
    first = part(0)
    # With the first and the last it has 10,000 tasks, which is the most that a dag may have.
    total([part(first) for _ in range(9_998)])
