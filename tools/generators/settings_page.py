"""`docs/reference/settings.md`: every setting, from the table that they are read by."""

from __future__ import annotations

from mainspring.config import VARIABLES

_HEADER = """\
<!-- Generated from src/mainspring/config.py by `make gen`; do not edit. -->

# Settings

Settings come from the environment of a process; options of its command go before them. Each may be
given as `…_FILE` instead, the path of a file that holds the value: how container platforms hand
over secrets. A setting that makes no sense stops the process with a message before it does
anything. How they are used is told in [Operating Mainspring](../guides/operating.md).

| variable | default | meaning |
|---|---|---|
"""


def render() -> str:
    rows = (
        f"| `MAINSPRING_{name}` | {variable.default} | {variable.meaning} |"
        for name, variable in VARIABLES.items()
    )
    return _HEADER + "\n".join(rows) + "\n"
