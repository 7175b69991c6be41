"""What programs are told of backfills, by `--json` and by the server; `shapes.py` has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.states import BackfillState
from mainspring.schedule.backfilling import Outcome, Reprocess
from mainspring.store.backfill_orders import BackfillPreview
from mainspring.store.backfills import BackfillFire, BackfillLine
from mainspring.store.shapes import Shape


class Backfill(Shape, frozen=True, kw_only=True):
    """A backfill, and how far it is: of its `instants`, `done` need nothing more."""

    id: int
    dag: str
    schedule: str | None
    state: BackfillState
    since: datetime = msgspec.field(name="from")
    until: datetime = msgspec.field(name="to")
    """Not included."""
    reprocess: Reprocess
    concurrency: int
    priority: int
    parameters: msgspec.Raw
    note: str | None
    created_at: datetime
    created_by: str | None
    cursor_at: datetime | None
    halted_by: str | None
    halt_note: str | None
    ended_at: datetime | None
    instants: int
    done: int
    made: int
    existing: int
    excluded: int
    open: int
    succeeded: int
    failed: int
    cancelled: int


class InstantOfBackfill(Shape, frozen=True, kw_only=True):
    """What became of one instant."""

    fire_at: datetime
    outcome: Outcome
    run: int | None
    verdict: str | None


class BackfillDocument(Backfill, frozen=True, kw_only=True):
    """A backfill with what became of its instants, the latest first."""

    fires: list[InstantOfBackfill]


class InstantOfPreview(Shape, frozen=True, kw_only=True):
    """What would become of one instant, and the run that it has."""

    fire_at: datetime
    interval_start: datetime
    version: int | None
    outcome: Outcome
    run: int | None
    run_state: str | None
    excluded_by: str | None


class BackfillEstimate(Shape, frozen=True, kw_only=True):
    """What a backfill would do, if nothing happens meanwhile."""

    instants: int
    to_run: int
    existing: int
    excluded: int
    remarks: list[str]
    run_seconds: float | None
    seconds: float | None
    fires: list[InstantOfPreview]


def backfill_line(line: BackfillLine) -> Backfill:
    return Backfill(**_fields(line))


def backfill_document(line: BackfillLine, fires: Sequence[BackfillFire]) -> BackfillDocument:
    return BackfillDocument(
        **_fields(line),
        fires=[
            InstantOfBackfill(
                fire_at=fire.fire_at,
                outcome=Outcome(fire.outcome),
                run=fire.run_id,
                verdict=fire.verdict,
            )
            for fire in fires
        ],
    )


def _fields(line: BackfillLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "dag": line.dag,
        "schedule": line.schedule,
        "state": line.state,
        "since": line.since_at,
        "until": line.until_at,
        "reprocess": Reprocess(line.reprocess),
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


def backfill_estimate(preview: BackfillPreview) -> BackfillEstimate:
    return BackfillEstimate(
        instants=preview.total,
        to_run=preview.to_run,
        existing=preview.existing,
        excluded=preview.excluded,
        remarks=preview.remarks,
        run_seconds=preview.run_seconds,
        seconds=preview.seconds,
        fires=[
            InstantOfPreview(
                fire_at=instant.fire_at,
                interval_start=instant.interval_start,
                version=instant.version,
                outcome=instant.outcome,
                run=instant.run_id,
                run_state=instant.run_state,
                excluded_by=instant.excluded,
            )
            for instant in preview.instants
        ],
    )
