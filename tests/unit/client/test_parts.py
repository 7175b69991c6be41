"""Small parts of the client that need no database."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import mainspring
from mainspring.client.connections import _pyformat
from mainspring.client.creation import BYTES_MAX, RUNS_MAX, in_sets
from mainspring.store.runs import NewRun
from mainspring.store.statements import statement


@pytest.mark.parametrize("name", ["create_runs", "read_keys"])
def test_statements_are_rewritten_for_drivers_that_name_their_parameters(name: str) -> None:
    sql = _pyformat(statement(name))
    assert "--" not in sql
    assert "$" not in sql
    numbers = {int(number) for number in re.findall(r"%\(p(\d+)\)s", sql)}
    assert numbers == set(range(1, max(numbers) + 1))


@pytest.mark.parametrize("name", ["create_runs", "read_keys"])
def test_every_parameter_has_a_cast(name: str) -> None:
    """Once is enough: the server then knows the type of all its places."""
    sql = _pyformat(statement(name))
    for number in set(re.findall(r"%\(p(\d+)\)s", sql)):
        assert f"%(p{number})s::" in sql


def test_percent_signs_stay_percent_signs() -> None:
    assert _pyformat("select 5 % 2, $1 -- of $2") == "select 5 %% 2, %(p1)s"


def test_sets_are_bounded_by_number_and_by_size() -> None:
    def run(size: int) -> NewRun:
        return NewRun(1, 1, 1, parameters=b"x" * size)

    small = [run(10)] * (2 * RUNS_MAX + 1)
    assert [len(each) for each in in_sets(small)] == [RUNS_MAX, RUNS_MAX, 1]
    large = [run(BYTES_MAX // 3)] * 7
    assert [len(each) for each in in_sets(large)] == [3, 3, 1]
    assert [len(each) for each in in_sets([run(BYTES_MAX + 1)] * 2)] == [1, 1]
    assert list(in_sets([])) == []


def test_importing_mainspring_loads_no_driver() -> None:
    code = (
        "import sys, mainspring; assert 'asyncpg' not in sys.modules;"
        " mainspring.Client; assert 'asyncpg' in sys.modules;"
        " assert not {'psycopg', 'sqlalchemy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there() -> None:
    for name in mainspring.__all__:
        assert getattr(mainspring, name).__module__.startswith("mainspring.")
    with pytest.raises(AttributeError, match="`nothing`"):
        _ = mainspring.nothing
