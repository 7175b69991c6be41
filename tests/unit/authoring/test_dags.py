from __future__ import annotations

import dataclasses
import operator
import time
import uuid
from collections.abc import Callable
from datetime import date
from typing import Any

import msgspec
import pytest

from mainspring import Dag, DefinitionError, dag, task
from mainspring.authoring.drawing import LITERAL_BYTES_MAX
from mainspring.domain.specs import (
    EDGES_MAX,
    TASKS_MAX,
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    Result,
    TaskSpec,
    Value,
    in_order,
)


@task
def extract(region: Any = None, day: Any = None) -> list[Any]:
    return [region, day]


@task
def load(rows: Any, **more: Any) -> Any:
    return rows


@task
def done(*, note: str = "") -> None: ...


def names(spec: DagSpec) -> list[str]:
    return [each.name for each in spec.tasks]


def draw(body: Callable[..., Any]) -> DagSpec:
    return dag(name="drawn")(body).spec


def refused(body: Callable[..., Any]) -> str:
    with pytest.raises(DefinitionError) as caught:
        draw(body)
    return str(caught.value)


# --- drawing -------------------------------------------------------------------------------


def test_calling_tasks_draws_tasks_and_edges() -> None:
    @dag
    def sales(region: str = "eu") -> None:
        """Load the sales."""
        load(extract(region))

    spec = sales.spec
    assert spec.name == "sales"
    assert spec.description == "Load the sales."
    assert names(spec) == ["extract", "load"]
    assert spec.edges == ((0, 1),)
    assert spec.tasks[0].arguments == {"region": Parameter("region")}
    assert spec.tasks[1].arguments == {"rows": Result(0)}
    (parameter,) = spec.parameters
    assert (parameter.schema, parameter.default) == ({"type": "string"}, "eu")


def test_a_spec_survives_json_and_keeps_its_digest() -> None:
    def body(region: str = "eu") -> None:
        load([extract(region), {"x": extract()["a"][0]}])

    spec = draw(body)
    again = msgspec.json.decode(msgspec.json.encode(spec), type=DagSpec)
    assert again == spec
    assert again.digest() == spec.digest() == draw(body).digest()


def test_a_dag_is_drawn_when_asked_for_and_only_once() -> None:
    drawn = []

    @dag
    def lazy() -> None:
        drawn.append(1)
        late()

    assert drawn == []

    @task
    def late() -> None: ...

    assert lazy.spec is lazy.spec
    assert drawn == [1]


def test_options_of_a_dag_are_kept() -> None:
    @dag(name="x", description="d", doc="# D", owner="o", tags=["b", "a", "b"], timeout="1h")
    def body() -> None:
        done()

    spec = body.spec
    assert (spec.name, spec.description, spec.doc, spec.owner) == ("x", "d", "# D", "o")
    assert (spec.tags, spec.timeout_seconds) == (("a", "b"), 3600.0)


def test_the_docstring_is_the_documentation_and_its_first_line_the_description() -> None:
    @dag
    def sales() -> None:
        """Load the sales.

        *Twice* a day.
        """
        done()

    assert sales.spec.description == "Load the sales."
    assert sales.spec.doc == "Load the sales.\n\n*Twice* a day."


def test_what_a_dag_says_about_itself_is_no_part_of_its_graph() -> None:
    @dag(name="x")
    def plain() -> None:
        done()

    @dag(name="x", description="d", doc="# D", owner="o", tags=["a"])
    def told() -> None:
        done()

    assert told.spec != plain.spec
    assert told.spec.digest() == plain.spec.digest()
    assert told.spec.graph() == plain.spec
    assert plain.spec.told(told.spec.about()) == told.spec


