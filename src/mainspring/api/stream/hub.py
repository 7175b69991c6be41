"""The topics of this server, its listeners, and the loop that looks for changes.

A topic is read once and encoded once, however many listen. One connection does all of it, one
question at a time, and between two looks it rests nine times as long as a look took, at least a
fifth of a second: so listeners cost a bounded share, and no topic has more than five events a
second. With no listeners there is neither a question nor, after a while, a connection.

Events have one row of numbers in a server, and its name goes before them. Who comes back with the
number of the last event gets what it missed from the rings of its topics; who comes with another
server's number, or too late, is told to begin anew.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from mainspring.api.answers import encode
from mainspring.api.stream.listeners import Listener
from mainspring.api.stream.ring import Ring
from mainspring.api.stream.topics import Kind, Topic
from mainspring.api.stream.watches import (
    DagsWatch,
    LogWatch,
    QueuesWatch,
    RunsWatch,
    RunWatch,
    Watch,
    WorkersWatch,
)
from mainspring.domain.errors import UnavailableError
from mainspring.logs.places import Places
from mainspring.store.changes import read_moment
from mainspring.store.connection import Connection, Line
from mainspring.store.shapes import Shape
from mainspring.store.stream_shapes import End, Listening, Resync

if TYPE_CHECKING:
    from mainspring.api.metrics import Metrics

LISTENERS_MAX = 2_000
TOPICS_MAX = 500
PATIENCE_SECONDS = 5.0
"""How long a newcomer waits until its topics are watched."""
TICK_SECONDS = 0.2
SHARE = 10
"""A look that took a millisecond is followed by the next after ten."""
REST_SECONDS_MAX = 3.0
LINGER_SECONDS = 30.0
"""How long a topic without listeners is remembered, for those who come back."""
CHECK_SECONDS = 0.5
"""How often is asked whether the tokens of listeners still count."""

_SETTINGS = """
set default_transaction_read_only = on; set statement_timeout = '10s'; set jit = off;
set max_parallel_workers_per_gather = 0
"""
_ID = re.compile(r"([0-9a-f]{8})-(\d{1,18})")

VoidTokens = Callable[[Sequence[int]], Awaitable[Sequence[int]]]

log = structlog.get_logger(__name__)


class Channel:
    """A topic that is watched: who listens, and what was told lately."""

    def __init__(self, topic: Topic, after: int) -> None:
        self.topic = topic
        self.ring = Ring(after)
        self.listeners: set[Listener] = set()
        self.left_at = 0.0
        self.whole: bytes | None = None
        """What newcomers are told first, until the next event."""


class _Joining:
    def __init__(self, listener: Listener, topics: Sequence[Topic], last: int | None) -> None:
        self.listener = listener
        self.topics = topics
        self.last = last
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Hub:
    def __init__(
        self, url: str, *, home: Path, metrics: Callable[[], Metrics], void_tokens: VoidTokens
    ) -> None:
        self.server = secrets.token_hex(4)
        """This server's name in the ids of its events."""
        self._metrics = metrics
        self._void_tokens = void_tokens
        self._line = Line(url, name="server stream", greet=self._greet)
        self._number = 0
        self._channels: dict[Topic, Channel] = {}
        self._topics_of: dict[Listener, list[Topic]] = {}
        self._joining: list[_Joining] = []
        self._wanted = asyncio.Event()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        places = Places(home)
        self._watches: Mapping[Kind, Watch] = {
            "runs": RunsWatch(self._tell, self._resync),
            "run": RunWatch(self._tell, self._resync),
            "log": LogWatch(self._tell, self._resync, places),
            "queues": QueuesWatch(self._tell, self._resync),
            "workers": WorkersWatch(self._tell, self._resync),
            "dags": DagsWatch(self._tell, self._resync),
        }
        self._rounds = {kind: _Round() for kind in self._watches}

    # --- for those who listen ------------------------------------------------------------------

    async def listen(
        self, caller_id: int, topics: Sequence[Topic], last_id: str | None
    ) -> Listener:
        """A listener that has been told what it missed, and from now on is told what changes."""
        if self._stopping:
            raise UnavailableError("the server is stopping", hint="ask another one")
        if len(self._topics_of) + len(self._joining) >= LISTENERS_MAX:
            raise UnavailableError(
                f"this server has {LISTENERS_MAX:,} listeners already", hint="try again in a while"
            )
        if len(self._channels.keys() | set(topics)) > TOPICS_MAX:
            raise UnavailableError(
                f"{TOPICS_MAX} topics of this server have listeners already",
                hint="try again in a while, or listen to `runs` instead of single runs",
            )
        self._start()
        joining = _Joining(Listener(caller_id), topics, self._number_of(last_id))
        self._joining.append(joining)
        self._wanted.set()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await joining.done
        except TimeoutError:
            raise UnavailableError("the database is away", hint="try again in a while") from None
        except asyncio.CancelledError:
            self.leave(joining.listener)
            raise
        return joining.listener

    def leave(self, listener: Listener) -> None:
        topics = self._topics_of.pop(listener, None)
        if topics is None:
            return
        for topic in topics:
            channel = self._channels[topic]
            channel.listeners.discard(listener)
            channel.left_at = time.monotonic()
        self._metrics().listeners.set(len(self._topics_of))

    def end(self, listener: Listener, reason: str) -> None:
        listener.end(self._encode("end", End(reason=reason)))

    def stop(self) -> None:
        """Tell everybody that it is over; nobody new is let in."""
        self._stopping = True
        for listener in self._topics_of:
            self.end(listener, "the server is stopping")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._line.close()

    def _number_of(self, last_id: str | None) -> int | None:
        """The number in an event's id; -1 if it is none of this server, None if there is none."""
        if last_id is None:
            return None
        found = _ID.fullmatch(last_id.strip())
        if found is None or found[1] != self.server or int(found[2]) > self._number:
            return -1
        return int(found[2])

    # --- the loop ------------------------------------------------------------------------------

    def _start(self) -> None:
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._run()),
                asyncio.create_task(self._check_tokens()),
            ]

    async def _run(self) -> None:
        while True:
            if not self._channels and not self._joining:
                await self._line.close()
                await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._tick()
            except Exception as error:
                # One bad row must not end the stream for all: what was not told is told later.
                log.error("changes could not be read", exc_info=error)
                for watch in self._watches.values():
                    watch.doubt()
                await asyncio.sleep(1)
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def _tick(self) -> None:
        joining, self._joining = self._joining, []
        for each in joining:
            await self._let_in(each)
        self._forget()
        heard = self._heard()
        if not any(self._rounds[kind].is_due() for kind in heard):
            return
        moment = await self._line.call(read_moment)
        for kind, topics in heard.items():
            watch, turn = self._watches[kind], self._rounds[kind]
            if not turn.is_due():
                continue
            if turn.has_reason(watch, moment):
                began = time.monotonic()
                await watch.look(self._line.call, topics)
                turn.end(watch, moment, began)
            else:
                watch.pass_by()

    def _heard(self) -> dict[Kind, list[Topic]]:
        heard: dict[Kind, list[Topic]] = {}
        for channel in self._channels.values():
            if channel.listeners:
                heard.setdefault(channel.topic.kind, []).append(channel.topic)
        return heard

    async def _let_in(self, joining: _Joining) -> None:
        try:
            if self._stopping:
                raise UnavailableError("the server is stopping", hint="ask another one")
            for topic in joining.topics:
                if topic not in self._channels:
                    await self._watches[topic.kind].begin(self._line.call, topic)
                    self._channels[topic] = Channel(topic, self._number)
                    self._channels[topic].left_at = time.monotonic()
        except Exception as error:
            if not joining.done.done():
                joining.done.set_exception(error)
            return
        if joining.done.done():
            # It has gone meanwhile.
            return
        listener, topics = joining.listener, list(joining.topics)
        listener.anew = lambda: self._begin_anew(topics, "you read too slowly")
        greeting = self._encode(
            "listening", Listening(server=self.server, topics=[str(topic) for topic in topics])
        )
        listener.greet([greeting, *self._missed(topics, joining.last)])
        # No await since the greeting: what is told from here on comes after it.
        self._topics_of[listener] = topics
        for topic in topics:
            self._channels[topic].listeners.add(listener)
        self._metrics().listeners.set(len(self._topics_of))
        joining.done.set_result(None)

    def _missed(self, topics: Sequence[Topic], last: int | None) -> list[bytes]:
        """What is told first: how things stand, or what happened since the last event."""
        if last is None:
            return [whole for topic in topics if (whole := self._whole(topic))]
        found: list[tuple[int, bytes]] = []
        lost: list[Topic] = []
        for topic in topics:
            events = self._channels[topic].ring.since(last)
            if events is None:
                lost.append(topic)
            else:
                found += events
        anew = self._begin_anew(lost, "too long ago, or of another server")
        return [*anew, *(event for _, event in sorted(found))]

    def _begin_anew(self, topics: Sequence[Topic], reason: str) -> list[bytes]:
        events: list[bytes] = []
        for topic in topics:
            events.append(self._encode("resync", Resync(topic=str(topic), reason=reason)))
            if whole := self._whole(topic):
                events.append(whole)
            self._metrics().resyncs.inc()
        return events

    def _whole(self, topic: Topic) -> bytes | None:
        channel = self._channels[topic]
        if channel.whole is None:
            whole = self._watches[topic.kind].whole(topic)
            if whole is None:
                return None
            channel.whole = _lines(topic.kind, whole)
        return self._id() + channel.whole

    def _forget(self) -> None:
        """Let go of topics that nobody listens to any more."""
        now = time.monotonic()
        for topic, channel in [*self._channels.items()]:
            if not channel.listeners and now - channel.left_at > LINGER_SECONDS:
                del self._channels[topic]
                self._watches[topic.kind].stop(topic)

    async def _greet(self, connection: Connection) -> None:
        """A new connection: the database may have been away, and forgotten what was not safe."""
        await connection.execute(_SETTINGS)
        for watch in self._watches.values():
            watch.doubt()

    async def _check_tokens(self) -> None:
        """Who may not ask any more may not listen any more."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            callers = {listener.caller_id for listener in self._topics_of}
            if not callers:
                continue
            try:
                void = set(await self._void_tokens(list(callers)))
            except Exception as error:
                log.warning("tokens of listeners could not be checked", error=repr(error))
                continue
            for listener in [*self._topics_of]:
                if listener.caller_id in void:
                    self.end(listener, "the token counts no more")

    # --- telling -------------------------------------------------------------------------------

    def _tell(self, topic: Topic, told: Shape) -> None:
        self._send(topic, topic.kind, told)

    def _resync(self, topic: Topic, reason: str) -> None:
        self._metrics().resyncs.inc()
        self._send(topic, "resync", Resync(topic=str(topic), reason=reason))

    def _send(self, topic: Topic, name: str, told: Shape) -> None:
        channel = self._channels.get(topic)
        if channel is None:
            return
        self._number += 1
        event = self._encode(name, told)
        channel.whole = None
        channel.ring.put(self._number, event)
        self._metrics().events.inc()
        for listener in channel.listeners:
            listener.offer(event)

    def _encode(self, name: str, told: Shape) -> bytes:
        return self._id() + _lines(name, told)

    def _id(self) -> bytes:
        return b"id: %s-%d\n" % (self.server.encode(), self._number)


def _lines(name: str, told: Shape) -> bytes:
    # Between the parts of JSON a line may end, in what users gave us; here it must not.
    data = encode(told).replace(b"\n", b" ").replace(b"\r", b" ")
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class _Round:
    """When a watch has looked, and when it may again."""

    def __init__(self) -> None:
        self._due_at = 0.0
        self._looked_at = 0.0
        self._moment = ""

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_at

    def has_reason(self, watch: Watch, moment: str) -> bool:
        if watch.owes or moment != self._moment:
            return True
        since = time.monotonic() - self._looked_at
        return watch.refresh_seconds is not None and since >= watch.refresh_seconds

    def end(self, watch: Watch, moment: str, began: float) -> None:
        took = time.monotonic() - began
        self._moment, self._looked_at = moment, began
        self._due_at = began + max(watch.rest_seconds, min(SHARE * took, REST_SECONDS_MAX))
