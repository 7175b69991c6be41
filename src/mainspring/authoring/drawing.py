"""The graph while it is drawn, and the stand-ins for values that are not known yet.

A dag's function runs once, to draw. Its parameters and the results of its tasks have no values
then: they are `Later` objects, which can be passed on to tasks, and refuse everything else with
an error that says why. Calling a task adds it to the drawing that is current, and each result
among its arguments adds an edge; `>>` and `<<` add edges for pure order.

Work is linear in tasks and edges, and nothing recurses along the graph.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from mainspring.authoring.options import checked_name
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import shown
from mainspring.domain.payloads import encode_json
from mainspring.domain.specs import (
    EDGES_MAX,
    TASKS_MAX,
    Binding,
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    Result,
    TaskSpec,
    Value,
    in_order,
    parents_of,
    results_in,
)

LITERAL_BYTES_MAX = 256 * 1024
"""The largest literal argument, as JSON: it is stored with every version of the dag."""
SPEC_BYTES_MAX = 32 * 1024 * 1024
"""The largest dag, as JSON."""

_current: ContextVar[Drawing | None] = ContextVar("mainspring_drawing", default=None)


def current_drawing() -> Drawing | None:
    """The drawing that a task called now belongs to; None when code simply runs."""
    return _current.get()


class Drawing:
    """One dag's graph, growing."""

    def __init__(self, dag: str, defaults: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.dag = dag
        self.defaults = defaults
        """Fields of `TaskSpec` for tasks that do not choose them."""
        self.tasks: list[TaskSpec] = []
        self.edges: set[tuple[int, int]] = set()
        self.functions: dict[str, Callable[..., Any]] = {}
        """By entry, for the check that a worker will find the same ones."""
        self._owners: dict[str, str] = {}
        self._repeats: dict[str, int] = {}

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def add_task(
        self,
        spec: TaskSpec,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        *,
        exact_name: bool,
    ) -> TaskResult:
        if len(self.tasks) >= TASKS_MAX:
            raise DefinitionError(f"dag {shown(self.dag)} has more than {TASKS_MAX:,} tasks")
        if self.functions.setdefault(spec.entry, function) is not function:
            raise DefinitionError(
                f"dag {shown(self.dag)} uses two functions that are both `{spec.entry}`",
                hint="define tasks at the top level of a module, each under a name of its own",
            )
        number = len(self.tasks)
        name = self._free_name(spec, exact_name)
        bindings = {key: self._bind(value, name, key) for key, value in arguments.items()}
        self.tasks.append(msgspec.structs.replace(spec, name=name, arguments=bindings))
        for binding in bindings.values():
            for before in results_in(binding):
                self.add_edge(before, number)
        return TaskResult(self, number)

    def add_edge(self, before: int, after: int) -> None:
        self.edges.add((before, after))
        if len(self.edges) > EDGES_MAX:
            raise DefinitionError(f"dag {shown(self.dag)} has more than {EDGES_MAX:,} edges")

    def finish(self, dag: DagSpec) -> DagSpec:
        """The dag with what has been drawn, checked as a whole."""
        if not self.tasks:
            raise DefinitionError(
                f"dag {shown(self.dag)} is empty", hint="call at least one task in its function"
            )
        spec = msgspec.structs.replace(
            dag, tasks=tuple(self.tasks), edges=tuple(sorted(self.edges))
        )
        if cycle := _cycle_in(spec):
            names = " → ".join(shown(spec.tasks[number].name) for number in cycle)
            raise DefinitionError(f"dag {shown(self.dag)} has a cycle: {names}")
        return storable(spec)

    def _free_name(self, spec: TaskSpec, exact: bool) -> str:
        name = spec.name
        owner = self._owners.get(name)
        if owner is None:
            self._owners[name] = spec.entry
            return name
        if exact or owner != spec.entry:
            raise DefinitionError(
                f"dag {shown(self.dag)} has two tasks with the name {shown(name)}",
                hint="give one of them another name with `.named(…)`",
            )
        while name in self._owners:
            repeat = self._repeats[spec.name] = self._repeats.get(spec.name, 1) + 1
            name = f"{spec.name}_{repeat}"
        self._owners[name] = spec.entry
        return checked_name("a repeated task", name)

    def _bind(self, value: Any, task: str, argument: str) -> Binding:
        what = f"argument {shown(argument)} of task {shown(task)}"
        try:
            return self._binding(value, what)
        except RecursionError:
            raise DefinitionError(f"{what}: nested too deeply, or contains itself") from None

    def _binding(self, value: Any, what: str) -> Binding:
        if isinstance(value, Later):
            return value._binding(self)
        if isinstance(value, (list, tuple)) and _holds_later(value):
            return ListOf(tuple(self._binding(item, what) for item in value))
        if isinstance(value, dict) and _holds_later(value):
            for key in value:
                if not isinstance(key, str):
                    raise DefinitionError(f"{what}: the key {shown(key)} is not text")
            return MappingOf({key: self._binding(item, what) for key, item in value.items()})
        return Value(_literal(value, what))


def storable(spec: DagSpec) -> DagSpec:
    """The spec itself, refused if it is too large or holds what the database cannot read."""
    what = f"dag {shown(spec.name)}"
    try:
        encoded = encode_json(spec, what=what, bytes_max=SPEC_BYTES_MAX)
    except InputError as error:
        raise DefinitionError(error.message, hint=error.hint) from None
    # PostgreSQL reads specs as JSON, and its JSON has no NUL. Escaped backslashes go first, since
    # the second one of a pair may stand before an innocent `u0000`.
    if b"\\u0000" in encoded.replace(b"\\\\", b""):
        raise DefinitionError(f"{what}: a literal, a default or a text holds a NUL character")
    return spec


def _literal(value: Any, what: str) -> Any:
    if value is None or value is True or value is False or type(value) is int:
        return value
    if hasattr(value, "as_dag"):
        raise DefinitionError(
            f"{what}: a task that has not been called", hint="call it, and pass its result"
        )
    try:
        encoded = encode_json(value, what=what, bytes_max=LITERAL_BYTES_MAX)
    except InputError as error:
        # A stand-in inside a set, a dataclass or the like ends here too.
        raise DefinitionError(error.message, hint=error.hint) from None
    return msgspec.json.decode(encoded)


def _holds_later(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_later, value))
    if isinstance(value, dict):
        return any(map(_holds_later, value)) or any(map(_holds_later, value.values()))
    return isinstance(value, Later)


