"""The depot of a worker far from the database: the same calls, over HTTP to a gateway.

Each kind of call has a connection of its own, so that none waits for another, and claims have one
for each kind of slot, on which they wait until there is a task.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence, Set
from uuid import UUID, uuid4

import structlog

from mainspring import worker_protocol as protocol
from mainspring.config import Config
from mainspring.domain.draining import Drain
from mainspring.domain.errors import NotFoundError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.specs import DagSpec
from mainspring.worker.depot import CLAIM_BATCH, Beat, Report, Reported, Taker
from mainspring.worker.http_line import HttpLine, Server

log = structlog.get_logger(__name__)

_WAIT_SECONDS = 20.0


class RemoteDepot:
    def __init__(self, config: Config, server: Server, *, name: str) -> None:
        self._leases = config.leases
        self._server = server
        self._name = name
        self._path = f"/api/v1/workers/{uuid4()}"
        # A line that went dead without a word is given up while there is time for another beat.
        self._beat_line = self._line("beat", self._leases.trusted_seconds / 2)
        self._complete_line = self._line("complete")
        self._aside_line = self._line("aside")
        self._log_line = self._line("log")
        self._note_line = self._line("notes")
        self._claim_lines: dict[SlotKind, HttpLine] = {}
        self._freed = asyncio.Event()
        self._taker: Taker | None = None
        self._polls: list[asyncio.Task[None]] = []

    def _line(self, name: str, patience_seconds: float = 60.0) -> HttpLine:
        return HttpLine(
            self._server, name=f"{self._name} {name}", patience_seconds=patience_seconds
        )

    async def join(
        self,
        *,
        name: str,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
        drain: Drain | None = None,
    ) -> int:
        self._claim_lines = {kind: self._line(f"claim {kind}") for kind in slots}
        joined = await self._aside_line.call(
            "PUT",
            self._path,
            protocol.Join(
                name=name,
                queues=list(queues),
                slots=dict(slots),
                host=socket.gethostname(),
                pid=os.getpid(),
                lease_seconds=self._leases.lease_seconds,
                drain=drain,
            ),
            protocol.Joined,
        )
        return joined.id

    # --- claim -----------------------------------------------------------------------------

    async def supply(self, taker: Taker) -> None:
        self._taker = taker
        async with asyncio.TaskGroup() as group:
            self._polls = [
                group.create_task(self._poll(taker, kind, line))
                for kind, line in self._claim_lines.items()
            ]

    def slots_freed(self) -> None:
        self._freed.set()
        if self._taker is not None and self._taker.leaving:
            # Who hangs up gets nothing more. Who only drains gets nothing anyway, and may go on.
            for poll in self._polls:
                poll.cancel()

    async def _poll(self, taker: Taker, kind: SlotKind, line: HttpLine) -> None:
        while not taker.leaving:
            count = 0 if taker.draining else min(taker.free(kind), CLAIM_BATCH)
            if not count:
                self._freed.clear()
                await self._freed.wait()
                continue
            claim_id = taker.begin_claim(kind, count)
            claimed = await line.call(
                "POST",
                f"{self._path}/claims",
                protocol.Wish(claim=claim_id, slots={kind: count}, wait_seconds=_WAIT_SECONDS),
                protocol.Tasks,
                wait_seconds=_WAIT_SECONDS,
            )
            taker.end_claim(claim_id, kind, count, claimed.tasks)

    # --- renew -----------------------------------------------------------------------------

    async def listen(self, stop: Callable[[], None]) -> None:
        path = f"{self._path}/notes?wait_seconds={_WAIT_SECONDS:g}"
        while True:
            note = await self._note_line.call(
                "GET", path, None, protocol.Note, wait_seconds=_WAIT_SECONDS
            )
            if note.renew:
                stop()
                # What is to stop has until then to do so; it would be told again and again.
                await asyncio.sleep(1.0)

    async def renew(
        self,
        known_claims: Callable[[], Sequence[UUID]],
        *,
        draining: bool,
        rates: Mapping[int, float],
    ) -> Beat:
        sent_at, asked_ns = 0.0, 0

        def beat() -> protocol.Beat:
            nonlocal sent_at, asked_ns
            sent_at, asked_ns = time.monotonic(), time.time_ns()
            return protocol.Beat(claims=list(known_claims()), draining=draining, rates=dict(rates))

        renewed = await self._beat_line.call("POST", f"{self._path}/beats", beat, protocol.Renewed)
        return Beat(
            renewed.now,
            renewed.unknown,
            [(stop.task, stop.term, stop.kind) for stop in renewed.stops],
            renewed.drain,
            sent_at,
            asked_ns,
            time.time_ns(),
        )

    async def give_back(
        self, claims: Sequence[UUID], reason: str, begun: Set[tuple[int, int]] = frozenset()
    ) -> None:
        await self._aside_line.tell(
            "POST",
            f"{self._path}/returns",
            protocol.Return(claims=list(claims), reason=reason, begun=sorted(begun)),
        )

    async def leave(self) -> None:
        await self._aside_line.tell("DELETE", self._path)

    # --- complete --------------------------------------------------------------------------

    async def complete(
        self,
        reports: Sequence[Report],
        *,
        emptied: Sequence[UUID],
        grant_claim: UUID,
        offered: Mapping[SlotKind, int],
    ) -> Reported:
        """The gateway knows by itself of which claims nothing is left."""
        ended = await self._complete_line.call(
            "POST",
            f"{self._path}/ends",
            protocol.Ends(
                ends=[
                    protocol.End(
                        task=report.claimed.task_id,
                        term=report.claimed.term,
                        outcome=report.outcome,
                        started_us=report.started_us,
                        finished_us=report.finished_us,
                        chained=report.chained,
                        use=report.use,
                    )
                    for report in reports
                ],
                offer=protocol.Offer(grant_claim, dict(offered)) if offered else None,
            ),
            protocol.Ended,
        )
        refused = [(item.task, item.term) for item in ended.refused]
        superseded = [
            (item.task, item.term) for item in ended.refused if item.reason == "superseded"
        ]
        return Reported(superseded, refused, ended.granted.tasks)

    def lanes_of(self, kind: SlotKind) -> int:
        """The gateway shares slots out over lanes."""
        return 1

    # --- tell ------------------------------------------------------------------------------

    async def mark_started(self, started: Sequence[tuple[int, int, int]]) -> None:
        await self._tell(protocol.Told(started=[protocol.Started(*item) for item in started]))

    async def record_progress(self, told: Mapping[tuple[int, int], tuple[float, str]]) -> None:
        progress = [protocol.TaskProgress(*key, *word) for key, word in told.items()]
        await self._tell(protocol.Told(progress=progress))

    async def _tell(self, told: protocol.Told) -> None:
        await self._aside_line.tell("POST", f"{self._path}/progress", told)

    async def append_log(self, chunks: Sequence[tuple[int, int, int, bytes]]) -> None:
        await self._log_line.tell(
            "POST",
            f"{self._path}/logs",
            protocol.Chunks([protocol.Chunk(*chunk) for chunk in chunks]),
        )

    # --- read ------------------------------------------------------------------------------

    async def read_versions(self, ids: Sequence[int]) -> Mapping[int, DagSpec]:
        return (await self._read(protocol.Read(versions=list(ids)))).versions

    async def read_schedule_names(self, ids: Sequence[int]) -> Mapping[int, str]:
        return (await self._read(protocol.Read(schedules=list(ids)))).schedules

    async def read_results(self, task_ids: Sequence[int]) -> Mapping[int, bytes | None]:
        return (await self._read(protocol.Read(results=list(task_ids)))).results

    async def read_parameters(self, run_ids: Sequence[int]) -> Mapping[int, bytes]:
        return (await self._read(protocol.Read(parameters=list(run_ids)))).parameters

    async def read_snapshots(self, ids: Sequence[int]) -> Mapping[int, str]:
        return (await self._read(protocol.Read(snapshots=list(ids)))).snapshots

    async def _read(self, read: protocol.Read) -> protocol.Found:
        return await self._aside_line.call("POST", f"{self._path}/inputs", read, protocol.Found)

    async def fetch_snapshot(self, snapshot_id: int) -> bytes | None:
        try:
            return await self._aside_line.fetch("GET", f"{self._path}/snapshots/{snapshot_id}")
        except NotFoundError:
            return None

    async def close(self) -> None:
        for line in (
            *self._claim_lines.values(),
            *(self._beat_line, self._complete_line, self._aside_line),
            *(self._log_line, self._note_line),
        ):
            await line.close()
