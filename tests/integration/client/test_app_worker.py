"""Tasks of an installed application, run by workers that have it."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from mainspring import Client, InputError
from mainspring.worker.apps import check_apps
from tests.integration.client import bakery
from tests.integration.client.bakery import Cake, Order, bake, day, deliver, sell
from tests.support.launcher import Launcher
from tests.support.team import Team

ROOT = Path(__file__).parents[3]
APP = bakery.__name__


@pytest.fixture
async def team(database_url: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Team]:
    async with Team(database_url, tmp_path, launcher) as team:
        team.working_folder = ROOT
        yield team


async def test_what_an_application_enqueues_is_run(team: Team, client: Client) -> None:
    team.start_engine()
    team.start_worker("--app", APP, "--queues", "default,counter")
    customer = uuid.uuid4()
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    runs = [
        await client.enqueue(bake, loaves=3),
        await client.enqueue(sell, loaves=2),
        await client.enqueue(
            deliver, order=Order(customer, 1), cake=Cake("sacher", date(2030, 1, 1))
        ),
        await client.enqueue(bake, loaves=9, run_at=soon),
        await client.enqueue(day, loaves=5),
    ]
    async with team.connection.transaction():
        runs.append(await client.enqueue(bake, loaves=4, connection=team.connection))
    await client.wake()
    runs += await client.enqueue_many(bake, [{"loaves": 6}, {"loaves": 7}])
    assert [await team.ended(run_id) for run_id in runs] == ["succeeded"] * len(runs)
    baked = ["3 rye", "4 rye", "5 rye", "5 wheat", "6 rye", "7 rye", "9 rye"]
    assert sorted(team.effects_of("baked")) == baked
    assert team.effects_of("sold") == ["2"]
    assert team.effects_of("delivered") == [f"{customer} 1 sacher None"]


async def test_a_worker_without_the_application_hands_it_back_and_says_so(
    team: Team, client: Client
) -> None:
    team.start_engine()
    stranger = team.start_worker()
    run_id = await client.enqueue(bake, loaves=1)
    await team.until(lambda: team.rows("select 1 from mainspring.attempt"))
    assert f"start one with `--app {APP}`" in await team.error_of(run_id)
    [row] = await team.rows("select state::text, attempt from mainspring.task")
    assert row["attempt"] == 1
    stranger.terminate()
    await asyncio.to_thread(stranger.wait)
    team.start_worker("--app", APP)
    assert await team.ended(run_id) == "succeeded"


async def test_the_application_is_found_as_python_finds_it(
    team: Team, client: Client, tmp_path: Path
) -> None:
    """In the working folder, or on PYTHONPATH; never by the worker itself."""
    team.working_folder = tmp_path
    (tmp_path / "corner.py").write_text(
        "import os, sys\n"
        "from mainspring import task\n"
        "assert 'mainspring.worker.worker' not in sys.modules\n"
        "@task\n"
        "def where() -> str:\n"
        "    return os.getcwd()\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c"),
        "import asyncio; from mainspring import Client; from corner import where\n"
        "async def main():\n"
        "    async with Client() as client: print(await client.enqueue(where))\n"
        "asyncio.run(main())",
        cwd=tmp_path,
        env={**os.environ, "MAINSPRING_DATABASE_URL": team.url},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    team.start_worker("--app", "corner")
    assert await team.ended(int(said)) == "succeeded"
    [row] = await team.rows("select convert_from(result, 'UTF8') as result from mainspring.task")
    assert row["result"] == f'"{tmp_path}"'


# --- applications that cannot be imported --------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sound.py").write_text("print('printed')\nimport mainspring\n")
    (tmp_path / "raises.py").write_text("raise RuntimeError('no flour')\n")
    (tmp_path / "lacks.py").write_text("import no_such_library\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('bye')\n")
    (tmp_path / "drops.py").write_text("import os\nos._exit(7)\n")
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(1000)\n")
    (tmp_path / "forks.py").write_text("import os, time\nif os.fork() == 0: time.sleep(1)\n")
    return tmp_path


@pytest.mark.parametrize(
    ("app", "words"),
    [
        ("raises", "cannot be imported: RuntimeError: no flour"),
        ("lacks", "cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"),
        ("nowhere.tasks", "cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("leaves", r"SystemExit: sys\.exit\(bye\) was called"),
        ("drops", "ended Python with exit code 7"),
        ("hangs", "takes longer than 1 s"),
        ("shop/tasks.py", r"takes the name of a module, got `shop/tasks\.py`"),
        ("shop:app", "takes the name of a module"),
        ("", "takes the name of a module"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_application_that_cannot_be_imported_is_told(app: str, words: str) -> None:
    seconds = 1.0 if app == "hangs" else 60.0
    with pytest.raises(InputError, match=words):
        check_apps([app], seconds_max=seconds)


@pytest.mark.usefixtures("folder")
def test_a_sound_application_is_imported_elsewhere() -> None:
    check_apps(["sound", "forks"])
    assert "sound" not in sys.modules


async def test_the_worker_does_not_start_without_its_application(
    database_url: str, folder: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mainspring", "worker", "--app", "sound", "--app", "raises"),
        cwd=folder,
        env={**os.environ, "MAINSPRING_DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 2
    assert out == b""
    assert b"RuntimeError: no flour" in err
    assert b"Traceback" in err
    assert b"raises.py" in err
