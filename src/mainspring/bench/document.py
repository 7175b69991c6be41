"""Writes figures into a document, between two marks.

    mainspring bench all --runs 3 --json figures.json
    python -m mainspring.bench.document figures.json docs/performance.md

Everything between `<!-- figures -->` and `<!-- end of figures -->` is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mainspring.bench.figures import (
    FIGURES,
    cpu_columns,
    cpu_order,
    ratio_of,
    ratio_words,
    value_of,
    value_words,
)

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
_CPU_SHOWN_US = 0.1


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m mainspring.bench.document FIGURES.json DOCUMENT.md")
        return 2
    figures, document = map(Path, arguments)
    measured_on = datetime.fromtimestamp(figures.stat().st_mtime, UTC).date()
    text = render(msgspec.json.decode(figures.read_bytes()), str(measured_on))
    document.write_text(replaced(document.read_text("utf-8"), text), "utf-8")
    return 0


def replaced(document: str, text: str) -> str:
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"the document has no {BEGIN}"
    assert end, f"the document has no {END}"
    return f"{before}{BEGIN}\n{text}{END}{after}"


def render(document: dict[str, Any], measured_on: str) -> str:
    machine = document["machine"]
    settings = ", ".join(f"{name} {value}" for name, value in machine["settings"].items())
    where = (
        f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gb']} GiB,"
        f" {machine['system']}, PostgreSQL {machine['postgresql']} ({machine['server']}),"
        f" Python {machine['python']}, mainspring {machine['mainspring']}"
    )
    lines = [
        f"Measured on {measured_on}: {where}.",
        f"Server: {settings}.",
        f"Promises broken on the way: {document['violations']}.",
        "",
        "| scenario | what | figure | to its yardstick |",
        "|---|---|---:|---:|",
        *_figure_rows(document),
        "",
        "| yardsticks beside | inserted rows | CPU each | commit | round trip |",
        "|---|---:|---:|---:|---:|",
        *_yardstick_rows(document),
        "",
        "CPU time per task, in microseconds:",
        "",
        *_cpu_rows(document),
    ]
    return "\n".join(lines) + "\n"


def _figure_rows(document: dict[str, Any]) -> list[str]:
    rows = []
    for figure in FIGURES:
        value = value_of(figure, document)
        if value is not None:
            ratio = ratio_of(figure, document)
            words = "" if ratio is None else ratio_words(figure, ratio)
            rows.append(
                f"| {figure.scenario} | {figure.words} | {value_words(figure, value)} | {words} |"
            )
    return rows


def _yardstick_rows(document: dict[str, Any]) -> list[str]:
    rows = []
    for name in dict.fromkeys(figure.scenario for figure in FIGURES):
        if figures := document.get(name):
            cpu_us = figures["insert_cpu_us"]
            rows.append(
                f"| {name} | {figures['ceiling_inserts_per_s']:,.0f}/s"
                f" | {'not known' if cpu_us is None else f'{cpu_us:.1f} µs'}"
                f" | {figures['commit_ms']:.2f} ms | {figures['round_trip_ms']:.2f} ms |"
            )
    return rows


def _cpu_rows(document: dict[str, Any]) -> list[str]:
    columns = cpu_columns(document)
    parts = sorted({part for column in columns.values() for part in column}, key=cpu_order)
    rows = [
        f"| | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for part in parts:
        cells = [column.get(part) for column in columns.values()]
        if all((cell or 0.0) < _CPU_SHOWN_US for cell in cells):
            continue
        words = " | ".join("" if cell is None else f"{cell:,.1f}" for cell in cells)
        rows.append(f"| {part} | {words} |")
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
