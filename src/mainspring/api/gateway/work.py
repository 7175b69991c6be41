"""Tasks with their arguments, for workers that read no specs.

The gateway fills in what a worker of ours fills in itself, by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from mainspring.domain.bindings import arguments_of
from mainspring.domain.specs import DagSpec, TaskSpec, results_in, with_options
from mainspring.store.attempts import Claimed
from mainspring.store.connection import Line
from mainspring.store.dags import read_versions
from mainspring.store.payloads import read_parameters, read_results
from mainspring.worker_protocol import Work

_VERSIONS_KEPT = 10_000


class Specs:
    """Versions of dags, which never change."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._specs: dict[int, DagSpec] = {}

    async def learn(self, version_ids: set[int]) -> None:
        if unknown := version_ids - self._specs.keys():
            if len(self._specs) > _VERSIONS_KEPT:
                self._specs.clear()
                unknown = version_ids
            self._specs |= await self._line.call(read_versions, sorted(unknown))

    def __contains__(self, version_id: int) -> bool:
        return version_id in self._specs

    def __getitem__(self, version_id: int) -> DagSpec:
        return self._specs[version_id]

    def task(self, claimed: Claimed) -> TaskSpec:
        """As its run wants it, which may have options of its own."""
        task = self._specs[claimed.version_id].tasks[claimed.node]
        if claimed.attempts_max is None and claimed.timeout_seconds is None:
            return task
        return with_options(task, claimed.attempts_max, claimed.timeout_seconds)


async def work_of(line: Line, specs: Specs, tasks: Sequence[Claimed]) -> list[Work]:
    """In the order of the tasks."""
    await specs.learn({task.version_id for task in tasks})
    wanted = {
        claimed.run_id + node
        for claimed in tasks
        for binding in specs[claimed.version_id].tasks[claimed.node].arguments.values()
        for node in results_in(binding)
    }
    results = await line.call(read_results, sorted(wanted)) if wanted else {}
    large = sorted({task.run_id for task in tasks if task.parameters == b""})
    parameters = await line.call(read_parameters, large) if large else {}
    work = []
    for claimed in tasks:
        task = specs.task(claimed)
        stored = b"{}" if claimed.parameters is None else claimed.parameters
        by_name = msgspec.json.decode(
            stored or parameters[claimed.run_id], type=dict[str, msgspec.Raw]
        )
        arguments = arguments_of(task, by_name, partial(_result, results, claimed.run_id))
        work.append(
            Work(
                specs[claimed.version_id].name,
                task.name,
                task.kind,
                task.entry,
                msgspec.json.decode(arguments),
                task.timeout_seconds,
            )
        )
    return work


def _result(results: Mapping[int, bytes | None], run_id: int, node: int) -> bytes:
    return results[run_id + node] or b"null"
