"""K1: code that is not the run's own is caught, however little of it there is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mainspring.bundles import snapshot
from tests.checker.case import Case
from tests.checker.conftest import assert_found
from tests.checker.evidence import Effect
from tests.checker.promises import PROMISES
from tests.checker.releases import tree_digest


def test_the_piece_runs_old_code_after_new_code_has_come(case: Case) -> None:
    finding = PROMISES["K1"](case)
    assert finding.exercised == 1
    assert not finding.violations


@pytest.mark.parametrize(("ran", "told"), [([2, 2], "2"), ([1, 2], "1 and 2"), ([2, 1], "1 and 2")])
def test_code_of_another_release_is_caught(case: Case, ran: list[int], told: str) -> None:
    place, began = _began(case, release=1)
    case.effects[place] = msgspec.structs.replace(began, releases=ran)
    assert_found(case, "K1", f"of run {began.run}", f"ran release {told}, and its run is of 1")


def test_code_that_nobody_put_there_is_caught(case: Case) -> None:
    case.releases.pop(0)
    _, began = _began(case, release=1)
    assert_found(case, "K1", f"of run {began.run}", "nobody has put the code of snapshot")


def test_code_that_came_after_its_run_is_caught(case: Case) -> None:
    _, began = _began(case, release=2)
    case.releases[1] = msgspec.structs.replace(case.releases[1], at=began.at + 60)
    assert_found(case, "K1", f"of run {began.run}", "is of release 2, which came after its run")


def test_the_digest_of_a_tree_is_what_the_product_says(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.py").write_text("b", "utf-8")
    (tmp_path / "deep" / "a.py").write_text("a", "utf-8")
    (tmp_path / "run").write_text("#!", "utf-8")
    (tmp_path / "run").chmod(0o755)
    assert tree_digest(tmp_path) == snapshot.tree_digest(tmp_path)
    before = tree_digest(tmp_path)
    (tmp_path / "run").chmod(0o644)
    assert before != tree_digest(tmp_path) == snapshot.tree_digest(tmp_path)


def _began(case: Case, release: int) -> tuple[int, Effect]:
    """The last beginning of an execution of that release, and its place."""
    return [
        (place, effect)
        for place, effect in enumerate(case.effects)
        if effect.phase == "begin" and effect.releases == [release]
    ][-1]
