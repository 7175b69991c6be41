"""`docs/reference/metrics.md`: every metric, from the catalogue that they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from mainspring.observe.catalogue import Source, metrics_of

_HEADER = """\
<!-- Generated from src/mainspring/observe/catalogue.py by `make gen`; do not edit. -->

# Metrics

What Prometheus can read. `/metrics` of [a server](../guides/server.md#watch-it) tells what that
server does and what is true of all processes together; the latter is read from the database, at
most every two seconds, and is the same from every server. Engines and workers tell what they do
themselves, if they are given `--metrics-port`.
"""

_SECTIONS: Mapping[Source, str] = {
    "whole": "The whole, from any server",
    "server": "A server, of itself",
    "engine": "An engine, of itself",
    "worker": "A worker, of itself",
}


def render() -> str:
    return _HEADER + "".join(_section(source, title) for source, title in _SECTIONS.items())


def _section(source: Source, title: str) -> str:
    rows = "".join(
        f"| `{name}` | {metric.kind} | {', '.join(f'`{each}`' for each in metric.labels)}"
        f" | {metric.help} |\n"
        for name, metric in metrics_of(source).items()
    )
    return f"\n## {title}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n{rows}"
