"""`@task`: a function, and how it is to be run."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, ParamSpec, TypeVar, overload

import msgspec

from mainspring.authoring.defaults import checked_policy, shared_policy, task_fields
from mainspring.authoring.drawing import current_drawing, storable
from mainspring.authoring.options import (
    DESCRIPTION_LENGTH_MAX,
    checked_choice,
    checked_line,
    checked_name,
    first_line,
)
from mainspring.authoring.retries import RetryPolicy
from mainspring.authoring.signatures import annotations_of, signature_of
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.names import closest, shown
from mainspring.domain.parameters import parameter_spec
from mainspring.domain.specs import DagSpec, Parameter, TaskSpec

if TYPE_CHECKING:
    from mainspring.plugins import Executor

P = ParamSpec("P")
R = TypeVar("R")

ExecutorName = Literal["process", "thread", "async", "command"]


class Task(Generic[P, R]):
    """A function that runs as a task.

    Called inside a dag's function it joins the graph and gives a stand-in for its result; called
    anywhere else it is the function, so that it can be tested like one.
    """

    def __init__(
        self,
        function: Callable[P, R],
        spec: TaskSpec,
        retry: RetryPolicy | None = None,
        *,
        given: Iterable[str] = (),
    ) -> None:
        self.function = function
        self.spec = spec
        """Name and options; the arguments come with each call in a dag."""
        self.retry = retry
        self._given = frozenset(given)
        """The fields of `spec` that the author chose, so that a dag's defaults do not."""
        self._exact_name = False
        self._signature = signature_of(function, f"task {shown(spec.name)}", extra=True)
        # Without the function's own attributes: another decorator's `retry` is not ours.
        functools.update_wrapper(self, function, updated=())

    @property
    def name(self) -> str:
        return self.spec.name

    # `Any` and not `R`: inside a dag's function it is a stand-in, which knows `>>` and parts.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        drawing = current_drawing()
        if drawing is None:
            return self.function(*args, **kwargs)
        arguments = self._by_name(args, kwargs)
        spec = self._under(drawing.defaults)
        return drawing.add_task(spec, self.function, arguments, exact_name=self._exact_name)

    def named(self, name: str) -> Task[P, R]:
        """The same task under a name of its own, to be called in a dag."""
        return self.with_options(name=checked_name("a task", name))

    def with_options(
        self,
        *,
        name: str | None = None,
        retries: int | None = None,
        retry: RetryPolicy | None = None,
        timeout: Duration | None = None,
        queue: str | None = None,
        priority: int | None = None,
        max_lost: int | None = None,
        on_lost: Literal["retry", "fail"] | None = None,
        description: str | None = None,
    ) -> Task[P, R]:
        """The same task with these options, to be called in a dag; the others stay."""
        what = f"task {shown(self.name if name is None else name)}"
        fields = task_fields(
            what,
            retry=shared_policy(what, retries, retry),
            timeout=timeout,
            queue=queue,
            priority=priority,
            max_lost=max_lost,
            on_lost=on_lost,
        )
        twin = copy.copy(self)
        twin._given = self._given.union(fields)
        if name is not None:
            fields["name"] = checked_name("a task", name)
            twin._exact_name = True
        if description is not None:
            fields["description"] = checked_line(
                f"{what}: `description`", description, DESCRIPTION_LENGTH_MAX
            )
        twin.spec = msgspec.structs.replace(self.spec, **fields)
        return twin

    def as_dag(self) -> DagSpec:
        """The implicit dag of this task alone; its parameters are the function's."""
        what = f"task {shown(self.name)}"
        signature = signature_of(self.function, what, extra=False)
        annotations = annotations_of(self.function, what)
        parameters = tuple(
            parameter_spec(name, annotations.get(name, Any), parameter.default)
            for name, parameter in signature.parameters.items()
        )
        bindings = {parameter.name: Parameter(parameter.name) for parameter in parameters}
        return storable(
            DagSpec(
                name=self.name,
                tasks=(msgspec.structs.replace(self.spec, arguments=bindings),),
                parameters=parameters,
                description=self.spec.description,
            )
        )

    def _under(self, defaults: Mapping[str, Any]) -> TaskSpec:
        """With what the dag says for all of its tasks and this one does not say itself."""
        fields = {name: value for name, value in defaults.items() if name not in self._given}
        if self.spec.kind is not SlotKind.PROCESS:
            fields.pop("kind", None)
        return msgspec.structs.replace(self.spec, **fields) if fields else self.spec

    def _by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            known = self._signature.parameters
            unknown = next((name for name in kwargs if name not in known), None)
            raise DefinitionError(
                f"task {shown(self.name)}: {error}",
                hint="" if unknown is None else closest(unknown, known),
            ) from None
        arguments: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(value)
            else:
                arguments[name] = value
        return arguments

    def _not_called(self, _: object) -> NoReturn:
        raise DefinitionError(
            f"task {shown(self.name)} is not called",
            hint=f"`>>` orders calls: write `{self.name}(…)`",
        )

    __rshift__ = __rrshift__ = __lshift__ = __rlshift__ = _not_called

    def __repr__(self) -> str:
        return f"<task {self.name}>"


