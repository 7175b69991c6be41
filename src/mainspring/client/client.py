"""The client: `async with Client(url) as client`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec

from mainspring.client.link import Link
from mainspring.domain.errors import InputError
from mainspring.domain.parameters import validate_parameters
from mainspring.store.connection import Connection
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.ids import Ids
from mainspring.store.reading import RunLine, read_run
from mainspring.store.runs import NewRun, create_runs, stop_runs
from mainspring.store.wakeups import notify_ready, notify_stop

KEY_LENGTH_MAX = 500

_P = ParamSpec("_P")
_T = TypeVar("_T")

_encode = msgspec.json.Encoder(order="deterministic").encode


class Client:
    """Starts, awaits and stops runs. Calls from several tasks at once are answered in turn."""

    def __init__(self, url: str, *, name: str = "client", patience_seconds: float = 30.0) -> None:
        self._link = Link(url, name=name, patience_seconds=patience_seconds)
        self._ids = Ids()

    async def __aenter__(self) -> Self:
        try:
            await self._link.open()
        except BaseException:
            await self._link.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._link.close()

    async def trigger(
        self,
        dag_name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        run_at: datetime | None = None,
        key: str | None = None,
        created_by: str | None = None,
    ) -> int:
        """Make a run and return its id.

        `key` makes it one run however often it is asked; the same key with another dag or other
        parameters is a ConflictError. `run_at` is no part of that, since a caller that says
        "in an hour" says another instant each time.
        """
        _check(run_at, key)
        given = parameters or {}
        dag = await self.ask(read_dag, dag_name)
        complete = validate_parameters(dag.spec, given)
        # The id is ours from here on: however often the next question is repeated, one run.
        run = NewRun(
            id=await self.ask(self._ids.take, len(dag.spec.tasks)),
            version_id=dag.version_id,
            snapshot_id=dag.snapshot_id,
            trigger="manual",
            parameters=_encode(complete) if complete else None,
            due_at=run_at,
            created_by=created_by,
            key=key,
            body=_encode([dag_name, given]),
        )
        created = await self.ask(create_runs, [run])
        if created.lanes:
            await self.ask(notify_ready, created.lanes)
        return created.ids[0]

    async def wait(self, run_id: int, *, poll_seconds: float = 0.1) -> RunLine:
        """The run, once it is closed."""
        while True:
            run = await self.ask(read_run, run_id)
            if run.closed:
                return run
            await asyncio.sleep(poll_seconds)

    async def cancel(self, run_id: int) -> int:
        """Stop a run. Says how many of its tasks still run and were asked to stop."""
        await self.ask(read_run, run_id)
        asked = await self.ask(stop_runs, [run_id], "cancel")
        if asked:
            await self.ask(notify_stop)
        return asked

    async def dag(self, name: str) -> DagRow:
        """A dag as a trigger uses it now."""
        return await self.ask(read_dag, name)

    async def ask(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Any repeatable function of `mainspring.store`, such as those of `store.reading`."""
        return await self._link.ask(function, *args, **kwargs)


def _check(run_at: datetime | None, key: str | None) -> None:
    if run_at is not None and run_at.tzinfo is None:
        raise InputError(
            f"`{run_at}` has no time zone", hint="use datetime.now(timezone.utc) or a zone"
        )
    if key is not None and not 0 < len(key) <= KEY_LENGTH_MAX:
        raise InputError(f"an idempotency key has 1 to {KEY_LENGTH_MAX} characters")
    if key is not None and "\x00" in key:
        raise InputError("an idempotency key may not hold a NUL character")
