"""A module whose import lasts until a file appears."""

import os
import time
from pathlib import Path

from mainspring import task

_folder = Path(os.environ["SLOW_IMPORT"])
(_folder / "importing").write_text(str(os.getpid()))
while not (_folder / "import").exists():
    time.sleep(0.005)


@task
async def ran_async() -> None:
    (_folder / "ran").write_text("now")
