"""The client for code without an event loop: the same client, in a thread with a loop.

Only what concerns the caller's own connection happens in the caller's thread, and is written here;
all else is handed on as it is, by methods that are generated from those of `Client`. Calls of many
threads at once share statements, as concurrent awaits do.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from mainspring.client.client import Client
from mainspring.client.connections import carry_out_sync, check_transaction, sync_door
from mainspring.client.creation import creating_beside
from mainspring.client.subjects import Subject
from mainspring.client.sync_calls import SyncCalls
from mainspring.domain.errors import UnavailableError

_T = TypeVar("_T")

_abandoned: list[object] = []
"""Clients of a parent process: their sockets are still its own, so nothing here may end them."""


class SyncClient(SyncCalls):
    """Starts, awaits, stops and reruns runs from synchronous code, from any number of threads.

    Connects at its first use, so that it can be made when a module is imported; after a fork
    the child connects anew.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str = "client",
        created_by: str | None = None,
        patience_seconds: float = 30.0,
    ) -> None:
        self._url = url
        self._name = name
        self._created_by = created_by
        self._patience_seconds = patience_seconds
        self._starting = threading.Lock()
        self._room: Room | None = None
        self._closed = False

    def __enter__(self) -> Self:
        self._entered()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._starting:
            self._closed = True
            room, self._room = self._room, None
        if room is not None and room.pid == os.getpid():
            room.close()

    def enqueue(
        self,
        subject: Subject,
        /,
        *,
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
        connection: object | None = None,
        parameters: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> int:
        """As `Client.enqueue`; `connection` is a synchronous one of psycopg or SQLAlchemy."""
        room = self._entered()
        if connection is None:
            return room.call(
                room.client.enqueue(
                    subject,
                    run_at=run_at,
                    idempotency_key=idempotency_key,
                    parameters=parameters,
                    **named,
                )
            )
        door = sync_door(connection)
        enqueuer = room.client.enqueuer
        runs = room.call(enqueuer.runs_beside(subject, parameters, named, run_at, idempotency_key))
        created = carry_out_sync(door, creating_beside(runs))
        enqueuer.made_beside(created.lanes)
        return created.ids[0]

    def enqueue_many(
        self,
        subject: Subject,
        parameters: Iterable[Mapping[str, Any]],
        /,
        *,
        run_at: datetime | None = None,
        idempotency_keys: Sequence[str] | None = None,
        connection: object | None = None,
    ) -> list[int]:
        """As `Client.enqueue_many`."""
        room = self._entered()
        if connection is None:
            return room.call(
                room.client.enqueue_many(
                    subject, parameters, run_at=run_at, idempotency_keys=idempotency_keys
                )
            )
        door = sync_door(connection)
        check_transaction(door)
        enqueuer = room.client.enqueuer
        runs = room.call(enqueuer.many_runs(subject, parameters, run_at, idempotency_keys))
        if not runs:
            return []
        created = carry_out_sync(door, creating_beside(runs))
        enqueuer.made_beside(created.lanes)
        return created.ids

    def _entered(self) -> Room:
        room = self._room
        if room is not None and room.pid == os.getpid():
            return room
        with self._starting:
            if self._closed:
                raise UnavailableError("the client is closed", hint="make a new one")
            if self._room is not None and self._room.pid != os.getpid():
                _abandoned.append(self._room)
                self._room = None
            if self._room is None:
                self._room = Room(
                    Client(
                        self._url,
                        name=self._name,
                        created_by=self._created_by,
                        patience_seconds=self._patience_seconds,
                    )
                )
            return self._room


class Room:
    """A thread with an event loop and a client in it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to close must be able to end.
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="mainspring client", daemon=True
        )
        self._thread.start()
        try:
            self.call(client.__aenter__())
        except BaseException:
            self._stop()
            raise

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            # Also an interrupt while waiting: nobody will ask for the answer.
            future.cancel()
            raise

    def close(self) -> None:
        try:
            self.call(self.client.__aexit__(None, None, None))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
