"""Backfills for people and for programs: one line, counts, and what `--json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.cli.words import counted

if TYPE_CHECKING:
    from mainspring.store.backfill_orders import BackfillPreview
    from mainspring.store.backfills import BackfillFire, BackfillLine


def backfill_shape(line: BackfillLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "dag": line.dag,
        "schedule": line.schedule,
        "state": line.state,
        "from": line.since_at,
        "to": line.until_at,
        "reprocess": line.reprocess,
        "concurrency": line.concurrency,
        "priority": line.priority,
        "parameters": msgspec.Raw(line.parameters or b"{}"),
        "note": line.note,
        "created_at": line.created_at,
        "created_by": line.created_by,
        "cursor_at": line.cursor_at,
        "halted_by": line.halted_by,
        "halt_note": line.halt_note,
        "ended_at": line.ended_at,
        "instants": line.total,
        "done": line.done,
        "made": line.made,
        "existing": line.existing,
        "excluded": line.excluded,
        "open": line.open_runs,
        "succeeded": line.succeeded,
        "failed": line.failed,
        "cancelled": line.cancelled,
    }


def fire_shape(fire: BackfillFire) -> dict[str, Any]:
    return {
        "fire_at": fire.fire_at,
        "outcome": fire.outcome,
        "run": fire.run_id,
        "verdict": fire.verdict,
    }


def preview_shape(preview: BackfillPreview) -> dict[str, Any]:
    return {
        "instants": preview.total,
        "to_run": preview.to_run,
        "existing": preview.existing,
        "excluded": preview.excluded,
        "remarks": preview.remarks,
        "run_seconds": preview.run_seconds,
        "seconds": preview.seconds,
        "fires": [
            {
                "fire_at": instant.fire_at,
                "interval_start": instant.interval_start,
                "version": instant.version,
                "outcome": instant.outcome,
                "run": instant.run_id,
                "run_state": instant.run_state,
                "excluded_by": instant.excluded,
            }
            for instant in preview.instants
        ],
    }


def subject_words(line: BackfillLine) -> str:
    """What it is of."""
    return f"schedule {line.schedule}" if line.schedule else f"dag {line.dag}"


def count_words(line: BackfillLine) -> str:
    """`12 succeeded, 1 failed, 2 open, 30 had a run`."""
    counts = [
        (line.succeeded, "succeeded"),
        (line.failed, "failed"),
        (line.cancelled, "cancelled"),
        (line.open_runs, "open"),
        (line.existing, "had a run"),
        (line.excluded, "excluded"),
    ]
    return ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing yet"


def estimate_words(preview: BackfillPreview, concurrency: int) -> str:
    """`about 40 min at concurrency 2`; empty if nobody knows."""
    from mainspring.cli.words import roughly

    if preview.seconds is None or not preview.to_run:
        return ""
    return f"about {roughly(preview.seconds)} at concurrency {concurrency}"


def preview_words(preview: BackfillPreview) -> str:
    parts = [counted(preview.total, "instant"), f"{preview.to_run:,} to run"]
    if preview.existing:
        parts.append(f"{preview.existing:,} with a run already")
    if preview.excluded:
        parts.append(f"{preview.excluded:,} excluded")
    return ", ".join(parts)
