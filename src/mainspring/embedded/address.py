"""The server's address: a URL that asyncpg and libpq understand alike."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from mainspring.embedded.configuration import PORT, PRODUCT_DATABASE, PRODUCT_ROLE


def url_of(socket_folder: Path) -> str:
    # The port is said, since drivers would otherwise take PGPORT from the environment.
    host = quote(str(socket_folder), safe="/")
    return f"postgresql://{PRODUCT_ROLE}@/{PRODUCT_DATABASE}?host={host}&port={PORT}"
