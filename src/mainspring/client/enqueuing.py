"""The way of a run from `enqueue` into the database, for both clients.

    subjects     what is enqueued and given, checked
    registry     the version that it is of
    reserve      its id
    sending      with others in one statement, on our own connection
    connections  or by itself, in the caller's transaction
    waking       a hint to the workers, after the commit

Plain runs, runs with keys and large sets have connections of their own, each made at its first
use: a key may be held by a transaction for as long as that likes, and a large set takes its time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from mainspring.client.connections import async_door, carry_out, check_transaction
from mainspring.client.creation import Creation, KeyHeld, VersionGone, creating_beside
from mainspring.client.link import Link
from mainspring.client.registry import Known, Registry
from mainspring.client.reserve import Ids
from mainspring.client.sending import Sender
from mainspring.client.subjects import (
    Draft,
    Subject,
    body_of,
    check_key,
    check_keys,
    check_run_at,
    definition_of,
    given_parameters,
)
from mainspring.client.waking import Waker
from mainspring.domain.errors import InputError
from mainspring.store.runs import NewRun

_LOCK_TIMEOUT = "set lock_timeout = '100ms'"
"""On the connection for keys: a set with one that is held must not wait as a whole."""
_HELD_SECONDS = 0.1
_CHECKED_AT_ONCE = 500
"""Of a large set, before others in the event loop get a turn."""


class Enqueuer:
    def __init__(self, link: Link, *, created_by: str | None) -> None:
        self._link = link
        self._created_by = created_by
        self._registry = Registry(link)
        self._ids = Ids(link)
        self._waker = Waker(link)
        self._links = [
            link.sibling("enqueue", stable_plans=True),
            link.sibling("enqueue keys", stable_plans=True, settings=_LOCK_TIMEOUT),
            link.sibling("enqueue sets", stable_plans=True, settings=_LOCK_TIMEOUT),
        ]
        self.plain = Sender(self._links[0], self._ids, self._waker.wake)
        self.keyed = Sender(self._links[1], self._ids, self._waker.wake)
        self._beside: set[int] = set()
        """Lanes of runs that callers' transactions made, committed or not."""

    async def close(self) -> None:
        await self.plain.close()
        await self.keyed.close()
        await self._ids.close()
        await self._waker.close()
        for link in self._links:
            await link.close()

    # --- one -----------------------------------------------------------------------------------

    async def enqueue(
        self,
        subject: Subject,
        parameters: Mapping[str, Any] | None,
        named: dict[str, Any],
        run_at: datetime | None,
        key: str | None,
        connection: object | None,
    ) -> int:
        if connection is None:
            draft = await self._draft(subject, parameters, named, run_at, key, False)
            with self._forgetting():
                return await (self.plain if key is None else self.keyed).send(draft)
        door = async_door(connection)
        runs = await self.runs_beside(subject, parameters, named, run_at, key)
        created = await carry_out(door, creating_beside(runs))
        self.made_beside(created.lanes)
        return created.ids[0]

    async def trigger(
        self,
        name: str,
        parameters: Mapping[str, Any],
        run_at: datetime | None,
        key: str | None,
        created_by: str | None,
        *,
        rerun_of: int | None = None,
    ) -> int:
        """A single run, on the connection that is there anyway."""
        draft = await self._draft(name, parameters, {}, run_at, key, False)
        if created_by is not None:
            draft = msgspec.structs.replace(draft, created_by=created_by)
        runs = await self._ids.assign([draft])
        if rerun_of is not None:
            runs = [msgspec.structs.replace(runs[0], trigger="rerun", rerun_of=rerun_of)]
        created = await self._link.ask(Creation(runs))
        self._waker.wake(created.lanes)
        return created.ids[0]

    async def start(
        self,
        name: str,
        parameters: Mapping[str, Any],
        run_at: datetime | None,
        key: str | None,
        created_by: str,
    ) -> int:
        """A run of a stored dag, for one of many callers: sent together with those of others."""
        draft = await self._draft(name, parameters, {}, run_at, key, False)
        draft = msgspec.structs.replace(draft, created_by=created_by)
        with self._forgetting():
            return await (self.plain if key is None else self.keyed).send(draft)

    async def runs_beside(
        self,
        subject: Subject,
        parameters: Mapping[str, Any] | None,
        named: dict[str, Any],
        run_at: datetime | None,
        key: str | None,
    ) -> list[NewRun]:
        """One run, ready to be made on a caller's connection."""
        return await self._ids.assign(
            [await self._draft(subject, parameters, named, run_at, key, True)]
        )

    async def _draft(
        self,
        subject: Subject,
        parameters: Mapping[str, Any] | None,
        named: dict[str, Any],
        run_at: datetime | None,
        key: str | None,
        beside: bool,
    ) -> Draft:
        if run_at is not None:
            check_run_at(run_at)
        if key is not None:
            check_key(key)
        known = await self._known(subject)
        definition = known.definition
        used = beside or run_at is not None or key is not None
        given = given_parameters(definition, parameters, named, used)
        encoded = definition.check.encode(given)
        return Draft(
            known.version_id,
            known.snapshot_id,
            len(definition.spec.tasks),
            None if encoded == b"{}" else encoded,
            run_at,
            key,
            b"" if key is None else body_of(definition, given),
            self._created_by,
        )

    async def stored_name(self, subject: Subject) -> str:
        """The name of the dag that a subject is stored as."""
        return (await self._known(subject)).definition.name

    async def _known(self, subject: Subject) -> Known:
        if isinstance(subject, str):
            return await self._registry.read(subject)
        definition = definition_of(subject)
        return self._registry.get(definition) or await self._registry.register(definition)

    # --- many ----------------------------------------------------------------------------------

    async def enqueue_many(
        self,
        subject: Subject,
        items: Iterable[Mapping[str, Any]],
        run_at: datetime | None,
        keys: Sequence[str] | None,
        connection: object | None,
        *,
        created_by: str | None = None,
    ) -> list[int]:
        if connection is None:
            runs = await self.many_runs(subject, items, run_at, keys, created_by)
            return await self._send_set(runs) if runs else []
        door = async_door(connection)
        check_transaction(door)
        runs = await self.many_runs(subject, items, run_at, keys)
        if not runs:
            return []
        created = await carry_out(door, creating_beside(runs))
        self.made_beside(created.lanes)
        return created.ids

    async def many_runs(
        self,
        subject: Subject,
        items: Iterable[Mapping[str, Any]],
        run_at: datetime | None,
        keys: Sequence[str] | None,
        created_by: str | None = None,
    ) -> list[NewRun]:
        """All of them checked, before any is made; an error says which one it is about."""
        check_run_at(run_at)
        given = list(items)
        each_key = check_keys(keys, len(given))
        known = await self._known(subject)
        definition = known.definition
        check, tasks = definition.check.encode, len(definition.spec.tasks)
        version_id, snapshot_id = known.version_id, known.snapshot_id
        created_by = created_by or self._created_by
        drafts: list[Draft] = []
        for parameters, key in zip(given, each_key, strict=True):
            try:
                encoded = check(parameters)
            except InputError as error:
                error.message = f"run {len(drafts) + 1} of {len(given):,}: {error.message}"
                error.args = (error.message,)
                raise
            drafts.append(
                Draft(
                    version_id,
                    snapshot_id,
                    tasks,
                    None if encoded == b"{}" else encoded,
                    run_at,
                    key,
                    b"" if key is None else body_of(definition, parameters),
                    created_by,
                )
            )
            if len(drafts) % _CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return await self._ids.assign(drafts)

    async def _send_set(self, runs: Sequence[NewRun]) -> list[int]:
        creation = Creation(runs)
        while True:
            with self._forgetting():
                try:
                    created = await self._links[2].ask(creation)
                except KeyHeld:
                    await asyncio.sleep(_HELD_SECONDS)
                    continue
            self._waker.wake(created.lanes)
            return created.ids

    # --- around --------------------------------------------------------------------------------

    def made_beside(self, lanes: set[int]) -> None:
        self._beside |= lanes

    def wake(self) -> None:
        # All lanes so far, since nobody tells us which transaction has committed.
        self._waker.wake(self._beside)

    @contextlib.contextmanager
    def _forgetting(self) -> Iterator[None]:
        try:
            yield
        except VersionGone:
            self._registry.forget()
            raise
