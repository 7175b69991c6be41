"""Named SQL statements from the `.sql` files beside this module.

SQL is source code here: a statement begins at `-- name: it` and ends at the next name or the
end of its file. Its name stays in its first line, as a comment, for whoever looks at the server.
"""

from __future__ import annotations

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_FILES = (
    *("runs", "attempts", "duties", "dags", "history"),
    *("hand", "logs", "pauses", "reading", "invariants"),
)


def statements_of(file: str) -> dict[str, str]:
    """The statements of one file, in its order."""
    text = files("mainspring.store").joinpath("sql", f"{file}.sql").read_text("utf-8")
    names = list(_NAME.finditer(text))
    ends = [*(name.start() for name in names[1:]), len(text)]
    return {
        name[1]: f"-- {name[1]}\n" + text[name.end() : end].strip().rstrip(";")
        for name, end in zip(names, ends, strict=True)
    }


def _load() -> dict[str, str]:
    statements: dict[str, str] = {}
    for file in _FILES:
        found = statements_of(file)
        assert statements.keys().isdisjoint(found), f"a statement of {file}.sql is defined twice"
        statements |= found
    return statements


STATEMENTS = _load()


def statement(name: str) -> str:
    return STATEMENTS[name]


def script(name: str) -> str:
    """A whole file to be run as a script: views and guards."""
    return files("mainspring.store").joinpath("sql", f"{name}.sql").read_text("utf-8")
