"""The page of memory that tells what has begun, seen from both of its sides."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.executors.board import NOT_BEGUN, OVER, TEXT_BYTES_MAX, Board


class Sides(NamedTuple):
    host: Board
    worker: Board


@pytest.fixture
def sides() -> Iterator[Sides]:
    fd = Board.memory_for(4)
    sides = Sides(Board(fd, 4), Board(fd, 4))
    os.close(fd)
    yield sides
    for side in sides:
        side.close()


def test_new_memory_says_that_nothing_has_begun(sides: Sides) -> None:
    assert list(sides.worker.begun) == [NOT_BEGUN] * 4
    assert list(sides.worker.withdrawn) == [0] * 4
    assert sides.worker.importing() is None
    assert not sides.host.stop_asked


def test_a_beginning_is_seen_with_its_time_by_the_other_side(sides: Sides) -> None:
    before = time.monotonic_ns()
    began = sides.host.begin(2)
    assert before <= began <= time.monotonic_ns()
    assert list(sides.worker.begun) == [NOT_BEGUN, NOT_BEGUN, began, NOT_BEGUN]
    sides.host.begun[2] = OVER
    assert sides.worker.begun[2] == OVER


def test_a_withdrawn_job_does_not_begin(sides: Sides) -> None:
    sides.worker.withdrawn[1] = 1
    assert sides.host.begin(1) == 0
    assert sides.worker.begun[1] == NOT_BEGUN
    assert sides.host.begin(0) > 0


def test_a_slot_given_away_again_remembers_nothing(sides: Sides) -> None:
    sides.worker.withdrawn[3] = 1
    sides.host.begun[3] = OVER
    sides.worker.clear(3)
    assert sides.worker.begun[3] == NOT_BEGUN
    assert sides.host.begin(3) > 0


def test_an_import_is_seen_while_it_lasts(sides: Sides) -> None:
    sides.host.import_begins(3)
    importing = sides.worker.importing()
    assert importing is not None
    assert importing[0] == 3
    assert 0 < importing[1] <= time.monotonic_ns()
    sides.host.import_ends()
    assert sides.worker.importing() is None


def test_a_stop_is_asked_by_one_and_seen_by_the_other(sides: Sides) -> None:
    sides.worker.ask_stop()
    assert sides.host.stop_asked


def test_the_memory_outlives_its_descriptor_and_one_of_its_sides() -> None:
    fd = Board.memory_for(1)
    worker = Board(fd, 1)
    child = os.fork()
    if child == 0:
        Board(fd, 1).begin(0)
        os._exit(0)
    os.close(fd)
    os.waitpid(child, 0)
    assert worker.begun[0] > 0
    worker.close()


@given(st.lists(st.sampled_from(["host", "worker"]), min_size=4, max_size=4))
def test_a_job_never_runs_after_the_worker_has_taken_it_back(order: list[str]) -> None:
    """Every order of the four steps of `board.py`: no job both runs and is taken back."""
    fd = Board.memory_for(1)
    board = Board(fd, 1)
    os.close(fd)
    runs = taken_back = False

    def host() -> Iterator[None]:
        nonlocal runs
        board.begun[0] = time.monotonic_ns()
        yield
        runs = not board.withdrawn[0]
        yield

    def worker() -> Iterator[None]:
        nonlocal taken_back
        board.withdrawn[0] = 1
        yield
        taken_back = board.begun[0] == NOT_BEGUN
        yield

    steps = {"host": host(), "worker": worker()}
    for side in [*order, "host", "host", "worker", "worker"]:
        next(steps[side], None)
    assert not (runs and taken_back)
    board.close()


def test_progress_is_read_by_the_other_side_under_the_name_of_who_told_it(sides: Sides) -> None:
    assert sides.worker.progress(1, b"a") is None
    sides.host.tell(1, b"a", 12.5, "ä half")
    assert list(sides.worker.told) == [0, 1, 0, 0]
    assert sides.worker.progress(1, b"a") == (12.5, "ä half")
    assert sides.worker.progress(1, b"b") is None
    assert sides.worker.progress(0, b"a") is None
    sides.host.tell(1, b"b", 1.0, "")
    assert sides.worker.progress(1, b"a") is None
    assert sides.worker.progress(1, b"b") == (1.0, "")
    sides.worker.clear(1)
    assert sides.worker.told[1] == 0


def test_a_long_text_is_cut_and_stays_in_its_place(sides: Sides) -> None:
    for slot in range(4):
        sides.host.tell(slot, b"a", 50.0, "é" * 500)
    for slot in range(4):
        progress = sides.worker.progress(slot, b"a")
        assert progress is not None
        assert progress[1] == "é" * (TEXT_BYTES_MAX // 2)
    assert list(sides.worker.begun) == [NOT_BEGUN] * 4


def test_half_written_progress_is_nobodys(sides: Sides) -> None:
    sides.host.tell(3, b"a", 50.0, "whole")
    memory = memoryview(sides.host._memory)
    at = bytes(memory).index(b"whole")
    memory[at : at + 1] = b"h"
    memory.release()
    assert sides.worker.progress(3, b"a") is None
