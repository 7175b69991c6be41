"""Tasks that wait."""

import asyncio

from mainspring import dag, task


@task(queue="bench")
async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


@dag
def bench_sleep(seconds: float) -> None:
    sleep(seconds)
