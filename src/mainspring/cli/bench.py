"""`mainspring bench`: how fast it is here."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.domain.errors import InputError
from mainspring.domain.names import closest, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from mainspring.bench.baseline import Baseline
    from mainspring.bench.run import Outcome
    from mainspring.bench.settings import Settings
    from mainspring.bench.watcher import Watcher

_Number = TypeVar("_Number", int, float)

_FILE = click.Path(dir_okay=False, path_type=Path)
_ALL = "all"


@click.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]…")
@click.option("--seconds", type=float, help="How long each phase measures. [default: as suits it]")
@click.option(
    "--rate", type=int, default=10_000, show_default=True, help="Runs a second that are offered."
)
@click.option(
    "--workers", type=int, default=1, show_default=True, help="How many worker processes."
)
@click.option(
    "--samples",
    type=int,
    default=1_000,
    show_default=True,
    help="How many runs are timed one at a time.",
)
@click.option(
    "--schedules",
    type=int,
    default=1_000_000,
    show_default=True,
    help="How many schedules `tick` stores.",
)
@click.option(
    "--stored-runs",
    type=int,
    default=5_000_000,
    show_default=True,
    help="How many finished runs `api` stores before it asks for lists.",
)
@click.option(
    "--runs", type=int, default=1, show_default=True, help="Repeat, and take the medians."
)
@click.option(
    "--database-url",
    metavar="URL",
    help="Measure in this database. [default: a PostgreSQL that is thrown away afterwards]",
)
@click.option("--yes", is_flag=True, help="Measure in the given database even if it holds runs.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write all figures there.")
@click.option("--save", "save_file", type=_FILE, metavar="FILE", help="Keep the ratios there.")
@click.option(
    "--check",
    "check_file",
    type=_FILE,
    metavar="FILE",
    help="Compare with ratios that were kept; exit 1 if one fell by more than 30 %.",
)
def bench(
    scenarios: tuple[str, ...],
    seconds: float | None,
    rate: int,
    workers: int,
    samples: int,
    schedules: int,
    stored_runs: int,
    runs: int,
    database_url: str | None,
    yes: bool,
    json_file: Path | None,
    save_file: Path | None,
    check_file: Path | None,
) -> int:
    """Measure how fast Mainspring is on this machine.

    Scenarios: throughput, latency, dag, history, isolation, concurrent, tick, api, or all. Without
    one: the first three.

    Engine, workers, server and PostgreSQL are real processes, started for this and gone afterwards.
    Every figure stands beside what the same machine does without Mainspring. Exit 1 if a promise
    was broken on the way.
    """
    from mainspring.bench import settings as limits
    from mainspring.bench.baseline import Baseline, ratios, read_baseline, write_baseline
    from mainspring.cli.output import console

    names = _names(scenarios)
    settings = limits.Settings(
        seconds=None if seconds is None else _within("--seconds", seconds, 0.1, limits.SECONDS_MAX),
        rate=_within("--rate", rate, 1, limits.RATE_MAX),
        workers=_within("--workers", workers, 1, limits.WORKERS_MAX),
        samples=_within("--samples", samples, 1, limits.SAMPLES_MAX),
        schedules=_within("--schedules", schedules, 1, limits.SCHEDULES_MAX),
        stored_runs=_within("--stored-runs", stored_runs, 1, limits.STORED_RUNS_MAX),
        runs=_within("--runs", runs, 1, limits.RUNS_MAX),
        database_url=database_url,
        accept_runs=yes,
    )
    # Asked now, so that an hour of measuring is not lost to a mistyped name.
    for path in (json_file, save_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"there is no folder `{path.parent}` to write `{path.name}` to")
    baseline = None if check_file is None else read_baseline(check_file)

    out = console()
    outcome = _run(names, settings, out)
    _show(outcome, out)
    if json_file is not None:
        import msgspec

        text = msgspec.json.format(msgspec.json.encode(outcome.document()), indent=2)
        json_file.write_bytes(text + b"\n")
    found = ratios(outcome.results)
    if save_file is not None:
        write_baseline(
            save_file, Baseline(found, {key: outcome.machine[key] for key in ("cpu", "cores")})
        )
        out.print(f"The ratios are kept in {save_file}.")
    sound = not outcome.violations
    if baseline is not None:
        sound &= _compare(baseline, found, out)
    return DONE if sound else FAILED


def _names(scenarios: tuple[str, ...]) -> list[str]:
    from mainspring.bench.scenarios import SCENARIOS

    if _ALL in scenarios:
        return list(SCENARIOS)
    for name in scenarios:
        if name not in SCENARIOS:
            raise InputError(
                f"there is no scenario {shown(name)}",
                hint=closest(name, [*SCENARIOS, _ALL]),
            )
    return list(dict.fromkeys(scenarios)) or ["throughput", "latency", "dag"]


def _within(option: str, value: _Number, least: float, most: float) -> _Number:
    if not (math.isfinite(value) and least <= value <= most):
        raise InputError(f"`{option}` is {value:g}, which is not between {least:g} and {most:,.0f}")
    return value


# --- on the screen ------------------------------------------------------------------------


def _run(names: list[str], settings: Settings, out: Console) -> Outcome:
    import uvloop

    from mainspring.bench.run import run_benchmark
    from mainspring.cli.output import is_terminal

    def run(watcher: Watcher) -> Outcome:
        try:
            return uvloop.run(run_benchmark(names, settings, watcher))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None  # A SIGTERM, which ends like a Ctrl-C.

    if not is_terminal():
        return run(_Lines(out))
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    # Redrawn seldom: the screen is drawn by the process that makes the load.
    progress = Progress(
        SpinnerColumn(),
        TextColumn("[bold]{task.fields[scenario]}"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("[bright_black]{task.fields[live]}"),
        console=out,
        refresh_per_second=4,
        transient=True,
    )
    with progress:
        return run(_Screen(progress))


class _Screen:
    """One line that is written anew."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._name = ""
        self._task = progress.add_task("starting PostgreSQL", total=None, scenario="", live="")

    def scenario(self, name: str, repetition: int, repetitions: int) -> None:
        self._name = name if repetitions == 1 else f"{name} {repetition}/{repetitions}"

    def phase(self, words: str, seconds: float | None = None) -> None:
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(words, total=seconds, scenario=self._name, live="")

    def live(self, words: str) -> None:
        elapsed = self._progress.tasks[-1].elapsed or 0.0
        self._progress.update(self._task, completed=elapsed, live=words)


