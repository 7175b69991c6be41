"""How a running task tells of itself: progress by the board, words by its logger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded
from tests.integration.executors.trial import ATTEMPT, Trial

TELLERS = ["tell", "tell_in_thread", "tell_async", "tell_async_and_block"]


def start(trial: Trial, name: str, **options: Any) -> int:
    return trial.start(name, module="sample.progress", **options)


@pytest.mark.parametrize("name", TELLERS)
async def test_every_kind_of_task_can_tell_its_progress(
    trial: Trial, name: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    number = start(trial, name, gate=str(gate))
    await trial.memory.until(lambda: trial.memory.progress[number])
    assert trial.memory.progress[number] == [(50.0, "half way")]
    gate.touch()
    assert isinstance(await trial.end_of(number), Succeeded)
    assert trial.memory.progress[number] == [(50.0, "half way")]


async def test_a_flood_of_progress_is_read_now_and_then_and_never_torn(
    trial: Trial, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    number = start(trial, "tell_without_end", gate=str(gate))
    await trial.memory.until(lambda: len(trial.memory.progress[number]) >= 10)
    gate.touch()
    ended = await trial.end_of(number)
    assert isinstance(ended, Succeeded)
    told = trial.memory.progress[number]
    assert len(told) < int(ended.result)
    for percent, text in told:
        # The text has as many letters as were counted, modulo 300, and is cut after 200.
        assert text == "x" * len(text)
        assert len(text) == 200 or len(text) % 100 == percent


async def test_a_thread_that_a_task_left_behind_speaks_for_nobody(
    trial: Trial, tmp_path: Path
) -> None:
    ghost, gate = tmp_path / "ghost", tmp_path / "gate"
    left = start(trial, "leave_a_teller_in_thread", gate=str(ghost))
    assert isinstance(await trial.end_of(left), Succeeded)
    after = msgspec.structs.replace(ATTEMPT, term=2)
    number = start(trial, "wait_in_thread", gate=str(gate), attempt=after)
    teller = start(
        trial, "tell_in_thread", gate=str(gate), attempt=msgspec.structs.replace(ATTEMPT, term=3)
    )
    await trial.memory.until(lambda: trial.memory.progress[teller])
    await trial.start_of(number)
    ghost.touch()
    gate.touch()
    await trial.end_of(number)
    await trial.end_of(teller)
    assert trial.memory.progress[number] == []
    assert trial.memory.progress[teller] == [(50.0, "half way")]
    assert len(trial.hosts.processes()) == 1


async def test_a_forked_copy_has_no_voice(trial: Trial, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    number = start(trial, "tell_from_a_fork", gate=str(gate))
    await trial.memory.until(lambda: trial.memory.progress[number])
    gate.touch()
    assert isinstance(await trial.end_of(number), Succeeded)
    assert trial.memory.progress[number] == [(10.0, "parent")]


async def test_a_context_can_be_sent_to_another_process(trial: Trial) -> None:
    copied = await trial.result_of("keep_a_copy", module="sample.progress")
    assert copied == [True, True]


async def test_the_logger_writes_into_the_log_of_the_attempt(trial: Trial) -> None:
    number = start(trial, "speak")
    assert isinstance(await trial.end_of(number), Succeeded)
    assert trial.log_of(number).endswith(b"Z WARNING mainspring.trial.sample: 3 of 5\n")
    number = start(trial, "speak_async", kind=SlotKind.ASYNC)
    assert isinstance(await trial.end_of(number), Succeeded)
    log = trial.log_of(number)
    assert log.endswith(b"Z INFO mainspring.trial.sample: quietly\n")
    assert log.count(b"\n") == 1