def test_a_description_of_a_task_is_no_part_of_the_graph_either() -> None:
    before = DagSpec("x", (TaskSpec("a", "m:a", description="old"), TaskSpec("b", "m:b")))
    after = DagSpec("x", (TaskSpec("a", "m:a"), TaskSpec("b", "m:b", description="new")))
    assert before.digest() == after.digest()
    assert before.told(after.about()) == after


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"owner": 7}, "dag `body`: `owner`: expected text, got `int`"),
        ({"owner": "o" * 201}, "dag `body`: `owner`: longer than 200 characters"),
        ({"owner": "a\nb"}, "dag `body`: `owner`: expected one line without space around it"),
        ({"doc": b"x"}, "dag `body`: `doc`: expected text, got `bytes`"),
        ({"doc": "x" * 100_001}, "dag `body`: `doc`: longer than 100000 characters"),
        ({"doc": "a\x00"}, "dag `body`: `doc`: holds a NUL character"),
        ({"description": "d" * 1001}, "dag `body`: `description`: longer than 1000 characters"),
        ({"description": "two\nlines"}, "dag `body`: `description`: expected one line"),
        ({"tags": "sales"}, "dag `body`: `tags`: expected a list"),
        ({"tags": [0]}, "dag `body`: `tags`: expected text, got `int`"),
        ({"tags": [["a"]]}, "dag `body`: `tags`: expected text, got `list`"),
        ({"tags": ["a", ""]}, "dag `body`: `tags`: one of them is empty"),
        ({"tags": [" a"]}, "dag `body`: `tags`: expected one line without space around it"),
        ({"tags": ["a\x00b"]}, "dag `body`: `tags`: holds a NUL character"),
        ({"tags": [str(n) for n in range(101)]}, "dag `body`: more than 100 tags"),
    ],
)
def test_bad_words_about_a_dag_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError) as error:

        @dag(**options)
        def body() -> None:
            done()

    assert error.value.message.startswith(message)


def test_results_flow_from_inside_lists_tuples_and_dicts() -> None:
    def body(region: str) -> None:
        first = extract()
        load([1, (first, region), {"part": first["rows"][0], "day": date(2026, 1, 2)}])

    spec = draw(body)
    assert spec.edges == ((0, 1),)
    assert spec.tasks[1].arguments["rows"] == ListOf(
        (
            Value(1),
            ListOf((Result(0), Parameter("region"))),
            MappingOf({"part": Result(0, ("rows", 0)), "day": Value("2026-01-02")}),
        )
    )


def test_literals_become_json_data() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    identity = uuid.uuid4()
    spec = draw(lambda: load([Point(1), identity, {"k": (1, 2)}, None, {3}], note="é"))
    assert spec.tasks[0].arguments == {
        "rows": Value([{"x": 1}, str(identity), {"k": [1, 2]}, None, [3]]),
        "note": Value("é"),
    }


def test_one_result_used_twice_is_one_edge() -> None:
    def body() -> None:
        first = extract()
        load([first, first["a"]], other=first)

    assert draw(body).edges == ((0, 1),)


def test_arrows_order_tasks_without_data() -> None:
    def body() -> None:
        a, b, c, d = (done.named(name)() for name in "abcd")
        a >> [b, c] >> d
        done.named("e")() << (d, a)

    spec = draw(body)
    assert spec.edges == ((0, 1), (0, 2), (0, 4), (1, 3), (2, 3), (3, 4))
    assert spec.tasks[4].arguments == {}


def test_arrows_chain_in_both_directions() -> None:
    def body() -> None:
        a, b, c = (done.named(name)() for name in "abc")
        a >> b >> c

    def backwards() -> None:
        a, b, c = (done.named(name)() for name in "abc")
        c << b << a

    assert draw(body).edges == draw(backwards).edges == ((0, 1), (1, 2))


# --- names ---------------------------------------------------------------------------------


def test_repeated_calls_are_numbered() -> None:
    def body() -> None:
        for _ in range(3):
            done()

    assert names(draw(body)) == ["done", "done_2", "done_3"]


def test_numbers_avoid_names_that_are_taken() -> None:
    def body() -> None:
        done.named("done_2")()
        done()
        done()

    assert names(draw(body)) == ["done_2", "done", "done_3"]


def test_two_equal_explicit_names_are_refused() -> None:
    def body() -> None:
        done.named("x")()
        done.named("x")()

    assert refused(body) == "dag `drawn` has two tasks with the name `x`"


def test_two_different_tasks_of_one_name_are_refused() -> None:
    other = task(name="done")(extract.function)

    def body() -> None:
        done()
        other()

    assert refused(body) == "dag `drawn` has two tasks with the name `done`"


def test_two_functions_that_a_worker_could_not_tell_apart_are_refused() -> None:
    def make(number: int) -> Any:
        @task(name=f"made_{number}")
        def made() -> int:
            return number

        return made

    def body() -> None:
        make(1)()
        make(2)()

    assert "uses two functions that are both" in refused(body)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 201, "\x00"])
