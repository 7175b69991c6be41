"""Dags that callers write as JSON: made, changed and removed by requests, without a file."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.preconditions import Expected, expected_version
from mainspring.api.problems import Refusal, field_refusal
from mainspring.api.resources.dags import DagName, dags, known_dag
from mainspring.api.resources.jobs import Times
from mainspring.api.resources.jobs import spec_of as schedule_spec_of
from mainspring.api.routes import Example
from mainspring.domain.errors import ConflictError, InputError, NotFoundError, Outdated
from mainspring.domain.names import shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.roles import Role
from mainspring.domain.specs import PAYLOAD_BYTES_MAX, DagSpec
from mainspring.domain.written_dags import Miswritten, WrittenDag, spec_of
from mainspring.schedule.specs import check_spec
from mainspring.store import shapes
from mainspring.store.connection import Connection
from mainspring.store.schedule_changes import Intent, read_calendars
from mainspring.store.schedule_reading import glance_at_schedules, list_schedules
from mainspring.store.written_dags import put_written_dag, remove_written_dag

__all__ = ["dags"]

_ORDERS = {
    "name": "nightly_orders",
    "parameters": {"region": {"type": "string", "default": "eu"}},
    "tasks": [
        {
            "name": "fetch",
            "http": {"url": "https://shop.example/{region}/orders", "method": "GET"},
            "parameters": {"region": {"$parameter": "region"}},
            "timeout": "1m",
        },
        {"name": "load", "command": ["load-orders", {"$result": "fetch", "path": ["text"]}]},
        {"name": "tidy", "command": ["rm", "-rf", "/tmp/orders"], "after": ["load"]},
    ],
    "schedule": {"when": ["0 2 * * *"], "timezone": "Europe/Berlin"},
    "owner": "sales",
    "tags": ["orders"],
}


class DagBody(WrittenDag, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Tasks, what they wait for, parameters, and when it runs."""

    schedule: Times | None = None
    """When it runs, by a schedule of the dag's name; null leaves the schedules as they are."""
    schedule_parameters: Annotated[dict[str, Any], Meta(max_length=1_000)] = msgspec.field(
        default_factory=dict
    )
    """Of the runs that the schedule makes."""


@dags.post(
    "/dags",
    needs=Role.OPERATOR,
    refusals=(412,),
    body_bytes_max=PAYLOAD_BYTES_MAX,
    example=Example(body=_ORDERS),
)
async def write_dag(call: Call, body: DagBody) -> shapes.DagWritten:
    """Make a dag from JSON, or a new version of it: all of it, as it is to be.

    A task is a `command`, an `http` request, or a `task`: a function that is installed where the
    workers are. Any value may be `{"$parameter": name}` or `{"$result": task}`. What is so already
    is left alone. With `If-Match` only that version is changed; with `If-None-Match: *` it must not
    be there yet. A name that a file or an application has is refused.
    """
    try:
        spec = spec_of(body)
    except Miswritten as error:
        raise field_refusal(error.pointer, error.reason, hint=error.hint) from None
    intent = await _intent(call, body, spec)
    expected = expected_version(call.headers)
    before = await call.services.read(_version_of, body.name)
    version = _wanted(expected, before)
    try:
        made = await call.services.write(put_written_dag, spec, version=version)
    except Outdated as error:
        raise Refusal(412, "precondition", error.message, hint=error.hint) from None
    if intent is not None:
        await call.services.client.scheduler.ensure(intent, call.who)

    async def read(connection: Connection) -> shapes.DagWritten:
        row = await known_dag(connection, body.name)
        schedules = await glance_at_schedules(connection, [row.name], 100)
        told = shapes.dag_whole(row, schedules.get(row.name, ()))
        return shapes.DagWritten(
            **msgspec.structs.asdict(told), created=before == 0, changed=made.changed
        )

    return await call.services.read(read)


def _wanted(expected: int | Expected, seen: int) -> int | None:
    """The version that has to be in force; 0 for none, None for whichever."""
    match expected:
        case Expected.UNSAID:
            return None
        case Expected.ANY:
            return seen or -1
        case Expected.NONE:
            return 0
        case _:
            return expected


async def _version_of(connection: Connection, name: str) -> int:
    try:
        row = await known_dag(connection, name)
    except NotFoundError:
        return 0
    return row.version if row.gone_at is None else 0


async def _intent(call: Call, body: DagBody, spec: DagSpec) -> Intent | None:
    """The schedule that goes with it: what it cannot be is said before anything is stored."""
    if body.schedule is None:
        if body.schedule_parameters:
            raise field_refusal("/schedule_parameters", "there is no `schedule` that has them")
        return None
    try:
        when = schedule_spec_of(body.schedule)
    except InputError as error:
        raise field_refusal("/schedule", error.message, hint=error.hint) from None
    if when is None:
        raise field_refusal(
            "/schedule", "`now` is no schedule of a dag", hint="start a run of it instead"
        )
    try:
        ParameterCheck(spec).encode(body.schedule_parameters)
    except InputError as error:
        raise field_refusal("/schedule_parameters", error.message, hint=error.hint) from None
    try:
        check_spec(when, await call.services.read(read_calendars))
        intent = await call.services.client.scheduler.intent(
            spec.name, spec.name, when, body.schedule_parameters, "", {}
        )
    except InputError as error:
        raise field_refusal("/schedule", error.message, hint=error.hint) from None
    for line in await call.services.read(list_schedules, names=[spec.name]):
        if line.dag != spec.name:
            raise ConflictError(
                f"there is a schedule {shown(line.name)} of the dag {shown(line.dag)}",
                hint="choose another name for the dag, or make its schedule by itself",
            )
    return intent


@dags.delete(
    "/dags/{dag}",
    needs=Role.OPERATOR,
    refusals=(409,),
    example=Example(path={"dag": "weekly_orders"}),
)
async def remove_dag(call: Call, dag: DagName) -> shapes.DagRemoved:
    """Take a dag away that was written as JSON, and its schedules.

    No run of it can be made any more. Runs that are open go on, and history stays. A dag of a file
    or of an application is refused: it goes with these.
    """
    await call.services.read(known_dag, dag)
    await call.services.write(remove_written_dag, dag)
    names = [line.name for line in await call.services.read(list_schedules, dag=dag)]
    if names:
        await call.services.client.remove_schedule(*names)
    return shapes.DagRemoved(name=dag, schedules=names)
