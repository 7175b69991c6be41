"""The command `mainspring`.

    root.py      the groups, loaded when they are called for: `--help` stays quick
    errors.py    what every failure looks like, and its exit code
    session.py   from settings to a client
    output.py    console, colours of states, tables, JSON
    words.py     times, lengths and texts as people read them
    `--json` prints the shapes of `mainspring.store.shapes`, as the server does
    graphs.py    a dag as a tree or as levels
    schedule_options.py   what is typed of a schedule      stored_schedules.py   one by its name
    given.py     parameters, instants, runs and tasks, from what was typed
    explain.py   why a run or task stands where it stands; pure
    standing.py  how one task stands, and what would move it on; pure
    heat_map.py  how many runs start in each minute, as marks; pure
    crontab_dags.py  the file of dags that a crontab becomes; pure

One file per command, or per group of small ones. Exit codes: 0 done, 1 failed, 2 usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main() -> NoReturn:
    sys.exit(run_command())


def run_command(arguments: Sequence[str] | None = None) -> int:
    """One command, as typed or as given; the answer is its exit code."""
    from mainspring.cli.errors import guarded
    from mainspring.cli.root import root

    return guarded(root, arguments)
