"""Hostile and huge input: a clear error or full service, never a hang, never a stuck run."""

from __future__ import annotations

import pytest

from mainspring.domain.errors import InputError, NotFoundError
from tests.support.factory import run_state
from tests.support.team import Team


async def _start(team: Team, code: str, dag: str) -> None:
    team.write("bad.py", code)
    team.start_engine()
    team.start_worker("--slots", "async=1000,process=2")
    await team.known(dag)


BAD_ENDS = {
    "return object()": "object",
    "return float('nan')": "nan",
    "return '\\ud800'": "surrogate",
    "return 'x' * 5_000_000": "large",
    "return {1: lambda: 0}": "function",
    "raise ValueError('a\\0b\\ud800')": "ValueError",
    "sys.exit(3)": "SystemExit",
    "return len('x' * (10 ** 15))": "MemoryError",
    "return (lambda f: f(f))(lambda f: f(f))": "RecursionError",
}
"""The body of a task, and what has to be said of it."""


async def test_a_bad_end_is_a_clear_failure_of_that_attempt(team: Team) -> None:
    code = "".join(
        f"""
    @task
    def bad_{number}():
        {body}

    @dag
    def ends_{number}():
        bad_{number}()
    """
        for number, body in enumerate(BAD_ENDS)
    )
    await _start(team, code, "ends_0")
    runs = [await team.trigger(f"ends_{number}") for number in range(len(BAD_ENDS))]
    for run_id, (body, message) in zip(runs, BAD_ENDS.items(), strict=True):
        assert await team.ended(run_id) == "failed", body
        assert message.lower() in (await team.error_of(run_id)).lower(), body


async def test_results_keep_nul_characters_dates_and_large_values(team: Team) -> None:
    code = """
    import datetime, uuid

    @task
    def make() -> dict:
        return {"nul": "a\\0b", "day": datetime.date(2026, 11, 15), "many": ["x" * 1000] * 2000}

    @task
    def check(value: dict) -> bool:
        return value == {"nul": "a\\0b", "day": "2026-11-15", "many": ["x" * 1000] * 2000}

    @dag
    def one():
        check(make())
    """
    await _start(team, code, "one")
    run_id = await team.trigger("one")
    assert await team.ended(run_id) == "succeeded"
    rows = await team.rows("select result from mainspring.task order by node")
    assert [row["result"] for row in rows] == [b"", b"true"]


async def test_a_hundred_megabytes_of_log_with_bytes_that_are_no_text(team: Team) -> None:
    code = """
    @task
    def shout():
        os.write(1, b"\\xff\\x00 no text\\n")
        line = b"x" * 99 + b"\\n"
        for _ in range(1000):
            os.write(1, line * 1000)
        print("end")

    @dag
    def one():
        shout()
    """
    await _start(team, code, "one")
    run_id = await team.trigger("one")
    assert await team.ended(run_id) == "succeeded"
    log = await team.log_of(run_id)
    assert len(log) == 11 + 100_000_000 + 4
    assert log.startswith(b"\xff\x00 no text\n")
    assert log.endswith(b"x\nend\n")


async def test_ten_thousand_tasks_and_a_hundred_thousand_edges(team: Team) -> None:
    code = """
    @task
    async def node(before: list[int]) -> int:
        return len(before)

    @dag
    def wide():
        layer = [node([]) for _ in range(10)]
        for _ in range(999):
            layer = [node(layer) for _ in range(10)]
    """
    await _start(team, code, "wide")
    run_id = await team.trigger("wide")
    [row] = await team.rows("select count(*) from mainspring.edge")
    assert row["count"] == 99_900
    assert await team.ended(run_id) == "succeeded"


