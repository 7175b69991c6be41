"""`python -m tests.checker FOLDER --database-url URL`: exit 0 only if everything is proven."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.checker.check import check
from tests.checker.journal import EvidenceError
from tests.checker.promises import PROMISES


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.checker", description="Prove what was promised, from the evidence."
    )
    parser.add_argument("folder", type=Path, help="where the logs are")
    parser.add_argument("--database-url", required=True, help="the database with the journal")
    parser.add_argument(
        "--expect",
        type=_listed,
        metavar="L1,L2,…",
        help=f"promises that must have been exercised (all: {','.join(PROMISES)})",
    )
    parser.add_argument(
        "--silent", type=_listed, default=[], metavar="DAG,…", help="dags that tell no sink"
    )
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    given = parser.parse_args(arguments)
    try:
        report = asyncio.run(
            check(given.folder, given.database_url, given.expect, silent=given.silent)
        )
    except EvidenceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(report.json().decode() if given.json else report.text())
    return 0 if report.ok else 1


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


if __name__ == "__main__":
    sys.exit(main())
