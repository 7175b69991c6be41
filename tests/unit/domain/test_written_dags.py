"""Dags as JSON: what is meant becomes a spec, and what cannot be is told with its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.lanes import SlotKind
from mainspring.domain.specs import ListOf, Parameter, Result, Value, in_order
from mainspring.domain.written_dags import Miswritten, WrittenDag, spec_of


def written(*tasks: dict[str, Any], **rest: Any) -> WrittenDag:
    return msgspec.convert({"name": "nightly", "tasks": list(tasks), **rest}, WrittenDag)


def echo(name: str, *after: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "command": ["echo", name], "after": list(after), **rest}


def refusal(dag: WrittenDag) -> Miswritten:
    with pytest.raises(Miswritten) as caught:
        spec_of(dag)
    return caught.value


def test_commands_requests_and_functions_become_tasks_with_their_options() -> None:
    spec = spec_of(
        written(
            {
                "name": "fetch",
                "http": "https://shop.example/{region}/orders",
                "parameters": {"region": {"$parameter": "region"}},
                "timeout": "1m",
            },
            {
                "name": "load",
                "command": ["load", {"$result": "fetch", "path": ["json", 0]}, "--quiet"],
                "parameters": {"REGION": {"$parameter": "region"}},
                "retries": 2,
                "queue": "heavy",
            },
            {"name": "tell", "task": "shop.tasks:tell", "kind": "async", "after": ["load"]},
            parameters={"region": {"type": "string", "default": "eu"}},
            timeout="2h",
            tags=["a", "a", "b"],
        )
    )
    fetch, load, tell = spec.tasks
    assert spec.edges == ((0, 1), (1, 2))
    assert (spec.timeout_seconds, spec.tags) == (7200.0, ("a", "b"))
    assert fetch.kind is SlotKind.ASYNC
    assert (fetch.retry.attempts, fetch.timeout_seconds) == (5, 60.0)
    assert fetch.arguments["url"] == Value("https://shop.example/{region}/orders")
    assert load.kind is SlotKind.COMMAND
    assert (load.retry.attempts, load.queue) == (3, "heavy")
    assert load.arguments["arguments"] == ListOf(
        (Value("load"), Result(0, ("json", 0)), Value("--quiet"))
    )
    assert (tell.entry, tell.kind) == ("shop.tasks:tell", SlotKind.ASYNC)
    [region] = spec.parameters
    assert (region.required, region.default) == (False, "eu")
    assert Parameter("region") in fetch.arguments["path"].items.values()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("dag", "pointer", "words"),
    [
        (written(), "/tasks", "needs a task"),
        (written(echo("a"), echo("a")), "/tasks/1/name", "two tasks are called `a`"),
        (written(echo("a b")), "/tasks/0/name", "may only hold"),
        (written(echo("a"), echo("b", "aa")), "/tasks/1/after/0", "there is no task `aa`"),
        (written(echo("a", "a")), "/tasks/0/after", "circle"),
        (
            written(echo("a", "c"), echo("b", "a"), echo("c", "b"), echo("d")),
            "/tasks/1/after",
            "circle",
        ),
        (written({"name": "a"}), "/tasks/0", "none is given"),
        (written(echo("a", http="http://x.example")), "/tasks/0", "`command` and `http` are given"),
        (written({"name": "a", "command": []}), "/tasks/0/command/0", "the program"),
        (
            written({"name": "a", "command": [{"$parameter": "p"}]}, parameters={"p": {}}),
            "/tasks/0/command/0",
            "the program",
        ),
        (
            written({"name": "a", "command": ["x", {"$parameter": "p"}]}),
            "/tasks/0/command/1",
            "no parameter `p`",
        ),
        (
            written({"name": "a", "command": ["x", {"$result": "b"}]}),
            "/tasks/0/command/1",
            "no task `b`",
        ),
        (
            written({"name": "a", "command": ["x", {"$result": ["b"]}]}),
            "/tasks/0/command/1",
            "a result is written",
        ),
        (written({"name": "a", "command": ["x", 1]}), "/tasks/0/command", "argument 1"),
        (
            written(echo("a", parameters={"$parameter": "n"}), parameters={"n": {}}),
            "/tasks/0/parameters",
            "what they are called",
        ),
        (written({"name": "a", "http": "ftp://x.example"}), "/tasks/0/http", "address"),
        (written({"name": "a", "http": "http://x.example/{id}"}), "/tasks/0/http", "`id`"),
        (written({"name": "a", "http": {"url": 1}}), "/tasks/0/http/url", "has to be written"),
        (
            written({"name": "a", "http": {"url": "http://x.example", "colour": 1}}),
            "/tasks/0/http",
            "colour",
        ),
        (written({"name": "a", "task": "rm -rf"}), "/tasks/0/task", "is no function"),
        (written(echo("a", kind="async")), "/tasks/0/kind", "is for a `task`"),
        (written(echo("a", priority=10)), "/tasks/0/priority", "between"),
        (written(echo("a", queue="a b")), "/tasks/0/queue", "may only hold"),
        (written(echo("a", retries=-1)), "/tasks/0/retries", "between"),
        (written(echo("a", timeout="soon")), "/tasks/0/timeout", "soon"),
        (written(echo("a", timeout=0)), "/tasks/0/timeout", ""),
        (
            written(echo("a"), parameters={"n": {"type": "integer", "default": "x"}}),
            "/parameters/n",
            "default",
        ),
    ],
)
def test_what_cannot_be_is_told_with_its_place(dag: WrittenDag, pointer: str, words: str) -> None:
    error = refusal(dag)
    assert error.pointer == pointer, error
    assert words in error.message


def test_a_name_that_comes_with_mainspring_is_taken() -> None:
    dag = msgspec.structs.replace(written(echo("a")), name="mainspring.command")
    assert refusal(dag).pointer == "/name"


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_dag_is_refused_if_and_only_if_it_has_a_circle(pairs: list[tuple[int, int]]) -> None:
    names = [f"t{node}" for node in range(8)]
    tasks = [
        echo(name, *(names[before] for before, after in pairs if after == node))
        for node, name in enumerate(names)
    ]
    reach = [
        [before == after or (before, after) in pairs for after in range(8)] for before in range(8)
    ]
    for middle in range(8):
        for before in range(8):
            for after in range(8):
                reach[before][after] |= reach[before][middle] and reach[middle][after]
    circle = any(before == after or reach[after][before] for before, after in pairs)
    if circle:
        assert "circle" in refusal(written(*tasks)).message
    else:
        spec = spec_of(written(*tasks))
        assert set(spec.edges) == set(pairs)
        assert len(in_order(spec)) == 8


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$parameter", "$result", "path", "a", "url"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b"])},
        optional={
            "command": st.lists(json_values, max_size=3),
            "http": st.dictionaries(
                st.sampled_from(["url", "method", "headers", "json", "query", "expect"]),
                json_values,
                max_size=4,
            ),
            "task": st.text(max_size=5),
            "parameters": st.dictionaries(st.text(max_size=3), json_values, max_size=3),
            "timeout": st.text(max_size=3) | st.integers(),
        },
    ),
    st.dictionaries(
        st.text(max_size=3),
        st.dictionaries(st.text(max_size=6), json_values, max_size=3),
        max_size=2,
    ),
)
def test_whatever_is_written_is_a_dag_or_is_refused_with_a_place(
    task: dict[str, Any], parameters: dict[str, Any]
) -> None:
    try:
        spec = spec_of(written(task, parameters=parameters))
    except Miswritten as error:
        pointer, encoded = error.pointer, b""
    else:
        pointer, encoded = "", msgspec.json.encode(spec)
    assert encoded or pointer.startswith("/")
