"""S1 to S3: every nominal fire is accounted for once, none is doubled, invented or early."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime

import msgspec

from tests.checker.case import Case
from tests.checker.evidence import Answered, Asked
from tests.checker.finding import Finding
from tests.checker.instants import Rule, instants, rule_of
from tests.checker.rows import (
    DagRow,
    FireRow,
    PastRunRow,
    RunRow,
    ScheduleRow,
    StateRow,
    VersionRow,
)


def a_fire_makes_one_run(case: Case) -> Finding:
    """No two runs that were ever made are of the same fire of the same schedule."""
    finding = Finding("S1", "a nominal fire makes at most one run")
    made: Counter[tuple[int | None, datetime | None]] = Counter()
    for run in case.runs_ever.values():
        if run.trigger == "schedule":
            made[run.schedule_id, run.fire_at] += 1
            finding.exercised += 1
    for (schedule_id, fire_at), count in made.items():
        if count > 1:
            finding.broken(f"{count} runs of {_told(case, schedule_id)} are of its fire {fire_at}")
    return finding


def every_fire_is_accounted_for(case: Case) -> Finding:
    """Each instant that the specs name, computed here by trying every second, has one entry of the
    ledger; its run is there, or the reason is one that the spec or a pause gives. What callers were
    told about specs and pauses was true.
    """
    finding = Finding("S2", "each nominal fire has one run, or one reason")
    for version, rule, nominal in _in_force(case):
        entries = case.tables.fires_of(version.schedule_id, version.number)
        covered = Counter(at for entry in entries for at in _covered(entry, rule))
        finding.exercised += len(nominal)
        for at in nominal:
            if covered[at] != 1:
                finding.broken(
                    f"the fire {at} of {_told(case, version.schedule_id)} under version"
                    f" {version.number} is accounted for {covered[at]} times"
                )
        for entry in entries:
            _check_entry(case, entry, rule, finding)
    entered = {entry.run_id for entry in case.tables.fires.values()}
    for run in case.runs_ever.values():
        if run.trigger == "schedule" and run.id not in entered:
            finding.broken(f"run {run.id} was fired by a schedule and is not in its ledger")
    _check_specs(case, finding)
    _check_pauses(case, finding)
    return finding


def nothing_is_invented_or_early(case: Case) -> Finding:
    """No entry but at a nominal instant, no run before its fire by the journal's own clock, and no
    cursor that goes back.
    """
    finding = Finding("S3", "no fire is invented or early; cursors go forward")
    for version, rule, nominal in _in_force(case):
        known = set(nominal)
        for entry in case.tables.fires_of(version.schedule_id, version.number):
            finding.exercised += 1
            ends = {entry.fire_at, entry.until_at}
            if ends - known or len(_covered(entry, rule)) != entry.count:
                finding.broken(
                    f"the entry {entry.id} of {_told(case, version.schedule_id)} tells of"
                    f" {entry.count} fires from {entry.fire_at} to {entry.until_at}, and version"
                    f" {version.number} has others"
                )
    for move in case.journal.moves():
        match move.before, move.after:
            case None, RunRow(fire_at=datetime() as fire_at, trigger="schedule") as run:
                if move.kind == "I" and move.at < fire_at.timestamp():
                    finding.broken(f"run {run.id} of the fire {fire_at} was made before it")
            case StateRow() as before, StateRow() as after:
                if after.cursor_at < before.cursor_at:
                    finding.broken(
                        f"the cursor of {_told(case, after.schedule_id)} went back from"
                        f" {before.cursor_at} to {after.cursor_at}"
                    )
            case _, FireRow() as entry if move.kind in "IU":
                if entry.outcome != "buffered" and move.at < entry.until_at.timestamp():
                    finding.broken(f"the fire {entry.until_at} was decided upon before it")
    return finding


# --- how late ------------------------------------------------------------------------------------


class Late(msgspec.Struct, frozen=True):
    """A run, how long after its fire it was made, and what was broken meanwhile."""

    seconds: float
    broken: list[str]


def latest(case: Case) -> dict[str, float]:
    """The latest of all fires, by what was broken at that time, in seconds."""
    found: dict[str, float] = {}
    for late in lateness(case):
        around = " and ".join(late.broken) or "calm"
        found[around] = round(max(found.get(around, 0.0), late.seconds), 2)
    return dict(sorted(found.items()))


def lateness(case: Case) -> list[Late]:
    """Of fires that were never in a buffer; pauses and changes do not make a fire late."""
    waited = {
        (move.row.schedule_id, move.row.fire_at)
        for move in case.journal.moves("fire")
        if isinstance(move.row, FireRow) and move.row.outcome == "buffered"
    }
    found = []
    for move in case.journal.moves("run"):
        run = move.after
        if move.kind != "I" or not isinstance(run, RunRow) or run.trigger != "schedule":
            continue
        assert run.fire_at is not None
        if (run.schedule_id, run.fire_at) in waited:
            continue
        due, made = case.monotonic(run.fire_at.timestamp()), case.monotonic(move.at)
        broken = sorted(
            {
                fault.kind
                for fault in case.faults
                if fault.at <= made
                and fault.until >= due - _AFTER_SECONDS.get(fault.kind, 0.0)
                and (fault.target.startswith("engine") or fault.target == "database")
            }
        )
        found.append(Late(made - due, broken))
    return found


_AFTER_SECONDS = {"kill": 3.0, "crash_point": 3.0, "drain": 1.0, "freeze": 1.0}
"""For how long after its end such a fault may still be felt."""


# --- what is asked of one entry ------------------------------------------------------------------


def _in_force(case: Case) -> list[tuple[VersionRow, Rule, list[datetime]]]:
    """Each version, and the instants at which it was in force and its schedule has passed."""
    found = []
    for version in case.tables.versions:
        rule = rule_of(version.spec)
        state = case.tables.states[version.schedule_id]
        until = version.in_force_until or state.cursor_at
        found.append((version, rule, instants(rule, version.in_force_from, until)))
    return found


def _covered(entry: FireRow, rule: Rule) -> list[datetime]:
    before = datetime.fromtimestamp(entry.fire_at.timestamp() - 1, UTC)
    return instants(rule, before, entry.until_at)


def _check_entry(case: Case, entry: FireRow, rule: Rule, finding: Finding) -> None:
    about = f"the fire {entry.fire_at} of {_told(case, entry.schedule_id)}"
    match entry.outcome, entry.reason:
        case "fired", None:
            run = case.runs_ever.get(entry.run_id or 0)
            if run is None or (run.schedule_id, run.fire_at) != (entry.schedule_id, entry.fire_at):
                finding.broken(f"{about} has no run")
        case "buffered", None:
            if not rule.overlap.startswith("buffer") and "other" not in rule.overlap:
                finding.broken(f"{about} waits, and its spec knows no buffer")
        case "skipped", "overlap":
            if rule.overlap == "allow_all":
                finding.broken(f"{about} was skipped for an overlap that its spec allows")
        case "skipped", "misfire":
            late = (entry.decided_at - entry.until_at).total_seconds()
            if late <= rule.grace_seconds:
                finding.broken(f"{about} was given up after {late:g} s, within its grace")
            _check_made_up_for(entry, rule, about, finding)
        case "skipped", "pause":
            if not _was_paused(case, entry):
                finding.broken(f"{about} was skipped for a pause, and nobody has paused it")
        case "skipped", "limit" if rule.limit is not None:
            pass
        case "skipped", "exclusion" if rule.exclude:
            pass
        case _:
            finding.broken(f"{about} is {entry.outcome} ({entry.reason}): its spec has no reason")


def _check_made_up_for(entry: FireRow, rule: Rule, about: str, finding: Finding) -> None:
    """Not everything that was missed may be given up, unless the spec says so."""
    if rule.misfire == "all" and rule.max_age_seconds is None and rule.max_count is None:
        finding.broken(f"{about} was given up, and all were to be made up for")
    if rule.misfire == "last" and not instants(rule, entry.until_at, entry.decided_at):
        finding.broken(f"{about} and all after it were given up, and the last was to be fired")


def _was_paused(case: Case, entry: FireRow) -> bool:
    """Whether the schedule or its dag was paused between the fire and the decision."""
    schedule = case.tables.schedules[entry.schedule_id]
    begin, end = entry.fire_at.timestamp(), entry.decided_at.timestamp()
    since: dict[str, float | None] = {"schedule": None, "dag": None}
    for move in case.journal.moves():
        row = move.row
        match row:
            case ScheduleRow() if row.id == entry.schedule_id:
                what = "schedule"
            case DagRow() if row.id == schedule.dag_id:
                what = "dag"
            case _:
                continue
        began = since[what]
        if began is not None and began <= end and move.at >= begin:
            return True
        since[what] = None if row.paused_at is None else row.paused_at.timestamp()
    return any(began is not None and began <= end for began in since.values())


# --- what callers were told ----------------------------------------------------------------------


def _check_specs(case: Case, finding: Finding) -> None:
    names = {schedule.name: schedule.id for schedule in case.tables.schedules.values()}
    asked_for: dict[int, set[str]] = defaultdict(set)
    slack = case.journal.clock.slack_seconds
    for asked, answered in _requests(case, "put_schedule"):
        schedule_id = names.get(asked.schedule)
        if schedule_id is not None:
            asked_for[schedule_id].add(asked.spec)
        if answered is None or answered.answer != "ok":
            continue
        if not any(
            version.schedule_id == schedule_id
            and version.spec == asked.spec
            and case.monotonic(version.in_force_from.timestamp()) <= answered.at + slack
            and (
                version.in_force_until is None
                or case.monotonic(version.in_force_until.timestamp()) >= asked.at - slack
            )
            for version in case.tables.versions
        ):
            finding.broken(
                f"schedule `{asked.schedule}` was said to be changed (request {asked.number}), and"
                " was not"
            )
    for version in case.tables.versions:
        if version.spec not in asked_for[version.schedule_id]:
            finding.broken(
                f"version {version.number} of {_told(case, version.schedule_id)} was asked for by"
                " nobody"
            )


def _check_pauses(case: Case, finding: Finding) -> None:
    """From the answer to a pause on, until something else is asked, nothing is fired."""
    slack = case.journal.clock.slack_seconds
    answers = _answers(case)
    about = [record for record in case.client if isinstance(record, Asked) and record.schedule]
    for place, asked in enumerate(about):
        answered = answers.get(asked.number)
        if asked.what != "pause_schedule" or answered is None or answered.answer != "ok":
            continue
        later = (other.at for other in about[place + 1 :] if other.schedule == asked.schedule)
        until = next(later, float("inf"))
        for run in case.runs_ever.values():
            if _fired_between(case, run, asked.schedule, answered.at + slack, until - slack):
                finding.broken(
                    f"run {run.id} is of the fire {run.fire_at} of `{asked.schedule}`, which was"
                    f" paused (request {asked.number})"
                )


def _fired_between(
    case: Case, run: RunRow | PastRunRow, schedule: str, begin: float, end: float
) -> bool:
    if run.trigger != "schedule" or run.fire_at is None or run.schedule_id is None:
        return False
    known = case.tables.schedules.get(run.schedule_id)
    at = case.monotonic(run.fire_at.timestamp())
    return known is not None and known.name == schedule and begin < at < end


def _requests(case: Case, what: str) -> list[tuple[Asked, Answered | None]]:
    answers = _answers(case)
    return [
        (record, answers.get(record.number))
        for record in case.client
        if isinstance(record, Asked) and record.what == what
    ]


def _answers(case: Case) -> dict[int, Answered]:
    return {record.number: record for record in case.client if isinstance(record, Answered)}


def _told(case: Case, schedule_id: int | None) -> str:
    known = case.tables.schedules.get(schedule_id or 0)
    return f"schedule {schedule_id}" if known is None else f"schedule `{known.name}`"
