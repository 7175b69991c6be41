"""Write the files that are derived from tables in the code, or check that they are current.

    python tools/generate.py            write them (`make gen`)
    python tools/generate.py --check    compare, show the difference, exit 1 if there is one

A generator is a function without arguments that returns the whole text of one file. It must
give the same text each time and on each machine, or the check is of no use: nothing of the
clock, of the environment or of the order of a set may reach the text.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# Run as a script, Python looks beside this file only.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.generators import (
    api_script,
    commands_page,
    guards,
    http_client,
    metrics_page,
    places,
    python_page,
    settings_page,
    states_page,
    states_script,
    sync_twin,
)

ROOT = Path(__file__).resolve().parent.parent


class Generated(NamedTuple):
    path: str
    render: Callable[[], str]


FILES = (
    Generated("src/mainspring/store/sql/guards.sql", guards.render),
    Generated("src/mainspring/api/places.py", places.render),
    Generated("src/mainspring/http/client.py", http_client.render),
    Generated("src/mainspring/http/models.py", http_client.render_models),
    Generated("src/mainspring/http/sync_asking.py", sync_twin.render_asking),
    Generated("src/mainspring/http/sync_client.py", sync_twin.render_client),
    Generated("src/mainspring/client/sync_calls.py", sync_twin.render_calls),
    Generated("docs/reference/commands.md", commands_page.render),
    Generated("docs/reference/metrics.md", metrics_page.render),
    Generated("docs/reference/python.md", python_page.render),
    Generated("docs/reference/settings.md", settings_page.render),
    Generated("docs/reference/states.md", states_page.render),
    Generated("web/src/generated/api.ts", api_script.render),
    Generated("web/src/generated/states.ts", states_script.render),
)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Write the generated files.")
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    return check(root) if parser.parse_args(arguments).check else write(root)


def write(root: Path) -> int:
    for path, _, wanted in _stale(root):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted, encoding="utf-8", newline="\n")
        print(f"wrote {path}")
    return 0


def check(root: Path) -> int:
    stale = list(_stale(root))
    if not stale:
        return 0
    for path, found, wanted in stale:
        sys.stdout.writelines(_difference(path, found or "", wanted))
    names = ", ".join(f"`{path}`" for path, _, _ in stale)
    print(f"error: not what its generator writes: {names}", file=sys.stderr)
    print("hint: run `make gen` and commit the result", file=sys.stderr)
    return 1


def _stale(root: Path) -> Iterator[tuple[str, str | None, str]]:
    """Path, text found (None if there is no file) and text wanted of each file that differs."""
    for path, render in FILES:
        file = root / path
        # Bytes, since reading as text would hide foreign line ends.
        found = file.read_bytes().decode(errors="replace") if file.exists() else None
        wanted = render()
        if found != wanted:
            yield path, found, wanted


def _difference(path: str, found: str, wanted: str) -> Iterator[str]:
    lines = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), f"{path} (found)", f"{path} (wanted)", lineterm=""
    )
    for line in lines:
        yield line + "\n"


if __name__ == "__main__":
    sys.exit(main())
