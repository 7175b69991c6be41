"""Which failures look alike.

Of a thousand tasks that failed because a host was down, each says it in its own words: another
number, another id, another name in quotes. Without these the words are the same, and what is the
same is one thing to look at and one thing to decide.
"""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

from mainspring.domain.outcomes import Error

_LENGTH_MAX = 1000
"""What comes later in a message is seldom what tells two errors apart."""

_VARIABLE = (
    (re.compile(r"""(?<!\w)(["'`])(?:(?!\1)[^\n]){0,500}\1(?!\w)"""), "<text>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<number>"),
)
"""In this order: a number in quotes is a text, and digits in an id are no number."""


def common_words(message: str) -> str:
    """A message without what differs from case to case: texts in quotes, ids, numbers."""
    words = " ".join(message[:_LENGTH_MAX].split())
    for pattern, name in _VARIABLE:
        words = pattern.sub(name, words)
    return words


def likeness(error: Error) -> UUID:
    """The same for errors of one type that have the same words in common."""
    text = f"{error.type}\n{common_words(error.message)}"
    return UUID(bytes=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])
