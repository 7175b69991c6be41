"""A backfill as it stands becomes its next move: decided here, carried out by `move_backfill`.

Nothing is kept between two steps but what never changes. A step that was lost, or made twice, or
made by two engines at once, leaves what one step would have left: the second finds that the
backfill has moved on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, assert_never

import msgspec

from mainspring import faults
from mainspring.domain.errors import InputError, MainspringError
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.specs import DagSpec
from mainspring.domain.states import BackfillState
from mainspring.schedule.backfilling import (
    Outcome,
    PlannedFire,
    Reprocess,
    Stretch,
    Walk,
    outcome_of,
)
from mainspring.store.backfills import (
    BackfillMove,
    MadeRun,
    StandingBackfill,
    closed_runs,
    decode_plan,
    existing_fires,
    move_backfill,
    read_kin,
    standing_backfill,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.ids import Ids
from mainspring.store.statements import statement

FIRES_PER_STEP = 500
RUNS_PER_STEP = 100
_WALKS_KEPT = 100

_decode_dag = msgspec.json.Decoder(DagSpec).decode


class Stepped(msgspec.Struct, frozen=True):
    moved: bool
    more: bool
    """Whether another step could be made at once."""
    lanes: set[int]


_STILL = Stepped(False, False, set())


class Stepper:
    """Steps backfills, and remembers what it has read for that. One for each connection."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._walks: dict[int, Walk] = {}
        self._checks: dict[int, ParameterCheck] = {}

    async def step(
        self, connection: Connection, backfill_id: int, now: datetime | None = None
    ) -> Stepped:
        """Take in what its runs have come to, and make the next, as many as there is room for."""
        backfill = await standing_backfill(connection, backfill_id)
        if backfill is None:
            return _STILL
        closed = await closed_runs(connection, backfill.open_runs)
        move = BackfillMove(
            backfill.id,
            backfill.turn,
            backfill.cursor_at,
            BackfillState(backfill.state),
            runs=[],
            passed_by=[],
            over=[
                (fire_at, closed[run_id])
                for fire_at, run_id in zip(backfill.open_fires, backfill.open_runs, strict=True)
                if run_id in closed
            ],
        )
        still_open = len(backfill.open_runs) - len(closed)
        more = False
        if move.state is BackfillState.RUNNING and still_open < backfill.concurrency:
            more = await self._go_on(connection, backfill, move, still_open)
        if not (move.runs or move.passed_by or move.over or move.state != backfill.state):
            return _STILL
        faults.point("a backfill's step is decided and not made")
        moved = await move_backfill(connection, move, now, tenant_id=backfill.tenant_id)
        # Who finds that it has moved on looks again.
        return Stepped(moved.moved, more or not moved.moved, moved.lanes)

    async def _go_on(
        self,
        connection: Connection,
        backfill: StandingBackfill,
        move: BackfillMove,
        still_open: int,
    ) -> bool:
        """The next instants; says whether there may be more to do at once."""
        try:
            fires = self._walk(backfill).after(backfill.cursor_at, FIRES_PER_STEP)
        except MainspringError as error:
            # Here, at least: a plug-in is missing, say. Somebody has to see it.
            move.state = BackfillState.PAUSED
            move.halt_note = f"it cannot be computed: {error.message}"
            return False
        if not fires:
            if still_open == 0:
                move.state = BackfillState.FINISHED
            return False
        maker = _Maker(backfill, await self._check(connection, backfill))
        kin = await read_kin(connection, backfill.dag_id, backfill.schedule_id, backfill.parameters)
        existing = await existing_fires(connection, [fire.at for fire in fires], kin)
        room = min(backfill.concurrency - still_open, RUNS_PER_STEP)
        for fire in fires:
            run = existing.get(fire.at)
            outcome = outcome_of(fire, run, Reprocess(backfill.reprocess))
            match outcome:
                case Outcome.MADE:
                    if len(move.runs) == room:
                        return still_open + room < backfill.concurrency
                    try:
                        parameters = maker.parameters(fire.stretch)
                    except InputError as error:
                        move.state, move.halt_note = BackfillState.PAUSED, error.message
                        return False
                    id = await self._ids.take(connection, backfill.tasks)
                    move.runs.append(maker.run(id, fire, parameters))
                case Outcome.EXISTS | Outcome.EXCLUDED:
                    run_id = None if run is None else run.run_id
                    move.passed_by.append((fire.at, outcome, run_id))
                case _:
                    assert_never(outcome)
            move.cursor_at = fire.at
        # Those of the next slice may be passed by, room or not; or there are none.
        return True

    def _walk(self, backfill: StandingBackfill) -> Walk:
        walk = self._walks.get(backfill.id)
        if walk is None:
            if len(self._walks) >= _WALKS_KEPT:
                self._walks.clear()
            walk = self._walks[backfill.id] = Walk(decode_plan(backfill.plan))
        return walk

    async def _check(self, connection: Connection, backfill: StandingBackfill) -> ParameterCheck:
        check = self._checks.get(backfill.version_id)
        if check is None:
            rows = await fetch(connection, statement("read_versions"), [backfill.version_id])
            check = ParameterCheck(_decode_dag(rows[0]["spec"]))
            self._checks[backfill.version_id] = check
        return check


class _Maker:
    """Makes the runs of one step."""

    def __init__(self, backfill: StandingBackfill, check: ParameterCheck) -> None:
        self._backfill = backfill
        self._check = check
        self._given = {} if backfill.parameters is None else _decode(backfill.parameters)
        self._encoded: list[tuple[Stretch, bytes | None]] = []

    def parameters(self, stretch: Stretch) -> bytes | None:
        """InputError if the dag is gone, or does not take them any more."""
        for known, encoded in self._encoded:
            if known is stretch:
                return encoded
        if self._backfill.dag_gone:
            raise InputError(f"dag `{self._backfill.dag}` is gone: no file defines it any more")
        encoded = encoded_parameters(self._check, stretch, self._given)
        self._encoded.append((stretch, encoded))
        return encoded

    def run(self, id: int, fire: PlannedFire, parameters: bytes | None) -> MadeRun:
        backfill = self._backfill
        return MadeRun(
            id,
            backfill.version_id,
            backfill.snapshot_id,
            parameters,
            fire.at,
            fire.interval_start,
        )


def encoded_parameters(
    check: ParameterCheck, stretch: Stretch, given: dict[str, Any]
) -> bytes | None:
    """Those of the schedule in force then, with what was given over them."""
    encoded = check.encode({**stretch.parameters, **given})
    return None if encoded == b"{}" else encoded


def _decode(parameters: bytes) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.json.decode(parameters)
    return values
