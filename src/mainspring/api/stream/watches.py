"""How the changes of each kind of topic are found, once for all who listen.

A watch knows how the topics of its kind stood when it last looked. `look` reads what may have
changed and tells it; `whole` is what a newcomer is told first. Where there is no such thing, of
runs and of logs, a newcomer reads it over REST after the stream has begun: each change since then
is told after it has happened, so whatever was read, what is put over it last is the newest.

Every look is bounded, and the hub leaves rests between them that are longer than they took.
"""

from __future__ import annotations

import codecs
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from mainspring.api.stream.topics import Topic
from mainspring.domain.errors import NotFoundError
from mainspring.domain.log_marks import Ending
from mainspring.logs.places import Places
from mainspring.logs.read import Ask, LogReader
from mainspring.store import reading, shapes
from mainspring.store.changes import changed_runs, read_moment, read_runs, touched_runs
from mainspring.store.connection import Connection
from mainspring.store.logs import LogLine, list_logs
from mainspring.store.run_documents import find_attempt, read_run_tasks
from mainspring.store.schedule_reading import glance_at_schedules
from mainspring.store.stream_shapes import (
    DagsChanged,
    LogWritten,
    QueuesChanged,
    RunChanged,
    RunsChanged,
    WorkersChanged,
)

RUNS_MAX = 200
"""If more have changed at a time, they are not told one by one: listeners read the list again."""
RESYNC_SECONDS = 1.0
"""And they do so at most so often."""
GAP_SECONDS = 5.0
"""Closed runs leave the hot tables after 10 s: who did not look for longer may have missed one."""
RESULT_BYTES_MAX = 16 * 1024
"""Larger results are left out of events."""
LOG_BYTES_MAX = 256 * 1024
"""How much of a log one event holds."""
SCHEDULES_MAX = 100

_T = TypeVar("_T", bound=shapes.Shape)

Tell = Callable[[Topic, shapes.Shape], None]
Resync = Callable[[Topic, str], None]


class Watch(ABC):
    rest_seconds = 0.2
    """At least so long from one look to the next."""
    refresh_seconds: float | None = None
    """After so long it looks even if nothing was written: some things change by time alone."""

    owes = False
    """Whether something is left to be told although nothing new was written."""

    def __init__(self, tell: Tell, resync: Resync) -> None:
        self._tell = tell
        self._resync = resync

    @abstractmethod
    async def begin(self, ask: Ask, topic: Topic) -> None:
        """From now on changes of this topic are to be told."""

    @abstractmethod
    def stop(self, topic: Topic) -> None:
        """Nobody wants it any more."""

    @abstractmethod
    async def look(self, ask: Ask, heard: Sequence[Topic]) -> None:
        """Tell what has changed since the last look. `heard` are those with listeners."""

    def whole(self, topic: Topic) -> shapes.Shape | None:
        """How it stands, as far as it was told."""
        return None

    def pass_by(self) -> None:  # noqa: B027
        """Nothing was written since the last look."""

    def doubt(self) -> None:  # noqa: B027
        """Nothing of what was read before counts any more: the database was away."""


class RunsWatch(Watch):
    """`runs` and `runs:dag=…`: whichever open run has changed."""

    def __init__(self, tell: Tell, resync: Resync) -> None:
        super().__init__(tell, resync)
        self._topics: set[Topic] = set()
        self._since: str | None = None
        self._looked_at = 0.0
        self._resynced_at = 0.0

    async def begin(self, ask: Ask, topic: Topic) -> None:
        if not self._topics:
            self._since = await ask(read_moment)
            self._looked_at = time.monotonic()
            # A connection that was made just now is no reason for doubt: nobody has heard anything.
            self.owes = False
        self._topics.add(topic)

    def stop(self, topic: Topic) -> None:
        self._topics.discard(topic)
        if not self._topics:
            self._since = None

    async def look(self, ask: Ask, heard: Sequence[Topic]) -> None:
        now = time.monotonic()
        if self._since is None or now - self._looked_at > GAP_SECONDS:
            self._since = await ask(read_moment)
            self._looked_at = now
            self._resync_all("nobody had looked for a while")
            return
        changed = await ask(changed_runs, self._since)
        # What is read below may be newer than this moment: then it is told once more.
        self._since, self._looked_at = changed.moment, now
        self.owes |= changed.more or len(changed.ids) > RUNS_MAX
        if self.owes:
            if now - self._resynced_at >= RESYNC_SECONDS:
                self._resync_all("too much has changed")
        elif changed.ids:
            lines = sorted(await ask(read_runs, changed.ids), key=lambda line: line.id)
            runs = [shapes.run_line(line) for line in lines]
            for topic in self._topics:
                fit = [run for run in runs if topic.dag in (None, run.dag)]
                if fit:
                    self._tell(topic, RunsChanged(topic=str(topic), runs=fit))

    def pass_by(self) -> None:
        self._looked_at = time.monotonic()

    def doubt(self) -> None:
        self._since, self.owes = None, True

    def _resync_all(self, reason: str) -> None:
        self.owes = False
        self._resynced_at = time.monotonic()
        for topic in self._topics:
            self._resync(topic, reason)


