"""The instants of a backfill against a walk by seconds that asks at each which version applies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mainspring.schedule.backfilling import (
    ExistingRun,
    InForce,
    Outcome,
    Plan,
    PlannedFire,
    Reprocess,
    Stretch,
    Walk,
    outcome_of,
    stretch_of,
    stretches_of,
)
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec

BEGINNING = datetime(2026, 10, 25, tzinfo=UTC)
SECONDS = 5_000


def moment(seconds: float) -> datetime:
    return BEGINNING + timedelta(seconds=seconds)


moments = st.floats(0, SECONDS, width=32).map(moment) | st.integers(0, SECONDS).map(moment)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[IntervalSpec, ...]:
    lengths = draw(st.lists(st.integers(1, 2_000), min_size=1, max_size=3))
    return tuple(IntervalSpec(seconds, draw(st.integers(0, seconds - 1))) for seconds in lengths)


@st.composite
def histories(draw: st.DrawFn) -> list[InForce]:
    """Versions one after the other, some with a time in between in which there was none."""
    edges = sorted(draw(st.lists(moments, min_size=1, max_size=6, unique=True)))
    versions: list[InForce] = []
    for since, until in pairwise([*edges, None]):
        assert since is not None
        if versions and draw(st.integers(0, 4)) == 0:
            continue
        spec = ScheduleSpec(when=draw(intervals()))
        versions.append(InForce(len(versions) + 1, spec, {"n": len(versions)}, since, until))
    return versions


def in_force(versions: list[InForce], instant: datetime) -> InForce | None:
    for version in versions:
        if version.since < instant and (version.until is None or instant <= version.until):
            return version
    return versions[0] if instant <= versions[0].since else None


def fires_at(spec: ScheduleSpec, instant: datetime) -> bool:
    seconds = int(instant.timestamp())
    return any(
        isinstance(when, IntervalSpec) and (seconds - when.phase_seconds) % when.seconds == 0
        for when in spec.when
    )


def brute_force(
    versions: list[InForce], since: datetime, until: datetime
) -> list[tuple[datetime, int]]:
    found = []
    for second in range(SECONDS + 2):
        instant = moment(second)
        version = in_force(versions, instant) if since <= instant < until else None
        if version is not None and fires_at(version.spec, instant):
            found.append((instant, version.number))
    return found


def walked(plan: Plan, batch: int) -> list[PlannedFire]:
    """In batches, each by somebody who knows no more than the last instant."""
    fires: list[PlannedFire] = []
    while more := Walk(plan).after(fires[-1].at if fires else None, batch):
        assert len(more) <= batch
        fires += more
    return fires


@given(histories(), moments, moments, st.integers(1, 3_000), st.booleans())
def test_each_instant_is_found_once_with_the_version_in_force_then(
    versions: list[InForce], one: datetime, other: datetime, batch: int, newest_first: bool
) -> None:
    since, until = min(one, other), max(one, other)
    expected = brute_force(versions, since, until)
    batch = max(batch, len(expected) // 50)
    plan = Plan("tick", tuple(stretches_of(versions, since, until)), newest_first=newest_first)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    found = walked(plan, batch)
    in_order = found[::-1] if newest_first else found
    assert [(fire.at, fire.stretch.version) for fire in in_order] == expected
    for fire in found:
        assert fire.stretch.version == 1 + fire.stretch.parameters["n"]
    assert Walk(plan).count() == len(expected)
    assert Walk(plan).count(at_most=SECONDS * 2) == len(expected)


@given(intervals(), moments, moments, st.integers(0, SECONDS))
def test_counting_may_stop_and_never_says_too_much(
    when: tuple[IntervalSpec, ...], one: datetime, other: datetime, at_most: int
) -> None:
    plan = Plan("tick", tuple(stretch_of(ScheduleSpec(when), min(one, other), max(one, other))))
    exact = Walk(plan).count()
    counted = Walk(plan).count(at_most)
    assert counted <= exact
    assert (counted > at_most) == (exact > at_most)
    assert counted == exact or counted > at_most


@given(
    st.sampled_from(Reprocess),
    st.sampled_from([None, "queued", "running", "succeeded", "failed", "cancelled"]),
)
def test_an_open_run_is_never_doubled_and_what_has_none_always_runs(
    reprocess: Reprocess, state: str | None
) -> None:
    stretch = Stretch(BEGINNING, BEGINNING, ScheduleSpec(when=(IntervalSpec(60),)))
    fire = PlannedFire(BEGINNING, BEGINNING, stretch, None)
    assert outcome_of(fire, None, reprocess) is Outcome.MADE
    outcome = outcome_of(fire, ExistingRun(1, state), reprocess)
    if state in ("queued", "running") or reprocess is Reprocess.NONE:
        assert outcome is Outcome.EXISTS
    if state in ("failed", "cancelled") and reprocess is not Reprocess.NONE:
        assert outcome is Outcome.MADE
    if state == "succeeded":
        assert (outcome is Outcome.MADE) == (reprocess is Reprocess.ALL)
    left_out = PlannedFire(BEGINNING, BEGINNING, stretch, "closed")
    assert outcome_of(left_out, ExistingRun(1, state), reprocess) is Outcome.EXCLUDED