@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def task(
    *,
    name: str | None = None,
    retries: int | None = None,
    retry: RetryPolicy | None = None,
    timeout: Duration | None = None,
    queue: str | None = None,
    priority: int | None = None,
    executor: ExecutorName | str | None = None,
    max_lost: int | None = None,
    on_lost: Literal["retry", "fail"] | None = None,
    description: str | None = None,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...


def task(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    retries: int | None = None,
    retry: RetryPolicy | None = None,
    timeout: Duration | None = None,
    queue: str | None = None,
    priority: int | None = None,
    executor: ExecutorName | str | None = None,
    max_lost: int | None = None,
    on_lost: Literal["retry", "fail"] | None = None,
    description: str | None = None,
) -> Task[P, R] | Callable[[Callable[P, R]], Task[P, R]]:
    """Make a task of a function.

    `retries` counts attempts after the first; `retry` is a whole policy instead. `timeout` bounds
    one attempt. `priority` goes from 0 to 9, higher sooner, 5 if nothing is said. `executor` says
    how it runs: plain functions in a process (or `"thread"`), async functions in a shared event
    loop; with `"command"` the function returns an argument vector, which is executed without a
    shell, and the result is the last line that it prints. Other names are those of plug-ins.
    `max_lost` and `on_lost` say what happens when the process or the machine under an attempt is
    gone: whether, and how often (3 times), it is tried anew. `description` is the first line
    of the docstring if it is not given. What is not said here may be said for all tasks of a dag by
    its `TaskDefaults`.
    """

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        own_name = getattr(function, "__name__", "")
        hint = 'give it one: `@task(name="…")`' if name is None else ""
        checked_name("a task", own_name if name is None else name, hint=hint)
        what = f"task {shown(name or own_name)}"
        signature_of(function, what, extra=True)
        policy = checked_policy(what, retries, retry)
        fields = task_fields(
            what,
            retry=policy,
            timeout=timeout,
            queue=queue,
            priority=priority,
            max_lost=max_lost,
            on_lost=on_lost,
        )
        kind = _kind(what, function, executor)
        spec = TaskSpec(
            name=name or own_name,
            entry=f"{function.__module__}:{function.__qualname__}",
            kind=kind,
            executor="" if executor in (None, kind.value) else str(executor),
            **fields,
            description=first_line(inspect.getdoc(function) or "")
            if description is None
            else checked_line(f"{what}: `description`", description, DESCRIPTION_LENGTH_MAX),
        )
        chosen = fields if executor is None else (*fields, "kind")
        return Task(function, spec, policy, given=chosen)

    return decorate if function is None else decorate(function)


def _kind(what: str, function: Callable[..., Any], executor: str | None) -> SlotKind:
    is_async = inspect.iscoroutinefunction(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(
            f"{what}: a generator cannot be a task", hint="collect the items and return a list"
        )
    if executor is None:
        return SlotKind.ASYNC if is_async else SlotKind.PROCESS
    if executor not in tuple(SlotKind):
        return _plugged(what, executor)
    kind = SlotKind(executor)
    if is_async and kind is not SlotKind.ASYNC:
        raise DefinitionError(
            f'{what}: an async function cannot run with `executor="{kind}"`',
            hint="leave `executor` away, or write it with `def`",
        )
    if kind is SlotKind.ASYNC and not is_async:
        raise DefinitionError(
            f'{what}: a plain function cannot run with `executor="async"`: it would block others',
            hint='write it with `async def`, or use `executor="thread"`',
        )
    return kind


def _plugged(what: str, executor: str) -> SlotKind:
    """Whose slots the executor of another package takes."""
    from mainspring.plugins import Kind, find_plugins, load_plugin_named

    others = [plugin.name for plugin in find_plugins(Kind.EXECUTOR) if not plugin.ours]
    checked_choice(f"{what}: `executor`", executor, [*SlotKind, *others])
    chosen: type[Executor] = load_plugin_named(Kind.EXECUTOR, executor)
    return SlotKind(chosen.slot_kind)
