"""One storm: a cluster, callers, and everything going wrong; then calm, and the books are checked.

    safety     faults and callers together, as long as the plan says
    liveness   nothing is wrong any more: everything that was accepted must come to its end
    checking   what callers, tasks and the database say of it must agree (`tests/checker`)

Whether a cluster in calm weather is stuck is not told by the time that passes, but by its own
clocks: all workers have beaten, the engine has beaten, and nothing has moved.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Sequence,
)
from pathlib import Path
from typing import Any

import msgspec

from mainspring.store.connection import Connection, fetch
from tests.checker.check import check
from tests.checker.evidence import CLIENT, FAULTS, Fault, Log, now, read_log
from tests.checker.journal import install_journal, sample_clock
from tests.fault.cluster import Cluster
from tests.fault.nemesis import USUAL, Nemesis, Scale, plan
from tests.fault.planner import Planner
from tests.fault.workload import ASTRAY, DAGS, ORDERS, Books, Caller, Pace
from tests.fault.workload import USUAL as USUAL_PACE
from tests.support.invariants import violations
from tests.support.launcher import Launcher

DAGS_FOLDER = Path(__file__).parent / "dags"

STILL_BEATS = 40
"""So often must every worker and the engine have beaten, with nothing moving, to be stuck."""

_LOOK_SECONDS = 0.2
_KNOWN_ERRORS = (
    "this worker was reaped; it stopped its tasks and joins anew",
    "could not hand everything back; the engine will, when the lease is over",
)
"""What processes may say at the level of errors when they are maltreated."""


class Summary(msgspec.Struct, kw_only=True):
    seed: int
    seconds: float
    faults: dict[str, int] = {}
    answers: dict[str, int] = {}
    runs: int = 0
    tasks: int = 0
    attempts: dict[str, int] = {}
    """Those that ended otherwise than by a success, by how they ended."""
    spoiled: dict[str, int] = {}
    """Commits whose answer was lost, by statement."""
    promises: dict[str, int] = {}
    """How often each was put to the test."""
    broken: list[str] = []
    """What was not as promised, in words."""
    latest: dict[str, float] = {}
    """How late schedules fired at most, in seconds, by what was broken at that time."""
    phases: dict[str, float] = {}
    """How long each took, in seconds."""
    report: str = ""

    @property
    def ok(self) -> bool:
        return not self.broken


class Stuck(Exception):
    """Work is open, everybody is well, and nothing moves."""


async def storm(
    seed: int,
    folder: Path,
    *,
    seconds: float,
    scale: Scale = USUAL,
    callers: int = 4,
    pace: Pace = USUAL_PACE,
    expect: Collection[str] = (),
    dags: Path = DAGS_FOLDER,
    trouble: Callable[[Cluster, Books], Awaitable[None]] | None = None,
    launcher: Launcher | None = None,
) -> Summary:
    """Let it rage, and say what came of it. All evidence is left in the folder.

    `expect` names the promises of which it is a failure that nothing put them to the test;
    `trouble` is what goes wrong, if not what the seed plans; with a launcher processes that die are
    back at once.
    """
    summary = Summary(seed=seed, seconds=seconds)
    planned = plan(seed, seconds, scale)
    (folder / "plan.json").write_bytes(msgspec.json.format(msgspec.json.encode(planned)))
    faults, client = Log(folder / FAULTS), Log(folder / CLIENT)
    books = Books(client)
    if trouble is None:
        # The plan may deploy, which changes the folder.
        dags = Path(shutil.copytree(dags, folder / "dags"))
    cluster = Cluster(
        folder,
        faults,
        dags=dags,
        seed=seed,
        engines=scale.engines,
        workers=scale.workers,
        servers=scale.servers,
        far=scale.far,
        lease_seconds=scale.lease_seconds,
        launcher=launcher,
    )
    try:
        async with cluster, _summed_up(cluster, books, summary):
            with _timed(summary, "begin"):
                await begin(cluster)
            with _noticing(books.surprises):
                people = [
                    Caller(
                        cluster.client_url,
                        books,
                        name=f"caller-{number}",
                        seed=seed,
                        patience_seconds=0.0 if number % 2 else 30.0,
                        pace=pace,
                        opens=number == 0,
                        web=cluster.web_client if scale.servers else None,
                    )
                    for number in range(callers)
                ]
                planner = Planner(cluster.client_url, books, seed=seed)
                with _timed(summary, "safety"):
                    raging = (
                        trouble(cluster, books) if trouble else Nemesis(cluster, planned).play()
                    )
                    await _safety(people, planner, raging)
                with _timed(summary, "settling"):
                    await asyncio.gather(planner.settle(), *(caller.settle() for caller in people))
            with _timed(summary, "liveness"):
                await liveness(cluster)
            with _timed(summary, "leaving"):
                await _leave(cluster, summary)
            with _timed(summary, "checking"):
                await _judge(cluster, summary, expect)
    finally:
        faults.close()
        client.close()
    (folder / "summary.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary)))
    return summary


# --- the phases --------------------------------------------------------------------------------


async def begin(cluster: Cluster) -> None:
    """Everything runs and knows the dags, before the first cloud."""
    await cluster.line.call(install_journal)
    await cluster.rows(ORDERS)
    cluster.start()

    async def known() -> bool:
        problems = await cluster.rows("select file, line, message from mainspring.file_problem")
        assert not problems, problems
        names = {row["name"] for row in await cluster.rows("select name from mainspring.dag")}
        return names >= set(DAGS)

    await cluster.until(known)


async def _safety(people: Sequence[Caller], planner: Planner, raging: Awaitable[None]) -> None:
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(planner.plan_until(over))
        for caller in people:
            group.create_task(caller.ask_until(over))
        try:
            await raging
        finally:
            over.set()


async def liveness(cluster: Cluster, *, still_beats: int = STILL_BEATS) -> None:
    """Wait until nothing is open. Stuck, if the cluster's own clocks go and nothing else does."""
    for proxy in cluster.proxies:
        proxy.pass_all()
    before = await _look(cluster)
    while before.open_tasks:
        await asyncio.sleep(_LOOK_SECONDS)
        after = await _look(cluster, since=before.last_move)
        if after.last_move != before.last_move:
            before = after
            continue
        # Who has joined since then is watched from now on.
        before = msgspec.structs.replace(before, beats={**after.beats, **before.beats})
        if after.is_still_since(before, still_beats):
            raise Stuck(f"nothing moves, and this is open: {await _told_open(cluster)}")


