"""What was typed: parameters and tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.cli.given import given_moment, given_parameters
from mainspring.cli.worker import parse_queues
from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.specs import DagSpec, ParameterSpec, TaskSpec
from mainspring.store.reading import node_named

SPEC = DagSpec(
    name="sales",
    tasks=(TaskSpec("extract", "m:f"), TaskSpec("load", "m:g")),
    parameters=(
        ParameterSpec("region", {"type": "string"}),
        ParameterSpec("days", {"type": "integer"}, required=False, default=1),
    ),
)


def test_pairs_go_over_the_document() -> None:
    document = '{"region": "eu", "days": 2}'
    assert given_parameters(SPEC, ["region=us"], document) == {"region": "us", "days": 2}


def test_a_value_may_hold_an_equals_sign() -> None:
    assert given_parameters(SPEC, ["region=a=b"], None) == {"region": "a=b"}


def test_a_document_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"region": "eu"}')
    assert given_parameters(SPEC, [], f"@{file}") == {"region": "eu"}


@pytest.mark.parametrize(
    ("pairs", "document"),
    [
        (["region"], None),
        (["regoin=eu"], None),
        (["region=a", "region=b"], None),
        (["days=x"], None),
        ([], "{"),
        ([], "[1]"),
        ([], "@/no/such/file"),
    ],
)
def test_slips_are_told(pairs: list[str], document: str | None) -> None:
    with pytest.raises(InputError):
        given_parameters(SPEC, pairs, document)


def test_an_unknown_task_is_answered_with_the_names() -> None:
    with pytest.raises(NotFoundError) as caught:
        node_named(SPEC, 7, "laod")
    assert caught.value.hint == "did you mean `load`? its tasks are `extract` and `load`"


def test_what_is_no_instant_is_told() -> None:
    with pytest.raises(InputError):
        given_moment("soon")


def test_queues_are_named_once_each() -> None:
    assert parse_queues("a, b,a") == ["a", "b"]
    assert parse_queues("*") == ["*"]
    for text in (",", "a b", "*,a"):
        with pytest.raises(InputError):
            parse_queues(text)
