"""A bad network between our processes and PostgreSQL: a proxy that reads what it carries.

It passes everything on until it is told otherwise. Then it delays, throttles, resets, falls
silent, refuses, loses a request on its way, or, the cruellest of all, **cuts a connection after
its COMMIT has happened and before the answer comes back**: it forwards the COMMIT, waits for the
server's ReadyForQuery, throws the answer away, and resets the client. A COMMIT is an explicit one,
or the end of a single statement that writes outside of a transaction.

Faults are aimed at connections by their application name (ours are called `mainspring …`), and
cuts at commits also by the names of the statements. Which of the possible victims are hit is drawn
from the random that is handed in; each hit is written to the fault log.

    client ──► Link ──► server        one link for each connection, two pumps for each link
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

import msgspec

from tests.checker.evidence import Fault, now
from tests.fault.wire import (
    CANCEL_REQUEST,
    GSS_REQUEST,
    SSL_REQUEST,
    Exchange,
    Frame,
    Frames,
    Talk,
    opening,
)

READ_BYTES = 64 * 1024

Trick: TypeAlias = Literal["unknown_commit", "lost_request"]
"""What can be done to one commit: it happens and nobody is told; it never reaches the server."""


class Delay(msgspec.Struct, frozen=True):
    """How long each piece of data is held: mostly about `median_seconds`, sometimes far longer.

    Logarithmically normal, as the delays of real networks are, and cut off at `most_seconds`.
    """

    median_seconds: float
    spread: float = 0.5
    most_seconds: float = 1.0

    def draw(self, random: Random) -> float:
        drawn = self.median_seconds * math.exp(random.gauss(0.0, self.spread))
        return min(drawn, self.most_seconds)


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """What happens, while it lasts, to the connections whose names contain `aim`."""

    kind: Literal["delay", "throttle", "half_open", "refuse", "unknown_commit", "lost_request"]
    aim: str = ""
    delay: Delay | None = None
    bytes_per_second: float | None = None
    share: float = 1.0
    """Of the commits that it may spoil: how many it does."""

    def words(self) -> str:
        match self.kind:
            case "delay":
                assert self.delay is not None
                told = f"about {self.delay.median_seconds * 1000:g} ms"
            case "throttle":
                told = f"{self.bytes_per_second:g} bytes/s"
            case "unknown_commit" | "lost_request":
                told = f"{self.share:.0%} of commits"
            case _:
                told = ""
        return " ".join(filter(None, [told, f"on `{self.aim}`" if self.aim else ""]))


class FaultLog(Protocol):
    def write(self, record: msgspec.Struct) -> None: ...


@dataclass(eq=False)
class Order:
    """A command to spoil the next commits."""

    trick: Trick
    left: int
    """How many are still to be chosen."""
    aim: str
    owed: int
    """How many have not been spoiled yet; one that was chosen may be spared."""
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Spoil(NamedTuple):
    """What is to be done to one commit, and by whose order, if by any."""

    trick: Trick
    order: Order | None = None


class Proxy:
    """One listening port, usually that of one process."""

    def __init__(self, server: Path, log: FaultLog, *, name: str, random: Random) -> None:
        self._server = server
        self._log = log
        self._name = name
        self._random = random
        self._listener: asyncio.Server | None = None
        self._port = 0
        self._links: set[Link] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._weather: dict[Weather, float] = {}
        """What is in force, and since when."""
        self._orders: list[Order] = []
        self._changed = asyncio.Event()
        self._mistakes: list[Exception] = []
        """Of our own, which would otherwise pass for a bad network."""
        self.counts: Counter[str] = Counter()
        """Connections, commits and what became of them; commits also by statement."""

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self.pass_all()
        if self._listener is not None:
            self._listener.close()
        for link in list(self._links):
            link.reset()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for mistake in self._mistakes:
            raise mistake

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self._port

    def url(self, role: str, database: str) -> str:
        host, port = self.address
        return f"postgresql://{quote(role)}@{host}:{port}/{quote(database)}"

    # --- faults ----------------------------------------------------------------------------

    def begin(self, weather: Weather) -> None:
        """Bring it about; it lasts until `end` or `pass_all`."""
        self._weather.setdefault(weather, now())
        self._stir()

    def end(self, weather: Weather) -> None:
        since = self._weather.pop(weather, None)
        if since is None:
            return
        # Of those that spoil single commits, each is in the log already.
        if weather.kind not in ("unknown_commit", "lost_request"):
            self._tell(weather.kind, since, weather.words())
        self._stir()

    def pass_all(self) -> None:
        """Nothing is wrong any more, from now on."""
        for weather in list(self._weather):
            self.end(weather)
        self._orders.clear()

    def reset(self, aim: str = "") -> int:
        """Break the connections that are there now, with RST; how many there were."""
        hit = [link for link in self._links if aim in link.name]
        for link in hit:
            link.reset()
        if hit:
            self._tell("cut", now(), f"{len(hit)} connections" + (f" of `{aim}`" if aim else ""))
        self.counts["reset"] += len(hit)
        return len(hit)

    def spoil_next(self, trick: Trick, count: int = 1, aim: str = "") -> asyncio.Event:
        """Do this to the next commits that fit; the event is set when it has been done."""
        order = Order(trick, count, aim, owed=count)
        self._orders.append(order)
        return order.done

    @property
    def names(self) -> list[str]:
        """Of the connections that are open now."""
        return [link.name for link in self._links if link.name]

    # --- what links ask --------------------------------------------------------------------

    def spoil_for(self, link: Link, exchange: Exchange) -> Spoil | None:
        """What to do to this exchange, which is a commit."""
        for order in self._orders:
            if order.left and _meant(order.aim, link, exchange):
                order.left -= 1
                return Spoil(order.trick, order)
        for weather in self._weather:
            if (
                (weather.kind == "unknown_commit" or weather.kind == "lost_request")
                and _meant(weather.aim, link, exchange)
                and self._random.random() < weather.share
            ):
                return Spoil(weather.kind)
        return None

    def spoiled(self, spoil: Spoil, link: Link, exchange: Exchange) -> None:
        self._count(spoil.trick, exchange)
        self._tell(spoil.trick, now(), f"{link.name}: {', '.join(exchange.wrote)}")
        if (order := spoil.order) is not None:
            order.owed -= 1
            if order.owed == 0:
                order.done.set()
                self._orders = [other for other in self._orders if other is not order]

    def spared(self, spoil: Spoil) -> None:
        """It was to be hit, but it was no commit in the end: somebody else may be."""
        if spoil.order is not None:
            spoil.order.left += 1

    def committed(self, exchange: Exchange) -> None:
        self._count("commit", exchange)

    def weather_of(self, link: Link) -> Iterator[Weather]:
        return (weather for weather in self._weather if weather.aim in link.name)

    async def flowing(self, link: Link) -> None:
        """Returns when the link is not held half open; that may be never."""
        while any(weather.kind == "half_open" for weather in self.weather_of(link)):
            await self._changed.wait()

    async def pace(self, link: Link, count: int) -> None:
        """The time that so many bytes take."""
        seconds = 0.0
        for weather in self.weather_of(link):
            if weather.delay is not None:
                seconds += weather.delay.draw(self._random)
            if weather.bytes_per_second is not None:
                seconds += count / weather.bytes_per_second
        if seconds:
            await asyncio.sleep(seconds)

    def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Link:
        return Link(self, self._server, reader, writer)

    # --- small things ----------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        link = self._link(reader, writer)
        self._links.add(link)
        try:
            if any(weather.kind == "refuse" for weather in self._weather):
                self.counts["refused"] += 1
                link.reset()
            else:
                self.counts["connection"] += 1
                await link.run()
        except asyncio.CancelledError:
            link.reset()  # The proxy is closing; a handler that says so is reported as an error.
        except Exception as error:
            link.reset()
            self._mistakes.append(error)
        finally:
            self._links.discard(link)
            self._running.discard(task)

    def _stir(self) -> None:
        """Whoever waits for a change looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _count(self, what: str, exchange: Exchange) -> None:
        self.counts[what] += 1
        for name in dict.fromkeys(exchange.wrote):
            self.counts[f"{what} of {name}"] += 1

    def _tell(self, kind: str, since: float, detail: str) -> None:
        self._log.write(
            Fault(at=since, until=now(), kind=kind, target=self._name, pid=None, detail=detail)
        )


