"""Callers that ask for runs through a bad network, and keep books about what they were told.

Before a caller asks it writes that it will, and afterwards what it heard: the run's id, a refusal,
or nothing. What was asked under a key and not answered is asked again with that key until there is
an answer; what had no key stays unknown, as it would for anybody. Some callers have the client's
usual patience, which bridges breaks by itself; others have none, and see every break.

Runs are asked for in every way there is: as such, as jobs with options of their own, as jobs over
HTTP, and beside an order in a transaction of the caller's own, which is made with the run or not at
all.

What a client raises must be one of our errors: anything else is a surprise, and a bug.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from mainspring import Client, ConflictError, InputError, MainspringError, NotFoundError
from mainspring.domain.errors import UnavailableError
from mainspring.http import HttpClient
from mainspring.store.connection import GONE, connect
from mainspring.store.marks import Mark
from mainspring.store.runs import Deed, read_standing
from tests.checker.evidence import Answered, Asked, Log, now

PRIORITY_DEFAULT = 5
_QUEUE = "default"


Way: TypeAlias = Literal["trigger", "job", "web", "own"]
"""How it is asked for: as a run, as a job, as a job over HTTP, in a transaction of one's own."""


class Wish(msgspec.Struct, frozen=True):
    """A run that is wanted."""

    dag: str
    parameters: dict[str, Any] = {}
    key: str | None = None
    delay_seconds: float = 0.0
    priority: int = PRIORITY_DEFAULT
    way: Way = "trigger"
    retries: int | None = None
    """Of jobs, beyond what the dag says."""


class Pace(msgspec.Struct, frozen=True):
    """How often a caller asks, and for what."""

    requests_per_second: float = 10.0
    keyed_share: float = 0.5
    delayed_share: float = 0.08
    cancel_share: float = 0.08
    rerun_share: float = 0.05
    mark_share: float = 0.08
    priority_share: float = 0.03
    pause_share: float = 0.02
    job_share: float = 0.1
    """Of what is triggered: how much of it is by a job; and as much again by one over HTTP."""
    own_share: float = 0.1


USUAL = Pace()


def _seconds(random: Random) -> dict[str, Any]:
    """Mostly an instant, sometimes longer than the lease of a worker in a storm."""
    long = random.random() < 0.15
    return {"seconds": round(random.uniform(3.5, 5.0) if long else random.uniform(0, 0.1), 3)}


def _a_moment(random: Random) -> dict[str, Any]:
    return {"seconds": round(random.uniform(0.05, 0.3), 3)}


def _nothing(_: Random) -> dict[str, Any]:
    return {}


def _times(random: Random) -> dict[str, Any]:
    return {"times": random.randint(0, 3)}


MIX: list[tuple[str, float, int, Callable[[Random], dict[str, Any]]]] = [
    # dag, weight, priority, parameters
    ("single_async", 4, PRIORITY_DEFAULT, _seconds),
    ("single_thread", 2, PRIORITY_DEFAULT, _seconds),
    ("single_process", 2, PRIORITY_DEFAULT, _seconds),
    ("single_command", 1, PRIORITY_DEFAULT, _seconds),
    ("patient", 2, 0, _a_moment),
    ("urgent", 1, 9, _a_moment),
    ("at_most_once", 1, PRIORITY_DEFAULT, _a_moment),
    ("chain", 2, PRIORITY_DEFAULT, _nothing),
    ("diamond", 1.5, PRIORITY_DEFAULT, _nothing),
    ("fan", 2, PRIORITY_DEFAULT, _nothing),
    ("mixed", 1, PRIORITY_DEFAULT, _nothing),
    ("flaky", 2, PRIORITY_DEFAULT, _times),
    ("hopeless", 1, PRIORITY_DEFAULT, _nothing),
    ("overtime", 0.7, PRIORITY_DEFAULT, _nothing),
    ("overtime_command", 0.4, PRIORITY_DEFAULT, _nothing),
    ("skipping", 1, PRIORITY_DEFAULT, _nothing),
    ("too_slow", 0.7, PRIORITY_DEFAULT, _nothing),
]

DAGS = [dag for dag, *_ in MIX]

RESULTS = {
    "first": 1,
    "left": 11,
    "right": 101,
    **{f"link_{place}": place + 2 for place in range(5)},
    **{f"piece_{place}": place + 1 for place in range(8)},
}
"""What tasks return that others check, for those who close them by hand."""


def wishes(random: Random, pace: Pace, name: str) -> Iterator[Wish]:
    """What a caller wants, without end."""
    weights = [weight for _, weight, _, _ in MIX]
    for number in itertools.count(1):
        [(dag, _, priority, parameters)] = random.choices(MIX, weights)
        [way] = random.choices(_WAYS, _shares(pace))
        # A client over HTTP sends one in any case.
        keyed = way in ("web", "own") or random.random() < pace.keyed_share
        delayed = way == "trigger" and random.random() < pace.delayed_share
        yield Wish(
            dag,
            parameters(random),
            key=f"{way} {name} {number}" if keyed else None,
            delay_seconds=random.uniform(0.2, 2.0) if delayed else 0.0,
            priority=priority,
            way=way,
            retries=random.choice([None, 0, 1, 3]) if way in ("job", "web") else None,
        )


