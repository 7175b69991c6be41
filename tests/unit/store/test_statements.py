"""Named statements: found, whole, and each of them asked for somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mainspring
from mainspring.store.invariants import INVARIANTS
from mainspring.store.statements import STATEMENTS, script, statement

SOURCES = Path(mainspring.__file__).parent
PARAMETER = re.compile(r"\$(\d+)")
COMMENT = re.compile(r"--.*")

each_statement = pytest.mark.parametrize("name", STATEMENTS)


@each_statement
def test_a_statement_is_one_statement(name: str) -> None:
    code = COMMENT.sub("", STATEMENTS[name])
    assert code.strip()
    assert ";" not in code


@each_statement
def test_parameters_are_numbered_without_gaps(name: str) -> None:
    numbers = {int(number) for number in PARAMETER.findall(COMMENT.sub("", STATEMENTS[name]))}
    assert numbers == set(range(1, len(numbers) + 1))


def test_every_statement_is_asked_for_by_name() -> None:
    code = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES.rglob("*.py"))
    asked = {name for name in STATEMENTS if f'"{name}"' in code}
    assert STATEMENTS.keys() - asked == INVARIANTS.keys()


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        statement("no_such_statement")


def test_scripts_are_read_whole() -> None:
    assert "create or replace view mainspring.task_view" in script("views")
    assert "create or replace trigger task_moves" in script("guards")
