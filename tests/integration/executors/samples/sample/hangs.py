import time

from mainspring import task


@task
async def never() -> None:
    pass


time.sleep(3600)