def _cycle_in(spec: DagSpec) -> list[int]:
    """The task numbers along one cycle, its first repeated at the end; empty when there is none."""
    stuck = set(range(len(spec.tasks))).difference(in_order(spec))
    if not stuck:
        return []
    # Each stuck task has a stuck parent, so going up must come back to where it has been.
    parents = parents_of(spec)
    trail: dict[int, int] = {}
    number = min(stuck)
    while number not in trail:
        trail[number] = len(trail)
        number = next(parent for parent in parents[number] if parent in stuck)
    cycle = list(trail)[trail[number] :]
    return [number, *reversed(cycle)]


# --- stand-ins -----------------------------------------------------------------------------


class Later:
    """Stands for a value that is known only when the run executes."""

    __slots__ = ("_drawing",)
    _drawing: Drawing

    def _told(self) -> str:
        raise NotImplementedError

    def _binding(self, drawing: Drawing) -> Binding:
        raise NotImplementedError

    def _belongs_to(self, drawing: Drawing) -> None:
        if self._drawing is not drawing:
            raise DefinitionError(
                f"{self._told()} of dag {shown(self._drawing.dag)} is not known in dag "
                f"{shown(drawing.dag)}",
                hint="call the task inside this dag's function",
            )

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise DefinitionError(
            f"{self._told()} has no value yet: the dag's function only draws the graph, values are "
            "known when the run executes",
            hint="pass it to a task and use it there",
        )

    def __getattr__(self, name: str) -> Any:
        # Private names are asked for by tools that look at any object.
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self._told()}>"


