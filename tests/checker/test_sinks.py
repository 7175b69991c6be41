"""The sinks take what they should, from many at once, and the fence lets nothing fall back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checker.evidence import EFFECTS, FENCED, Effect, read_log
from tests.checker.sinks import fenced, read_fenced, working

ROOT = Path(__file__).parents[2]


def test_work_tells_its_beginning_and_its_end_however_it_ends(tmp_path: Path) -> None:
    def work() -> None:
        with working(
            tmp_path, run=7, task="t", attempt=2, generation=1, token=9, key="k", kind="async"
        ):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    begin, end = read_log(tmp_path / EFFECTS, Effect)
    assert (begin.phase, end.phase) == ("begin", "end")
    assert (end.run, end.task, end.attempt, end.generation, end.token) == (7, "t", 2, 1, 9)
    assert begin.at <= end.at


def test_a_token_below_the_highest_is_refused_for_its_key(tmp_path: Path) -> None:
    tokens = [3, 3, 5, 4, 5, 2**32 + 1, 6]
    answers = [fenced(tmp_path, key="a", token=t, run=1, task="t") for t in tokens]
    assert answers == [True, True, True, False, True, True, False]
    assert fenced(tmp_path, key="b", token=1, run=2, task="t"), "another key has its own"
    kept = read_fenced(tmp_path / FENCED)
    assert [(effect.token, effect.accepted) for effect in kept[:-1]] == list(
        zip(tokens, answers, strict=True)
    )
    assert [effect.number for effect in kept] == list(range(1, 9))


def test_many_processes_at_once_lose_nothing_and_break_no_order(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.checker.sinks import fenced\n"
        "for token in range(40):\n"
        "    fenced(Path(sys.argv[1]), key='k', token=token, run=1, task=sys.argv[2])\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(n)], cwd=ROOT)
        for n in range(3)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    effects = read_fenced(tmp_path / FENCED)
    assert len(effects) == 120
    accepted = [effect.token for effect in effects if effect.accepted]
    assert accepted == sorted(accepted)


def test_a_sink_that_nobody_used_is_empty(tmp_path: Path) -> None:
    assert read_fenced(tmp_path / FENCED) == []
