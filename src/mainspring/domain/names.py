"""What a dag, a task, a queue or a parameter may be called.

Names end up in addresses, in shells, in metrics and in file names, so they keep to characters
that need no quoting in any of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Meta

NAME_LENGTH_MAX = 200

NAME_PATTERN = r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
"""What `name_problem` allows, for those who read a schema; errors say it in words."""
NAMED = Meta(extra_json_schema={"pattern": NAME_PATTERN})
"""Of a text that is a name."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def name_problem(name: object) -> str | None:
    """Why this cannot be a name, or None if it can; completes the sentence "`x` …"."""
    if not isinstance(name, str):
        return f"is not text but `{type(name).__name__}`"
    if not name:
        return "is empty"
    if len(name) > NAME_LENGTH_MAX:
        return f"is longer than {NAME_LENGTH_MAX} characters"
    if not _NAME.fullmatch(name):
        return "may only hold letters of the English alphabet, digits, `_`, `-` and `.`"
    if not name.strip("."):
        return "needs a character that is not a dot"
    return None


def shown(name: object) -> str:
    """A name in backticks for a message, whatever it holds and however long it is."""
    text = name if isinstance(name, str) else repr(name)
    if len(text) > 60:
        text = text[:60] + "…"
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return f"`{text}`"


def listed(names: Iterable[str]) -> str:
    """Names for a message: "`a`, `b` and `c`", with an end for long lists."""
    all_names = [shown(name) for name in names]
    if len(all_names) > 10:
        return ", ".join(all_names[:9]) + f" and {len(all_names) - 9} more"
    return " and ".join(filter(None, [", ".join(all_names[:-1]), *all_names[-1:]]))


def closest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known: the nearest one, or all there are."""
    import difflib

    candidates = list(known)
    if near := difflib.get_close_matches(name[:NAME_LENGTH_MAX], candidates, n=1):
        return f"did you mean {shown(near[0])}?"
    return f"known: {listed(candidates)}" if candidates else ""
