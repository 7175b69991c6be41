"""What is broken, when, and how: planned from a seed, then played on a cluster.

`plan` is a pure function: the same seed gives the same plan, so whoever has the seed of a storm
can have it again. What a plan meets when it is played is not the same twice, since the processes
run freely; every fault is logged with the times at which it really was.

Faults of one victim do not overlap, except those of its network: a worker that is frozen is not
drained, too. Faults of different victims do, and that is where it becomes interesting.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, TypeAlias, assert_never, get_args

import msgspec

from mainspring.store.connection import Connection, fetch
from tests.checker.evidence import Fault, now
from tests.fault import processes
from tests.fault.cluster import Cluster
from tests.fault.proxy import Delay, Weather

Kind: TypeAlias = Literal[
    "kill",
    "freeze",
    "drain",
    "database_stop",
    "database_kill",
    "backend_kill",
    "terminate",
    "cut",
    "delay",
    "throttle",
    "half_open",
    "refuse",
    "unknown_commit",
    "lost_request",
    "deploy",
    "revoke",
]

KINDS: tuple[Kind, ...] = get_args(Kind)

_RECOVERY_SECONDS = 1.0
"""How long a victim is left alone afterwards: about what a process takes to start."""


class Planned(msgspec.Struct, frozen=True):
    at: float
    """Seconds from the beginning of the storm."""
    kind: Kind
    target: str
    """`worker 2`, `engine 1`, `server 1`, `far 1` for a worker that is far from the database,
    `host of worker 2`, `guard of worker 2`, `all of worker 2`, `database`, `client` and `web` for
    callers, `dags`."""
    seconds: float = 0.0
    """How long it lasts; of a drain, when it is hurried by a second signal."""
    amount: float = 0.0
    """Median delay in seconds, bytes in a second, share of commits, or number of backends."""
    aim: str = ""
    """Which connections of the target; all, if nothing is said."""


class Scale(msgspec.Struct, frozen=True):
    """What there is to be broken, and how long is long."""

    engines: int = 2
    workers: int = 3
    lease_seconds: float = 3.0
    faults_per_second: float = 3.0
    spoiled_share: float = 0.0
    """Of all commits of everybody, all the time: how many are made and not answered."""
    servers: int = 0
    far: int = 0
    """Workers that are far from the database, and reach it through servers."""


USUAL = Scale()


def scale_of(seed: int) -> Scale:
    """Another cluster for each storm: large and small, and on some nothing is ever certain."""
    random = Random(f"{seed} scale")
    return Scale(
        engines=random.randint(1, 3),
        workers=random.randint(1, 3),
        spoiled_share=random.choice([0.0, 0.0, 0.02, 0.1]),
        servers=random.randint(1, 2),
        far=random.randint(1, 2),
    )


def plan(seed: int, seconds: float, scale: Scale = USUAL) -> list[Planned]:
    """The faults of a storm, in their order. Everything is over when it ends."""
    random = Random(f"{seed} plan")
    draw = _Draw(random, scale)
    free_at: dict[str, float] = {}
    planned: list[Planned] = []
    if scale.spoiled_share:
        planned += [
            Planned(0.0, "unknown_commit", target, seconds, scale.spoiled_share)
            for target in draw.everybody
        ]
    # Two for sure, so that runs are under way whose code is no longer in the folder.
    planned += [
        Planned(round(random.uniform(0.1, 0.8) * seconds, 3), "deploy", "dags") for _ in range(2)
    ]
    at = random.uniform(0.2, 0.6)
    while at < seconds:
        fault = draw.fault(round(at, 3))
        victim = fault.target.rpartition(" of ")[2]
        if fault.kind in _NETWORK:
            victim = f"network of {victim}"
        if at >= free_at.get(victim, 0.0) and at + fault.seconds <= seconds:
            free_at[victim] = at + fault.seconds + _RECOVERY_SECONDS
            planned.append(fault)
        at += random.expovariate(scale.faults_per_second)
    return sorted(planned, key=lambda fault: fault.at)


_NETWORK: tuple[Kind, ...] = (
    "cut",
    "delay",
    "throttle",
    "half_open",
    "refuse",
    "unknown_commit",
    "lost_request",
)

_AIMS = {
    "worker": ("", "", " claim", " complete", " beat", " aside", " log", " listener"),
    "engine": ("", "", " shard", " reap", " wake", " dags"),
    "server": ("", "", " claim", " complete", " beat", " aside", " hands", " listener"),
    "far": ("", "", "claims", "ends", "beats", "logs", "notes"),
    "client": ("",),
    "web": ("",),
}


_STATEMENTS = {
    "worker": ("claim_attempts", "complete_attempts", "renew_lease", "register_worker"),
    "engine": ("wake_backoff", "wake_starts", "end_worker", "stop_tasks", "renew_shard"),
    "server": (
        *("claim_together", "complete_attempts", "renew_together", "join_together"),
        "create_jobs",
    ),
    "far": ("claims", "ends", "beats", "inputs"),
    "client": ("create_runs", "stop_tasks", "reserve_ids", "reopen_tasks", "create_jobs"),
    "web": ("jobs",),
}
"""Whose commits are spoiled in particular."""


class _Draw:
    """Draws one fault after the other from a random."""

    def __init__(self, random: Random, scale: Scale) -> None:
        self._random = random
        self._scale = scale
        self._makers: list[tuple[float, Callable[[float], Planned]]] = [
            (3.0, self._kill),
            (4.0, self._freeze),
            (1.5, self._drain),
            (0.5, self._database_stop),
            (0.5, self._database_kill),
            (0.2, self._backend_kill),
            (1.5, self._terminate),
            (5.0, self._network),
            (5.0, self._commit),
            (0.4, self._deploy),
        ]
        if scale.far:
            self._makers.append((1.0, self._revoke))

    @property
    def everybody(self) -> list[str]:
        """Whoever has a network of its own."""
        return [
            *(f"engine {number}" for number in range(1, self._scale.engines + 1)),
            *(f"worker {number}" for number in range(1, self._scale.workers + 1)),
            *(f"server {number}" for number in range(1, self._scale.servers + 1)),
            *(f"far {number}" for number in range(1, self._scale.far + 1)),
            "client",
            "web",
        ]

    def fault(self, at: float) -> Planned:
        weights = [weight for weight, _ in self._makers]
        [(_, maker)] = self._random.choices(self._makers, weights)
        return maker(at)

    def _kill(self, at: float) -> Planned:
        worker = self._worker()
        target = self._random.choices(
            [
                *(worker, self._engine()),
                *(f"host of {worker}", f"guard of {worker}", f"all of {worker}"),
            ],
            [3, 2, 3, 1, 1],
        )[0]
        return Planned(at, "kill", target)

    def _freeze(self, at: float) -> Planned:
        worker = self._worker()
        target = self._random.choices(
            [worker, self._engine(), f"host of {worker}", f"all of {worker}"], [3, 2, 1, 2]
        )[0]
        lease = self._scale.lease_seconds
        # Shorter than the lease nobody may notice; longer, somebody else has the work meanwhile.
        short = self._random.random() < 0.5
        seconds = self._uniform(0.1, 0.5 * lease) if short else self._uniform(1.3, 2.0) * lease
        return Planned(at, "freeze", target, seconds)

    def _drain(self, at: float) -> Planned:
        target = self._random.choice([self._worker(), self._engine()])
        return Planned(at, "drain", target, self._uniform(0.5, 4.0))

    def _database_stop(self, at: float) -> Planned:
        return Planned(at, "database_stop", "database", self._uniform(0.0, 2.0))

    def _database_kill(self, at: float) -> Planned:
        return Planned(at, "database_kill", "database", self._uniform(0.0, 2.0))

    def _backend_kill(self, at: float) -> Planned:
        return Planned(at, "backend_kill", "database")

    def _terminate(self, at: float) -> Planned:
        return Planned(at, "terminate", "database", amount=self._random.choice([1, 2, 5, 20]))

    def _network(self, at: float) -> Planned:
        kind: Kind = self._random.choices(
            ("cut", "delay", "throttle", "half_open", "refuse"), [3, 1, 1, 2, 1]
        )[0]
        target = self._network_target()
        aim = self._random.choice(_AIMS[target.partition(" ")[0]])
        lease = self._scale.lease_seconds
        match kind:
            case "cut":
                return Planned(at, kind, target, aim=aim)
            case "delay":
                return Planned(
                    at, kind, target, self._uniform(0.5, 4.0), self._uniform(0.005, 0.2), aim
                )
            case "throttle":
                return Planned(
                    at, kind, target, self._uniform(0.5, 4.0), self._uniform(3e3, 1e5), aim
                )
            case "half_open":
                short = self._random.random() < 0.5
                seconds = self._uniform(0.1, 0.5) if short else self._uniform(1.2, 2.0)
                return Planned(at, kind, target, round(seconds * lease, 3), aim=aim)
            case _:
                return Planned(at, kind, target, self._uniform(0.2, 3.0))

    def _commit(self, at: float) -> Planned:
        """Some commits on the way there or back; often those of one statement, and all of them."""
        kind: Kind = self._random.choices(("unknown_commit", "lost_request"), [3, 1])[0]
        target = self._network_target()
        role = target.partition(" ")[0]
        if self._random.random() < 0.6:
            aim, share = self._random.choice(_STATEMENTS[role]), 1.0
        else:
            aim, share = self._random.choice(_AIMS[role]), self._random.choice([0.2, 0.5, 1.0])
        return Planned(at, kind, target, self._uniform(0.2, 2.0), share, aim)

    def _deploy(self, at: float) -> Planned:
        return Planned(at, "deploy", "dags")

    def _revoke(self, at: float) -> Planned:
        return Planned(at, "revoke", f"far {self._random.randint(1, self._scale.far)}")

    def _network_target(self) -> str:
        callers = ["client", "web"] if self._scale.servers else ["client"]
        return self._random.choices(
            [self._worker(), self._engine(), self._random.choice(callers)], [3, 1.5, 2]
        )[0]

    def _worker(self) -> str:
        number = self._random.randint(1, self._scale.workers + self._scale.far)
        return (
            f"worker {number}"
            if number <= self._scale.workers
            else f"far {number - self._scale.workers}"
        )

    def _engine(self) -> str:
        """Or a server: whoever works for others."""
        if self._scale.servers and self._random.random() < 0.5:
            return f"server {self._random.randint(1, self._scale.servers)}"
        return f"engine {self._random.randint(1, self._scale.engines)}"

    def _uniform(self, least: float, most: float) -> float:
        return round(self._random.uniform(least, most), 3)


# --- played -------------------------------------------------------------------------------------


class Nemesis:
    def __init__(self, cluster: Cluster, planned: Sequence[Planned]) -> None:
        self._cluster = cluster
        self._planned = planned
        self._randoms = [Random(f"{cluster.seed} fault {n}") for n in range(len(planned))]

    async def play(self) -> None:
        """Break everything as planned; when it returns, nothing is broken any more."""
        began = now()
        async with asyncio.TaskGroup() as group:
            for fault, random in zip(self._planned, self._randoms, strict=True):
                await asyncio.sleep(began + fault.at - now())
                group.create_task(self._inflict(fault, random))

    async def _inflict(self, fault: Planned, random: Random) -> None:
        match fault.kind:
            case "kill":
                await self._signal(fault, random, signal.SIGKILL)
            case "freeze":
                await self._freeze(fault, random)
            case "drain":
                await self._drain(fault)
            case "database_stop" | "database_kill":
                await self._database_down(fault)
            case "backend_kill":
                await self._backend_kill(fault, random)
            case "terminate":
                await self._terminate(fault, random)
            case "cut":
                self._cluster.proxy_of(fault.target).reset(fault.aim)
            case "revoke":
                await self._revoke(fault)
            case "deploy":
                began = now()
                self._cluster.deploy()
                self._tell(fault, began, None)
            case "delay" | "throttle" | "half_open" | "refuse" | "unknown_commit" | "lost_request":
                await self._weather(fault)
            case _:
                assert_never(fault.kind)

    # --- processes -------------------------------------------------------------------------

    async def _signal(self, fault: Planned, random: Random, number: signal.Signals) -> None:
        for pid in self._victims(fault.target, random):
            began = now()
            if self._send(fault.target, pid, number):
                self._tell(fault, began, pid)

    async def _freeze(self, fault: Planned, random: Random) -> None:
        began = now()
        victims = [
            pid
            for pid in self._victims(fault.target, random)
            if self._send(fault.target, pid, signal.SIGSTOP)
        ]
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            # In the other order: a host that its guard froze meanwhile must not be thawed by us.
            for pid in reversed(victims):
                processes.signal_if_there(pid, signal.SIGCONT)
                self._tell(fault, began, pid)

    async def _drain(self, fault: Planned) -> None:
        member = self._cluster.member(fault.target)
        began = now()
        pid = member.signal(signal.SIGTERM)
        hurried = False
        while pid is not None and member.pid == pid:
            await asyncio.sleep(0.02)
            if not hurried and now() > began + fault.seconds:
                hurried = True
                member.signal(signal.SIGTERM)
        if pid is not None:
            self._tell(fault, began, pid)

    async def _revoke(self, fault: Planned) -> None:
        member = self._cluster.member(fault.target)
        began = now()
        pid = await self._cluster.revoke(member)
        if pid is not None:

            async def has_ended() -> bool:
                return member.pid != pid

            await self._cluster.until(has_ended)
            self._tell(fault, began, pid)

    def _victims(self, target: str, random: Random) -> list[int]:
        """The processes behind a target, if they live; none is as good as one for a storm."""
        part, _, whole = target.rpartition(" of ")
        member = self._cluster.member(whole)
        hosts = sorted(member.hosts)
        match part:
            case "host":
                return [random.choice(hosts)] if hosts else []
            case "guard":
                return [guard for guard in [member.guard] if guard is not None]
            case "all":
                # The guard first, so that it does not act on what it sees of the others' stop.
                first = [pid for pid in [member.guard, member.pid] if pid is not None]
                return first + sorted(processes.descendants(first) - set(first))
            case _:
                return [pid for pid in [member.pid] if pid is not None]

    def _send(self, target: str, pid: int, number: signal.Signals) -> bool:
        for member in self._cluster.members:
            if member.pid == pid:
                return member.signal(number) is not None
        return processes.signal_if_there(pid, number)

    # --- the database ----------------------------------------------------------------------

    async def _database_down(self, fault: Planned) -> None:
        began = now()
        how: Literal["stop", "kill"] = "stop" if fault.kind == "database_stop" else "kill"
        async with self._cluster.database_down(how) as pid:
            await asyncio.sleep(fault.seconds)
        self._tell(fault, began, pid)

    async def _backend_kill(self, fault: Planned, random: Random) -> None:
        """One backend dies, and the server ends all others and recovers, by itself."""
        began = now()
        backends = await self._backends()
        if backends:
            pid = random.choice(backends)
            if processes.signal_if_there(pid, signal.SIGKILL):
                await self._cluster.rows("select 1")
                self._tell(fault, began, pid)

    async def _terminate(self, fault: Planned, random: Random) -> None:
        began = now()
        backends = await self._backends()
        victims = random.sample(backends, min(len(backends), int(fault.amount)))

        async def terminate(connection: Connection) -> None:
            await fetch(
                connection, "select pg_terminate_backend(pid) from unnest($1::int[]) pid", victims
            )

        await self._cluster.line.call(terminate)
        for pid in victims:
            self._tell(fault, began, pid)

    async def _backends(self) -> list[int]:
        rows = await self._cluster.rows(
            "select pid from pg_stat_activity where datname = current_database()"
            " and application_name like 'mainspring %' and pid <> pg_backend_pid() order by pid"
        )
        return [row["pid"] for row in rows]

    # --- the network -----------------------------------------------------------------------

    async def _weather(self, fault: Planned) -> None:
        weather = _weather_of(fault)
        proxy = self._cluster.proxy_of(fault.target)
        proxy.begin(weather)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            proxy.end(weather)

    def _tell(self, fault: Planned, began: float, pid: int | None) -> None:
        self._cluster.faults.write(
            Fault(
                at=began,
                until=now(),
                kind=fault.kind,
                target=fault.target,
                pid=pid,
                detail=f"planned at {fault.at:g} s",
            )
        )


def _weather_of(fault: Planned) -> Weather:
    match fault.kind:
        case "delay":
            return Weather(kind="delay", aim=fault.aim, delay=Delay(fault.amount, most_seconds=1.0))
        case "throttle":
            return Weather(kind="throttle", aim=fault.aim, bytes_per_second=fault.amount)
        case "half_open" | "refuse":
            return Weather(kind=fault.kind, aim=fault.aim)
        case "unknown_commit" | "lost_request":
            return Weather(kind=fault.kind, aim=fault.aim, share=fault.amount)
        case _:
            raise AssertionError(f"{fault.kind} is no weather")
