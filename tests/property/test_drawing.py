from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring import DefinitionError, dag, task
from mainspring.domain.specs import ListOf, MappingOf, Result, Value, in_order

edges = st.integers(1, 8).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=16),
    )
)


@task
def step(value: Any = None) -> None: ...


@given(edges)
def test_a_dag_is_refused_exactly_when_it_has_a_cycle(drawn: tuple[int, list[Any]]) -> None:
    count, arrows = drawn

    @dag
    def body() -> None:
        steps = [step.named(f"t{number}")() for number in range(count)]
        for before, after in arrows:
            steps[before] >> steps[after]

    reachable = closure(count, arrows)
    if any((number, number) in reachable for number in range(count)):
        with pytest.raises(DefinitionError, match="has a cycle") as caught:
            _ = body.spec
        told = [int(part.strip(" `t")) for part in caught.value.message.split(":")[1].split("→")]
        assert told[0] == told[-1]
        assert len(set(told)) == len(told) - 1
        assert all(pair in set(arrows) for pair in itertools.pairwise(told))
    else:
        spec = body.spec
        assert spec.edges == tuple(sorted(set(arrows)))
        place = {number: index for index, number in enumerate(in_order(spec))}
        assert all(place[before] < place[after] for before, after in spec.edges)


def closure(count: int, arrows: list[Any]) -> set[tuple[int, int]]:
    reachable = set(arrows)
    for middle in range(count):
        for before in range(count):
            for after in range(count):
                if (before, middle) in reachable and (middle, after) in reachable:
                    reachable.add((before, after))
    return reachable


@given(st.lists(st.integers(-3, 3) | st.text("ab", max_size=2), max_size=5))
def test_the_path_to_a_part_of_a_result_is_kept(path: list[str | int]) -> None:
    @dag
    def body() -> None:
        part = step()
        for key in path:
            part = part[key]
        step(part)

    spec = body.spec
    assert spec.tasks[1].arguments == {"value": Result(0, tuple(path))}


nested = st.recursive(
    st.none() | st.integers() | st.text("ab", max_size=2) | st.just("RESULT"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("k", max_size=2), inner),
    max_leaves=8,
)


@given(nested)
def test_results_are_found_wherever_they_are_in_an_argument(shape: Any) -> None:
    def filled(value: Any, result: Any) -> Any:
        match value:
            case "RESULT":
                return result
            case list():
                return [filled(item, result) for item in value]
            case dict():
                return {key: filled(item, result) for key, item in value.items()}
            case _:
                return value

    def emptied(binding: Any) -> Any:
        match binding:
            case Result(task=0, path=()):
                return "RESULT"
            case ListOf(items=items):
                return [emptied(item) for item in items]
            case MappingOf(items=pairs):
                return {key: emptied(item) for key, item in pairs.items()}
            case Value(value=value):
                return value

    @dag
    def body() -> None:
        step(filled(shape, step()))

    spec = body.spec
    assert emptied(spec.tasks[1].arguments["value"]) == shape
    assert (spec.edges == ((0, 1),)) == ("RESULT" in repr(shape))
