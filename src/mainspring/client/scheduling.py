"""Schedules, for both clients: what a caller says becomes an intent, and that a change.

Everything here can be asked again after a lost answer. What was done by then is recognized by what
it has come to: a schedule that is already as it was meant to be has not to be made so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from mainspring.client.link import Link
from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.payloads import encode_json
from mainspring.schedule.parsing import NOW, Written, schedule_from, when_from
from mainspring.schedule.specs import OnceSpec, ScheduleSpec
from mainspring.store.connection import Connection
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import (
    Changed,
    Intent,
    Put,
    create_schedule,
    no_schedule,
    put_schedule,
    remove_schedule,
    was_removed,
)
from mainspring.store.schedule_reading import (
    ScheduleLine,
    ScheduleWhole,
    list_schedules,
    read_schedule,
)
from mainspring.store.wakeups import notify_ready

Times = Written | ScheduleSpec | Sequence[Written]
"""When a schedule fires, as a caller may write it: `"0 2 * * *"`, `"every 90m"`, `"now"`, …"""


class _Change(Protocol):
    def __call__(self, connection: Connection, name: str, /) -> Awaitable[Changed]: ...


class Scheduler:
    def __init__(self, link: Link, *, created_by: str | None) -> None:
        self._link = link
        self._created_by = created_by

    async def intent(
        self,
        name: str,
        dag: str,
        times: Times,
        parameters: Mapping[str, Any] | None,
        note: str,
        options: Mapping[str, Any],
    ) -> Intent:
        spec, at_once = await self.spec(times, options)
        return Intent(name, dag, spec, _plain(parameters), note, at_once=at_once)

    async def spec(
        self, times: Times, options: Mapping[str, Any]
    ) -> tuple[ScheduleSpec, datetime | None]:
        """Checked; and the instant in it that stands for `now`, if it does."""
        if isinstance(times, ScheduleSpec):
            return schedule_from(times, **options), None
        several: Any = list(times) if isinstance(times, (list, tuple)) else [times]
        if NOW not in several:
            return schedule_from(several, **options), None
        now = (await self._link.ask(read_clock)).replace(microsecond=0)
        written = [OnceSpec(now) if each == NOW else when_from(each) for each in several]
        return schedule_from(written, **options), now

    async def create(self, intent: Intent, by: str | None) -> Put:
        return await self._put(intent, by, lambda c: create_schedule(c, intent, by=self._by(by)))

    async def put(self, intent: Intent, version: int | None, by: str | None) -> Put:
        return await self._put(
            intent, by, lambda c: put_schedule(c, intent, version=version, by=self._by(by))
        )

    async def ensure(self, intent: Intent, by: str | None) -> ScheduleLine:
        """Make it so, unless it is so already."""
        while True:
            found = await self._link.ask(list_schedules, names=[intent.name])
            if found and is_so(found[0], intent):
                return found[0]
            version = found[0].version if found else 0
            try:
                await self.put(intent, version, by)
            except ConflictError:
                # Somebody else was quicker, perhaps with the very same: look again.
                again = await self._link.ask(list_schedules, names=[intent.name])
                if (again[0].version if again else 0) == version:
                    raise

    async def remove(self, names: Sequence[str]) -> list[Changed]:
        tries = 0

        async def removed(connection: Connection, name: str, /) -> Changed:
            try:
                return await remove_schedule(connection, name)
            except NotFoundError:
                if tries > 1 and await was_removed(connection, name):
                    return Changed(None, frozenset(), changed=False)
                raise

        async def asked(connection: Connection) -> list[Changed]:
            nonlocal tries
            tries += 1
            return await _change_all(connection, names, removed)

        done = await self._link.ask(asked)
        await self._wake(frozenset().union(*(each.lanes for each in done)))
        return done

    async def change(self, names: Sequence[str], change: _Change) -> list[Changed]:
        """All of them, or none."""
        done = await self._link.ask(_change_all, names, change)
        await self._wake(frozenset().union(*(each.lanes for each in done)))
        return done

    async def show(self, name: str, *, fires: int) -> ScheduleWhole:
        found = await self._link.ask(read_schedule, name, fires=fires)
        if found is None:
            raise no_schedule(name)
        return found

    async def _put(
        self, intent: Intent, by: str | None, ask: Callable[[Connection], Awaitable[Put]]
    ) -> Put:
        tries = 0

        async def asked(connection: Connection) -> Put:
            nonlocal tries
            tries += 1
            try:
                return await ask(connection)
            except ConflictError:
                done = await _done_before(connection, intent, self._by(by)) if tries > 1 else None
                if done is None:
                    raise
                return done

        put = await self._link.ask(asked)
        await self._wake(put.lanes)
        return put

    async def _wake(self, lanes: frozenset[int]) -> None:
        if lanes:
            await self._link.ask(notify_ready, lanes)

    def _by(self, by: str | None) -> str:
        return by or self._created_by or "client"


def is_so(line: ScheduleLine, intent: Intent) -> bool:
    """Whether the schedule is what is intended, whoever made it so."""
    parameters = {} if line.parameters is None else msgspec.json.decode(line.parameters)
    spec = line.spec
    if intent.at_once is not None:
        # When exactly "now" was is not for the caller to say.
        spec = msgspec.structs.replace(spec, when=intent.spec.when)
    return (line.dag, spec, parameters, line.note, line.in_code) == (
        intent.dag,
        intent.spec,
        intent.parameters,
        intent.note.strip(),
        intent.in_code,
    )


def _plain(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """As they will be stored."""
    given: object = {} if parameters is None else parameters
    if not isinstance(given, Mapping):
        raise InputError(
            f"`parameters` are a mapping of names to values, got `{type(given).__name__}`"
        )
    plain: dict[str, Any] = msgspec.json.decode(encode_json(dict(given), what="the parameters"))
    return plain


async def _done_before(connection: Connection, intent: Intent, by: str) -> Put | None:
    """What an earlier try has made, if its answer was lost."""
    found = await read_schedule(connection, intent.name, fires=0)
    if found is None or not is_so(found.line, intent) or found.versions[0].changed_by != by:
        return None
    return Put(found.line.id, found.line.version, found.line.next_fire_at)


async def _change_all(
    connection: Connection, names: Sequence[str], change: _Change
) -> list[Changed]:
    async with connection.transaction():
        return [await change(connection, name) for name in dict.fromkeys(names)]
