"""What a request over HTTP may be, wherever it is written: in a dag, or in a job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

METHOD = re.compile(r"[A-Za-z]{1,20}")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PLACE = re.compile(r"\{([^{}/?#]*)\}")
"""In the path of an address: where a value is to stand."""

EXPECTED = range(200, 300)
"""Statuses of success, unless something else is said."""
RETRIED = frozenset({429, 502, 503, 504})
"""Statuses that ask for another attempt."""


def address_problem(url: str) -> str:
    """Why a request cannot be sent there; empty if it can."""
    if any(ord(character) <= 32 or ord(character) == 127 for character in url):
        return "holds a space or a control character"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"cannot be read: {error}"
    if parts.scheme not in ("http", "https"):
        return "does not begin with `https://` or `http://`"
    return "" if parts.hostname else "names no host"


def places_in(url: str) -> set[str]:
    return set(PLACE.findall(urlsplit(url).path))


def address_shown(url: str) -> str:
    """An address for messages: without user, password and query, which may be secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    query = "?…" if parts.query else ""
    return f"{parts.scheme}://{host}{parts.path}{query}"


def is_status(status: object) -> bool:
    return type(status) is int and 100 <= status <= 599


def status_ranges(statuses: Iterable[int]) -> list[tuple[int, int]]:
    """From and to, both included."""
    found: list[tuple[int, int]] = []
    for status in sorted(set(statuses)):
        follows = bool(found) and found[-1][1] == status - 1
        first = found.pop()[0] if follows else status
        found.append((first, status))
    return found
