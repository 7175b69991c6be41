"""What operators draw, and what they refuse while a dag is drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mainspring import DefinitionError, TaskDefaults, dag, task
from mainspring.authoring.calling import check_arguments, resolve
from mainspring.domain.lanes import SlotKind
from mainspring.domain.specs import DagSpec, ListOf, MappingOf, Parameter, Result, Value
from mainspring.operators import command, http, shell


@task
def found() -> str:
    return "x"


def draw(body: Callable[..., Any], **options: Any) -> DagSpec:
    return dag(name="sample", **options)(body).spec


def test_an_operator_is_an_ordinary_task_with_bound_arguments() -> None:
    def body(database: str) -> None:
        command(["pg_dump", "--dbname", database, found()], env={"PGUSER": database}, name="dump")

    spec = draw(body)
    _, dump = spec.tasks
    assert (dump.name, dump.kind) == ("dump", SlotKind.COMMAND)
    assert dump.description == "pg_dump --dbname … …"
    assert spec.edges == ((0, 1),)
    assert dump.arguments["arguments"] == ListOf(
        (Value("pg_dump"), Value("--dbname"), Parameter("database"), Result(0))
    )
    assert dump.arguments["env"] == MappingOf({"PGUSER": Parameter("database")})
    check_arguments(resolve(dump.entry))


def test_operators_without_a_name_are_numbered() -> None:
    def body() -> None:
        command(["true"]) >> command(["true"]) >> shell("true") >> http("GET", "https://a.example")

    assert [each.name for each in draw(body).tasks] == ["command", "command_2", "command_3", "http"]


def test_options_of_a_task_go_before_the_dags_and_those_before_the_operators_own() -> None:
    def body() -> None:
        http("GET", "https://a.example", name="plain", queue="web")
        http("GET", "https://a.example", name="keen", retries=1)
        command(["true"], timeout="1m", priority=9, on_lost="fail")

    plain, keen, run = draw(body).tasks
    assert (plain.retry.attempts, plain.queue, plain.kind) == (5, "web", SlotKind.ASYNC)
    assert (keen.retry.attempts, keen.queue) == (2, "default")
    assert (run.timeout_seconds, run.priority, run.on_lost) == (60.0, 9, "fail")
    plain, keen, run = draw(body, defaults=TaskDefaults(retries=7, queue="all")).tasks
    assert (plain.retry.attempts, plain.queue) == (8, "web")
    assert (keen.retry.attempts, keen.queue) == (2, "all")
    assert (run.retry.attempts, run.queue, run.kind) == (8, "all", SlotKind.COMMAND)


def test_a_shell_gets_values_as_arguments_and_never_as_code() -> None:
    def body(path: str) -> None:
        shell('wc -l "$1"', arguments=[path])

    (count,) = draw(body).tasks
    assert count.arguments["arguments"] == ListOf(
        (*map(Value, ("/bin/sh", "-c", 'wc -l "$1"', "sh")), Parameter("path"))
    )


def test_a_request_is_described_without_credentials_and_query() -> None:
    def body() -> None:
        http("post", "https://ana:secret@shop.example:8443/orders?key=secret", expect={404, 200})

    (sent,) = draw(body).tasks
    assert sent.description == "POST https://shop.example:8443/orders?…"
    assert sent.arguments["expect"] == Value([[200, 200], [404, 404]])
    assert sent.arguments["retry_on"] == Value([[429, 429], [502, 504]])
    assert sent.arguments["timeout_seconds"] == Value(30.0)


BAD: list[tuple[Callable[[Any], Any], str]] = [
    (lambda p: command("ls -l"), "`command`: expected a list of arguments"),
    (lambda p: command([]), "`command`: expected a list of arguments"),
    (command, "`command`: expected a list of arguments"),
    (lambda p: command([p, "x"]), "`command`: the program has to be written in the dag"),
    (lambda p: command([""]), "`command`: the program has to be written in the dag"),
    (lambda p: command(["ls", ["a"]]), "`command`: argument 1: expected text, a number"),
    (lambda p: command(["ls", None]), "`command`: argument 1: expected text, a number"),
    (lambda p: command(["ls", "a\x00"]), "`command`: argument 1 holds a NUL character"),
    (lambda p: command(["ls", f"{p}"]), "parameter `p` has no value yet"),
    (lambda p: command(["ls"], env={"a=b": "c"}), "`command`: a variable cannot have the name"),
    (lambda p: command(["ls"], env=["a"]), "`command`: `env`: expected a dict"),  # type: ignore[arg-type]
    (lambda p: command(["ls"], env={"a": {}}), "`command`: variable `a`: expected text"),
    (lambda p: command(["ls"], cwd=3), "`command`: `cwd`: expected a path"),
    (lambda p: command(["ls"], name="a b"), "the name `a b` of a task"),
    (lambda p: command(["ls"], retries=-1), "task `command`: `retries`"),
    (shell, "`shell`: the script has to be written in the dag"),
    (lambda p: shell(" "), "`shell`: the script has to be written in the dag"),
    (lambda p: shell("ls " + p), "parameter `p` has no value yet"),
    (lambda p: http("GET IT", "https://a.example"), "`http`: `GET IT` is not a method"),
    (lambda p: http("GET", 7), "`http`: the address: expected text, got `int`"),
    (lambda p: http("GET", "ftp://a.example"), "`http`: the address `ftp://a.example` does not"),
    (lambda p: http("GET", "https://"), "`http`: the address `https://` names no host"),
    (lambda p: http("GET", "https://a.example/a b"), "`http`: the address"),
    (lambda p: http("GET", "https://a.example:x/"), "`http`: the address"),
    (lambda p: http("GET", "https://a.example/{x}"), "`http`: `x` is in the address and not in"),
    (lambda p: http("GET", "https://a.example/", path={"x": p}), "`http`: `x` is not in the"),
    (lambda p: http("GET", p, path={"x": p}), "`http`: `path` fills an address that is written"),
    (lambda p: http("GET", "https://a.example", headers={"a": [1]}), "`http`: `a`: expected text"),
    (lambda p: http("GET", "https://a.example", headers={"a b": "x"}), "`http`: `a b` cannot be"),
    (lambda p: http("PUT", "https://a.example", json=1, body="x"), "`http`: `json` and `body`"),
    (lambda p: http("GET", "https://a.example", timeout=0), "`http`: `timeout`"),
    (lambda p: http("GET", "https://a.example", expect="2xx"), "`http`: `expect`: expected"),  # type: ignore[arg-type]
    (lambda p: http("GET", "https://a.example", expect=[99]), "`http`: `expect`: `99` is not"),
    (lambda p: http("GET", "https://a.example", retry_on={True}), "`http`: `retry_on`: `True`"),
]


@pytest.mark.parametrize(("bad", "message"), BAD)
def test_bad_operators_are_refused_where_they_are_written(
    bad: Callable[[Any], Any], message: str
) -> None:
    def body(p: str) -> None:
        bad(p)

    with pytest.raises(DefinitionError) as error:
        draw(body)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize(
    "call",
    [lambda: command(["ls"]), lambda: shell("ls"), lambda: http("GET", "https://a.example")],
)
def test_operators_do_nothing_outside_of_a_dag(call: Callable[[], Any]) -> None:
    with pytest.raises(DefinitionError, match="draws a task and runs nothing by itself"):
        call()


def test_importing_operators_loads_no_http_client_and_no_event_loop() -> None:
    script = (
        "import sys, mainspring.operators; "
        "print([m for m in ('asyncio', 'http.client', 'ssl', 'asyncpg') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
