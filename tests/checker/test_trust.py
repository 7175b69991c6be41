"""L4, L5: a living worker that is reaped, and work that goes on after that, are caught."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from tests.checker.blame import silenced_seconds, stalled_seconds
from tests.checker.case import Case
from tests.checker.conftest import assert_found
from tests.checker.evidence import Effect, Fault, Stall
from tests.checker.promises import PROMISES

# --- L4 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pid", [1002, 1003])
def test_a_worker_that_was_reaped_for_no_reason_is_caught(case: Case, pid: int) -> None:
    case.faults[:] = [fault for fault in case.faults if fault.pid != pid]
    assert_found(case, "L4", f"pid {pid})", "was reaped", "though it lived")


@pytest.mark.parametrize(
    "kind", ["database_stop", "database_kill", "terminate", "delay", "throttle", "cut"]
)
def test_a_database_that_stops_and_a_slow_network_excuse_nobody(case: Case, kind: str) -> None:
    case.faults[:] = [
        Fault(fault.at - 10, fault.until + 10, kind, "worker 2") for fault in case.faults
    ]
    assert_found(case, "L4", "(`worker-2`, pid 1002)", "though it lived")


@pytest.mark.parametrize("kind", ["half_open", "refuse"])
def test_a_worker_that_was_cut_off_for_long_is_no_living_one(case: Case, kind: str) -> None:
    _replace_fault(case, 1002, kind=kind, pid=None)
    assert not PROMISES["L4"](case).violations


def test_a_network_that_was_cut_off_from_others_excuses_nobody(case: Case) -> None:
    _replace_fault(case, 1002, kind="half_open", pid=None, target="worker 1")
    assert_found(case, "L4", "(`worker-2`, pid 1002)")


def test_a_freeze_that_was_over_before_the_last_beat_excuses_nobody(case: Case) -> None:
    _replace_fault(case, 1002, at=0.0, until=1.0)
    assert_found(case, "L4", "(`worker-2`, pid 1002)", "silenced it for 0.00 s")


def test_a_drain_excuses_only_when_the_process_has_ended(case: Case) -> None:
    _replace_fault(case, 1003, kind="drain")
    assert not PROMISES["L4"](case).violations
    _replace_fault(case, 1003, until=case.faults[0].until + 1000)
    assert_found(case, "L4", "(`worker-3`, pid 1003)")


def test_beats_that_were_lost_one_after_the_other_are_a_silence(case: Case) -> None:
    [reaped_at] = [fault.at for fault in case.faults if fault.pid == 1002]
    case.faults[:] = [fault for fault in case.faults if fault.pid != 1002]
    lost = Fault(reaped_at, reaped_at, "lost_request", "worker 2", None, "beat: renew_lease")
    case.faults.append(lost)
    assert_found(case, "L4", "(`worker-2`, pid 1002)")
    case.faults.append(msgspec.structs.replace(lost, at=reaped_at + 0.0001))
    assert not PROMISES["L4"](case).violations


def test_a_worker_that_the_machine_kept_waiting_for_long_is_excused(case: Case) -> None:
    frozen = _without_fault(case, 1002)
    long = [Stall(frozen.at, frozen.until, 1002)]
    case.stalls[:] = long
    assert not PROMISES["L4"](case).violations
    case.stalls[:] = [Stall(frozen.at, frozen.until)]
    assert not PROMISES["L4"](case).violations
    # The same time counts once, whoever was late in it.
    middle = (frozen.at + frozen.until) / 2
    short = Stall(middle, middle + 0.0001, 1002)
    case.stalls[:] = [short, *[msgspec.structs.replace(short, pid=None)] * 10_000]
    assert_found(case, "L4", "(`worker-2`, pid 1002)", "kept it waiting for 0.00 s")


def test_a_machine_that_kept_others_waiting_excuses_nobody(case: Case) -> None:
    frozen = _without_fault(case, 1002)
    case.stalls[:] = [Stall(frozen.at, frozen.until, 1001), Stall(0.0, 1.0, 1002)]
    assert_found(case, "L4", "(`worker-2`, pid 1002)", "kept it waiting for 0.00 s")


def test_what_happens_to_servers_excuses_who_is_far_and_nobody_else(case: Case) -> None:
    [near] = [worker for worker in case.workers.values() if worker.pid == 1002]
    far = msgspec.structs.replace(near, name="far-2")
    pids = {worker.pid for worker in case.workers.values()}
    for kind in ("away", "freeze", "half_open"):
        fault = Fault(1.0, 4.0, kind, "server 1", 77)
        assert silenced_seconds([fault], far, 2.0, 9.0) == 2.0
        assert silenced_seconds([fault], near, 2.0, 9.0) == 0.0
    of_a_server, of_another = Stall(1.0, 4.0, 77), Stall(1.0, 4.0, 1001)
    assert stalled_seconds([of_a_server], far, 2.0, 9.0, pids) == 2.0
    assert stalled_seconds([of_a_server], near, 2.0, 9.0, pids) == 0.0
    assert stalled_seconds([of_another], far, 2.0, 9.0, pids) == 0.0


# --- L5 -----------------------------------------------------------------------------------------


def test_work_that_goes_on_beside_its_successor_is_caught(case: Case) -> None:
    earlier, later = _executions(case, 1002)
    case.effects.append(_with(earlier, "end", later.at + 0.001))
    assert_found(case, "L5", f"of run {earlier.run}", "had begun", f"token {later.token}")


def test_work_that_begins_after_its_successor_is_caught(case: Case) -> None:
    earlier, later = _executions(case, 1002)
    place = case.effects.index(earlier)
    case.effects[place] = _with(earlier, "begin", later.at + 0.5)
    assert_found(case, "L5", f"of run {earlier.run}", "began 0.500 s after")


def test_work_after_the_worker_was_reaped_is_caught_without_a_successor(case: Case) -> None:
    earlier, later = _executions(case, 1002)
    case.effects[:] = [effect for effect in case.effects if effect.token != later.token]
    case.effects.append(_with(earlier, "end", later.at + 5))
    assert_found(case, "L5", f"of run {earlier.run}", "s after worker", "had been reaped")


@pytest.mark.parametrize("target", ["all of worker 2", "guard of worker 2"])
def test_who_was_frozen_with_its_guard_is_excused_for_a_lease(case: Case, target: str) -> None:
    earlier, later = _executions(case, 1002)
    case.effects.append(_with(earlier, "end", later.at + 0.001))
    [frozen] = [fault for fault in case.faults if fault.pid == 1002]
    case.faults.append(msgspec.structs.replace(frozen, target=target, pid=4))
    assert not PROMISES["L5"](case).violations
    case.faults[-1] = msgspec.structs.replace(case.faults[-1], until=frozen.at)
    assert_found(case, "L5", f"of run {earlier.run}")


def test_who_was_killed_does_not_count_as_having_stopped(case: Case) -> None:
    assert PROMISES["L5"](case).exercised == 1
    _replace_fault(case, 1002, kind="kill")
    assert PROMISES["L5"](case).exercised == 0


def _without_fault(case: Case, victim: int) -> Fault:
    [fault] = [fault for fault in case.faults if fault.pid == victim]
    case.faults.remove(fault)
    return fault


def _replace_fault(case: Case, victim: int, **changes: object) -> None:
    [place] = [place for place, fault in enumerate(case.faults) if fault.pid == victim]
    case.faults[place] = msgspec.structs.replace(case.faults[place], **changes)


def _executions(case: Case, pid: int) -> tuple[Effect, Effect]:
    """Of the task that was taken from that worker: how the first began, and its successor."""
    [worker] = [worker for worker in case.workers.values() if worker.pid == pid]
    [task_id] = [
        task_id
        for task_id, holdings in case.story.holdings.items()
        if holdings[0].worker_id == worker.id
    ]
    run = case.ever[task_id].run_id
    earlier, later = (e for e in case.effects if e.run == run and e.phase == "begin")
    return earlier, later


def _with(effect: Effect, phase: Literal["begin", "end"], at: float) -> Effect:
    return msgspec.structs.replace(effect, phase=phase, at=at)
