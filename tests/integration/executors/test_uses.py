"""What a job used is told of jobs that have a process to themselves, if they last."""

from __future__ import annotations

import sys
from resource import RUSAGE_SELF, getrusage

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded
from tests.integration.executors.trial import open_trial

MEGABYTE = 1 << 20
HELD = """
import sys, time
held, begun = b"x" * int(sys.argv[1]), time.process_time()
while time.process_time() < begun + 0.15:
    pass
"""


async def test_a_job_in_a_process_is_told_with_its_own_use_and_not_that_of_the_one_before() -> None:
    async with open_trial(slots={SlotKind.PROCESS: 1}) as trial:
        large = trial.start("burn", module="sample.uses", kind=SlotKind.PROCESS, megabytes=200)
        assert isinstance(await trial.end_of(large), Succeeded)
        small = trial.start("burn", module="sample.uses", kind=SlotKind.PROCESS, megabytes=1)
        assert isinstance(await trial.end_of(small), Succeeded)
        short = trial.start("add", a=1)
        assert isinstance(await trial.end_of(short), Succeeded)
        uses = trial.memory.uses
        assert uses.keys() == {large, small}
        assert all(use.cpu_seconds >= 0.15 for use in uses.values())
        peaks = uses[large].peak_bytes, uses[small].peak_bytes
        assert peaks[0] is not None
        assert peaks[1] is not None
        assert peaks[0] >= 200 * MEGABYTE
        assert peaks[1] < peaks[0] - 100 * MEGABYTE


async def test_a_command_is_told_with_its_use_and_what_shares_a_process_is_not() -> None:
    async with open_trial(slots={SlotKind.COMMAND: 1, SlotKind.ASYNC: 2}) as trial:
        # The kernel counts what a command's forefathers held, and these are tests here.
        size = 1024 * getrusage(RUSAGE_SELF).ru_maxrss + 100 * MEGABYTE
        vector = [sys.executable, "-c", HELD, str(size)]
        number = trial.start("command", kind=SlotKind.COMMAND, vector=vector)
        assert isinstance(await trial.end_of(number), Succeeded)
        shared = trial.start("burn_async", module="sample.uses", kind=SlotKind.ASYNC)
        assert isinstance(await trial.end_of(shared), Succeeded)
        [(told, use)] = trial.memory.uses.items()
        assert told == number
        assert use.cpu_seconds >= 0.15
        assert use.peak_bytes is not None
        assert use.peak_bytes >= size