class Look(msgspec.Struct, frozen=True):
    """How far everything has come, in its own counts."""

    open_tasks: int
    last_move: int
    shard_beat: int
    beats: dict[int, int]
    """Of the leases that there are, by worker."""

    def is_still_since(self, before: Look, beats: int) -> bool:
        """Whether everybody who is there has gone on for so long, without a move."""
        everybody = bool(self.beats) and all(
            beat - before.beats.get(worker, beat) >= beats for worker, beat in self.beats.items()
        )
        return everybody and self.shard_beat - before.shard_beat >= beats


_LOOK = """
select
  -- And what will make more of them: fires that wait, backfills that go on.
  (select count(*) from mainspring.task where state in ('waiting', 'ready', 'backoff', 'parked'))
    + (select count(*) from mainspring.fire where outcome = 'buffered')
    + (select count(*) from mainspring.backfill where state = 'running') as open_tasks,
  (select coalesce(max(number), $1) from checker.move where number > $1
    and relation not in ('lease', 'shard', 'worker')) as last_move,
  (select beat from mainspring.shard where number = 0) as shard_beat,
  (select coalesce(json_object_agg(worker_id, beat), '{}')::text from mainspring.lease) as beats
"""


async def _look(cluster: Cluster, since: int = 0) -> Look:
    [row] = await cluster.rows(_LOOK, since)
    beats = {int(worker): beat for worker, beat in json.loads(row["beats"]).items()}
    return Look(row["open_tasks"], row["last_move"], row["shard_beat"], beats)


async def _told_open(cluster: Cluster) -> str:
    rows = await cluster.rows(
        "select t.id, t.run_id, t.name, t.state, t.term, t.stop::text, t.due_at::text"
        " from mainspring.task_view t"
        " where t.state in ('waiting', 'ready', 'running', 'backoff', 'parked') limit 20"
    )
    return "; ".join(str(row) for row in rows)


async def _leave(cluster: Cluster, summary: Summary) -> None:
    """Everybody goes in peace, and leaves nobody behind."""
    for name, status in (await cluster.stop()).items():
        # Who has just been started, and has not said a word, does not know that signal yet.
        unborn = status == -signal.SIGTERM and not cluster.member(name).last_words
        if status != 0 and not unborn:
            summary.broken.append(f"{name} left with status {status}")

    async def alone() -> bool:
        return not cluster.strays()

    await cluster.until(alone)


