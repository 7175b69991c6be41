"""A dag drawn as a tree, and told by levels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli.graphs import levels, tree
from mainspring.domain.specs import DagSpec, parents_of
from tests.support.factory import dag_of


@st.composite
def dags(draw: st.DrawFn) -> DagSpec:
    tasks = draw(st.integers(1, 20))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    edges = draw(st.sets(st.sampled_from(pairs), max_size=30)) if pairs else set()
    return dag_of(edges, tasks=tasks)


@given(dags())
def test_every_task_is_drawn_once_and_below_all_before_it(spec: DagSpec) -> None:
    drawn = [branch.node for branch in tree(spec)]
    assert sorted(drawn) == list(range(len(spec.tasks)))
    parents = parents_of(spec)
    leads = {branch.node: branch.lead for branch in tree(spec)}
    for node, before in enumerate(parents):
        if any(leads.values()):
            assert bool(before) == bool(leads[node])


@given(dags())
def test_a_task_is_one_level_below_the_deepest_before_it(spec: DagSpec) -> None:
    level_of = {node: level for level, nodes in enumerate(levels(spec)) for node in nodes}
    for node, before in enumerate(parents_of(spec)):
        assert level_of[node] == max((level_of[parent] + 1 for parent in before), default=0)


def test_a_diamond_hangs_its_end_from_one_side_and_names_the_other() -> None:
    spec = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4)
    assert [(branch.node, branch.lead, branch.also_after) for branch in tree(spec)] == [
        (0, "", []),
        (1, "├─ ", []),
        (3, "│  └─ ", [2]),
        (2, "└─ ", []),
    ]


def test_a_very_deep_dag_is_a_plain_list() -> None:
    spec = dag_of([(n, n + 1) for n in range(39)], tasks=40)
    drawn = tree(spec)
    assert [branch.node for branch in drawn] == list(range(40))
    assert {branch.lead for branch in drawn} == {""}
    assert drawn[5].also_after == [4]