class _Lines:
    """A line for each phase, where nobody watches."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._name = ""

    def scenario(self, name: str, repetition: int, repetitions: int) -> None:
        self._name = name if repetitions == 1 else f"{name} {repetition}/{repetitions}"

    def phase(self, words: str, seconds: float | None = None) -> None:
        length = "" if seconds is None else f", {seconds:g} s"
        self._out.print(f"{self._name}{self._name and ': '}{words}{length}")

    def live(self, words: str) -> None:
        pass


def _show(outcome: Outcome, out: Console) -> None:
    from mainspring.bench.report import report

    out.print()
    out.print(report(outcome))
    if outcome.leaves_runs:
        out.print("The benchmark's runs stay in the given database: it had a schema before.")


def _compare(baseline: Baseline, found: dict[str, float], out: Console) -> bool:
    """Whether nothing fell too far."""
    from mainspring.bench.baseline import compare
    from mainspring.bench.report import comparison_table
    from mainspring.cli.output import heading, indented

    comparisons = compare(baseline, found)
    if not comparisons:
        raise InputError(
            "the baseline has no figure of these scenarios",
            hint="name the scenarios it was made with, or make one with `--save FILE`",
        )
    out.print(heading("Compared with the baseline"))
    out.print(indented(comparison_table(comparisons)))
    return not any(comparison.fell for comparison in comparisons)