class _SeenRun:
    def __init__(self, run: shapes.Run, tasks: list[shapes.Task]) -> None:
        self.run = run
        self.tasks = {task.id: task for task in tasks}


class RunWatch(Watch):
    """`run:ID`: one question for all of them which have changed, then these are read."""

    def __init__(self, tell: Tell, resync: Resync) -> None:
        super().__init__(tell, resync)
        self._seen: dict[Topic, _SeenRun] = {}
        self._doubtful: set[Topic] = set()
        self._since: str | None = None

    async def begin(self, ask: Ask, topic: Topic) -> None:
        if self._since is None:
            self._since = await ask(read_moment)
        self._seen[topic] = await ask(_read_run, topic.run)

    def stop(self, topic: Topic) -> None:
        del self._seen[topic]
        self._doubtful.discard(topic)
        if not self._seen:
            self._since = None

    async def look(self, ask: Ask, heard: Sequence[Topic]) -> None:
        assert self._since is not None
        tasks_of = {topic.run: len(seen.tasks) for topic, seen in self._seen.items()}
        changed = await ask(touched_runs, self._since, tasks_of)
        self._since = changed.moment
        touched = set(changed.ids)
        self._doubtful |= {topic for topic in self._seen if topic.run in touched}
        for topic in self._doubtful & set(heard):
            self._doubtful.discard(topic)
            try:
                now = await ask(_read_run, topic.run)
            except NotFoundError:
                self._resync(topic, "it is gone")
            else:
                self._tell_changes(topic, self._seen[topic], now)
                self._seen[topic] = now
        self.owes = bool(self._doubtful)

    def _tell_changes(self, topic: Topic, before: _SeenRun, now: _SeenRun) -> None:
        tasks = [
            task
            for task in now.tasks.values()
            if task.id not in before.tasks or _differ(before.tasks[task.id], task)
        ]
        if tasks or _differ(before.run, now.run):
            self._tell(topic, RunChanged(topic=str(topic), whole=False, run=now.run, tasks=tasks))

    def whole(self, topic: Topic) -> RunChanged:
        seen = self._seen[topic]
        return RunChanged(
            topic=str(topic), whole=True, run=seen.run, tasks=list(seen.tasks.values())
        )

    def doubt(self) -> None:
        self._doubtful = set(self._seen)
        self.owes = bool(self._doubtful)


async def _read_run(connection: Connection, run_id: int) -> _SeenRun:
    line = await reading.read_run(connection, run_id)
    tasks = await read_run_tasks(connection, line, result_bytes=RESULT_BYTES_MAX)
    return _SeenRun(shapes.run_line(line), tasks)


class _SeenLog:
    def __init__(self, line: LogLine) -> None:
        self.task_id = line.task_id
        self.term = line.term
        self.told = line.mark.bytes
        self.ending = line.mark.ending


class LogWatch(Watch):
    """`log:RUN/TASK/ATTEMPT`: what is written after the stream has begun."""

    def __init__(self, tell: Tell, resync: Resync, places: Places) -> None:
        super().__init__(tell, resync)
        self._places = places
        self._seen: dict[Topic, _SeenLog] = {}

    async def begin(self, ask: Ask, topic: Topic) -> None:
        task_id, term = await ask(find_attempt, topic.run, topic.task, topic.attempt)
        self._seen[topic] = _SeenLog(await _log(ask, task_id, term))

    def stop(self, topic: Topic) -> None:
        del self._seen[topic]

    async def look(self, ask: Ask, heard: Sequence[Topic]) -> None:
        self.owes = False
        for topic in heard:
            seen = self._seen[topic]
            if seen.ending is Ending.OPEN:
                try:
                    await self._follow(ask, topic, seen)
                except NotFoundError:
                    self._resync(topic, "it is gone")
                    seen.ending = Ending.LOST

    async def _follow(self, ask: Ask, topic: Topic, seen: _SeenLog) -> None:
        line = await _log(ask, seen.task_id, seen.term)
        end = min(line.mark.bytes, seen.told + LOG_BYTES_MAX)
        last = end == line.mark.bytes
        ending = line.mark.ending if last else Ending.OPEN
        reader = LogReader(ask, self._places)
        pieces = [piece async for _, piece in reader.pieces(line, seen.told, end)]
        # Of a letter whose bytes have not all come, the rest is waited for.
        final = ending is not Ending.OPEN
        text, length = codecs.utf_8_decode(b"".join(pieces), "replace", final)
        if length or ending is not seen.ending:
            start, seen.told, seen.ending = seen.told, seen.told + length, ending
            self._tell(
                topic,
                LogWritten(topic=str(topic), start=start, end=seen.told, text=text, ending=ending),
            )
        self.owes |= not last