async def _judge(cluster: Cluster, summary: Summary, expect: Collection[str]) -> None:
    await cluster.line.call(_count_inside, summary)
    report = await check(cluster.folder, cluster.url, expect)
    (cluster.folder / "report.txt").write_text(report.text(), "utf-8")
    summary.report = report.text()
    summary.latest = report.latest
    summary.promises = {finding.promise: finding.exercised for finding in report.findings}
    for finding in report.failures:
        told = finding.violations or ["was not put to the test"]
        summary.broken += [f"{finding.promise}: {violation}" for violation in told]


@contextlib.asynccontextmanager
async def _summed_up(cluster: Cluster, books: Books, summary: Summary) -> AsyncIterator[None]:
    """Add up what came of it; of a storm that failed the database is kept, in a file."""
    try:
        yield
    except Stuck as stuck:
        summary.broken.append(str(stuck))
    _count_outside(cluster, books, summary)
    if not summary.ok:
        await cluster.dump(cluster.folder / "database.sql")


# --- the sums ----------------------------------------------------------------------------------


async def _count_inside(connection: Connection, summary: Summary) -> None:
    """What the database says, and whether it keeps its own promises."""
    await sample_clock(connection)
    broken = await violations(connection)
    summary.broken += [f"{name}: {', '.join(rows[:5])}" for name, rows in broken.items()]
    [sums] = await fetch(
        connection,
        "select (select count(*) from mainspring.run_view) as runs,"
        " (select count(*) from mainspring.task_view) as tasks",
    )
    summary.runs, summary.tasks = sums["runs"], sums["tasks"]
    ends = await fetch(
        connection, "select state::text, count(*) from mainspring.attempt group by 1 order by 1"
    )
    summary.attempts = {row["state"]: row["count"] for row in ends}
    alone = await fetch(connection, ASTRAY)
    summary.broken += [f"an order and its run are not one: {dict(row)}" for row in alone]
    astray = await fetch(
        connection,
        "select task_id, convert_from(error, 'UTF8') as error from mainspring.attempt"
        " where convert_from(error, 'UTF8') like '%AssertionError%' limit 5",
    )
    summary.broken += [f"a result went astray: {row['task_id']}: {row['error']}" for row in astray]


def _count_outside(cluster: Cluster, books: Books, summary: Summary) -> None:
    """What callers, proxies and processes say."""
    # A fault that hits several processes has a line for each of them.
    faults = {(fault.at, fault.kind, fault.target) for fault in _faults(cluster)}
    summary.faults = dict(sorted(Counter(kind for _, kind, _ in faults).items()))
    summary.answers = dict(books.answers)
    spoiled: Counter[str] = Counter()
    for proxy in cluster.proxies:
        for name, count in proxy.counts.items():
            if name.startswith("unknown_commit of "):
                spoiled[name.removeprefix("unknown_commit of ")] += count
    summary.spoiled = dict(sorted(spoiled.items()))
    summary.broken += [f"a caller was surprised: {words}" for words in books.surprises]
    summary.broken += [
        f"{death.member} died by itself, with status {death.status}: {death.words[-1500:]}"
        for death in cluster.deaths
    ]
    summary.broken += [f"an error in a log: {line}" for line in _errors_in(cluster.logs)]


def _faults(cluster: Cluster) -> list[Fault]:
    return read_log(cluster.folder / FAULTS, Fault)


def _errors_in(logs: Path) -> Iterator[str]:
    """Lines at the level of errors that nobody expects, each kind once for each process."""
    for path in sorted(logs.glob("*.log")):
        seen = set()
        for line in path.read_text("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError):
                told = json.loads(line)
                event = told.get("event") if isinstance(told, dict) else None
                if event is None or told.get("level") not in ("error", "critical"):
                    continue
                if event not in _KNOWN_ERRORS and event not in seen:
                    seen.add(event)
                    yield f"{path.stem}: {line[:1500]}"


@contextlib.contextmanager
def _timed(summary: Summary, phase: str) -> Iterator[None]:
    began = now()
    try:
        yield
    finally:
        summary.phases[phase] = round(now() - began, 1)


@contextlib.contextmanager
def _noticing(surprises: list[str]) -> Iterator[None]:
    """Errors that nobody awaits, such as those of a client's own tasks, are surprises as well."""
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()

    def note(loop: asyncio.AbstractEventLoop, about: dict[str, Any]) -> None:
        surprises.append(f"{about.get('message')}: {about.get('exception')!r}")
        loop.default_exception_handler(about)

    loop.set_exception_handler(note)
    try:
        yield
    finally:
        loop.set_exception_handler(handler)