def test_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="the name"):
        done.named(name)
    with pytest.raises(DefinitionError, match="the name"):
        dag(name=name)(lambda_free)


# --- mistakes ------------------------------------------------------------------------------


def test_an_empty_dag_is_refused() -> None:
    assert refused(lambda: None) == "dag `drawn` is empty"


def test_a_cycle_is_refused_with_its_tasks_in_order() -> None:
    def body() -> None:
        start, a, b, c = (done.named(name)() for name in ("start", "a", "b", "c"))
        start >> a >> b >> c >> a
        c >> done.named("end")()

    assert refused(body) == "dag `drawn` has a cycle: `a` → `b` → `c` → `a`"


def test_a_task_after_itself_is_a_cycle() -> None:
    def body() -> None:
        a = done()
        a >> a

    assert refused(body) == "dag `drawn` has a cycle: `done` → `done`"


def test_a_task_of_another_dag_is_refused() -> None:
    leaked = []
    draw(lambda: leaked.append(done()))
    assert "`done` of dag `drawn` is not known in dag" in refused(lambda: done() >> leaked[0])
    assert "is not known in dag" in refused(lambda: load(leaked[0]))
    with pytest.raises(DefinitionError, match="is drawn already"):
        leaked[0] >> leaked[0]


def test_a_task_that_is_not_called_is_refused() -> None:
    assert "task `extract` is not called" in refused(lambda: done() >> extract)
    assert "task `extract` is not called" in refused(lambda: extract >> done())
    assert "has not been called" in refused(lambda: load(extract))


def test_order_with_something_else_is_refused() -> None:
    assert "order tasks, got `int`" in refused(lambda: done() >> 3)
    assert "order tasks, got parameter `x`" in refused(lambda x: done() >> x)


def test_arguments_are_checked_against_the_signature() -> None:
    assert "missing a required argument: 'rows'" in refused(lambda: load(more=1))  # type: ignore[call-arg]
    assert "too many positional arguments" in refused(lambda: extract(1, 2, 3))  # type: ignore[call-arg]
    with pytest.raises(DefinitionError, match="unexpected keyword argument 'regio'") as caught:
        draw(lambda: extract(regio=1))  # type: ignore[call-arg]
    assert caught.value.hint == "did you mean `region`?"


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Opaque(), "argument `rows` of task `load`: cannot be written as JSON"),
        (float("nan"), "`nan` cannot be written"),
        ([float("inf")], "`inf` cannot be written"),
        ("\ud800", "lone surrogate"),
        ("x" * LITERAL_BYTES_MAX, "too large, 256 KiB as JSON; the limit is 256 KiB"),
        ({(1, 2): 3}, "cannot be written as JSON"),
    ],
)
def test_literals_that_cannot_be_stored_are_refused(value: Any, message: str) -> None:
    assert message in refused(lambda: load(value))


def test_a_spec_holds_no_nul_character() -> None:
    def default(text: str = "\x00") -> None:
        done()

    def literal() -> None:
        load(["\\\x00"])

    def key() -> None:
        load(extract()["\x00"])

    for body in (default, literal, key):
        assert "holds a NUL character" in refused(body)
    assert draw(lambda: load("\\u0000")).tasks[0].arguments == {"rows": Value("\\u0000")}


def test_results_inside_of_other_objects_are_refused() -> None:
    assert "cannot be written as JSON" in refused(lambda: load({extract()}))
    assert "the key `3` is not text" in refused(lambda: load({3: extract()}))


def test_a_literal_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "contains itself" in refused(lambda: load(loop))


def test_too_many_tasks_are_refused() -> None:
    def body() -> None:
        for _ in range(TASKS_MAX + 1):
            done()

    assert refused(body) == "dag `drawn` has more than 10,000 tasks"


