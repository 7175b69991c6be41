"""What changed between two versions of a dag."""

from __future__ import annotations

from mainspring.domain.differences import Change, Changed, difference
from mainspring.domain.specs import (
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    ParameterSpec,
    Result,
    RetrySpec,
    TaskSpec,
    Value,
)

BEFORE = DagSpec(
    name="orders",
    tasks=(
        TaskSpec("extract", "m:extract", arguments={"day": Parameter("day")}),
        TaskSpec("load", "m:load", arguments={"rows": Result(0, ("rows",)), "dry": Value(False)}),
        TaskSpec("mail", "m:mail"),
    ),
    edges=((0, 1), (1, 2)),
    parameters=(ParameterSpec("day", {"type": "string"}), ParameterSpec("region")),
)


def test_a_version_is_like_itself() -> None:
    assert not difference(BEFORE, BEFORE)


def test_a_task_that_is_put_in_front_changes_no_other() -> None:
    shifted = DagSpec(
        name="orders",
        tasks=(
            TaskSpec("check", "m:check"),
            BEFORE.tasks[0],
            TaskSpec(
                "load", "m:load", arguments={"rows": Result(1, ("rows",)), "dry": Value(False)}
            ),
            BEFORE.tasks[2],
        ),
        edges=((1, 2), (2, 3)),
        parameters=BEFORE.parameters,
    )
    found = difference(BEFORE, shifted)
    assert found.tasks.added == ["check"]
    assert (found.tasks.removed, found.tasks.changed) == ([], [])
    assert (found.edges.added, found.edges.removed) == ([], [])


def test_everything_that_changed_is_named() -> None:
    after = DagSpec(
        name="orders",
        tasks=(
            TaskSpec("extract", "m:extract", queue="io", retry=RetrySpec(attempts=3)),
            TaskSpec("load", "m:load", arguments={"rows": ListOf((Result(0),))}),
            TaskSpec("announce", "m:mail", arguments={"to": MappingOf({"a": Value(1)})}),
        ),
        edges=((0, 1), (0, 2)),
        parameters=(ParameterSpec("day", {"type": "string"}, required=False, default="today"),),
        timeout_seconds=60,
    )
    found = difference(BEFORE, after)
    assert found
    assert found.dag == [Change("timeout_seconds", None, 60)]
    assert (found.tasks.added, found.tasks.removed) == (["announce"], ["mail"])
    assert found.tasks.changed == [
        Changed(
            "extract",
            [
                Change("queue", "default", "io"),
                Change("arguments.day", {"parameter": "day"}, None),
                Change("retry.attempts", 1, 3),
            ],
        ),
        Changed(
            "load",
            [
                Change(
                    "arguments.rows",
                    {"result": "extract", "path": ["rows"]},
                    {"list": [{"result": "extract"}]},
                ),
                Change("arguments.dry", {"value": False}, None),
            ],
        ),
    ]
    assert found.parameters.removed == ["region"]
    assert found.parameters.changed == [
        Changed("day", [Change("required", True, False), Change("default", None, "today")])
    ]
    assert found.edges.added == [("extract", "announce")]
    assert found.edges.removed == [("load", "mail")]
