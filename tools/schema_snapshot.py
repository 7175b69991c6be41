"""Write `docs/reference/schema.sql`, the schema as the database has it after all migrations.

    python tools/schema_snapshot.py     write it (`make gen`)

A migration says what changes; the snapshot shows what that makes of the whole, so that a review
sees both. It needs a server, which is why it is no generator of `generate.py`: the test that
compares it with a fresh database has one.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.embedded.binaries import find_psql
from mainspring.store.connection import connect
from mainspring.store.migrate import migrate

PATH = Path(__file__).resolve().parent.parent / "docs" / "reference" / "schema.sql"

_HEADER = """\
-- Generated from src/mainspring/store/migrations by `make gen`; do not edit.
--
-- The schema after all migrations, views and guards, as `pg_dump` tells it: for reading and for
-- seeing what a migration changes. `mainspring migrate` is what makes it.
"""

# What depends on the program rather than on the schema: versions, session settings, the keys
# that newer releases put around a dump, and the headings which repeat the next line.
_NOISE = re.compile(
    r"^(--.*|SET .*|SELECT pg_catalog\.set_config\(.*|\\(un)?restrict .*)\n", re.MULTILINE
)
_GAPS = re.compile(r"\n{3,}")


def main() -> int:
    text = asyncio.run(_fresh())
    if not PATH.exists() or PATH.read_text(encoding="utf-8") != text:
        PATH.parent.mkdir(parents=True, exist_ok=True)
        PATH.write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {PATH.relative_to(PATH.parent.parent.parent)}")
    return 0


async def _fresh() -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # The server may run under an account of its own.
        home = Path(folder) / "home"
        postgres = EmbeddedPostgres(home, settings={"fsync": "off"})
        url = await asyncio.to_thread(postgres.start)
        try:
            connection = await connect(url, name="schema snapshot")
            await migrate(connection)
            await connection.close()
            return render(url)
        finally:
            await asyncio.to_thread(postgres.stop)
            destroy(home)


def render(url: str) -> str:
    """The snapshot of a migrated database."""
    dumped = subprocess.run(
        [
            *(find_psql().with_name("pg_dump"), "--schema-only", "--no-owner", "--no-privileges"),
            *("--schema", "mainspring", "--dbname", url),
            # Partitions look as their parents do, and come and go.
            *("--exclude-table", "mainspring.*_[0-9]+", "--exclude-table", "mainspring.*_older"),
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    text = _GAPS.sub("\n\n", _NOISE.sub("", dumped.stdout)).strip()
    return f"{_HEADER}\n{text}\n"


if __name__ == "__main__":
    sys.exit(main())
