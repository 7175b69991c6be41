"""Reading bundles, with real child processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from mainspring.bundles.read import read_bundle
from mainspring.bundles.report import BundleReport
from mainspring.bundles.snapshot import mend_snapshot, take_snapshot

GOOD = """
    from mainspring import dag, task

    @task
    def work() -> None: ...

    @dag
    def {name}() -> None:
        work()
"""


def write(folder: Path, name: str, text: str, **values: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip("\n").replace("{name}", values.get("dag", "")))


async def read(folder: Path, seconds: float = 10.0) -> BundleReport:
    return await read_bundle(folder, file_timeout_seconds=seconds)


async def test_dags_are_found_with_their_files(tmp_path: Path) -> None:
    write(tmp_path, "b.py", GOOD, dag="beta")
    write(tmp_path, "sub/deep/a-1.py", GOOD, dag="alpha")
    report = await read(tmp_path)
    assert report.problems == []
    assert [dag.name for dag in report.dags] == ["alpha", "beta"]
    assert report.files == {"alpha": "sub/deep/a-1.py", "beta": "b.py"}
    assert [dag.tasks[0].entry for dag in report.dags] == ["sub.deep.a-1:work", "b:work"]


async def test_an_empty_folder_is_an_empty_bundle(tmp_path: Path) -> None:
    assert await read(tmp_path) == BundleReport([], {}, [])


async def test_helpers_are_imported_from_the_root_and_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, "shared/numbers_.py", "ANSWER = 'from_helper'")
    write(tmp_path, "broken_helper.py", "1 / 0")
    write(
        tmp_path,
        "sub/jobs.py",
        """
        from mainspring import dag
        from shared.numbers_ import ANSWER
        from tasks_ import work

        @dag(name=ANSWER)
        def body():
            work()
        """,
    )
    write(tmp_path, "tasks_.py", "from mainspring import task\n@task\ndef work(): ...\n")
    report = await read(tmp_path)
    assert report.problems == []
    assert report.files == {"from_helper": "sub/jobs.py"}
    assert report.dags[0].tasks[0].entry == "tasks_:work"


async def test_packages_and_imported_dags_are_counted_once(tmp_path: Path) -> None:
    write(tmp_path, "package/__init__.py", GOOD, dag="inside")
    write(tmp_path, "again.py", "import mainspring\nfrom package import inside\nother = inside\n")
    write(tmp_path, "package/__main__.py", "import mainspring\n1 / 0\n")
    report = await read(tmp_path)
    assert report.problems == []
    assert report.files == {"inside": "package/__init__.py"}


async def test_dags_made_by_a_helper_belong_to_the_file_that_holds_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        "factory.py",
        """
        from mainspring import dag, task

        @task
        def work(): ...

        def make(name):
            @dag(name=name)
            def made():
                work()
            return made
        """,
    )
    write(
        tmp_path, "uses.py", "# mainspring\nfrom factory import make\na = make('a')\nb = make('b')"
    )
    report = await read(tmp_path)
    assert report.problems == []
    assert report.files == {"a": "uses.py", "b": "uses.py"}


async def test_dags_that_a_loop_makes_are_all_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tables.py",
        """
        from mainspring import dag, task

        @task
        def load(table): ...

        for number in range(1000):
            @dag(name=f"table_{number}")
            def make(table: str = f"t{number}"):
                load(table)

        [dag(name=f"listed_{number}")(make.function) for number in range(3)]
        """,
    )
    write(tmp_path, "uses.py", "# mainspring\nimport tables\nfrom tables import make\n")
    report = await read(tmp_path)
    assert report.problems == []
    assert len(report.dags) == 1003
    assert set(report.files.values()) == {"tables.py"}


async def test_prints_and_closed_outputs_do_not_disturb(tmp_path: Path) -> None:
    noise = """
        import os, sys
        print("x" * 100_000)
        print("noise", file=sys.stderr, flush=True)
        os.write(1, b"raw")
        assert sys.stdin.read() == ""
        sys.stdout.close()
    """
    write(tmp_path, "a.py", dedent(noise) + dedent(GOOD), dag="a")
    write(tmp_path, "b.py", GOOD, dag="b")
    report = await read(tmp_path)
    assert report.problems == []
    assert sorted(report.files) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("import mainspring\n\ndef broken(:\n", 3, "SyntaxError: "),
        ("import mainspring\nx = 1\nraise ValueError('bad')\n", 3, "ValueError: bad"),
        ("import mainspring\nimport nowhere_at_all\n", 2, "ModuleNotFoundError: "),
        ("import mainspring, sys\nsys.exit('bye')\n", 2, "SystemExit: sys.exit(bye) was called"),
        ("import mainspring\ndef f(): f()\nf()\n", 2, "RecursionError: "),
        ("import mainspring\nraise KeyboardInterrupt\n", 2, "KeyboardInterrupt: interrupted"),
        ("# mainspring \x00\n", None, ""),
        (
            "import mainspring, helper\n",
            1,
            "ZeroDivisionError: division by zero (in `helper.py`, line 2)",
        ),
        (
            "import mainspring, os\nos._exit(3)\n",
            None,
            "importing it ended the process with exit code 3",
        ),
        (
            "import mainspring\nimport ctypes\nctypes.string_at(0)\n",
            3,
            "importing it crashed Python (SIGSEGV)",
        ),
        (
            "import mainspring, os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
            None,
            "importing it crashed Python (SIGKILL)",
        ),
    ],
)
async def test_a_broken_file_is_a_problem_and_the_others_stay(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    write(tmp_path, "a.py", GOOD, dag="a")
    write(tmp_path, "helper.py", "x = 1\n1 / 0\n")
    (tmp_path / "m.py").write_text(text)
    write(tmp_path, "z.py", GOOD, dag="z")
    report = await read(tmp_path)
    assert sorted(report.files) == ["a", "z"]
    (problem,) = report.problems
    assert problem.file == "m.py"
    assert message in problem.message
    if line is not None:
        assert problem.line == line


@pytest.mark.parametrize("hang", ["time.sleep(60)", "while True: pass"])
async def test_a_file_that_hangs_is_ended_and_the_others_stay(tmp_path: Path, hang: str) -> None:
    write(tmp_path, "a.py", GOOD, dag="a")
    (tmp_path / "m.py").write_text(f"import mainspring, time\n\n{hang}\n")
    write(tmp_path, "z.py", GOOD, dag="z")
    report = await read(tmp_path, seconds=0.5)
    assert sorted(report.files) == ["a", "z"]
    (problem,) = report.problems
    assert (problem.file, problem.line) == ("m.py", 3)
    assert problem.message == "importing it took longer than 500 ms"


async def test_gigabytes_of_prints_go_nowhere(tmp_path: Path) -> None:
    flood = """
        import os, sys
        for _ in range(2000):
            os.write(1, b"x" * 1_000_000)
            os.write(2, b"x" * 1_000_000)
        print("x" * 100_000_000)
        """
    write(tmp_path, "a.py", dedent(flood) + dedent(GOOD), dag="a")
    write(tmp_path, "b.py", GOOD, dag="b")
    report = await read(tmp_path)
    assert (sorted(report.files), report.problems) == (["a", "b"], [])


@pytest.mark.parametrize(
    "destruction", ["shutil.rmtree(os.path.dirname(__file__))", "os.remove(__file__)"]
)
async def test_a_file_that_removes_itself_is_a_problem_and_the_others_are_put_back(
    tmp_path: Path, destruction: str
) -> None:
    folder, cache = tmp_path / "dags", tmp_path / "cache"
    folder.mkdir()
    write(folder, "a.py", GOOD, dag="a")
    (folder / "m.py").write_text(f"import mainspring, os, shutil\n{destruction}\n")
    write(folder, "z.py", GOOD, dag="z")
    snapshot = take_snapshot(folder, cache)
    report = await read_bundle(snapshot.path, mend=lambda: mend_snapshot(snapshot, folder, cache))
    assert sorted(report.files) == ["a", "z"]
    (problem,) = report.problems
    assert (problem.file, problem.message) == ("m.py", "importing it removed it from its folder")
    assert not mend_snapshot(snapshot, folder, cache)
    assert sorted(path.name for path in folder.iterdir()) == ["a.py", "m.py", "z.py"]


async def test_a_broken_dag_is_a_problem_and_the_others_of_its_file_stay(tmp_path: Path) -> None:
    write(
        tmp_path,
        "m.py",
        """
        from mainspring import dag, task

        @task
        def work(x=None): ...

        @dag
        def empty(): ...

        @dag
        def confused(x: int):
            if x:
                work()

        @dag
        def fine():
            work()
        """,
    )
    report = await read(tmp_path)
    assert list(report.files) == ["fine"]
    first, second = report.problems
    assert (first.line, first.message) == (6, "dag `empty` is empty")
    assert (second.line, second.hint) == (11, "pass it to a task and use it there")


async def test_tasks_that_a_worker_could_not_call_are_problems(tmp_path: Path) -> None:
    write(
        tmp_path,
        "m.py",
        """
        from pathlib import Path
        from mainspring import dag, task

        def make():
            @task
            def inner(): ...
            return inner

        def plain(): ...

        renamed = task(plain)

        @task
        def twice(): ...

        first = twice

        @task
        def twice(): ...

        @task
        def untold(path: Path): ...

        a = dag(name="a")(lambda: make()())
        b = dag(name="b")(lambda: renamed())
        c = dag(name="c")(lambda: first())
        d = dag(name="d")(lambda: untold("x"))
        """,
    )
    report = await read(tmp_path)
    assert report.dags == []
    messages = [problem.message for problem in report.problems]
    assert "is made inside a function" in messages[0]
    assert "is a `function` and not a task" in messages[1]
    assert "is defined twice" in messages[2]
    assert "argument `path`: the type `pathlib.Path` cannot be used" in messages[3]


async def test_a_dag_that_two_files_define_is_a_problem_of_both(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GOOD, dag="same")
    write(tmp_path, "b.py", GOOD, dag="same")
    write(tmp_path, "c.py", GOOD, dag="other")
    report = await read(tmp_path)
    assert report.files == {"other": "c.py"}
    first, second = report.problems
    assert (first.file, second.file) == ("a.py", "b.py")
    words = "`same` is defined also in `b.py`; neither is used, and the last good version stays"
    assert words in first.message
    assert "`same` is defined also in `a.py`" in second.message


@pytest.mark.parametrize("name", ["json.py", "json/sub.py", "mainspring.py", "two.dots.py"])
async def test_a_file_whose_name_is_taken_is_a_problem(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, GOOD, dag="a")
    (problem,) = (await read(tmp_path)).problems
    assert problem.file == name
    assert "rename the file" in problem.hint


async def test_a_file_whose_name_is_not_text_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GOOD, dag="a")
    (tmp_path / os.fsdecode(b"b\xff.py")).write_text("import mainspring")
    report = await read(tmp_path)
    assert list(report.files) == ["a"]
    (problem,) = report.problems
    assert problem.file == "b\\xff.py"


async def test_processes_and_threads_that_a_file_leaves_behind_do_not_hold_us(
    tmp_path: Path,
) -> None:
    pid_file = tmp_path / "pid.txt"
    stray = f"""
        import os, subprocess, threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        child = subprocess.Popen(["sleep", "60"])
        forked = os.fork()
        if not forked:
            time.sleep(60)
        open({str(pid_file)!r}, "w").write(f"{{child.pid}} {{forked}}")
    """
    write(tmp_path, "a.py", dedent(stray) + dedent(GOOD), dag="a")
    started = time.monotonic()
    report = await read(tmp_path)
    assert time.monotonic() - started < 9
    assert list(report.files) == ["a"]
    for pid in pid_file.read_text().split():
        await gone(int(pid))


async def test_a_forked_copy_does_not_speak_for_the_child(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "import os\nos.fork()\n" + dedent(GOOD), dag="a")
    write(tmp_path, "b.py", GOOD, dag="b")
    report = await read(tmp_path)
    assert report.problems == []
    assert sorted(report.files) == ["a", "b"]


async def test_a_cancelled_reading_leaves_no_child(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid.txt"
    write(tmp_path, "a.py", hanging(pid_file))
    reading = asyncio.create_task(read(tmp_path, seconds=60))
    pid = await written(pid_file)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the interpreter has to cooperate")
async def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid.txt"
    write(tmp_path, "a.py", hanging(pid_file))
    script = (
        "import asyncio; from pathlib import Path; from mainspring.bundles.read import read_bundle;"
        f"asyncio.run(read_bundle(Path({str(tmp_path)!r})))"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    try:
        pid = await written(pid_file)
    finally:
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
    await gone(pid)


async def test_user_code_does_not_see_the_way_into_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://secret")
    write(
        tmp_path,
        "a.py",
        "import mainspring, os\nassert 'MAINSPRING_DATABASE_URL' not in os.environ\n",
    )
    assert (await read(tmp_path)).problems == []


async def test_reading_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GOOD, dag="a")
    await read(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def hanging(pid_file: Path) -> str:
    return f"""
        import mainspring, os
        with open({str(pid_file) + ".new"!r}, "w") as file:
            file.write(str(os.getpid()))
        os.rename({str(pid_file) + ".new"!r}, {str(pid_file)!r})
        while True: pass
    """


async def written(pid_file: Path) -> int:
    await until(pid_file.exists)
    return int(pid_file.read_text())


async def gone(pid: int) -> None:
    """Wait until a process has ended; one that nobody has reaped yet counts as ended."""
    await until(lambda: not alive(pid))


async def until(holds: Callable[[], bool]) -> None:
    # Another process's doing, of which nothing but looking tells.
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return sys.platform != "linux"
