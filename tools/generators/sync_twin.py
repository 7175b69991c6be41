"""The clients without an event loop, from the text of the asynchronous ones.

That over HTTP is the same text without `await`. That of the database hands each call to a client
in a thread, and has only what concerns the caller's own connection by hand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.generators import http_client
from tools.generators.python_text import formatted

_PACKAGE = Path(__file__).resolve().parents[2] / "src" / "mainspring"
_SOURCE = _PACKAGE / "http"
_DATABASE_CLIENT = _PACKAGE / "client" / "client.py"

BY_HAND = {"enqueue", "enqueue_many"}
"""What concerns the caller's own connection: `client/sync.py` has these."""
NOT_FOR_IT = {"ask"}
"""It takes functions that need an event loop."""

_CALLS_HEAD = '''\
# Generated from src/mainspring/client/client.py by `make gen`; do not edit.
"""What `SyncClient` hands on to the client in its thread, call by call."""

'''
_CALLS_CLASS = '''

class SyncCalls(ABC):
    """All that `Client` has but what concerns the caller's own connection."""

    @abstractmethod
    def _entered(self) -> Room: ...

'''

_WORDS = (
    (r"\basync def\b", "def"),
    (r"\basync with\b", "with"),
    (r"\basync for\b", "for"),
    (r"\bawait ", ""),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"for item in page\.items:\n\s+yield item", "yield from page.items"),
    (r"^import asyncio\n", ""),
    (r"\bAsyncClient\b", "Client"),
    (r"\baclose\b", "close"),
    (r", for one event loop; without one there is `SyncHttpClient`", ", without an event loop"),
    (r"\bHttpClient\b", "SyncHttpClient"),
    (r"\bmainspring\.http\.asking\b", "mainspring.http.sync_asking"),
)


def render_asking() -> str:
    text = (_SOURCE / "asking.py").read_text(encoding="utf-8")
    return _twin(
        f"# Generated from src/mainspring/http/asking.py by `make gen`; do not edit.\n{text}"
    )


def render_client() -> str:
    return _twin(http_client.render())


def _twin(text: str) -> str:
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return formatted(text)


# --- of the database ------------------------------------------------------------------------


def render_calls() -> str:
    tree = ast.parse(_DATABASE_CLIENT.read_text(encoding="utf-8"))
    imports = [each for each in tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    [client] = [
        each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Client"
    ]
    methods = "\n\n".join(_calls(client))
    # What of the imports is not needed here, the formatter takes out.
    lines = [ast.unparse(each) for each in imports]
    at = next(i for i, line in enumerate(lines) if "__future__" in line) + 1
    lines[at:at] = ["from abc import ABC, abstractmethod", "from typing import TYPE_CHECKING"]
    room = "if TYPE_CHECKING:\n    from mainspring.client.sync import Room\n"
    return formatted(_CALLS_HEAD + "\n".join(lines) + "\n" + room + _CALLS_CLASS + methods + "\n")


def _calls(client: ast.ClassDef) -> Iterator[str]:
    for method in client.body:
        if not isinstance(method, ast.AsyncFunctionDef) or method.name.startswith("_"):
            continue
        if method.name in BY_HAND | NOT_FOR_IT:
            continue
        assert method.returns is not None
        answer = ast.unparse(method.returns)
        # The words as they are: unparsed they would lose their lines.
        words = ast.get_docstring(method, clean=False)
        call = f"room.call(room.client.{method.name}({_handed(method.args)}))"
        yield (
            f"    def {method.name}({ast.unparse(method.args)}) -> {answer}:\n"
            f'        """{words}"""\n'
            "        room = self._entered()\n"
            f"        {call if answer == 'None' else f'return {call}'}"
        )


def _handed(arguments: ast.arguments) -> str:
    by_place = [*arguments.posonlyargs, *arguments.args][1:]
    told = [each.arg for each in by_place]
    if arguments.vararg is not None:
        told.append(f"*{arguments.vararg.arg}")
    told += [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        told.append(f"**{arguments.kwarg.arg}")
    return ", ".join(told)