async def test_a_broken_file_is_reported_and_the_others_are_read(team: Team) -> None:
    good = """
    @task
    async def one():
        pass

    @dag
    def good():
        one()
    """
    (team.dags / "broken.py").write_text("import mainspring\nthis is no python\n")
    (team.dags / "empty.py").write_text(
        "from mainspring import dag\n\n@dag\ndef empty():\n    pass\n"
    )
    await _start(team, good, "good")
    await team.until(lambda: team.rows("select * from mainspring.file_problem offset 1"))
    problems = await team.rows(
        "select file, line, message from mainspring.file_problem order by file"
    )
    broken, empty = problems
    assert (broken["file"], broken["line"]) == ("broken.py", 2)
    assert "`empty` is empty" in empty["message"]
    assert await team.ended(await team.trigger("good")) == "succeeded"


async def test_wrong_parameters_are_refused_and_make_no_run(team: Team) -> None:
    code = """
    @task
    async def one(days: int):
        pass

    @dag
    def typed(days: int):
        one(days)
    """
    await _start(team, code, "typed")
    for parameters in (
        {},
        {"days": "three"},
        {"days": 1, "dayz": 2},
        {"days": ["x" * 1000] * 10_000},
        {"days": 1.5},
    ):
        with pytest.raises(InputError):
            await team.trigger("typed", parameters)
    with pytest.raises(NotFoundError):
        await team.trigger("untyped", {})
    assert await team.rows("select * from mainspring.run") == []


async def test_a_run_without_its_code_is_handed_back_visibly(team: Team) -> None:
    code = """
    @task
    async def one():
        pass

    @dag
    def good():
        one()
    """
    await _start(team, code, "good")
    await team.connection.execute(
        "insert into mainspring.snapshot (tenant_id, digest) values (1, repeat('f', 64))"
    )
    await team.connection.execute(
        "update mainspring.dag set snapshot_id = (select max(id) from mainspring.snapshot)"
    )
    run_id = await team.trigger("good")
    await team.until(lambda: team.rows("select * from mainspring.attempt"))
    assert "snapshot ffffffffffff" in await team.error_of(run_id)
    assert await run_state(team.connection, run_id) in ("queued", "running")


async def test_files_that_do_harm_at_import_are_told_and_the_others_run(team: Team) -> None:
    """They are imported from a copy in the engine's cache, which is mended before it is kept."""
    harm = {
        "leaves.py": "os._exit(3)",
        "prints.py": "[os.write(1, b'x' * 1_000_000) for _ in range(2000)]; 1 / 0",
        "removes.py": "import shutil; shutil.rmtree(os.path.dirname(__file__))",
    }
    for name, code in harm.items():
        team.write(name, code + "\n")
    team.write(
        "works.py",
        """
        import helper

        @task
        def work():
            effect("helped", helper.WORD)

        @dag
        def works(): work()
        """,
    )
    team.write("helper.py", 'WORD = "yes"\n')
    team.start_engine()
    team.start_worker()

    async def told() -> dict[str, str] | None:
        rows = await team.rows("select file, message from mainspring.file_problem")
        found = {row["file"]: row["message"] for row in rows}
        return found if found.keys() == harm.keys() else None

    problems = await team.until(told)
    assert "ended the process with exit code 3" in problems["leaves.py"]
    assert "ZeroDivisionError" in problems["prints.py"]
    assert "importing it removed it from its folder" in problems["removes.py"]
    run_id = await team.trigger("works")
    assert await team.ended(run_id) == "succeeded"
    assert team.effects_of("helped") == ["yes"]


async def test_a_file_that_changes_others_at_import_leaves_everything_as_it_was(team: Team) -> None:
    team.write("good.py", "@task\ndef work(): ...\n\n@dag\ndef good(): work()\n")
    team.start_engine()
    await team.known("good")
    team.write(
        "meddles.py",
        "import pathlib\npathlib.Path(__file__).with_name('good.py').write_text('1 / 0')\n",
    )

    async def told() -> list[dict[str, object]]:
        return await team.rows("select message from mainspring.file_problem where file = '.'")

    [problem] = await team.until(told)
    assert "has changed others of them" in str(problem["message"])
    [dag] = await team.rows("select gone_at from mainspring.dag where name = 'good'")
    assert dag["gone_at"] is None
    (team.dags / "meddles.py").unlink()

    async def taken_back() -> bool:
        return not await team.rows("select 1 from mainspring.file_problem")

    await team.until(taken_back)
