"""`docs/reference/metrics.md`: every metric, from the catalogue that they are made of."""

from __future__ import annotations

from mainspring.observe.catalogue import CATALOGUE

_HEADER = """\
<!-- Generated from src/mainspring/observe/catalogue.py by `make gen`; do not edit. -->

# Metrics

What `/metrics` of [the server](../guides/server.md) tells Prometheus. A server counts what it does
itself; what is true of all processes together is read from the database when somebody asks, so it
is the same from every server.

| metric | kind | labels | meaning |
|---|---|---|---|
"""


def render() -> str:
    rows = (
        f"| `{name}` | {metric.kind} | {', '.join(f'`{each}`' for each in metric.labels)}"
        f" | {metric.help} |"
        for name, metric in CATALOGUE.items()
    )
    return _HEADER + "\n".join(rows) + "\n"
