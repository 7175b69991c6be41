"""A dag on a screen: as a tree when it is small, as levels when it is not.

A dag is no tree, so each task is drawn once, below the deepest of the tasks before it (of several,
the one with the fewest tasks after it): what is drawn further in starts later. A dag too deep for
that is a plain list, in an order that it can run in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mainspring.domain.specs import DagSpec, TaskSpec, children_of, in_order, parents_of

TREE_TASKS_MAX = 40
"""Larger dags are told by levels and counts."""
_TREE_DEPTH_MAX = 12


class Branch(NamedTuple):
    node: int
    lead: str
    """Guides that are drawn before the name."""
    also_after: list[int]
    """Tasks directly before it, other than the one that it hangs from."""


class Node(Protocol):
    """A task of a dag or of a run, with the names of those before it."""

    @property
    def name(self) -> str: ...
    @property
    def after(self) -> list[str]: ...


def drawn(tasks: Sequence[Node]) -> DagSpec:
    """The graph of tasks that are told one by one."""
    places = {task.name: place for place, task in enumerate(tasks)}
    edges = [(places[name], place) for place, task in enumerate(tasks) for name in task.after]
    specs = tuple(TaskSpec(name=task.name, entry="") for task in tasks)
    return DagSpec(name="", tasks=specs, edges=tuple(edges))


def depths(spec: DagSpec) -> list[int]:
    """For each task number, how many tasks the longest way to it has."""
    parents = parents_of(spec)
    depth = [0] * len(spec.tasks)
    for node in in_order(spec):
        depth[node] = max((depth[parent] + 1 for parent in parents[node]), default=0)
    return depth


def levels(spec: DagSpec) -> list[list[int]]:
    """Task numbers by depth."""
    depth = depths(spec)
    found: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node, level in enumerate(depth):
        found[level].append(node)
    return found


def tree(spec: DagSpec) -> list[Branch]:
    """Every task once, parents above children."""
    parents, depth = parents_of(spec), depths(spec)
    after = [len(children) for children in children_of(spec)]
    if max(depth, default=0) > _TREE_DEPTH_MAX:
        return [Branch(node, "", parents[node]) for node in in_order(spec)]
    below: list[list[int]] = [[] for _ in spec.tasks]
    roots = []
    for node, before in enumerate(parents):
        if before:
            below[max(before, key=lambda one: (depth[one], -after[one], -one))].append(node)
        else:
            roots.append(node)
    drawn: list[Branch] = []
    # (node, its guides, the guides of what hangs from it, what it hangs from)
    rest = [(node, "", "", -1) for node in reversed(roots)]
    while rest:
        node, lead, inner, holder = rest.pop()
        drawn.append(Branch(node, lead, [other for other in parents[node] if other != holder]))
        children = below[node]
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            rest.append(
                (
                    child,
                    inner + ("└─ " if last else "├─ "),
                    inner + ("   " if last else "│  "),
                    node,
                )
            )
    return drawn
