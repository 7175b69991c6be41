"""The checker shares nothing with what it checks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

MODULES = [
    path
    for path in sorted(HERE.rglob("*.py"))
    if not path.name.startswith("test_") and path.name != "conftest.py"
]


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HERE)))
def test_a_module_of_the_checker_imports_its_own_and_two_libraries_only(path: Path) -> None:
    foreign = {
        name
        for name in _imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not name.startswith("tests.checker")
        and name.partition(".")[0] not in ("asyncpg", "msgspec")
    }
    assert not foreign


def test_all_of_it_can_be_imported_where_mainspring_cannot() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
    ]
    code = "import sys, importlib\nsys.modules['mainspring'] = None\n"
    code += "".join(f"importlib.import_module({name!r})\n" for name in names)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_sinks_need_no_database_driver() -> None:
    code = "import sys; import tests.checker.sinks; assert 'asyncpg' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
