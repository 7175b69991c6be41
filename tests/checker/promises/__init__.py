"""One function for each promise: it takes a case and says what it found."""

from __future__ import annotations

from collections.abc import Callable

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.promises import (
    attempts,
    code,
    graphs,
    hands,
    holding,
    moves,
    net,
    output,
    pauses,
    priority,
    schedules,
    slots,
    stops,
    submissions,
    trust,
    verdicts,
)

PROMISES: dict[str, Callable[[Case], Finding]] = {
    "L1": holding.one_holder,
    "L2": holding.terms_rise,
    "L3": holding.only_the_holder_acts,
    "L4": trust.nobody_living_is_reaped,
    "L5": trust.who_cannot_renew_stands_still,
    "T1": moves.only_legal_moves,
    "T2": attempts.no_more_than_the_policy,
    "T3": stops.what_was_stopped_starts_nothing,
    "T4": pauses.what_is_paused_is_handed_to_nobody,
    "D1": graphs.only_after_all_parents,
    "D3": verdicts.a_function_of_its_tasks,
    "N1": submissions.nothing_is_lost,
    "N2": submissions.nothing_is_invented,
    "P1": priority.the_urgent_come_first,
    "C1": slots.never_more_than_slots,
    "H1": hands.closed_as_was_said,
    "K1": code.what_runs_is_what_was_started,
    "S1": schedules.a_fire_makes_one_run,
    "S2": schedules.every_fire_is_accounted_for,
    "S3": schedules.nothing_is_invented_or_early,
    "O1": output.what_was_printed_is_kept,
    "X1": net.nothing_had_to_be_mended,
}
