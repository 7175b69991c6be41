"""What user code prints reaches the listener: all of it, in time, and before the end."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from mainspring.domain.outcomes import Failed, Succeeded
from tests.integration.executors.trial import Trial

LOG_LINE = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO sample: to the log\n"
FLOOD_MEGABYTES = 30


@pytest.mark.parametrize("name", ["speak_process", "speak_in_thread", "speak_async"])
async def test_print_logging_and_bytes_are_caught_in_order(trial: Trial, name: str) -> None:
    number = trial.start(name)
    assert isinstance(await trial.end_of(number), Succeeded)
    log = trial.log_of(number)
    common = rb"to stdout\nto stderr\n" + LOG_LINE + rb"bytes \xff\x00\n"
    assert re.match(common, log), log
    rest = log[re.match(common, log).end() :]  # type: ignore[union-attr]
    assert (
        rest
        == {
            "speak_process": b"from a program\nraw \xfe\x00 no newline",
            "speak_in_thread": b"",
            "speak_async": b"from a helper thread\n",
        }[name]
    )


async def test_coroutines_that_take_turns_keep_their_own_logs(trial: Trial) -> None:
    jobs = [trial.job("speak_in_turns", who=name, lines=200) for name in "abcde"]
    trial.hosts.submit(jobs)
    for job, name in zip(jobs, "abcde", strict=True):
        await trial.end_of(job.task_id)
        lines = trial.log_of(job.task_id).decode().splitlines()
        assert lines == [f"{name} {line}" for line in range(200)]


@pytest.mark.parametrize("name", ["speak_then_wait", "speak_then_block"])
async def test_the_log_is_readable_while_the_task_runs(
    trial: Trial, tmp_path: Path, name: str
) -> None:
    number = trial.start(name, until=f"{tmp_path}/until")
    await trial.memory.until(lambda: trial.log_of(number) == b"a line\na piece of a line")
    assert number not in trial.memory.ends
    (tmp_path / "until").write_text("now")
    assert isinstance(await trial.end_of(number), Succeeded)


@pytest.mark.parametrize("name", ["flood_process", "flood_async"])
async def test_a_flood_passes_in_bounded_memory(trial: Trial, name: str) -> None:
    await trial.run(name, megabytes=0)
    trial.memory.keep_logs = False
    received = 0
    paused = False

    def logged(task_id: int, term: int, data: bytes) -> None:
        nonlocal received, paused
        assert data.endswith(b"\n")
        received += len(data)
        if not paused and received > 1 << 20:
            paused = True
            trial.hosts.pause_reading(task_id, term)

    trial.memory.logged = logged  # type: ignore[method-assign]
    worker_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    number = trial.start(name, megabytes=FLOOD_MEGABYTES)
    # It is held back: by the time its start is reported nothing has come for long.
    await trial.start_of(number)
    held_at = received
    assert held_at < 3 << 20
    assert number not in trial.memory.ends
    (host,) = trial.hosts.processes()
    trial.hosts.resume_reading(number, 1)
    assert isinstance(await trial.end_of(number), Succeeded)
    assert received == FLOOD_MEGABYTES << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - worker_kb < 10 * 1024
    status = Path(f"/proc/{host}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    assert int(peak[1]) < 60 * 1024


async def test_last_words_come_before_the_end(trial: Trial) -> None:
    number = trial.start("die_speaking")
    assert isinstance(await trial.end_of(number), Failed)
    assert trial.log_of(number) == b"last words\n"
