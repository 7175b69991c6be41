"""The examples are read without a problem, and run from their JSON alone."""

from __future__ import annotations

import asyncio
import inspect
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.authoring.calling import arguments_for, encode_result, outcome_of, resolve
from mainspring.bundles.read import read_bundle
from mainspring.domain.outcomes import decide
from mainspring.domain.parameters import validate_parameters
from mainspring.domain.specs import (
    Binding,
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    Result,
    Value,
    in_order,
)
from mainspring.domain.states import TaskState

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_rest(seconds: float) -> None: ...

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(asyncio, "sleep", no_rest)


async def test_the_examples_are_read_without_a_problem() -> None:
    report = await read_bundle(EXAMPLES)
    assert report.problems == []
    assert report.files == {"daily_sales": "daily_sales.py", "hello": "hello.py"}


@pytest.mark.usefixtures("on_path", "hurried")
async def test_hello_greets() -> None:
    report = await read_bundle(EXAMPLES)
    results, attempts = await run(report.dags[1], {"name": "Ada"})
    assert results["say"] == "Hello, Ada! The sun is out."
    assert set(attempts.values()) == {1}


@pytest.mark.usefixtures("on_path", "hurried")
async def test_daily_sales_retries_once_and_reports(capsys: pytest.CaptureFixture[str]) -> None:
    report = await read_bundle(EXAMPLES)
    results, attempts = await run(report.dags[0], {"region": "us"})
    assert results["report"].startswith("us: ")
    assert [name for name, count in attempts.items() if count > 1] == ["fetch_rates"]
    assert attempts["fetch_rates"] == 2
    assert "boston" in capsys.readouterr().out


async def run(dag: DagSpec, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Run a dag in this process, one task after the other, without any rest."""
    parameters = validate_parameters(dag, given)
    results: dict[int, Any] = {}
    attempts: dict[str, int] = {}

    def value(binding: Binding) -> Any:
        match binding:
            case Value(value=literal):
                return literal
            case Parameter(name=name):
                return parameters[name]
            case Result(task=number, path=path):
                part = results[number]
                for key in path:
                    part = part[key]
                return part
            case ListOf(items=items):
                return [value(item) for item in items]
            case MappingOf(items=pairs):
                return {key: value(item) for key, item in pairs.items()}

    for number in in_order(dag):
        spec = dag.tasks[number]
        task = resolve(spec.entry)
        raw = msgspec.json.encode({key: value(each) for key, each in spec.arguments.items()})
        for attempt in range(1, 10):
            attempts[spec.name] = attempt
            try:
                answer = task.function(**arguments_for(task, raw))
                if inspect.isawaitable(answer):
                    answer = await answer
                results[number] = msgspec.json.decode(encode_result(answer))
                break
            except Exception as error:
                ended = decide(outcome_of(task, error, attempt), spec, attempt, 0, 0.0)
                assert ended.state is TaskState.BACKOFF, ended
    return {dag.tasks[number].name: result for number, result in results.items()}, attempts
