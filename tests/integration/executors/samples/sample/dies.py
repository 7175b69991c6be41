import os

from mainspring import task


@task
async def never() -> None:
    pass


os._exit(4)
