"""Tables and plots of an outcome, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mainspring.bench import plot
from mainspring.bench.baseline import FALL_MAX, Comparison
from mainspring.bench.figures import (
    FIGURES,
    Figure,
    cpu_columns,
    cpu_order,
    ratio_of,
    ratio_words,
    value_of,
    value_words,
)
from mainspring.bench.run import Outcome

_FAINT = "bright_black"
_RIGHT = ("inserted rows", "CPU each", "commit", "round trip")
_PLOT_WIDTH = 60
_PLOT_HEIGHT = 4


def report(outcome: Outcome) -> Group:
    parts: list[RenderableType] = []
    for title, content in _sections(outcome):
        parts += [Text(title, style="bold"), Padding(content, (0, 0, 0, 2), expand=False), Text()]
    return Group(*parts)


def _sections(outcome: Outcome) -> Iterator[tuple[str, RenderableType]]:
    yield "Figures", _figures(outcome)
    yield "Yardsticks: the same machine without Mainspring", _yardsticks(outcome)
    if throughput := outcome.results.get("throughput"):
        yield "Saturated, over time", _series(throughput["saturated_series"])
        yield (
            f"{throughput['offered_per_s']:,} runs a second, over time",
            _series(throughput["series"]),
        )
    if tick := outcome.results.get("tick"):
        yield f"{tick['offered_per_s']:,} fires a second, over time", _series(tick["series"])
    if costs := cpu_columns(outcome.results):
        yield "CPU per task, in microseconds", _cpu(costs)
    yield "Machine", _machine(outcome.machine)
    yield "Promises", _promises(outcome)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    table = _table("figure", "baseline", "now", "change", "", right=("baseline", "now", "change"))
    for comparison in comparisons:
        table.add_row(
            f"{comparison.figure.scenario}: {comparison.figure.words}",
            ratio_words(comparison.figure, comparison.kept),
            ratio_words(comparison.figure, comparison.found),
            f"{comparison.change:+.0%}",
            Text(f"fell by more than {FALL_MAX:.0%}", "bold red")
            if comparison.fell
            else Text("✓", "green"),
        )
    return table


# --- figures ------------------------------------------------------------------------------


def _figures(outcome: Outcome) -> Table:
    table = _table("scenario", "", "figure", "to the yardstick", right=("figure",))
    last = ""
    for figure in FIGURES:
        value = value_of(figure, outcome.results)
        if value is None and not _says_unknown(figure, outcome):
            continue
        ratio = ratio_of(figure, outcome.results)
        table.add_row(
            figure.scenario if figure.scenario != last else "",
            figure.words,
            "not known: the server runs elsewhere" if value is None else value_words(figure, value),
            Text("" if ratio is None else ratio_words(figure, ratio), _FAINT),
        )
        last = figure.scenario
    return table


def _yardsticks(outcome: Outcome) -> Table:
    table = _table("beside", "inserted rows", "CPU each", "commit", "round trip", right=_RIGHT)
    for name, figures in outcome.results.items():
        cpu_us = figures["insert_cpu_us"]
        table.add_row(
            name,
            f"{figures['ceiling_inserts_per_s']:,.0f}/s",
            "not known" if cpu_us is None else f"{cpu_us:.1f} µs",
            f"{figures['commit_ms']:.2f} ms",
            f"{figures['round_trip_ms']:.2f} ms",
        )
    return table


def _says_unknown(figure: Figure, outcome: Outcome) -> bool:
    return figure.unit == "cores" and figure.scenario in outcome.results


# --- plots --------------------------------------------------------------------------------


def _series(bins: Sequence[dict[str, Any]]) -> Group:
    if not bins:
        return Group(Text("nothing", _FAINT))
    width = bins[0]["at_seconds"]
    seconds = bins[-1]["at_seconds"]
    rates = [each["done"] / width for each in bins]
    p50, p99 = [each["lag_p50_ms"] for each in bins], [each["lag_p99_ms"] for each in bins]
    return Group(
        *_plot("done per second", rates, seconds, "green"),
        Text(),
        *_plot("due → start, ms: p99, and p50 below", p99, seconds, "magenta", under=p50),
    )


def _plot(
    title: str,
    values: Sequence[float | None],
    seconds: float,
    style: str,
    under: Sequence[float | None] | None = None,
) -> list[Text]:
    top = plot.nice_top(values)
    lines = plot.area(values, width=_PLOT_WIDTH, height=_PLOT_HEIGHT, top=top)
    lower = (
        None if under is None else plot.area(under, width=_PLOT_WIDTH, height=_PLOT_HEIGHT, top=top)
    )
    labels = [f"{top:,.0f}" if top >= 10 else f"{top:g}"] + [""] * (_PLOT_HEIGHT - 2) + ["0"]
    texts = [Text(f"{title}", _FAINT)]
    for row, line in enumerate(lines):
        text = Text(f"{labels[row]:>8} ", _FAINT).append("┤", _FAINT)
        for column, sign in enumerate(line):
            is_lower = lower is not None and lower[row][column] != "\u2800"
            text.append(sign, "cyan" if is_lower else style)
        texts.append(text)
    end = f"{seconds:.3g} s"
    texts.append(Text(f"{'':>8} └{'─' * (_PLOT_WIDTH - len(end) - 1)} {end}", _FAINT))
    return texts


# --- where the time goes ------------------------------------------------------------------

_CPU_SHOWN_US = 0.1


def _cpu(columns: dict[str, dict[str, float]]) -> Table:
    table = _table("", *columns, right=tuple(columns))
    parts = sorted({part for column in columns.values() for part in column}, key=cpu_order)
    for part in parts:
        inner = ":" in part
        if inner and all(column.get(part, 0.0) < _CPU_SHOWN_US for column in columns.values()):
            continue
        name = f"  {part.partition(': ')[2]}" if inner else part
        cells = [f"{column[part]:,.1f}" if part in column else "" for column in columns.values()]
        table.add_row(name, *cells, style=_FAINT if inner else "bold" if part == "all" else "")
    return table


# --- the rest -----------------------------------------------------------------------------


def _machine(machine: dict[str, Any]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=_FAINT, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("machine", f"{machine['cpu']}, {machine['cores']} cores")
    grid.add_row("memory", f"{machine['memory_gb']} GiB")
    file_system = machine["file_system"]
    where = f"{machine['system']}" + (f", data on {file_system}" if file_system else "")
    grid.add_row("system", where)
    grid.add_row(
        "versions",
        f"mainspring {machine['mainspring']}, Python {machine['python']},"
        f" PostgreSQL {machine['postgresql']} ({machine['server']})",
    )
    settings = ", ".join(f"{name} {value}" for name, value in machine["settings"].items())
    grid.add_row("server", settings)
    if file_system in ("tmpfs", "ramfs"):
        grid.add_row("", Text("the data lie in memory: no disk was waited for", "yellow"))
    return grid


def _promises(outcome: Outcome) -> RenderableType:
    if not outcome.violations:
        return Text("✓ all held", "green")
    return Text(
        "\n".join(
            f"✗ {name.replace('_', ' ')}: broken by {count:,} rows"
            for name, count in outcome.violations.items()
        ),
        "bold red",
    )


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_FAINT)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    return table
