"""From a claimed task to a job: its spec, its code, its arguments.

Specs and names of schedules are cached, as they never change. Results of parents are read when they
are needed, except those that the granting completion just reported. The code of a run is found by
`worker/code.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from mainspring.authoring.context import Attempt, RunFire
from mainspring.config import Config
from mainspring.domain.bindings import arguments_of
from mainspring.domain.errors import InputError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Error, Failed, HandedBack, Outcome
from mainspring.domain.specs import DagSpec, Parameter, TaskSpec, results_in, with_options
from mainspring.executors.jobs import Job
from mainspring.store.attempts import Claimed
from mainspring.worker.apps import package_of
from mainspring.worker.code import Code, Missing
from mainspring.worker.depot import Reading

_RESULTS_PER_READ = 1000
_MISSING_APP_DELAY_SECONDS = 5.0
_SCHEDULES_KEPT = 50_000


class Version(msgspec.Struct, frozen=True):
    """A version as the worker uses it."""

    spec: DagSpec
    needs: list[list[int]]
    """For each task, the tasks whose results its arguments hold."""
    plain: list[bool]
    """For each task, whether its arguments are just the run's parameters."""


_UNREAD = TaskSpec(name="unread", entry="unread:unread")


class Inputs:
    """Prepares claimed tasks; what cannot be prepared comes back with its outcome."""

    def __init__(
        self, config: Config, depot: Reading, code_in_use: Callable[[], Collection[str]]
    ) -> None:
        self._depot = depot
        self._versions: dict[int, Version] = {}
        self._schedules: dict[int, str] = {}
        self._folders = Code(config, depot, code_in_use)
        # Our own code is wherever we are: built-in dags need no `--app`.
        self._packages = {package_of(app) for app in config.apps} | {package_of(__name__)}

    def task(self, claimed: Claimed) -> TaskSpec:
        """A bare one of what could not be read: it was not begun, and goes back as it came."""
        version = self._versions.get(claimed.version_id)
        if version is None:
            return _UNREAD
        task = version.spec.tasks[claimed.node]
        if claimed.attempts_max is None and claimed.timeout_seconds is None:
            return task
        return with_options(task, claimed.attempts_max, claimed.timeout_seconds)

    async def prepare(
        self, batch: Sequence[Claimed], known_results: Mapping[int, bytes | None]
    ) -> tuple[list[Job], list[tuple[Claimed, Outcome]]]:
        await self._learn(batch)
        results = await self._results(batch, known_results)
        large = await self._large_parameters(batch)
        jobs: list[Job] = []
        unable: list[tuple[Claimed, Outcome]] = []
        for claimed in batch:
            code = self._code(claimed)
            if isinstance(code, HandedBack):
                unable.append((claimed, code))
                continue
            try:
                jobs.append(self._job(claimed, code, large, results))
            except InputError as error:
                unable.append((claimed, Failed(Error("InputError", error.message), retry=False)))
        return jobs, unable

    def _job(
        self,
        claimed: Claimed,
        code: str,
        large: Mapping[int, bytes],
        results: Mapping[int, bytes | None],
    ) -> Job:
        version = self._versions[claimed.version_id]
        task = self.task(claimed)
        # What the task may ask of its run goes along, but never twice: neither parameters that
        # are the arguments, nor large ones with each task of a run (see `Job.large_parameters`).
        stored = b"{}" if claimed.parameters is None else claimed.parameters
        parameters = stored or large[claimed.run_id]
        plain = version.plain[claimed.node]
        return Job(
            claimed.task_id,
            claimed.term,
            task.kind,
            code,
            task.entry,
            Attempt(
                claimed.run_id,
                version.spec.name,
                task.name,
                claimed.attempt,
                claimed.generation,
                claimed.epoch,
                claimed.term,
                claimed.due_at,
                None if plain else stored,
                None if claimed.fire_at is None else self._fire(claimed),
            ),
            parameters if plain else _arguments(claimed, task, parameters, results),
            task.timeout_seconds,
            # What was lost once may have killed its host, or its worker: it is set apart.
            apart=claimed.lost > 0 and task.kind is not SlotKind.PROCESS,
            # Again, or for the last time: whoever is alone cannot be lost by another's doing.
            alone=claimed.lost > 1 or 0 < claimed.lost == task.max_lost - 1,
            executor=task.executor,
            large_parameters=None if plain or stored else parameters,
        )

    def _fire(self, claimed: Claimed) -> RunFire:
        assert claimed.fire_at is not None
        schedule_id, start = claimed.schedule_id, claimed.interval_start
        return RunFire(
            None if schedule_id is None else self._schedules[schedule_id],
            claimed.fire_at,
            claimed.fire_at if start is None else start,
        )

    async def _learn(self, batch: Sequence[Claimed]) -> None:
        """Fetch the versions, snapshots and names of schedules that are new to this worker."""
        if unknown := {c.version_id for c in batch} - self._versions.keys():
            for version_id, spec in (await self._depot.read_versions(sorted(unknown))).items():
                self._versions[version_id] = _version(spec)
        await self._folders.learn({c.snapshot_id for c in batch})
        named = {c.schedule_id for c in batch if c.schedule_id is not None}
        if len(self._schedules) > _SCHEDULES_KEPT:
            self._schedules.clear()
        if nameless := named - self._schedules.keys():
            self._schedules |= await self._depot.read_schedule_names(sorted(nameless))

    def _code(self, claimed: Claimed) -> str | HandedBack:
        """The folder that the task's code is in; empty for the code of an application."""
        folder = self._folders.of(claimed.snapshot_id)
        if isinstance(folder, Missing):
            return HandedBack(folder.reason, delay_seconds=folder.delay_seconds)
        if folder:
            return folder
        module = self.task(claimed).entry.partition(":")[0]
        if package_of(module) not in self._packages:
            return _no_app(module)
        return ""

    async def _results(
        self, batch: Sequence[Claimed], known: Mapping[int, bytes | None]
    ) -> Mapping[int, bytes | None]:
        wanted = {
            claimed.run_id + node
            for claimed in batch
            for node in self._versions[claimed.version_id].needs[claimed.node]
        }
        missing = sorted(wanted - known.keys())
        if not missing:
            return known
        results = dict(known)
        for start in range(0, len(missing), _RESULTS_PER_READ):
            results |= await self._depot.read_results(missing[start : start + _RESULTS_PER_READ])
        return results

    async def _large_parameters(self, batch: Sequence[Claimed]) -> Mapping[int, bytes]:
        large = sorted({c.run_id for c in batch if c.parameters == b""})
        return await self._depot.read_parameters(large) if large else {}


def _arguments(
    claimed: Claimed, task: TaskSpec, parameters: bytes, results: Mapping[int, bytes | None]
) -> bytes:
    by_name = msgspec.json.decode(parameters, type=dict[str, msgspec.Raw])
    return arguments_of(task, by_name, lambda node: results[claimed.run_id + node] or b"null")


def _no_app(module: str) -> HandedBack:
    return HandedBack(
        f"this worker does not have the application of module `{module}`: start one with"
        f" `--app {module}`",
        delay_seconds=_MISSING_APP_DELAY_SECONDS,
    )


def _version(spec: DagSpec) -> Version:
    names = {parameter.name for parameter in spec.parameters}
    return Version(
        spec,
        [
            sorted({n for binding in task.arguments.values() for n in results_in(binding)})
            for task in spec.tasks
        ],
        [
            names == task.arguments.keys()
            and all(
                isinstance(binding, Parameter) and binding.name == name
                for name, binding in task.arguments.items()
            )
            for task in spec.tasks
        ],
    )
