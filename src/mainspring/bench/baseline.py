"""Ratios that are kept, and what counts as a fall.

Machines differ and so do their neighbours, so a baseline holds ratios to what the same run found
the machine able to do: rates to the raw ceiling, lengths of time to a commit, CPU time to that of
an inserted row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mainspring.bench.figures import FIGURES, Figure, Results, ratio_of
from mainspring.domain.errors import InputError

FALL_MAX = 0.3
"""A rate may be less, a length of time more, by this share of the better one."""


class Baseline(msgspec.Struct, frozen=True):
    ratios: dict[str, float]
    machine: dict[str, Any] = {}


class Comparison(msgspec.Struct, frozen=True):
    figure: Figure
    kept: float
    found: float

    @property
    def change(self) -> float:
        """-0.3: a third of what it was is gone. Above 0: it has become better."""
        better_is_more = self.figure.against == "ceiling"
        return (self.found / self.kept if better_is_more else self.kept / self.found) - 1

    @property
    def fell(self) -> bool:
        return self.change < -FALL_MAX


def ratios(results: Results) -> dict[str, float]:
    """The ratios worth keeping, by the names of their figures."""
    found = {figure.name: ratio_of(figure, results) for figure in FIGURES if figure.kept}
    return {name: round(ratio, 4) for name, ratio in found.items() if ratio}


def compare(baseline: Baseline, found: dict[str, float]) -> list[Comparison]:
    """Figure by figure; what either side lacks is left out."""
    return [
        Comparison(figure, baseline.ratios[figure.name], found[figure.name])
        for figure in FIGURES
        if figure.name in found and baseline.ratios.get(figure.name, 0) > 0
    ]


def read_baseline(path: Path) -> Baseline:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise InputError(
            f"the baseline `{path}` cannot be read: {error.strerror}",
            hint="make one with `mainspring bench --save FILE`",
        ) from None
    except msgspec.DecodeError as error:
        raise InputError(
            f"`{path}` is no baseline: {error}", hint="make one with `mainspring bench --save FILE`"
        ) from None


def write_baseline(path: Path, baseline: Baseline) -> None:
    text = msgspec.json.format(msgspec.json.encode(baseline), indent=2)
    path.write_bytes(text + b"\n")
