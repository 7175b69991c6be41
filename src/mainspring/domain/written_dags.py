"""A dag as JSON data, without a file: tasks that run commands, requests or installed functions.

    {"name": "nightly",
     "parameters": {"region": {"type": "string", "default": "eu"}},
     "tasks": [
       {"name": "fetch", "http": "https://shop.example/{region}/orders",
        "parameters": {"region": {"$parameter": "region"}}},
       {"name": "load", "command": ["load-orders", {"$result": "fetch", "path": ["text"]}]}]}

Wherever a value goes, `{"$parameter": name}` stands for a parameter of the run and
`{"$result": task}` for what a task before returned, or for the part of it that `path` leads to. Who
uses a result comes after that task; `after` orders without data. All of it is checked before
anything is stored, and an error says where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from mainspring.domain.durations import parse_duration
from mainspring.domain.errors import InputError, MainspringError
from mainspring.domain.jobs import (
    ATTEMPTS_MAX,
    BUILT_IN,
    BUILT_IN_DAGS,
    TIMEOUT_SECONDS_MAX,
    CommandCall,
    HttpCall,
    JobKind,
)
from mainspring.domain.lanes import PRIORITY_DEFAULT, PRIORITY_MAX, PRIORITY_MIN, SlotKind
from mainspring.domain.names import NAMED, closest, listed, name_problem, shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.specs import (
    EDGES_MAX,
    TASKS_MAX,
    Binding,
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    ParameterSpec,
    Result,
    RetrySpec,
    TaskSpec,
    Value,
    in_order,
    parents_of,
)

PARAMETER, RESULT, PATH = "$parameter", "$result", "path"

_ENTRY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_STAND_IN = "0"
"""What a value that is known later is checked as."""
_RETRY = RetrySpec(backoff="exponential", first_seconds=1.0, cap_seconds=300.0)


class WrittenTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `command`, `http` and `task`, and what it waits for."""

    name: Annotated[str, NAMED]
    command: list[Any] | None = None
    """The program and its arguments; no shell reads them."""
    cwd: str | None = None
    """Where a command runs."""
    http: str | dict[str, Any] | None = None
    """An address, or a request as a job has it: `url`, `method`, `headers`, `query`, `json`, …"""
    task: str | None = None
    """A function of an application that is installed where the workers are: `module:function`."""
    kind: SlotKind | None = None
    """How a function runs: `process`, `thread` or `async`."""
    parameters: dict[str, Any] = {}
    """Arguments of a function; variables of a command's environment; what fills an address."""
    after: list[Annotated[str, NAMED]] = []
    """Tasks that have to succeed first."""
    retries: int | None = None
    """How often it is tried again."""
    timeout: str | float | None = None
    """Of each attempt, such as `10m`, or in seconds."""
    priority: int = PRIORITY_DEFAULT
    """0 to 9; higher is sooner within a queue."""
    queue: Annotated[str, NAMED] = "default"
    description: str = ""


class WrittenDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: Annotated[str, NAMED]
    tasks: list[WrittenTask]
    parameters: dict[str, dict[str, Any]] = {}
    """By name, each a JSON Schema; one with a `default` may be left out of a run."""
    timeout: str | float | None = None
    """Of a whole run."""
    description: str = ""
    doc: str = ""
    """Markdown."""
    owner: str = ""
    tags: list[str] = []


