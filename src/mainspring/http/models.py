# Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""Structs that only bodies and answers of the server have."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from mainspring.domain import jobs, states
from mainspring.schedule import specs


class CodeFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    bytes: int
    digest: str


class Code(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last code that a version was read from, and the text of one of its files."""

    dag: str
    version: int
    snapshot: str
    files: list[CodeFile]
    file: str | None
    text: str | None
    cut: bool


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    asked: bool


class NewRunOfMany(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    parameters: dict[str, Any] = {}
    key: str | None = None


class RunsMade(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    runs: list[int]


class WrittenSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When, and how. What is left out has its default."""

    timezone: str = "UTC"
    dst_gap: specs.DstGap = specs.DstGap.RUN_AFTER_GAP
    dst_fold: specs.DstFold = specs.DstFold.FIRST
    exclude: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    jitter_seconds: int = 0
    interval_seconds: int | None = None
    overlap: specs.Overlap = specs.Overlap.ALLOW_ALL
    overlap_max: int | None = None
    misfire: specs.Misfire = specs.Misfire.LAST
    grace_seconds: int = 60
    max_age_seconds: int | None = None
    max_count: int | None = None
    limit: int | None = None
    pause_after_failures: int | None = None
    when: tuple[
        str
        | specs.CronSpec
        | specs.IntervalSpec
        | specs.OnceSpec
        | specs.DatesSpec
        | specs.RecurrenceSpec
        | specs.PluginSpec,
        ...,
    ]


class JobBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of `command`, `http` and `task`, and when it runs."""

    name: str | None = None
    command: list[str] | jobs.CommandCall | None = None
    http: str | jobs.HttpCall | None = None
    task: str | None = None
    schedule: str | list[str] | WrittenSpec | None = None
    parameters: dict[str, Any] = {}
    retries: int | None = None
    timeout: str | float | None = None
    priority: int | None = None
    queue: str | None = None


class Filter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Runs that all of this holds for."""

    dag: str | None = None
    tag: list[str] = []
    text: str | None = None
    state: states.RunState | None = None
    trigger: Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"] | None = None
    since: datetime | None = None
    until: datetime | None = None


class Left(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that it could not be done to."""

    run: int
    code: str
    reason: str


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    done: list[int]
    left: list[Left]
    next: str | None


class LetterOf(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The dead letters of a run, or of one task of it."""

    run: int
    task: str | None = None


class LetterFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All dead letters that it leaves; one that says nothing leaves all."""

    dag: str | None = None
    task: str | None = None
    error: str | None = None
    since: datetime | None = None
    until: datetime | None = None
