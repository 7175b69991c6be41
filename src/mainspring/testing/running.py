"""`run_dag`: a run in this process, without a database, in virtual time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mainspring.authoring.calling import AnyTask, resolve
from mainspring.authoring.context import RunFire
from mainspring.authoring.fires import fire_of, instant
from mainspring.authoring.tasks import Task
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import closest, listed, shown
from mainspring.domain.parameters import validate_parameters
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.domain.states import TaskState
from mainspring.testing.attempts import Failure, Fakes, Made, make_attempt
from mainspring.testing.clock import virtual_sleep
from mainspring.testing.graphs import Subject, drawn
from mainspring.testing.results import AttemptResult, RunResult, TaskResult
from mainspring.trial import Due, Trial, Tried

RUN_ID = 1
_OPTIONS = ("results", "fail", "at", "fire_at", "schedule", "data_interval", "parameters")

log = logging.getLogger("mainspring.testing")


def run_dag(
    dag: Subject,
    /,
    *,
    results: Mapping[str, Any] | None = None,
    fail: Mapping[str, Failure | Sequence[Failure]] | None = None,
    at: datetime | None = None,
    fire_at: datetime | None = None,
    schedule: str | None = None,
    data_interval: tuple[datetime, datetime] | None = None,
    parameters: Mapping[str, Any] | None = None,
    **named: Any,
) -> RunResult:
    """Run a dag, or a task alone, in this process; tasks behave as they would on a worker.

    The run's parameters are given by name, or as `parameters` if one is named like an option.

    `results`: what tasks return, by name, without being called. A function is called in the
    task's place, with its arguments. `fail`: an exception that every attempt of a task raises, or
    a list with one for each of its first attempts; `Lost()` and `TimedOut()` among them. `at`:
    when the run was due, for `context().due_at`.

    `fire_at`: run as a schedule of the dag would at this instant, with its parameters, where none
    are given, and its data interval. Of several schedules `schedule` names one; `data_interval` is
    for a dag that has none in its file.

    Rests between attempts and sleeps take no time; `elapsed_seconds` tells how long it would have
    taken. Rests are as long as the policy says, without their random part.
    """
    spec, functions = drawn(dag)
    options = (results, fail, at, fire_at, schedule, data_interval)
    given = _given(spec, parameters, named, used=any(options))
    fire, scheduled = fire_of(spec, fire_at, schedule, data_interval)
    run = _Run(
        spec,
        {entry: _task(spec, entry, function) for entry, function in functions.items()},
        validate_parameters(spec, {**scheduled, **given}),
        _fakes(spec, results or {}, fail or {}),
        _folder(dag.function),
        instant("at", at or fire_at or datetime.now(UTC)),
        fire,
    )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run.run()
    # Coroutines get an event loop of their own, and a thread can only run one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, run.run).result()


class _Run:
    """Makes the attempts of a trial, and listens to what becomes of them."""

    def __init__(
        self,
        spec: DagSpec,
        tasks: Mapping[str, AnyTask],
        parameters: dict[str, Any],
        fakes: Fakes,
        folder: Path,
        due_at: datetime,
        fire: RunFire | None,
    ) -> None:
        self._spec = spec
        self._tasks = tasks
        self._parameters = parameters
        self._fakes = fakes
        self._folder = folder
        self._trial = Trial(
            spec,
            parameters,
            self,
            run_id=RUN_ID,
            due_at=due_at,
            random=lambda: 0.0,
            side_by_side=True,
            fire=fire,
        )
        self._order: dict[str, None] = {}
        self._made: dict[int, tuple[Due, Made]] = {}
        self._tries: dict[int, list[AttemptResult]] = {}
        self._ended: dict[int, tuple[TaskState, bytes | None]] = {}

    def run(self) -> RunResult:
        with virtual_sleep():
            while due := self._trial.next():
                self._order[due.task.name] = None
                made = make_attempt(self._tasks[due.task.entry], due, self._fakes, self._folder)
                self._made[due.node] = (due, made)
                self._trial.ended(due, made.outcome, made.seconds)
        return RunResult(
            dag=self._spec.name,
            state=self._trial.verdict,
            parameters=self._parameters,
            tasks={task.name: self._task(node, task) for node, task in enumerate(self._spec.tasks)},
            order=list(self._order),
            elapsed_seconds=self._trial.now_seconds,
        )

    def _task(self, node: int, task: TaskSpec) -> TaskResult:
        state, result = self._ended[node]
        return TaskResult(
            name=task.name,
            state=state,
            result=None if result is None else msgspec.json.decode(result),
            tries=tuple(self._tries.get(node, ())),
        )

    # --- what the trial tells --------------------------------------------------------------

    def tried(self, node: int, tried: Tried) -> None:
        due, made = self._made.pop(node, (None, None))
        self._tries.setdefault(node, []).append(
            AttemptResult(
                number=tried.attempt,
                state=tried.state,
                error=tried.error,
                began_seconds=self._trial.now_seconds if due is None else due.at_seconds,
                seconds=tried.seconds,
                called=made is not None and made.called,
                log="" if made is None else made.log,
                progress=() if made is None else made.progress,
            )
        )
        if tried.error is not None:
            # pytest shows it below a test that fails.
            log.warning(
                "task %s, attempt %d %s: %s: %s\n%s",
                shown(self._spec.tasks[node].name),
                tried.attempt,
                tried.state,
                tried.error.type,
                tried.error.message,
                tried.error.trace,
            )

    def rests(self, node: int, delay_seconds: float) -> None:
        pass

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None:
        self._ended[node] = (state, result)


# --- what is given --------------------------------------------------------------------------


def _given(
    spec: DagSpec, parameters: Mapping[str, Any] | None, named: dict[str, Any], *, used: bool
) -> dict[str, Any]:
    ambiguous = [each.name for each in spec.parameters if each.name in _OPTIONS]
    if parameters is None and used and ambiguous:
        raise InputError(
            f"dag {shown(spec.name)} has a parameter that is named like an option of `run_dag`:"
            f" {listed(ambiguous)}",
            hint="give all its parameters as `parameters={…}`; then the option is the option",
        )
    if parameters is not None and named:
        raise InputError(
            f"parameters are given twice: as `parameters` and by name ({listed(named)})",
            hint="put all of them into `parameters={…}`",
        )
    return dict(named if parameters is None else parameters)


def _fakes(
    spec: DagSpec,
    results: Mapping[str, Any],
    fail: Mapping[str, Failure | Sequence[Failure]],
) -> Fakes:
    names = [task.name for task in spec.tasks]
    for option, given in (("results", results), ("fail", fail)):
        for name in given:
            if name not in names:
                raise InputError(
                    f"`{option}`: dag {shown(spec.name)} has no task {shown(name)}",
                    hint=closest(str(name), names),
                )
    return Fakes(results, {name: _failures(name, given) for name, given in fail.items()})


def _failures(name: str, given: Failure | Sequence[Failure]) -> Failure | list[Failure]:
    several = isinstance(given, (list, tuple))
    failures: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    for each in failures:
        kind = each if isinstance(each, type) else type(each)
        if not issubclass(kind, BaseException):
            raise InputError(
                f"`fail`: task {shown(name)} is to raise {shown(repr(each))}, no exception",
                hint='write it like `fail={"extract": ConnectionError("no")}`',
            )
    return failures if several else failures[0]


def _folder(function: Callable[..., Any]) -> Path:
    """Where the module of a dag is imported from: the folder of dags."""
    try:
        file = Path(inspect.getfile(function)).absolute()
    except TypeError:  # a callable that is no function
        return Path.cwd()
    return file.parents[function.__module__.count(".")]


def _task(spec: DagSpec, entry: str, function: Callable[..., Any]) -> AnyTask:
    """The task of a function: as a worker would find it, or made anew for one that is local."""
    try:
        found = resolve(entry)
    except DefinitionError:
        found = None
    if found is not None and found.function is function:
        return found
    some = next(task for task in spec.tasks if task.entry == entry)
    if some.retry.backoff == "function":
        raise DefinitionError(
            f"task {shown(some.name)} is not found as `{entry}`, and so its delay function is not",
            hint="define the task at the top level of a module",
        )
    return Task(function, some)
