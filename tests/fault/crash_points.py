"""All places where a process can be made to die, found in the source and not listed by hand."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import mainspring
from mainspring.store.statements import statements_of

_SOURCE = Path(mainspring.__file__).parent
_FILES = (
    "runs",
    "attempts",
    "duties",
    "dags",
    "history",
    "hand",
    "logs",
    "pauses",
    "schedules",
    "backfills",
    "gateway",
    "jobs",
)
_WRITES = re.compile(r"\b(insert into|update mainspring|delete from|for update|nextval)\b")


@functools.cache
def named_points() -> frozenset[str]:
    """The names that the code gives, `faults.point("…")`; each is given once."""
    names: list[str] = []
    for path in sorted(_SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "faults" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "faults.point":
                [name] = node.args
                assert isinstance(name, ast.Constant), f"{path}: a point's name is a literal"
                assert isinstance(name.value, str), f"{path}: a point's name is a string"
                names.append(name.value)
    assert len(names) == len(set(names)), f"two points have one name: {sorted(names)}"
    return frozenset(names)


@functools.cache
def statement_points() -> frozenset[str]:
    """Behind every statement that writes or locks."""
    return frozenset(
        f"after {name}"
        for file in _FILES
        for name, sql in statements_of(file).items()
        if _WRITES.search(sql)
    )
