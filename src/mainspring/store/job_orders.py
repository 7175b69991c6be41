"""What somebody wants of a job becomes a draft: checked, and bound to a dag as it is now.

A command and a request are bound to dags that are built in. These are stored at their first use, so
that an installation without jobs does not have them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.jobs import (
    ATTEMPTS_MAX,
    BUILT_IN_DAGS,
    NAME_LENGTH_MAX,
    TIMEOUT_SECONDS_MAX,
    CommandCall,
    HttpCall,
    JobKind,
)
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.names import name_problem, shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.payloads import encode_json
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection
from mainspring.store.dags import APP_SNAPSHOT, DagRow, ensure_queues, read_dag, register_dag
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.versions import gone

KEY_LENGTH_MAX = 500

_encode = msgspec.json.Encoder(order="deterministic").encode


class JobOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is to be: one of `command`, `http` and `task`, and when it runs."""

    name: str | None = None
    """Without one it is called after its kind and number."""
    command: CommandCall | None = None
    http: HttpCall | None = None
    task: str | None = None
    """The name of a stored dag, such as that of one task."""
    schedule: ScheduleSpec | None = None
    """Without one it runs at once."""
    parameters: Mapping[str, Any] = {}
    """Of a task; variables of a command's environment; what fills the address of a request."""
    retries: int | None = None
    """How often it is tried again; None: as the dag says."""
    timeout_seconds: float | None = None
    """Of each attempt."""
    priority: int | None = None
    queue: str | None = None
    created_by: str | None = None
    key: str | None = None
    """Idempotency key: one job, however often it is asked for."""

    @property
    def kind(self) -> JobKind:
        given = [
            kind
            for kind, value in (
                (JobKind.COMMAND, self.command),
                (JobKind.HTTP, self.http),
                (JobKind.TASK, self.task),
            )
            if value is not None
        ]
        if len(given) != 1:
            raise InputError(
                "a job is of one of `command`, `http` and `task`; "
                + (
                    f"{' and '.join(f'`{kind}`' for kind in given)} are given"
                    if given
                    else "none is given"
                ),
                hint='such as a command, which is a list of arguments: `["echo", "hi"]`',
            )
        return given[0]

    def digest(self) -> bytes:
        """Of what a key stands for; who asks, and by which key, is no part of it."""
        plain = msgspec.structs.replace(self, created_by=None, key=None)
        return hashlib.sha256(_encode(plain)).digest()


class JobDraft(msgspec.Struct, frozen=True):
    """A job that lacks only its id."""

    order: JobOrder
    kind: JobKind
    dag: str
    version_id: int
    snapshot_id: int
    tasks: int
    """How many neighbouring ids it takes: those of its run."""
    parameters: bytes | None
    """As given."""
    complete: bytes | None
    """Of its run, if these are others."""
    queue_id: int | None

    @property
    def attempts(self) -> int | None:
        return None if self.order.retries is None else self.order.retries + 1


class RunDraft(msgspec.Struct, frozen=True):
    """A run of a job that lacks only its id."""

    job_id: int
    version_id: int
    snapshot_id: int
    tasks: int
    parameters: bytes | None


class _Dag(msgspec.Struct, frozen=True):
    id: int
    name: str
    version_id: int
    snapshot_id: int
    tasks: int
    check: ParameterCheck


