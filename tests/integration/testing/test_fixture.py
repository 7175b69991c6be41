"""The fixture `mainspring`, as the tests of an application use it: in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mainspring.domain.outcomes import Error
from mainspring.testing import TaskResult, run_dag
from tests.integration.testing import bakery

if TYPE_CHECKING:
    from mainspring.testing.stage import Mainspring

SHOP = """
    from mainspring import RetryPolicy, dag, task, context

    @task(retry=RetryPolicy(attempts=3, first="10ms"))
    def charge(order: int) -> str:
        print("charging", order)
        if context().attempt == 1:
            raise ConnectionError("the bank hung up")
        return f"receipt {order}"

    @task(queue="mail")
    async def send(text: str) -> None:
        print(text)

    @dag
    def sale(order: int):
        send(charge(order))
"""

TESTS = """
    import asyncpg
    import pytest
    from mainspring import Client, InputError
    from shop import charge, sale

    def test_a_dag_is_run_by_a_real_worker(mainspring):
        result = mainspring.run(sale, order=7)
        assert result.state == "succeeded"
        assert result.order == ["charge", "send"]
        assert result["charge"].result == "receipt 7"
        assert [str(tried.state) for tried in result["charge"].tries] == ["failed", "succeeded"]
        assert result["charge"].tries[0].error.type == "ConnectionError"
        assert result["send"].log == "receipt 7\\n"

    async def take_order(pool_url, order, bad=False):
        connection = await asyncpg.connect(pool_url)
        async with Client() as client, connection.transaction():
            await client.enqueue(charge, order=order, connection=connection)
            if bad:
                raise ValueError("no")

    @pytest.mark.asyncio
    async def test_what_was_enqueued_in_a_transaction_is_run(mainspring):
        await take_order(mainspring.url, 1)
        with pytest.raises(ValueError):
            await take_order(mainspring.url, 2, bad=True)
        assert [r["charge"].result for r in mainspring.run_enqueued()] == ["receipt 1"]
        assert mainspring.run_enqueued() == []

    def test_each_test_has_a_database_of_its_own(mainspring):
        assert mainspring.run_enqueued() == []
        run_id = mainspring.client.enqueue(charge, order=3)
        assert mainspring.wait(run_id)["charge"].attempts == 2
        with pytest.raises(InputError):
            mainspring.run(charge, order="many")
"""


@pytest.mark.slow
def test_an_application_tests_itself_with_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(textwrap.dedent(SHOP))
    (tmp_path / "test_shop.py").write_text(textwrap.dedent(TESTS))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAINSPRING_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_worker_that_cannot_import_the_application_is_told_with_its_words(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_lost.py").write_text(
        textwrap.dedent(
            """
            import sys, types
            from mainspring import task

            def charge() -> None: ...

            def test_it(mainspring):
                module = types.ModuleType("only_here")
                charge.__module__ = "only_here"
                module.charge = task(charge)
                sys.modules["only_here"] = module
                mainspring.run(module.charge)
            """
        )
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the worker ended with status" in ended.stdout, ended.stdout
    assert "the application `only_here` cannot be imported" in ended.stdout


@pytest.mark.slow
def test_runs_in_memory_end_as_runs_in_the_database(mainspring: Mainspring) -> None:
    mainspring.client.enqueue_many(bakery.bake, [{"how": how} for how in bakery.WAYS])
    for how, real in zip(bakery.WAYS, mainspring.run_enqueued(), strict=True):
        trial = run_dag(bakery.bake, how=how)
        assert (trial.state, trial.states) == (real.state, real.states), how
        assert [told(task) for task in trial] == [told(task) for task in real], how


def told(task: TaskResult) -> tuple[object, ...]:
    """All of a task that does not depend on the time and the machine."""
    tries = [(tried.number, tried.state, words(tried.error), tried.log) for tried in task.tries]
    return task.name, task.state, task.result, tries


def words(error: Error | None) -> str:
    return "" if error is None else f"{error.type}: {error.message}"