def test_too_many_edges_are_refused() -> None:
    def body() -> None:
        many = [done() for _ in range(400)]
        for _ in range(EDGES_MAX // 400 + 1):
            many >> done()

    assert refused(body) == "dag `drawn` has more than 100,000 edges"


def test_the_largest_dag_is_drawn_quickly() -> None:
    def chain_of_everything() -> None:
        recent: list[Any] = []
        for _ in range(TASKS_MAX):
            recent.append(load(recent[-10:]))

    started = time.perf_counter()
    spec = draw(chain_of_everything)
    seconds = time.perf_counter() - started
    assert len(spec.tasks) == TASKS_MAX
    assert len(spec.edges) == EDGES_MAX - 55
    assert len(in_order(spec)) == TASKS_MAX
    assert seconds < 5  # 0.5 s on two shared cores; slack for a busy machine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": "sales"}, "`tags`: expected a list"),
        ({"tags": [1]}, "`tags`: expected text"),
        ({"owner": 3}, "`owner`: expected text"),
        ({"description": "\x00"}, "NUL character"),
        ({"description": "\ud800"}, "lone surrogate"),
        ({"timeout": "never"}, "is not a length of time"),
    ],
)
def test_wrong_options_of_a_dag_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        dag(**options)(lambda_free)


def lambda_free() -> None: ...


def test_a_dag_function_is_plain_and_names_its_parameters() -> None:
    async def waits() -> None: ...

    def star(*items: int) -> None: ...

    def stars(**items: int) -> None: ...

    wrong: dict[str, Callable[..., Any]] = {"plain": waits, r"`\*items": star, r"`\*\*items": stars}
    for message, function in wrong.items():
        with pytest.raises(DefinitionError, match=message):
            dag(function)


def test_a_default_must_fit_its_annotation() -> None:
    def body(days: int = "three") -> None: ...  # type: ignore[assignment]

    def none(days: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    with pytest.raises(DefinitionError, match="the default of parameter `days`: expected `int`"):
        dag(body)
    with pytest.raises(DefinitionError, match="got `null`") as caught:
        dag(none)
    assert "| None" in caught.value.hint


def test_a_dag_cannot_be_called() -> None:
    inner: Dag[...] = dag(lambda_free)
    with pytest.raises(DefinitionError, match="dag `lambda_free` cannot be called"):
        inner()


def test_errors_of_the_author_come_through() -> None:
    def body() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        draw(body)
    assert done() is None  # the drawing is over


# --- stand-ins -----------------------------------------------------------------------------

USES: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: 1 if x else 2,
    "not": lambda x: not x,
    "str": str,
    "f-string": lambda x: f"{x}",
    "format": lambda x: f"{x:>10}",
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "int": int,
    "float": float,
    "len": len,
    "iterate": list,
    "unpack": lambda x: [*x],
    "in": lambda x: 1 in x,
    "equal": lambda x: x == 1,
    "equal, other side": lambda x: x == 1,
    "unequal": lambda x: x != 1,
    "less": lambda x: x < 1,
    "add": lambda x: x + 1,
    "add, other side": lambda x: "a" + x,
    "times": lambda x: 2 * x,
    "minus": operator.neg,
    "abs": abs,
    "round": round,
    "range": range,
    "divmod": lambda x: divmod(x, 2),
    "call": lambda x: x(),
    "attribute": lambda x: x.upper(),
    "index of a list": lambda x: [1, 2][x],
    "set an item": lambda x: operator.setitem(x, 0, 1),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_values_that_are_not_known_yet_cannot_be_used(use: Callable[[Any], Any]) -> None:
    with pytest.raises(DefinitionError, match="parameter `x` has no value yet") as caught:
        draw(lambda x: [use(x)])
    assert caught.value.hint
    with pytest.raises(DefinitionError, match="the result of task `done` has no value yet"):
        draw(lambda: use(done()))


def test_a_parameter_is_passed_on_whole() -> None:
    assert "parameter `x` has no value yet" in refused(lambda x: load(x["part"]))


def test_only_simple_parts_of_a_result_can_be_taken() -> None:
    assert "got `slice(None, 2, None)`" in refused(lambda: load(extract()[:2]))
    assert "got `True`" in refused(lambda: load(extract()[True]))


def test_stand_ins_can_be_shown_and_put_into_sets() -> None:
    def body(x: int) -> None:
        first = extract(x)
        assert repr(first["a"][0]) == "<the result['a'][0] of task `extract`>"
        assert repr(x) == "<parameter `x`>"
        assert len({first, x}) == 2
        done() << {first}

    assert draw(body).edges == ((0, 1),)