class JobDrafter:
    """Makes drafts, and remembers what it has read for that. One event loop at a time."""

    def __init__(self, *, tenant_id: int = DEFAULT_TENANT) -> None:
        self._tenant_id = tenant_id
        self._built_in: dict[JobKind, _Dag] = {}
        self._checks: dict[int, ParameterCheck] = {}
        self._queues: dict[str, int] = {}

    def forget(self) -> None:
        """The database is not what it was: ask again."""
        self._built_in.clear()
        self._checks.clear()
        self._queues.clear()

    async def drafts(self, connection: Connection, orders: Sequence[JobOrder]) -> list[JobDraft]:
        """All of them checked, before any is made; of several, the error says which one."""
        dags: dict[str, _Dag] = {}
        made: list[JobDraft] = []
        for number, order in enumerate(orders):
            try:
                made.append(await self._draft(connection, order, dags))
            except (InputError, NotFoundError) as error:
                if len(orders) > 1:
                    error.message = f"job {number + 1} of {len(orders):,}: {error.message}"
                    error.args = (error.message,)
                raise
        return made

    async def run(
        self, connection: Connection, job_id: int, kind: JobKind, dag: str, parameters: bytes | None
    ) -> RunDraft:
        """The next run of a job, of its dag as it is now."""
        bound = await self._dag(connection, kind, dag, {})
        given = {} if parameters is None else msgspec.json.decode(parameters)
        encoded = bound.check.encode(given)
        return RunDraft(
            job_id,
            bound.version_id,
            bound.snapshot_id,
            bound.tasks,
            None if encoded == b"{}" else encoded,
        )

    async def _draft(
        self, connection: Connection, order: JobOrder, dags: dict[str, _Dag]
    ) -> JobDraft:
        kind = order.kind
        check_options(order)
        given = _parameters(order)
        dag = await self._dag(connection, kind, order.task or "", dags)
        if kind is JobKind.TASK:
            # The dag's defaults are those of each run.
            as_given = encode_json(given, what="the parameters")
            encoded = dag.check.encode(given)
        else:
            as_given = encoded = encode_json(given, what="the parameters")
        return JobDraft(
            order,
            kind,
            dag.name,
            dag.version_id,
            dag.snapshot_id,
            dag.tasks,
            None if as_given == b"{}" else as_given,
            None if encoded in (b"{}", as_given) else encoded,
            None if order.queue is None else await self._queue(connection, order.queue),
        )

    async def _dag(
        self, connection: Connection, kind: JobKind, name: str, known: dict[str, _Dag]
    ) -> _Dag:
        if kind is JobKind.TASK:
            if name not in known:
                row = await read_dag(connection, name, tenant_id=self._tenant_id)
                if row.gone_at is not None:
                    raise gone(name, row.file)
                known[name] = self._known(row)
            return known[name]
        if kind not in self._built_in:
            self._built_in[kind] = self._known(await self._stored(connection, kind))
        return self._built_in[kind]

    async def _stored(self, connection: Connection, kind: JobKind) -> DagRow:
        """A built-in dag as this code has it."""
        spec = BUILT_IN_DAGS[kind]
        try:
            row = await read_dag(connection, spec.name, tenant_id=self._tenant_id)
            if row.spec.digest() == spec.digest():
                return row
        except NotFoundError:
            pass
        await register_dag(connection, spec, APP_SNAPSHOT, tenant_id=self._tenant_id)
        return await read_dag(connection, spec.name, tenant_id=self._tenant_id)

    def _known(self, row: DagRow) -> _Dag:
        check = self._checks.get(row.version_id)
        if check is None:
            check = self._checks[row.version_id] = ParameterCheck(row.spec)
        return _Dag(row.id, row.name, row.version_id, row.snapshot_id, len(row.spec.tasks), check)

    async def _queue(self, connection: Connection, name: str) -> int:
        if name not in self._queues:
            self._queues |= await ensure_queues(connection, [name], tenant_id=self._tenant_id)
        return self._queues[name]


def _parameters(order: JobOrder) -> dict[str, Any]:
    given: object = order.parameters
    if not isinstance(given, Mapping):
        raise InputError(
            f"`parameters` are a mapping of names to values, got `{type(given).__name__}`"
        )
    if order.command is not None:
        return order.command.parameters(given)
    if order.http is not None:
        return order.http.parameters(given, order.timeout_seconds)
    return dict(given)


def check_options(order: JobOrder) -> None:
    """InputError says which option cannot be, and why."""
    if order.name is not None:
        problem = name_problem(order.name)
        if problem is None and len(order.name) > NAME_LENGTH_MAX:
            problem = f"is longer than {NAME_LENGTH_MAX} characters"
        if problem:
            raise InputError(f"the job's name {shown(order.name)} {problem}")
    if order.task is not None and (problem := name_problem(order.task)):
        raise InputError(f"`task`: {shown(order.task)} {problem}")
    if order.retries is not None:
        _check_number("retries", order.retries, 0, ATTEMPTS_MAX - 1)
    if order.priority is not None:
        _check_number("priority", order.priority, PRIORITY_MIN, PRIORITY_MAX)
    seconds: object = order.timeout_seconds
    if seconds is not None and not (
        type(seconds) in (int, float) and 0 < order.timeout_seconds <= TIMEOUT_SECONDS_MAX  # type: ignore[operator]
    ):
        raise InputError(f"`timeout`: {shown(seconds)} is not between 0 s and a year")
    if order.queue is not None and (problem := name_problem(order.queue)):
        raise InputError(f"`queue`: {shown(order.queue)} {problem}")
    if order.key is not None and (not 0 < len(order.key) <= KEY_LENGTH_MAX or "\x00" in order.key):
        raise InputError(
            f"an idempotency key has 1 to {KEY_LENGTH_MAX} characters, and no NUL among them"
        )


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"`{name}`: {shown(value)} is no whole number from {least} to {most:,}")
