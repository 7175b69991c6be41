"""A whole installation to be maltreated: PostgreSQL, engines, workers and servers, each real.

Every engine and worker is a process of its own with a proxy of its own, so that a fault of the
network hits one of them. Workers that are far from the database speak to servers, over a network
of their own (`web.py`). What dies is started again, as a supervisor would; a death that nobody
ordered is remembered, since no process of ours may die of what happens around it. The one
exception: a process that cannot reach its database when it starts says so and leaves.

The database is private to the cluster and may be killed. It does not wait for the disk: what a
killed process has written is in the kernel's hands, and the machine does not crash here.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from mainspring import faults
from mainspring.domain.roles import Role as Rights
from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.embedded.binaries import find_psql
from mainspring.embedded.configuration import PRODUCT_DATABASE, PRODUCT_ROLE
from mainspring.embedded.probe import socket_path
from mainspring.http import HttpClient
from mainspring.store.connection import Connection, Line, fetch
from mainspring.store.migrate import migrate
from mainspring.store.tokens import create_token, find_token, new_secret, revoke_token
from tests.checker.evidence import RELEASES, STALLS, Fault, Log, Release, now
from tests.checker.releases import tree_digest
from tests.fault import processes
from tests.fault.proxy import FaultLog, Proxy
from tests.fault.stalls import note_stalls
from tests.fault.web import WebProxy
from tests.support.launcher import Launched, Launcher

_T = TypeVar("_T")

Role = Literal["engine", "worker", "server", "far"]

EVIDENCE = "MAINSPRING_EVIDENCE"
"""The variable that tells tasks where to write what they did."""

_ROOT = Path(__file__).parents[2]
SLOTS = "async=30,thread=4,process=2,command=2"
_RESTART_SECONDS = 0.3
_TEND_SECONDS = 0.05
_LEAVING_SECONDS = 150.0
"""Three times what a worker itself allows for its drain: beyond that it hangs."""
_LISTENS = re.compile(rb'"http://127\.0\.0\.1:(\d+)", "event": "the server listens"')
_OUT_OF_REACH = "error: the database cannot be reached"
"""What an engine or a worker says that could not start; later they wait until it comes back."""


def socket_of(url: str) -> Path:
    """The socket of the embedded PostgreSQL at this address."""
    return socket_path(Path(parse_qs(urlsplit(url).query)["host"][0]))


class Death(msgspec.Struct, frozen=True):
    """A process ended although nobody had told it to."""

    member: str
    at: float
    status: int
    words: str
    """The end of its log."""


class Member:
    """An engine, a worker or a server: whichever process plays it at the moment, and its proxy."""

    def __init__(self, cluster: Cluster, role: Role, number: int) -> None:
        self.role = role
        self.name = f"{role} {number}"
        random = Random(f"{cluster.seed} proxy of {self.name}")
        self.proxy = (
            WebProxy(cluster.servers_listening, cluster.faults, name=self.name, random=random)
            if role == "far"
            else Proxy(cluster.socket, cluster.faults, name=self.name, random=random)
        )
        self.token = ""
        """By which a server knows it, once it is started."""
        self.token_at_start = ""
        self.starts = 0
        self.tended = True
        """Whether it is started again when it dies."""
        self._cluster = cluster
        self._number = number
        self._process: subprocess.Popen[bytes] | Launched | None = None
        self._died_at: float | None = None
        self._told = False
        self._log = cluster.logs / f"{role}-{number}.log"
        self._log_from = 0
        self._port: int | None = None

    @property
    def pid(self) -> int | None:
        """Of its process, if that lives."""
        if self._process is None or self._process.poll() is not None:
            return None
        return self._process.pid

    @property
    def hosts(self) -> dict[int, str]:
        return {} if self.pid is None else processes.hosts_of(self.pid)

    @property
    def guard(self) -> int | None:
        return None if self.pid is None else processes.guard_of(self.pid)

    def start(self, fault: str | None = None) -> None:
        """With a fault of `mainspring.faults`: what the process is to record, or where to die."""
        words: list[str] = [self.role]
        if self.role in ("worker", "far"):
            name = f"{self.role}-{self._number}"
            words = ["worker", "--name", name, "--slots", self._cluster.slots]
        elif self.role == "server":
            words += ["--port", "0"]
        self._log.touch()
        self._log_from = self._log.stat().st_size
        self._port = None
        self._told = fault is not None
        self.token_at_start = self.token
        self._died_at = None
        self.starts += 1
        environment = self._cluster.environment(self)
        if fault is not None:
            environment[faults.VARIABLE] = fault
        with self._log.open("ab") as log:
            if self._cluster.launcher is not None:
                self._process = self._cluster.launcher.start(
                    words, environment, output=log.fileno()
                )
                return
            self._process = subprocess.Popen(
                [sys.executable, "-m", *self._cluster.program, *words],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> int | None:
        """Send it; the pid that got it. A death by it is then no surprise."""
        pid = self.pid
        if pid is not None:
            self._told = self._told or number in (signal.SIGKILL, signal.SIGTERM)
            processes.signal_if_there(pid, number)
        return pid

    def foresee_end(self) -> int | None:
        """What it was told will end it; its pid."""
        self._told = True
        return self.pid

    @property
    def address(self) -> tuple[str, int] | None:
        """Where it listens, if it does."""
        if self.pid is None:
            return None
        if self._port is None:
            with self._log.open("rb") as log:
                log.seek(self._log_from)
                found = _LISTENS.search(log.read())
            self._port = None if found is None else int(found[1])
        return None if self._port is None else ("127.0.0.1", self._port)

    def tend(self) -> Death | None:
        """Start it again a moment after it died; its death, if that is new and was not ordered."""
        if self._process is None or self._process.poll() is None:
            return None
        if self._died_at is not None:
            if now() - self._died_at > _RESTART_SECONDS:
                self.start()
            return None
        self._died_at = now()
        words = self.last_words
        if self._told or _OUT_OF_REACH in words:
            return None
        return Death(self.name, self._died_at, self._process.wait(), words)

    async def has_left(self, patience_seconds: float) -> bool:
        """Whether it has ended, or does so while we wait."""
        assert self._process is not None
        try:
            await asyncio.to_thread(self._process.wait, patience_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    async def ended(self) -> int:
        """The exit status, once it has ended."""
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait)

    @property
    def last_words(self) -> str:
        """The end of what its process has logged."""
        with self._log.open("rb") as log:
            log.seek(max(self._log_from, log.seek(0, os.SEEK_END) - 4000))
            return log.read().decode("utf-8", "replace")


class Cluster:
    def __init__(
        self,
        folder: Path,
        faults: FaultLog,
        *,
        dags: Path,
        seed: int,
        engines: int = 2,
        workers: int = 3,
        servers: int = 0,
        far: int = 0,
        lease_seconds: float = 3.0,
        slots: str = SLOTS,
        program: Sequence[str] = ("mainspring",),
        launcher: Launcher | None = None,
    ) -> None:
        assert launcher is None or program == ("mainspring",), "a launcher has loaded no other"
        self.folder = folder
        self.faults = faults
        self.seed = seed
        self.lease_seconds = lease_seconds
        self.slots = slots
        self.program = program
        self.launcher = launcher
        self.logs = folder / "logs"
        self.deaths: list[Death] = []
        self._dags = dags
        self._release = 0
        self._sizes: dict[Role, int] = {
            "engine": engines,
            "worker": workers,
            "server": servers,
            "far": far,
        }
        self._postgres = EmbeddedPostgres(
            folder / "postgres",
            settings={"fsync": "off", "shared_buffers": "64MB", "log_min_messages": "log"},
        )
        self._database_lock = asyncio.Lock()
        self._tending: list[asyncio.Task[None]] = []
        self.members: list[Member] = []
        self.client_proxy: Proxy
        self.web_proxy: WebProxy
        """Of callers that speak HTTP."""
        self.web_token = new_secret()
        self._tokens = itertools.count(1)
        self.line: Line
        """Beside the proxies: for the harness itself."""

    # --- its life --------------------------------------------------------------------------

    async def __aenter__(self) -> Cluster:
        self.logs.mkdir(parents=True)
        try:
            await self._build()
        except BaseException:
            await self._tear_down()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tear_down()

    async def _build(self) -> None:
        url = await asyncio.to_thread(self._postgres.start)
        self.line = Line(url, name="harness")
        await self.line.call(migrate)
        self.client_proxy = Proxy(
            self.socket, self.faults, name="client", random=Random(f"{self.seed} proxy of client")
        )
        self.web_proxy = WebProxy(
            self.servers_listening,
            self.faults,
            name="web",
            random=Random(f"{self.seed} proxy of web"),
        )
        await self.line.call(create_token, self.web_token, name="web", role=Rights.OPERATOR)
        self.members = [
            Member(self, role, number)
            for role, size in self._sizes.items()
            for number in range(1, size + 1)
        ]
        for member in self.far:
            await self._give_token(member)
        for proxy in self.proxies:
            await proxy.start()

    async def _give_token(self, member: Member) -> None:
        member.token = new_secret()
        name = f"{member.name.replace(' ', '-')}.{next(self._tokens)}"
        await self.line.call(
            create_token, member.token, name=name, role=Rights.WORKER, queues=["default"]
        )

    async def revoke(self, member: Member) -> int | None:
        """Its token counts no more, and ends it; started again, it has another. Its pid."""
        old = member.token
        await self._give_token(member)
        pid = member.foresee_end() if member.token_at_start == old else None
        revoked = await self.line.call(find_token, old)
        assert revoked is not None
        await self.line.call(revoke_token, revoked.id)
        return pid

    def start(self) -> None:
        """Start all members, and from now on whatever dies."""
        self._tell_release(self._dags)
        for member in self.members:
            member.start()
        self._tending = [
            asyncio.create_task(self._tend()),
            asyncio.create_task(note_stalls(self.folder / STALLS, self._pids_of_workers)),
            *(asyncio.create_task(self._note_absence(server)) for server in self.servers),
        ]

    async def stop(self) -> dict[str, int]:
        """Let everybody drain and leave; their exit statuses. Who never leaves is killed."""
        await self._stop_tending()
        statuses = {}
        for roles in (("worker", "far"), ("server",), ("engine",)):
            leaving = [member for member in self.members if member.role in roles and member.pid]
            for member in leaving:
                member.signal(signal.SIGTERM)
            for member in leaving:
                if not await member.has_left(_LEAVING_SECONDS):
                    member.signal(signal.SIGKILL)
                statuses[member.name] = await member.ended()
        return statuses

    async def _tend(self) -> None:
        while True:
            for member in self.members:
                if member.tended and (death := member.tend()):
                    self.deaths.append(death)
            await asyncio.sleep(_TEND_SECONDS)

    async def _stop_tending(self) -> None:
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)
        self._tending = []

    async def _note_absence(self, server: Member) -> None:
        """For whoever is far from the database it is a fault like others while it is not there."""
        while True:
            since = now()
            await self.until(lambda: _is_there(server, True))
            self.faults.write(Fault(since, now(), "away", server.name))
            await self.until(lambda: _is_there(server, False))

    def _pids_of_workers(self) -> list[int]:
        """And of servers, which are the way of some of them."""
        watched = (*self.workers, *self.far, *self.servers)
        return [member.pid for member in watched if member.pid is not None]

    async def _tear_down(self) -> None:
        await self._stop_tending()
        for member in self.members:
            # A stopped process acts on no signal but these.
            member.signal(signal.SIGCONT)
            member.signal(signal.SIGKILL)
        for pid in self.strays():
            processes.signal_if_there(pid, signal.SIGKILL)
        if hasattr(self, "client_proxy"):
            for proxy in self.proxies:
                await proxy.close()
            await self.line.close()
        await asyncio.to_thread(self._postgres.stop)
        await asyncio.to_thread(destroy, self.folder / "postgres")

    # --- who there is ----------------------------------------------------------------------

    @property
    def engines(self) -> list[Member]:
        return [member for member in self.members if member.role == "engine"]

    @property
    def workers(self) -> list[Member]:
        return [member for member in self.members if member.role == "worker"]

    @property
    def servers(self) -> list[Member]:
        return [member for member in self.members if member.role == "server"]

    @property
    def far(self) -> list[Member]:
        """Workers that know no database."""
        return [member for member in self.members if member.role == "far"]

    def servers_listening(self) -> list[tuple[str, int]]:
        return [server.address for server in self.servers if server.address is not None]

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    @property
    def proxies(self) -> list[Proxy]:
        return [*(member.proxy for member in self.members), self.client_proxy, self.web_proxy]

    def proxy_of(self, name: str) -> Proxy:
        callers = {"client": self.client_proxy, "web": self.web_proxy}
        return callers.get(name) or self.member(name).proxy

    @property
    def socket(self) -> Path:
        return socket_of(self._postgres.url)

    @property
    def url(self) -> str:
        """The database itself, past all proxies."""
        return self._postgres.url

    @property
    def client_url(self) -> str:
        return self.client_proxy.url(PRODUCT_ROLE, PRODUCT_DATABASE)

    def web_client(self, patience_seconds: float) -> HttpClient:
        return HttpClient(self.web_proxy.web_url, self.web_token, patience_seconds=patience_seconds)

    def environment(self, member: Member) -> dict[str, str]:
        return {
            **os.environ,
            **_way_of(member),
            # As in containers: whoever is started finds nothing but the database, and engines find
            # the folder of dags.
            "MAINSPRING_HOME": str(self.folder / "homes" / f"{member.name} {member.starts}"),
            "MAINSPRING_DAGS": str(self._dags) if member.role == "engine" else "",
            "MAINSPRING_OBJECTS": (self.folder / "objects").as_uri(),
            "MAINSPRING_LEASE_SECONDS": str(self.lease_seconds),
            "MAINSPRING_DEBUG": "1",
            EVIDENCE: str(self.folder),
            # Tasks write to sinks that are ours, from a copy of the dags that is elsewhere.
            "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
        }

    def deploy(self) -> None:
        """The same dags in another tree: from now on runs are of a new snapshot."""
        self._release += 1
        self.write_dags("release.py", f"RELEASE = {self._release}\n")

    def write_dags(self, file: str, text: str) -> None:
        """Change the folder; told before, so that nothing can run which nobody has heard of."""
        fresh = Path(tempfile.mkdtemp(prefix="release-", dir=self.folder))
        shutil.copytree(self._dags, fresh, dirs_exist_ok=True)
        (fresh / file).write_text(text, "utf-8")
        self._tell_release(fresh)
        (fresh / file).rename(self._dags / file)
        shutil.rmtree(fresh)

    def _tell_release(self, folder: Path) -> None:
        log = Log(self.folder / RELEASES)
        log.write(Release(now(), self._release, tree_digest(folder)))
        log.close()

    def strays(self) -> set[int]:
        """Processes that belong to nobody any more: hosts and commands that were left behind."""
        # In this order: who is born between the two looks is at home.
        marked = processes.marked(EVIDENCE, str(self.folder))
        at_home = processes.descendants(
            [os.getpid(), *(member.pid for member in self.members if member.pid)]
        )
        return marked - at_home

    # --- the database ----------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def database_down(self, how: Literal["stop", "kill"]) -> AsyncIterator[int | None]:
        """End it without a farewell, and start it again when the block is left."""
        async with self._database_lock:
            pid = self._postgres.pid
            if how == "kill":
                await asyncio.to_thread(self._postgres.kill)
            elif pid is not None:
                # An immediate shutdown, as in `pg_ctl stop -m immediate`.
                processes.signal_if_there(pid, signal.SIGQUIT)
                await asyncio.to_thread(self._postgres.wait)
            try:
                yield pid
            finally:
                await asyncio.to_thread(self._postgres.start)

    async def dump(self, path: Path) -> None:
        """All that the database holds, journal included, for whoever looks into it later."""
        program = find_psql().with_name("pg_dump")
        with path.open("wb") as file:
            dumping = await asyncio.create_subprocess_exec(
                program, "--no-owner", "--dbname", self.url, stdout=file
            )
            assert await dumping.wait() == 0, "the database could not be dumped"

    async def rows(self, sql: str, *args: Any) -> list[dict[str, Any]]:
        """What the database says, asked beside all proxies, as soon as it is there to be asked."""

        async def read(connection: Connection) -> list[dict[str, Any]]:
            return [dict(row) for row in await fetch(connection, sql, *args)]

        return await self.line.call(read)

    async def until(self, asked: Callable[[], Awaitable[_T | None]]) -> _T:
        """What `asked` answers, as soon as it is not nothing."""
        while True:
            answer = await asked()
            if answer:
                return answer
            await asyncio.sleep(_TEND_SECONDS)


async def _is_there(server: Member, listens: bool) -> bool:
    return (server.address is not None) == listens


def _way_of(member: Member) -> dict[str, str]:
    """To the database, or to a server."""
    if isinstance(member.proxy, WebProxy):
        url = member.proxy.web_url
        return {
            "MAINSPRING_DATABASE_URL": "",
            "MAINSPRING_URL": url,
            "MAINSPRING_TOKEN": member.token,
        }
    return {"MAINSPRING_DATABASE_URL": member.proxy.url(PRODUCT_ROLE, PRODUCT_DATABASE)}