_WAYS: tuple[Way, ...] = get_args(Way)


def _shares(pace: Pace) -> list[float]:
    return [
        1.0 - 2 * pace.job_share - pace.own_share,
        pace.job_share,
        pace.job_share,
        pace.own_share,
    ]


class Books:
    """The log of all callers: requests are numbered, and told before they are made."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._numbers = itertools.count(1)
        self.answers: dict[str, int] = {"ok": 0, "failed": 0, "unknown": 0}
        self.surprises: list[str] = []

    async def asking(self, asked: Asked, ask: Callable[[], Awaitable[int | None]]) -> Answered:
        number = next(self._numbers)
        self._log.write(msgspec.structs.replace(asked, number=number, at=now()))
        answered = await self._answer(number, ask)
        self._log.write(answered)
        self.answers[answered.answer] += 1
        return answered

    async def _answer(self, number: int, ask: Callable[[], Awaitable[int | None]]) -> Answered:
        try:
            run = await ask()
        except UnavailableError as error:
            return Answered(number, now(), "unknown", error=error.message)
        except (InputError, NotFoundError, ConflictError) as error:
            return Answered(number, now(), "failed", error=error.message)
        except MainspringError as error:
            self.surprises.append(repr(error))
            return Answered(number, now(), "unknown", error=repr(error))
        except Exception as error:
            self.surprises.append(repr(error))
            return Answered(number, now(), "unknown", error=repr(error))
        return Answered(number, now(), "ok", run=run)


class Caller:
    """One application: asks, forgets nothing that it must ask again, and goes on."""

    def __init__(
        self,
        url: str,
        books: Books,
        *,
        name: str,
        seed: int,
        patience_seconds: float,
        pace: Pace = USUAL,
        opens: bool = False,
        web: Callable[[float], HttpClient] | None = None,
    ) -> None:
        """With `web` some jobs are made over HTTP; without, they are made as all others."""
        self._url = url
        self._web = web
        self._web_client: HttpClient | None = None
        self._books = books
        self._name = name
        self._patience_seconds = patience_seconds
        self._pace = pace
        self._opens = opens
        self._random = Random(f"{seed} {name}")
        self._wishes = wishes(self._random, pace, name)
        self._runs: list[int] = []
        self._unsettled: list[Wish] = []
        self._client: Client | None = None

    async def ask_until(self, stop: asyncio.Event) -> None:
        if self._opens:
            await self._open()
        while not stop.is_set():
            await asyncio.sleep(self._random.expovariate(self._pace.requests_per_second))
            await self._ask_something()

    async def _open(self) -> None:
        """Of what is rare there is one in every storm: another attempt, a mark, a pause."""
        await self._trigger(Wish("flaky", {"times": 2}, key=f"{self._name} opens"))
        await self._trigger(
            Wish("flaky", {"times": 3}, key=f"{self._name} job", way="job", retries=1)
        )
        await self._trigger(Wish("chain", key=f"own {self._name} opens", way="own"))
        await self._trigger(Wish("chain", key=f"{self._name} marks", delay_seconds=1.0))
        for run in self._runs[-1:]:
            await self._mark(run)
        await self._pause()

    async def settle(self) -> None:
        """Ask again what had a key and no answer, until all is answered; then leave."""
        while self._unsettled:
            await self._trigger(self._unsettled.pop(0))
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None
        if self._web_client is not None:
            await self._web_client.__aexit__(None, None, None)
            self._web_client = None

    # --- requests --------------------------------------------------------------------------

    async def _ask_something(self) -> None:
        drawn = self._random.random()
        if self._unsettled and drawn < 0.3:
            await self._trigger(self._unsettled.pop(0))
            return
        shares = {
            # The young ones more often: they are still under way.
            "cancel": self._pace.cancel_share if self._runs else 0.0,
            "rerun": self._pace.rerun_share if self._runs else 0.0,
            "mark": self._pace.mark_share if self._runs else 0.0,
            "priority": self._pace.priority_share if self._runs else 0.0,
            "pause": self._pace.pause_share,
        }
        [act] = self._random.choices(
            [*shares, "trigger"], [*shares.values(), 1.0 - sum(shares.values())]
        )
        match act:
            case "cancel":
                await self._cancel(self._random.choice(self._runs[-20:]))
            case "rerun":
                await self._rerun(self._random.choice(self._runs))
            case "mark":
                await self._mark(self._random.choice(self._runs[-20:]))
            case "priority":
                await self._prioritize(self._random.choice(self._runs[-20:]))
            case "pause":
                await self._pause()
            case _:
                await self._trigger(next(self._wishes))

    async def _trigger(self, wish: Wish) -> None:
        ways = {"trigger": self._run, "job": self._job, "web": self._web_job, "own": self._order}
        ask = ways[wish.way]
        client = await self._connected()
        answered = await self._books.asking(
            Asked(0, 0.0, "trigger", dag=wish.dag, key=wish.key, priority=wish.priority),
            lambda: ask(client, wish),
        )
        if answered.run is not None:
            self._runs.append(answered.run)
        elif answered.answer == "unknown" and wish.key is not None:
            self._unsettled.append(wish)

    async def _run(self, client: Client, wish: Wish) -> int:
        delay = wish.delay_seconds
        run_at = _now() + datetime.timedelta(seconds=delay) if delay else None
        return await client.trigger(wish.dag, wish.parameters, run_at=run_at, key=wish.key)

    async def _job(self, client: Client, wish: Wish) -> int:
        return await client.create_job(
            task=wish.dag,
            parameters=wish.parameters,
            retries=wish.retries,
            idempotency_key=wish.key,
        )

    async def _web_job(self, client: Client, wish: Wish) -> int:
        if self._web is None:
            return await self._job(client, wish)
        if self._web_client is None:
            self._web_client = await self._web(self._patience_seconds).__aenter__()
        made = await self._web_client.jobs.create(
            task=wish.dag,
            parameters=wish.parameters,
            retries=wish.retries,
            idempotency_key=wish.key,
        )
        return made.job_id

    async def _order(self, client: Client, wish: Wish) -> int:
        """A run and a row of our own, both or neither."""
        try:
            connection = await connect(self._url, name=f"{self._name} own")
            try:
                async with connection.transaction():
                    run_id = await client.enqueue(
                        wish.dag,
                        parameters=wish.parameters,
                        idempotency_key=wish.key,
                        connection=connection,
                    )
                    await connection.execute(_KEEP_ORDER, wish.key, run_id)
            finally:
                connection.terminate()
        except GONE as error:
            raise UnavailableError(f"our own connection broke: {error!r}") from error
        await client.wake()
        return run_id

    async def _cancel(self, run: int) -> None:
        client = await self._connected()

        async def cancel() -> None:
            await client.cancel(run)

        await self._books.asking(Asked(0, 0.0, "cancel", run=run), cancel)

    async def _rerun(self, run: int) -> None:
        client = await self._connected()
        everything = self._random.random() < 0.5

        async def rerun() -> None:
            await client.rerun(run, all=everything)

        await self._books.asking(Asked(0, 0.0, "rerun", run=run), rerun)

    async def _mark(self, run: int) -> None:
        """Some task of it, whatever it does at the moment."""
        client = await self._connected()
        place, skips = self._random.random(), self._random.random() < 0.3

        async def mark() -> None:
            standing = await client.ask(read_standing, run)
            name = standing.tasks[int(place * len(standing.tasks))].name
            result = None if skips else msgspec.json.encode(RESULTS.get(name))
            state: Mark = "skipped" if skips else "succeeded"
            await client.mark(run, name, state, Deed(self._name, "a storm"), result=result)

        await self._books.asking(Asked(0, 0.0, "mark", run=run), mark)

    async def _prioritize(self, run: int) -> None:
        client = await self._connected()
        priority = self._random.randint(0, 9)

        async def prioritize() -> None:
            await client.set_priority(run, priority)

        await self._books.asking(Asked(0, 0.0, "priority", run=run, priority=priority), prioritize)

    async def _pause(self) -> None:
        """Pause a dag or the queue for a moment, and ask for its resume until that is answered."""
        client = await self._connected()
        if self._random.random() < 0.7:
            dag = self._random.choice(DAGS)
            pausing, resuming = Asked(0, 0.0, "pause_dag", dag), Asked(0, 0.0, "resume_dag", dag)
            pause, resume = _given(client.pause_dag, dag), _given(client.resume_dag, dag)
        else:
            pausing = Asked(0, 0.0, "pause_queue", queue=_QUEUE)
            resuming = Asked(0, 0.0, "resume_queue", queue=_QUEUE)
            pause, resume = _given(client.pause_queue, _QUEUE), _given(client.resume_queue, _QUEUE)
        await self._books.asking(pausing, pause)
        await asyncio.sleep(self._random.uniform(0.1, 1.0))
        answered = await self._books.asking(resuming, resume)
        while answered.answer != "ok":
            await asyncio.sleep(0.1)
            answered = await self._books.asking(resuming, resume)

    async def _connected(self) -> Client:
        """A client that has once reached the database; later it comes back by itself."""
        while self._client is None:
            client = Client(self._url, name=self._name, patience_seconds=self._patience_seconds)
            try:
                self._client = await client.__aenter__()
            except UnavailableError:
                await asyncio.sleep(0.1)
        return self._client


ORDERS = "create table public.placed (key text primary key, run_id bigint not null)"
_KEEP_ORDER = "insert into public.placed (key, run_id) values ($1, $2) on conflict do nothing"
ASTRAY = """
select coalesce(i.key, p.key) as key, i.run_id as run, p.run_id as placed
from (select key, run_id from mainspring.idempotency where key like 'own %') i
full join public.placed p on p.key = i.key
where i.run_id is distinct from p.run_id
"""
"""Orders without their run, and runs without their order."""


def _given(
    function: Callable[[str], Awaitable[object]], name: str
) -> Callable[[], Awaitable[None]]:
    async def ask() -> None:
        await function(name)

    return ask


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