def _meant(aim: str, link: Link, exchange: Exchange) -> bool:
    return aim in link.name or aim in exchange.wrote


class Link:
    """One connection of a client, and ours to the server in its name."""

    def __init__(
        self,
        proxy: Proxy,
        server: Path,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.name = ""
        """The application name that the client gave."""
        self._proxy = proxy
        self._server = server
        self._from_client = reader
        self._to_client = writer
        self._to_server: asyncio.StreamWriter | None = None
        self._talk = Talk()
        self._spoil: tuple[Spoil, Exchange] | None = None
        """Waits for the end of this exchange; what the server says meanwhile is withheld."""
        self._withheld: list[bytes] = []

    async def run(self) -> None:
        try:
            from_server = await self._introduce()
        except (OSError, asyncio.IncompleteReadError):
            self.reset()
            return
        try:
            if from_server is not None:
                await self._carry(from_server)
        finally:
            if self._to_server is not None:
                self._to_server.close()
            self._to_client.close()

    async def _carry(self, from_server: asyncio.StreamReader) -> None:
        """Until one side is gone; what it said before is still passed on."""
        pumps = [
            asyncio.create_task(self._upward()),
            asyncio.create_task(self._downward(from_server)),
        ]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        for pump in done:
            with contextlib.suppress(OSError):
                pump.result()

    def reset(self) -> None:
        """Break it as a network would: nothing more is said, and the client gets RST."""
        if self._to_server is not None:
            self._to_server.transport.abort()
        client = self._to_client.get_extra_info("socket")
        if client is not None and not self._to_client.transport.is_closing():
            with contextlib.suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._to_client.transport.abort()

    async def _introduce(self) -> asyncio.StreamReader | None:
        """Read who it is, and connect to the server for it; None if that was all."""
        while True:
            length = await self._from_client.readexactly(4)
            rest = await self._from_client.readexactly(int.from_bytes(length, "big") - 4)
            first = opening(length, rest)
            if first.code not in (SSL_REQUEST, GSS_REQUEST):
                break
            await self._proxy.flowing(self)
            self._to_client.write(b"N")
        self.name = first.application_name
        await self._proxy.flowing(self)
        from_server, self._to_server = await asyncio.open_unix_connection(str(self._server))
        self._to_server.write(first.raw)
        await self._to_server.drain()
        return None if first.code == CANCEL_REQUEST else from_server

    # --- the two pumps ---------------------------------------------------------------------

    async def _upward(self) -> None:
        assert self._to_server is not None
        frames = Frames()
        while data := await self._from_client.read(READ_BYTES):
            await self._proxy.flowing(self)
            await self._proxy.pace(self, len(data))
            passed = []
            for frame in frames.feed(data):
                if self._is_lost(frame):
                    return
                passed.append(frame.raw)
            self._to_server.write(b"".join(passed))
            await self._to_server.drain()

    def _is_lost(self, frame: Frame) -> bool:
        """Follow what the client says; whether it ends here, with its commit not forwarded."""
        exchange = self._talk.asked(frame)
        if exchange is None or not exchange.commits or self._spoil is not None:
            return False
        spoil = self._proxy.spoil_for(self, exchange)
        if spoil is None:
            return False
        if spoil.trick == "lost_request":
            self._proxy.spoiled(spoil, self, exchange)
            self.reset()
            return True
        self._spoil = spoil, exchange
        return False

    async def _downward(self, from_server: asyncio.StreamReader) -> None:
        frames = Frames()
        while data := await from_server.read(READ_BYTES):
            await self._proxy.flowing(self)
            await self._proxy.pace(self, len(data))
            passed: list[bytes] = []
            for frame in frames.feed(data):
                if self._is_cut(frame, passed):
                    return
            self._to_client.write(b"".join(passed))
            await self._to_client.drain()

    def _is_cut(self, frame: Frame, passed: list[bytes]) -> bool:
        """Pass on what the server says; whether it ends here, with its answer thrown away."""
        answering = self._talk.current
        withheld = self._spoil is not None and self._spoil[1] is answering
        ended = self._talk.answered(frame)
        (self._withheld if withheld else passed).append(frame.raw)
        if ended is None:
            return False
        really = self._talk.committed(ended)
        if really:
            self._proxy.committed(ended)
        if not withheld:
            return False
        assert self._spoil is not None
        (spoil, _), self._spoil = self._spoil, None
        if really:
            self._proxy.spoiled(spoil, self, ended)
            self.reset()
            return True
        self._proxy.spared(spoil)
        passed += self._withheld
        self._withheld.clear()
        return False