async def _log(ask: Ask, task_id: int, term: int) -> LogLine:
    lines = await ask(list_logs, task_id, task_id + 1)
    found = [line for line in lines if line.term == term]
    if not found:
        raise NotFoundError(f"the log of task {task_id} is gone", hint="it was too old")
    return found[0]


class ListWatch(Watch, Generic[_T]):
    """A list that is read whole; told is what differs from the last reading."""

    def __init__(self, tell: Tell, resync: Resync) -> None:
        super().__init__(tell, resync)
        self._seen: dict[Hashable, _T] = {}

    @abstractmethod
    async def _read(self, connection: Connection) -> dict[Hashable, _T]:
        """All there are, by what they are known by."""

    @abstractmethod
    def _event(
        self, topic: Topic, items: list[_T], gone: list[Any], *, whole: bool
    ) -> shapes.Shape:
        """How it is told."""

    async def begin(self, ask: Ask, topic: Topic) -> None:
        self._seen = await ask(self._read)

    def stop(self, topic: Topic) -> None:
        self._seen = {}

    async def look(self, ask: Ask, heard: Sequence[Topic]) -> None:
        [topic] = heard
        before, self._seen = self._seen, await ask(self._read)
        changed = [
            item
            for key, item in self._seen.items()
            if key not in before or _differ(before[key], item)
        ]
        gone = [key for key in before if key not in self._seen]
        if changed or gone:
            self._tell(topic, self._event(topic, changed, gone, whole=False))

    def whole(self, topic: Topic) -> shapes.Shape:
        return self._event(topic, list(self._seen.values()), [], whole=True)


class QueuesWatch(ListWatch[shapes.Lane]):
    refresh_seconds = 5.0

    async def _read(self, connection: Connection) -> dict[Hashable, shapes.Lane]:
        lanes = [shapes.lane_line(lane) for lane in await reading.list_lanes(connection)]
        return {(lane.queue, lane.kind): lane for lane in lanes}

    def _event(
        self, topic: Topic, items: list[shapes.Lane], gone: list[Any], *, whole: bool
    ) -> QueuesChanged:
        # They are few, and a lane without work is left out: all of them is simplest to use.
        return QueuesChanged(topic=str(topic), lanes=list(self._seen.values()))


class WorkersWatch(ListWatch[shapes.Worker]):
    refresh_seconds = 2.0

    async def _read(self, connection: Connection) -> dict[Hashable, shapes.Worker]:
        workers = [shapes.worker_line(line) for line in await reading.list_workers(connection)]
        return {worker.id: worker for worker in workers}

    def _event(
        self, topic: Topic, items: list[shapes.Worker], gone: list[Any], *, whole: bool
    ) -> WorkersChanged:
        return WorkersChanged(topic=str(topic), whole=whole, workers=items, gone=gone)


class DagsWatch(ListWatch[shapes.Dag]):
    rest_seconds = 1.0

    async def _read(self, connection: Connection) -> dict[Hashable, shapes.Dag]:
        lines = await reading.list_dags(connection)
        schedules = await glance_at_schedules(
            connection, [line.name for line in lines], SCHEDULES_MAX
        )
        return {line.name: shapes.dag_line(line, schedules.get(line.name, ())) for line in lines}

    def _event(
        self, topic: Topic, items: list[shapes.Dag], gone: list[Any], *, whole: bool
    ) -> DagsChanged:
        return DagsChanged(topic=str(topic), whole=whole, dags=items, gone=gone)


_BY_TIME = ("duration_seconds", "oldest_seconds", "renewed_at")


def _differ(before: shapes.Shape, now: shapes.Shape) -> bool:
    """Whether there is something to tell: what only grows with time, everybody can count."""
    return before != now and _timeless(before) != _timeless(now)


def _timeless(shape: shapes.Shape) -> shapes.Shape:
    if getattr(shape, "finished_at", None) is not None:
        return shape
    fields: dict[str, Any] = {name: None for name in _BY_TIME if name in shape.__struct_fields__}
    if isinstance(shape, shapes.Task):
        fields["attempts"] = [_timeless(attempt) for attempt in shape.attempts]
    return msgspec.structs.replace(shape, **fields)