_REFUSED = """
    bool str format bytes int float complex index round trunc floor ceil
    len iter next reversed contains getitem setitem delitem call await aiter enter exit
    eq ne lt le gt ge
    add sub mul matmul truediv floordiv mod divmod pow and or xor lshift rshift
    radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rand ror rxor rlshift rrshift
    neg pos abs invert
"""
# Set from outside of the class body, where `__eq__` would take the hash away: stand-ins may be
# put into sets and compared by identity.
for _name in _REFUSED.split():
    setattr(Later, f"__{_name}__", Later._refuse)


class RunParameter(Later):
    """Stands for a parameter of the run."""

    __slots__ = ("_name",)

    def __init__(self, drawing: Drawing, name: str) -> None:
        self._drawing = drawing
        self._name = name

    def _told(self) -> str:
        return f"parameter {shown(self._name)}"

    def _binding(self, drawing: Drawing) -> Binding:
        self._belongs_to(drawing)
        return Parameter(self._name)


class TaskResult(Later):
    """Stands for what a task returns, or for a part of it; orders tasks with `>>` and `<<`."""

    __slots__ = ("_number", "_path")

    def __init__(self, drawing: Drawing, number: int, path: tuple[str | int, ...] = ()) -> None:
        self._drawing = drawing
        self._number = number
        self._path = path

    def _told(self) -> str:
        path = "".join(f"[{key!r}]" for key in self._path)
        return f"the result{path} of task {shown(self._drawing.tasks[self._number].name)}"

    def _binding(self, drawing: Drawing) -> Binding:
        self._belongs_to(drawing)
        return Result(self._number, self._path)

    def __getitem__(self, key: object) -> TaskResult:
        if type(key) not in (str, int):
            raise DefinitionError(
                f"{self._told()}: only a part named by text or by a whole number can be taken, "
                f"got {shown(repr(key))}",
                hint="pass the whole result to a task and take it apart there",
            )
        assert isinstance(key, (str, int))
        if isinstance(key, str):
            _literal(key, self._told())
        return TaskResult(self._drawing, self._number, (*self._path, key))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise DefinitionError(
            f"{self._told()} has no value yet, so it has no `.{name}`",
            hint=f'write `result["{name}"]` for a part of it, or pass it to a task',
        )

    def __rshift__(self, after: Any) -> Any:
        return self._order(self, after, answer=after)

    def __rrshift__(self, before: Any) -> Any:
        return self._order(before, self, answer=self)

    def __lshift__(self, before: Any) -> Any:
        return self._order(before, self, answer=before)

    def __rlshift__(self, after: Any) -> Any:
        return self._order(self, after, answer=self)

    def _order(self, before: Any, after: Any, *, answer: Any) -> Any:
        drawing = current_drawing()
        if drawing is None:
            raise DefinitionError(
                f"the graph of dag {shown(self._drawing.dag)} is drawn already",
                hint="use `>>` and `<<` inside the dag's function",
            )
        firsts, seconds = _numbers(before, drawing), _numbers(after, drawing)
        for first in firsts:
            for second in seconds:
                drawing.add_edge(first, second)
        return answer


def _numbers(side: Any, drawing: Drawing) -> list[int]:
    if isinstance(side, TaskResult):
        side._belongs_to(drawing)
        return [side._number]
    if isinstance(side, (list, tuple, set, frozenset)):
        return [number for item in side for number in _numbers(item, drawing)]
    if isinstance(side, Later):
        raise DefinitionError(f"`>>` and `<<` order tasks, got {side._told()}")
    if hasattr(side, "as_dag"):
        raise DefinitionError(
            f"task {shown(side.name)} is not called in dag {shown(drawing.dag)}",
            hint=f"`>>` orders calls: write `{side.name}(…)`",
        )
    raise DefinitionError(f"`>>` and `<<` order tasks, got `{type(side).__name__}`")
