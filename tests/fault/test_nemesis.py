"""A plan of faults is a pure function of its seed, and is over when the storm is."""

from __future__ import annotations

from collections import Counter
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fault.nemesis import KINDS, Planned, Scale, plan, scale_of
from tests.fault.workload import DAGS, Pace, wishes

pytestmark = pytest.mark.fault

SECONDS = st.floats(5, 60)


SEEDS = st.integers(0, 2**63)


@given(SEEDS, SECONDS)
def test_the_same_seed_gives_the_same_plan(seed: int, seconds: float) -> None:
    assert plan(seed, seconds, scale_of(seed)) == plan(seed, seconds, scale_of(seed))


def test_other_seeds_give_other_plans() -> None:
    plans = {str(plan(seed, 20)) for seed in range(200)}
    assert len(plans) == 200


@given(SEEDS, SECONDS)
def test_faults_come_in_order_and_are_over_at_the_end(seed: int, seconds: float) -> None:
    planned = plan(seed, seconds, scale_of(seed))
    assert [fault.at for fault in planned] == sorted(fault.at for fault in planned)
    assert all(fault.at + fault.seconds <= seconds + 0.001 for fault in planned)


@given(SEEDS)
def test_a_process_has_one_trouble_of_its_own_at_a_time(seed: int) -> None:
    own = ("kill", "freeze", "drain", "revoke")
    ends: dict[str, float] = {}
    for fault in plan(seed, 60, scale_of(seed)):
        if fault.kind in own:
            victim = fault.target.rpartition(" of ")[2]
            assert fault.at >= ends.get(victim, 0.0)
            ends[victim] = fault.at + fault.seconds


def test_every_kind_of_fault_is_planned_and_hits_everybody() -> None:
    faults = [
        fault for seed in range(50) for fault in plan(seed, 60, Scale(2, 3, servers=2, far=2))
    ]
    assert {fault.kind for fault in faults} == set(KINDS)
    hit = Counter(fault.target for fault in faults)
    for target in (
        *("engine 1", "engine 2", "worker 1", "worker 2", "worker 3", "client", "database"),
        *("server 1", "server 2", "far 1", "far 2", "web", "all of far 1"),
        *("host of worker 1", "guard of worker 2", "all of worker 3", "dags"),
    ):
        assert hit[target] > 5


def test_pauses_are_planned_on_both_sides_of_the_lease() -> None:
    frozen = [fault for seed in range(50) for fault in plan(seed, 60) if fault.kind == "freeze"]
    assert any(fault.seconds < Scale().lease_seconds for fault in frozen)
    assert any(fault.seconds > Scale().lease_seconds for fault in frozen)


def test_clusters_differ_in_everything_that_matters() -> None:
    scales = [scale_of(seed) for seed in range(100)]
    assert {scale.engines for scale in scales} == {1, 2, 3}
    assert {scale.workers for scale in scales} == {1, 2, 3}
    assert {(scale.servers, scale.far) for scale in scales} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert {scale.spoiled_share > 0 for scale in scales} == {True, False}


def test_the_same_seed_gives_the_same_wishes() -> None:
    def some(seed: int) -> list[object]:
        drawn = wishes(Random(seed), Pace(), "caller")
        return [next(drawn) for _ in range(500)]

    assert some(1) == some(1) != some(2)
    assert {wish.dag for wish in some(1)} == set(DAGS)  # type: ignore[attr-defined]


def test_a_plan_can_be_written_down() -> None:
    planned = plan(1, 30)
    assert msgspec.json.decode(msgspec.json.encode(planned), type=list[Planned]) == planned
