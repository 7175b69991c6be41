"""The client over HTTP without an event loop, from the text of the asynchronous one."""

from __future__ import annotations

import re
from pathlib import Path

from tools.generators import http_client
from tools.generators.python_text import formatted

_SOURCE = Path(__file__).resolve().parents[2] / "src" / "mainspring" / "http"

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
