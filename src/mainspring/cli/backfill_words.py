"""Backfills in words: what they are of, counts, and how long they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.cli.words import counted

if TYPE_CHECKING:
    from mainspring.store.backfill_shapes import Backfill, BackfillEstimate


def subject_words(line: Backfill) -> str:
    """What it is of."""
    return f"schedule {line.schedule}" if line.schedule else f"dag {line.dag}"


def count_words(line: Backfill) -> str:
    """`12 succeeded, 1 failed, 2 open, 30 had a run`."""
    counts = [
        (line.succeeded, "succeeded"),
        (line.failed, "failed"),
        (line.cancelled, "cancelled"),
        (line.open, "open"),
        (line.existing, "had a run"),
        (line.excluded, "excluded"),
    ]
    return ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing yet"


def estimate_words(preview: BackfillEstimate, concurrency: int) -> str:
    """`about 40 min at concurrency 2`; empty if nobody knows."""
    from mainspring.cli.words import roughly

    if preview.seconds is None or not preview.to_run:
        return ""
    return f"about {roughly(preview.seconds)} at concurrency {concurrency}"


def preview_words(preview: BackfillEstimate) -> str:
    parts = [counted(preview.instants, "instant"), f"{preview.to_run:,} to run"]
    if preview.existing:
        parts.append(f"{preview.existing:,} with a run already")
    if preview.excluded:
        parts.append(f"{preview.excluded:,} excluded")
    return ", ".join(parts)
