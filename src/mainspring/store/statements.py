"""Named SQL statements from the `.sql` files beside this module.

SQL is source code here: a statement begins at `-- name: it` and ends at the next name or the
end of its file. Its name stays in its first line, as a comment, for whoever looks at the server.

What two statements have in common is a part: it begins at `-- part: it`, and stands wherever a
line `-- with part: it` is.
"""

from __future__ import annotations

import re
from importlib.resources import files

_NAME = re.compile(r"^-- (name|part): (\w+)\n", re.MULTILINE)
_USE = re.compile(r"^-- with part: (\w+)\n", re.MULTILINE)
_FILES = (
    *("runs", "attempts", "gateway", "duties", "dags", "history", "rollups"),
    *("hand", "logs", "uses", "pauses", "drains", "reading", "schedules", "backfills", "jobs"),
    *("server", "changes", "grid", "figures", "invariants"),
)


def statements_of(file: str) -> dict[str, str]:
    """The statements of one file, in its order."""
    return {name: text for kind, name, text in _pieces(file) if kind == "name"}


def _pieces(file: str) -> list[tuple[str, str, str]]:
    """Kind, name and text of what a file holds."""
    text = files("mainspring.store").joinpath("sql", f"{file}.sql").read_text("utf-8")
    heads = list(_NAME.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        (head[1], head[2], f"-- {head[2]}\n" + text[head.end() : end].strip().rstrip(";"))
        for head, end in zip(heads, ends, strict=True)
    ]


def _load() -> dict[str, str]:
    statements: dict[str, str] = {}
    parts: dict[str, str] = {}
    for file in _FILES:
        for kind, name, text in _pieces(file):
            known = statements if kind == "name" else parts
            assert name not in known, f"`{name}` of {file}.sql is defined twice"
            known[name] = text
    return {
        name: _USE.sub(lambda use: parts[use[1]] + "\n", text) for name, text in statements.items()
    }


STATEMENTS = _load()


def statement(name: str) -> str:
    return STATEMENTS[name]


def script(name: str) -> str:
    """A whole file to be run as a script: views and guards."""
    return files("mainspring.store").joinpath("sql", f"{name}.sql").read_text("utf-8")
