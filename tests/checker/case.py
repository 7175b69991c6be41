"""All the evidence of one run of the system, put together; what promises are asked of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.checker.definitions import Definition, TaskRule
from tests.checker.evidence import (
    CLIENT,
    EFFECTS,
    FAULTS,
    FENCED,
    OUTPUT,
    RELEASES,
    STALLS,
    Answered,
    Asked,
    Effect,
    Fault,
    Output,
    Release,
    Stall,
    read_client,
    read_log,
)
from tests.checker.journal import Connection, EvidenceError, Journal, read_journal
from tests.checker.rows import (
    LeaseRow,
    PastRunRow,
    PastTaskRow,
    RemarkRow,
    RunRow,
    TaskRow,
    WorkerRow,
)
from tests.checker.sinks import FencedEffect, read_fenced
from tests.checker.states import MARKED_AS
from tests.checker.story import Holding, Story, retell
from tests.checker.tables import Tables, read_tables

TERMS = 2**32
"""A fencing token is the epoch times this, plus the term."""


class Execution(NamedTuple):
    """User code ran, as it told the raw sink itself."""

    task_id: int | None
    """None if there is no such task."""
    run: int
    task: str
    token: int
    attempt: int
    generation: int
    kind: str
    pid: int
    begin: float
    end: float | None
    """None if it was killed, or has not ended."""
    releases: tuple[int, ...]
    """Of its code, as that says itself."""

    @property
    def term(self) -> int:
        return self.token % TERMS

    @property
    def epoch(self) -> int:
        return self.token // TERMS


def nothing_may_wait(_: RunRow) -> bool:
    """The usual end: faults are healed, everything is drained, no run is open."""
    return False


class Case:
    def __init__(
        self,
        *,
        client: list[Asked | Answered],
        effects: list[Effect],
        fenced: list[FencedEffect],
        faults: list[Fault],
        journal: Journal,
        tables: Tables,
        output: Sequence[Output] = (),
        releases: Sequence[Release] = (),
        stalls: Sequence[Stall] = (),
        silent: Collection[str] = (),
        may_wait: Callable[[RunRow], bool] = nothing_may_wait,
    ) -> None:
        self.client = client
        self.effects = effects
        self.fenced = fenced
        self.faults = faults
        self.journal = journal
        self.tables = tables
        self.output = [*output]
        self.releases = [*releases]
        self.stalls = [*stalls]
        self.silent = frozenset(silent)
        """Dags whose tasks tell no sink what they do."""
        self.may_wait = may_wait
        """Whether an open run is right to be open at the end."""

    # --- what follows from it --------------------------------------------------------------

    @cached_property
    def story(self) -> Story:
        return retell(self.journal)

    @cached_property
    def workers(self) -> dict[int, WorkerRow]:
        return self.tables.workers

    @cached_property
    def executions(self) -> list[Execution]:
        """Begins, each with its end if it has one, in the order of their beginnings."""
        ends: dict[tuple[int, str, int, int], list[float]] = defaultdict(list)
        for effect in self.effects:
            if effect.phase == "end":
                ends[effect.run, effect.task, effect.token, effect.pid].append(effect.at)
        executions = []
        for effect in sorted(self.effects, key=lambda effect: effect.at):
            if effect.phase == "begin":
                of_it = ends[effect.run, effect.task, effect.token, effect.pid]
                executions.append(
                    Execution(
                        self.task_id(effect.run, effect.task),
                        effect.run,
                        effect.task,
                        effect.token,
                        effect.attempt,
                        effect.generation,
                        effect.kind,
                        effect.pid,
                        effect.at,
                        of_it.pop(0) if of_it else None,
                        tuple(effect.releases),
                    )
                )
        return executions

    @cached_property
    def executions_of(self) -> dict[int, list[Execution]]:
        """By task, in the order of their tokens."""
        by_task: dict[int, list[Execution]] = defaultdict(list)
        for execution in self.executions:
            if execution.task_id is not None:
                by_task[execution.task_id].append(execution)
        for of_it in by_task.values():
            of_it.sort(key=lambda execution: execution.token)
        return by_task

    @cached_property
    def execution_under(self) -> dict[tuple[int, int], Execution]:
        """By task and term."""
        return {
            (task_id, execution.term): execution
            for task_id, of_it in self.executions_of.items()
            for execution in of_it
        }

    @cached_property
    def ever(self) -> dict[int, TaskRow | PastTaskRow]:
        """The last that is known of every task."""
        last: dict[int, TaskRow | PastTaskRow] = {}
        for move in self.journal.moves():
            if isinstance(move.after, (TaskRow, PastTaskRow)):
                last[move.after.id] = move.after
        return last

    @cached_property
    def marks(self) -> dict[tuple[int, int], RemarkRow]:
        """What was closed by hand, by task and the term that this ended."""
        return {
            (move.after.task_id, move.after.term): move.after
            for move in self.journal.moves("remark")
            if isinstance(move.after, RemarkRow) and move.after.deed in MARKED_AS
        }

    @cached_property
    def runs_ever(self) -> dict[int, RunRow | PastRunRow]:
        last: dict[int, RunRow | PastRunRow] = {}
        for move in self.journal.moves():
            if isinstance(move.after, (RunRow, PastRunRow)):
                last[move.after.id] = move.after
        return last

    # --- who is who ------------------------------------------------------------------------

    def definition(self, run_id: int) -> Definition | None:
        run = self.runs_ever.get(run_id)
        return None if run is None else self.tables.definitions.get(run.version_id)

    def rule(self, task_id: int) -> TaskRule:
        """By its dag, and by the run's own options where it has any."""
        task = self.ever[task_id]
        rule = self.tables.definitions[task.version_id].tasks[task.node]
        options = self.runs_ever[task.run_id].options
        if options is None or options.attempts is None:
            return rule
        retry = msgspec.structs.replace(rule.retry, attempts=options.attempts)
        return msgspec.structs.replace(rule, retry=retry)

    def task_id(self, run: int, name: str) -> int | None:
        definition = self.definition(run)
        if definition is None or name not in definition.nodes:
            return None
        return run + definition.nodes[name]

    def told(self, task_id: int) -> str:
        """A task in words."""
        task = self.ever.get(task_id)
        if task is None:
            return f"task {task_id} (unknown)"
        definition = self.tables.definitions.get(task.version_id)
        if definition is None or task.node >= len(definition.tasks):
            return f"task {task_id} (node {task.node} of run {task.run_id})"
        name = definition.tasks[task.node].name
        return f"task {task_id} (`{name}` of run {task.run_id}, dag `{definition.name}`)"

    def told_worker(self, worker_id: int | None) -> str:
        worker = self.workers.get(worker_id) if worker_id is not None else None
        return f"worker {worker_id}" + (f" (`{worker.name}`, pid {worker.pid})" if worker else "")

    def monotonic(self, database: float) -> float:
        return self.journal.clock.monotonic(database)

    def lease_seconds(self, worker_id: int) -> float:
        """How long a worker was trusted without a beat."""
        return self._lease_seconds.get(worker_id, 0.0)

    @cached_property
    def _lease_seconds(self) -> dict[int, float]:
        return {
            move.row.worker_id: move.row.seconds
            for move in self.journal.moves("lease")
            if isinstance(move.row, LeaseRow)
        }

    def taken_away(self, held: Holding) -> bool:
        """Whether it ended because its worker was reaped."""
        return (
            held.until is not None
            and held.ended is not None
            and held.ended.state == "lost"
            and held.until.id in self._reapings
        )

    @cached_property
    def _reapings(self) -> set[int]:
        """Transactions that ended a worker's claims in its stead."""
        return {
            move.transaction
            for move in self.journal.moves("worker")
            if isinstance(move.after, WorkerRow) and move.after.ending == "reaped"
        }


async def read_case(
    folder: Path,
    connection: Connection,
    *,
    silent: Collection[str] = (),
    may_wait: Callable[[RunRow], bool] = nothing_may_wait,
) -> Case:
    """From a folder of logs and a database; in one snapshot, if the connection is in one."""
    if not folder.is_dir():
        raise EvidenceError(f"there is no folder {folder}\nhint: give the one with the logs")
    return Case(
        client=read_client(folder / CLIENT),
        effects=read_log(folder / EFFECTS, Effect),
        fenced=read_fenced(folder / FENCED),
        faults=read_log(folder / FAULTS, Fault),
        journal=await read_journal(connection),
        tables=await read_tables(connection),
        output=read_log(folder / OUTPUT, Output),
        releases=read_log(folder / RELEASES, Release),
        stalls=read_log(folder / STALLS, Stall),
        silent=silent,
        may_wait=may_wait,
    )