class Miswritten(InputError):
    """A dag that cannot be; `pointer` leads to the place in its JSON."""

    def __init__(self, pointer: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{pointer}: {message}", hint=hint)
        self.pointer = pointer
        self.reason = message


def spec_of(written: WrittenDag) -> DagSpec:
    """The dag that is meant, checked; Miswritten says what is wrong, where, and what to do."""
    if problem := name_problem(written.name):
        raise Miswritten("/name", f"{shown(written.name)} {problem}")
    if written.name.startswith(BUILT_IN):
        raise Miswritten(
            "/name", f"names that begin with `{BUILT_IN}` are taken", hint="choose another one"
        )
    nodes = _nodes(written.tasks)
    parameters = tuple(_parameter(name, given) for name, given in written.parameters.items())
    spec = DagSpec(
        name=written.name,
        tasks=tuple(
            _Task(f"/tasks/{node}", task, nodes, written.parameters).spec()
            for node, task in enumerate(written.tasks)
        ),
        edges=_edges(written.tasks, nodes),
        parameters=parameters,
        timeout_seconds=_seconds("/timeout", written.timeout),
        description=written.description,
        doc=written.doc,
        owner=written.owner,
        tags=tuple(dict.fromkeys(written.tags)),
    )
    if len(in_order(spec)) < len(spec.tasks):
        circle = _circle(spec)
        raise Miswritten(
            f"/tasks/{circle[0]}/after",
            f"{' → '.join(shown(spec.tasks[node].name) for node in [*circle, circle[0]])}"
            " is a circle: none of them could ever start",
            hint="take one of these edges out",
        )
    return spec


def _nodes(tasks: Sequence[WrittenTask]) -> dict[str, int]:
    if not tasks:
        raise Miswritten("/tasks", "a dag needs a task")
    if len(tasks) > TASKS_MAX:
        raise Miswritten("/tasks", f"{len(tasks):,} tasks are more than {TASKS_MAX:,}")
    nodes: dict[str, int] = {}
    for node, task in enumerate(tasks):
        if problem := name_problem(task.name):
            raise Miswritten(f"/tasks/{node}/name", f"{shown(task.name)} {problem}")
        if task.name in nodes:
            raise Miswritten(
                f"/tasks/{node}/name",
                f"two tasks are called {shown(task.name)}; the first is /tasks/{nodes[task.name]}",
            )
        nodes[task.name] = node
    return nodes


def _parameter(name: str, given: Mapping[str, Any]) -> ParameterSpec:
    pointer = f"/parameters/{name}"
    if problem := name_problem(name):
        raise Miswritten("/parameters", f"{shown(name)} {problem}")
    schema = {key: value for key, value in given.items() if key != "default"}
    spec = ParameterSpec(
        name=name, schema=schema, required="default" not in given, default=given.get("default")
    )
    try:
        check = ParameterCheck(DagSpec(name="check", tasks=(), parameters=(spec,)))
        if not spec.required:
            check.encode({name: spec.default})
    except MainspringError as error:
        raise Miswritten(pointer, f"the default of {error.message}", hint=error.hint) from None
    except Exception as error:  # a schema may be anything
        raise Miswritten(
            pointer,
            f"this JSON Schema cannot be used: {error}",
            hint='write it like `{"type": "string"}`',
        ) from None
    return spec


def _edges(tasks: Sequence[WrittenTask], nodes: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    edges: set[tuple[int, int]] = set()
    for node, task in enumerate(tasks):
        for place, name in enumerate(task.after):
            edges.add((_node(f"/tasks/{node}/after/{place}", name, nodes), node))
        for name in _results_in([task.command, task.http, task.parameters]):
            edges.add((nodes[name], node))
    if len(edges) > EDGES_MAX:
        raise Miswritten("/tasks", f"{len(edges):,} edges are more than {EDGES_MAX:,}")
    return tuple(sorted(edges))


def _node(pointer: str, name: str, nodes: Mapping[str, int]) -> int:
    if name not in nodes:
        raise Miswritten(pointer, f"there is no task {shown(name)}", hint=closest(name, nodes))
    return nodes[name]


def _circle(spec: DagSpec) -> list[int]:
    """Tasks of which each comes after the one before it, and the first after the last."""
    stuck = set(range(len(spec.tasks))) - set(in_order(spec))
    parents = parents_of(spec)
    way = [min(stuck)]
    while True:
        before = next(parent for parent in parents[way[-1]] if parent in stuck)
        if before in way:
            return way[way.index(before) :][::-1]
        way.append(before)


def _seconds(pointer: str, given: str | float | None) -> float | None:
    if given is None:
        return None
    try:
        seconds = parse_duration(given, what="a timeout")
    except InputError as error:
        raise Miswritten(pointer, error.message, hint=error.hint) from None
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise Miswritten(pointer, f"{shown(given)} is not between 0 s and a year")
    return seconds


class _Task:
    """One task on its way from what was written to a spec."""

    def __init__(
        self,
        pointer: str,
        written: WrittenTask,
        nodes: Mapping[str, int],
        parameters: Mapping[str, Any],
    ) -> None:
        self._at = pointer
        self._written = written
        self._nodes = nodes
        self._parameters = parameters

    def spec(self) -> TaskSpec:
        written = self._written
        given = [
            kind
            for kind, value in (
                (JobKind.COMMAND, written.command),
                (JobKind.HTTP, written.http),
                (JobKind.TASK, written.task),
            )
            if value is not None
        ]
        if len(given) != 1:
            found = f"{listed(given)} are given" if given else "none is given"
            raise Miswritten(
                self._at,
                f"task {shown(written.name)} is of one of `command`, `http` and `task`; {found}",
                hint='such as a command, which is a list of arguments: `["echo", "hi"]`',
            )
        self._check_options(given[0])
        match given[0]:
            case JobKind.COMMAND:
                return self._command()
            case JobKind.HTTP:
                return self._http()
            case JobKind.TASK:
                return self._function()

    def _check_options(self, kind: JobKind) -> None:
        written = self._written
        if kind is not JobKind.TASK and written.kind is not None:
            raise Miswritten(f"{self._at}/kind", "is for a `task`", hint="leave it out")
        if kind is not JobKind.COMMAND and written.cwd is not None:
            raise Miswritten(f"{self._at}/cwd", "is for a `command`", hint="leave it out")
        if not PRIORITY_MIN <= written.priority <= PRIORITY_MAX:
            raise Miswritten(
                f"{self._at}/priority", f"is not between {PRIORITY_MIN} and {PRIORITY_MAX}"
            )
        if PARAMETER in written.parameters or RESULT in written.parameters:
            raise Miswritten(
                f"{self._at}/parameters",
                "what they are called has to be written in the dag",
                hint=f'each has a name: `{{"region": {{"{PARAMETER}": "region"}}}}`',
            )
        if problem := name_problem(written.queue):
            raise Miswritten(f"{self._at}/queue", f"{shown(written.queue)} {problem}")
        if written.retries is not None and not 0 <= written.retries < ATTEMPTS_MAX:
            raise Miswritten(f"{self._at}/retries", f"is not between 0 and {ATTEMPTS_MAX - 1:,}")

    def _command(self) -> TaskSpec:
        written = self._written
        assert written.command is not None
        if not written.command or not isinstance(written.command[0], str):
            raise Miswritten(
                f"{self._at}/command/0",
                "the program has to be written in the dag",
                hint="a parameter or a result can be an argument, but not choose what is run",
            )
        env = self._bindings("parameters", written.parameters)
        arguments = self._binding("command", written.command)
        self._checked(
            "command",
            CommandCall(_stood_in(written.command), written.cwd).parameters,
            _stood_in(written.parameters),
        )
        bindings = {"arguments": arguments, "env": env, "cwd": Value(written.cwd)}
        return self._of(BUILT_IN_DAGS[JobKind.COMMAND].tasks[0], bindings)

    def _http(self) -> TaskSpec:
        written = self._written
        given = {"url": written.http} if isinstance(written.http, str) else written.http
        assert given is not None
        if not isinstance(given.get("url"), str):
            raise Miswritten(
                f"{self._at}/http/url",
                "the address has to be written in the dag",
                hint="`parameters` fill the `{name}` in it",
            )
        for name in ("method", "expect"):
            if _has_later(given.get(name)):
                raise Miswritten(f"{self._at}/http/{name}", "has to be written in the dag")
        later = {
            name: self._binding(f"http/{name}", value)
            for name, value in given.items()
            if _has_later(value)
        }
        try:
            request = msgspec.convert(_stood_in(given), HttpCall)
        except msgspec.ValidationError as error:
            raise Miswritten(f"{self._at}/http", str(error)) from None
        seconds = _seconds(f"{self._at}/timeout", written.timeout)
        path = self._bindings("parameters", written.parameters)
        complete = self._checked("http", request.parameters, _stood_in(written.parameters), seconds)
        bindings: dict[str, Binding] = {name: Value(value) for name, value in complete.items()}
        return self._of(BUILT_IN_DAGS[JobKind.HTTP].tasks[0], bindings | later | {"path": path})

    def _function(self) -> TaskSpec:
        written = self._written
        assert written.task is not None
        if not _ENTRY.fullmatch(written.task):
            raise Miswritten(
                f"{self._at}/task",
                f"{shown(written.task)} is no function",
                hint="write it like `shop.tasks:charge`; it has to be installed where workers are",
            )
        kind = written.kind or SlotKind.PROCESS
        if kind is SlotKind.COMMAND:
            raise Miswritten(f"{self._at}/kind", "a function is no command", hint="use `command`")
        task = TaskSpec(name=written.name, entry=written.task, kind=kind, retry=_RETRY)
        arguments = {
            name: self._binding(f"parameters/{name}", value)
            for name, value in written.parameters.items()
        }
        return self._of(task, arguments)

    def _of(self, task: TaskSpec, arguments: Mapping[str, Binding]) -> TaskSpec:
        written = self._written
        retry = task.retry
        if written.retries is not None:
            retry = msgspec.structs.replace(retry, attempts=written.retries + 1)
        return msgspec.structs.replace(
            task,
            name=written.name,
            arguments=dict(arguments),
            queue=written.queue,
            priority=written.priority,
            retry=retry,
            timeout_seconds=_seconds(f"{self._at}/timeout", written.timeout),
            description=written.description,
        )

    def _checked(self, place: str, check: Any, *given: Any) -> Any:
        try:
            return check(*given)
        except InputError as error:
            raise Miswritten(f"{self._at}/{place}", error.message, hint=error.hint) from None

    def _bindings(self, place: str, values: Mapping[str, Any]) -> Binding:
        if not _has_later(values):
            return Value(dict(values))
        return MappingOf(
            {name: self._binding(f"{place}/{name}", value) for name, value in values.items()}
        )

    def _binding(self, place: str, value: Any) -> Binding:
        """Where a value comes from; only what is not known yet is taken apart."""
        if not _has_later(value):
            return Value(value)
        if isinstance(value, list):
            return ListOf(
                tuple(self._binding(f"{place}/{at}", item) for at, item in enumerate(value))
            )
        assert isinstance(value, dict)
        if PARAMETER in value:
            return self._parameter(place, value)
        if RESULT in value:
            return self._result(place, value)
        return MappingOf(
            {key: self._binding(f"{place}/{key}", item) for key, item in value.items()}
        )

    def _parameter(self, place: str, value: Mapping[str, Any]) -> Parameter:
        name = value[PARAMETER]
        if len(value) > 1 or not isinstance(name, str):
            raise Miswritten(
                f"{self._at}/{place}", f'a parameter is written `{{"{PARAMETER}": "name"}}`'
            )
        if name not in self._parameters:
            raise Miswritten(
                f"{self._at}/{place}",
                f"the dag has no parameter {shown(name)}",
                hint=closest(name, self._parameters),
            )
        return Parameter(name)

    def _result(self, place: str, value: Mapping[str, Any]) -> Result:
        name, path = value[RESULT], value.get(PATH, [])
        good = isinstance(path, list) and all(type(step) in (str, int) for step in path)
        if value.keys() - {RESULT, PATH} or not isinstance(name, str) or not good:
            raise Miswritten(
                f"{self._at}/{place}",
                f'a result is written `{{"{RESULT}": "task", "{PATH}": ["field", 0]}}`',
            )
        return Result(_node(f"{self._at}/{place}", name, self._nodes), tuple(path))


def _has_later(value: Any) -> bool:
    """Whether a parameter or a result is somewhere in it."""
    if isinstance(value, dict):
        return PARAMETER in value or RESULT in value or any(map(_has_later, value.values()))
    return isinstance(value, list) and any(map(_has_later, value))


def _stood_in(value: Any) -> Any:
    """The same, with something plain for what is known later."""
    if isinstance(value, dict):
        if PARAMETER in value or RESULT in value:
            return _STAND_IN
        return {key: _stood_in(item) for key, item in value.items()}
    return [_stood_in(item) for item in value] if isinstance(value, list) else value


def _results_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        if RESULT in value:
            return [value[RESULT]]
        return [name for item in value.values() for name in _results_in(item)]
    if isinstance(value, list):
        return [name for item in value for name in _results_in(item)]
    return []
