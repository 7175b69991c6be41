"""`mainspring doctor`: checks, each with a verdict, what was found and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option
from mainspring.domain.errors import MainspringError
from mainspring.domain.states import Tone

if TYPE_CHECKING:
    from mainspring.config import Config
    from mainspring.store.connection import Connection
    from mainspring.store.pauses import Pause
    from mainspring.store.reading import (
        EngineLine,
        FileProblem,
        LaneLine,
        PausedLine,
        ServerLine,
        WorkerLine,
    )

SERVER_VERSION_MIN = 150000
_ENGINE_SILENT_SECONDS = 5.0
_PROBLEM_SECONDS = 3600.0
_PAUSED_SHOWN = 10
_ROWS_MAX = 1000
"""How many rows that break a promise are counted."""
_PROMISE_SECONDS = 30


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"
    UNKNOWN = "unknown"


_TONES = {
    Verdict.OK: Tone.GOOD,
    Verdict.WARNING: Tone.WARN,
    Verdict.BROKEN: Tone.BAD,
    Verdict.UNKNOWN: Tone.QUIET,
}


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""
    count: int | None = None
    """How many things are wrong, where that can be counted."""
    details: Any = None
    """What programs may want to know of it."""


@click.command()
@json_option
@home_option
def doctor(as_json: bool, home: Path | None) -> int:
    """Check that all is well, and say what to do if not. Exit 1 if something is broken."""
    from mainspring.cli.output import print_json
    from mainspring.config import load_config

    checks = asyncio.run(_check_all(load_config(home=home), quiet=as_json))
    broken = any(check.verdict is Verdict.BROKEN for check in checks)
    if as_json:
        print_json({"ok": not broken, "checks": checks})
    else:
        _print_summary(checks)
    return FAILED if broken else DONE


async def _check_all(config: Config, *, quiet: bool) -> list[Check]:
    checks = []
    async for check in _checks(config):
        checks.append(check)
        if not quiet:
            _print(check)
    return checks


async def _checks(config: Config) -> AsyncIterator[Check]:
    """In the order in which they make sense: what cannot be asked ends the list."""
    from mainspring.cli.doctor_schedules import (
        clock_check,
        clock_offset,
        schedules_check,
        shards_check,
    )
    from mainspring.client.link import reached
    from mainspring.config import database_url
    from mainspring.store import reading
    from mainspring.store.migrate import check_schema, pending
    from mainspring.store.schedule_reading import (
        count_schedules,
        list_engines,
        list_hindered,
        list_shards,
    )

    try:
        url = database_url(config)
        async with reached(url, name="doctor") as connection:
            where = "the given database" if config.database_url else f"embedded, {config.home}"
            yield Check("database", Verdict.OK, f"answers ({where})")
            server = await reading.read_server(connection)
            yield server_check(server)
            yield role_check(server)
            missing = await pending(connection)
            await check_schema(connection)
            yield schema_check(missing)
            yield engine_check(await reading.read_engine(connection))
            yield shards_check(await list_engines(connection), await list_shards(connection))
            yield clock_check(await clock_offset(connection))
            yield workers_check(await reading.list_workers(connection))
            yield lanes_check(await reading.list_lanes(connection))
            yield pauses_check(await reading.list_paused(connection))
            yield schedules_check(
                *await count_schedules(connection), await list_hindered(connection)
            )
            yield files_check(await reading.list_file_problems(connection))
            yield problems_check(
                await reading.count_recent_problems(connection, seconds=_PROBLEM_SECONDS)
            )
            yield await objects_check(config)
            async for check in _promises(connection):
                yield check
    except MainspringError as error:
        name = "schema" if "schema" in error.message else "database"
        yield Check(name, Verdict.BROKEN, error.message, error.hint)


# --- verdicts -----------------------------------------------------------------------------


def server_check(server: ServerLine) -> Check:
    name = f"PostgreSQL {server.version}"
    if server.version_number < SERVER_VERSION_MIN:
        return Check("server", Verdict.BROKEN, name, "upgrade it to version 15 or newer")
    return Check("server", Verdict.OK, name)


def role_check(server: ServerLine) -> Check:
    if server.superuser:
        return Check(
            "role",
            Verdict.WARNING,
            f"`{server.role}` is a superuser",
            "use a role of its own that owns the database and no more",
        )
    return Check("role", Verdict.OK, f"`{server.role}` is no superuser")


def schema_check(missing: list[str]) -> Check:
    if missing:
        return Check(
            "schema",
            Verdict.WARNING,
            f"{', '.join(missing)} not applied yet",
            "run `mainspring migrate` when no older version runs any more",
            len(missing),
        )
    return Check("schema", Verdict.OK, "up to date")


def engine_check(engine: EngineLine) -> Check:
    from mainspring.cli.words import roughly

    start = "start one with `mainspring engine`, or everything with `mainspring up`"
    if not engine.held:
        return Check("engine", Verdict.BROKEN, "none runs: timers and recovery stand still", start)
    if engine.silent_seconds > _ENGINE_SILENT_SECONDS:
        found = f"`{engine.name}` was not heard of for {roughly(engine.silent_seconds)}"
        return Check("engine", Verdict.BROKEN, found, start)
    return Check("engine", Verdict.OK, f"`{engine.name}` is alive")


def workers_check(workers: list[WorkerLine]) -> Check:
    from mainspring.cli.words import counted, roughly

    living = [worker for worker in workers if not worker.overdue]
    if silent := [worker for worker in workers if worker.overdue]:
        names = ", ".join(
            f"`{worker.name}` for {roughly(worker.silent_seconds)}" for worker in silent[:5]
        )
        return Check(
            "workers",
            Verdict.WARNING if living else Verdict.BROKEN,
            f"{counted(len(living), 'worker')} alive; not heard of: {names}",
            "look at those processes; a running engine hands their tasks to others",
            len(silent),
        )
    if not living:
        start = "start one with `mainspring worker`, or everything with `mainspring up`"
        return Check("workers", Verdict.BROKEN, "none lives: nothing can run", start)
    return Check("workers", Verdict.OK, f"{counted(len(living), 'worker')} alive")


def lanes_check(lanes: list[LaneLine]) -> Check:
    from mainspring.cli.words import counted
    from mainspring.store.reading import COUNT_MAX

    unserved = [lane for lane in lanes if lane.ready and not lane.workers]
    if unserved:
        found = ", ".join(
            f"{counted(lane.ready, 'task', at_most=COUNT_MAX)} in `{lane.queue}`, kind"
            f" `{lane.kind}`"
            for lane in unserved[:5]
        )
        first = unserved[0]
        return Check(
            "queues",
            Verdict.BROKEN,
            f"nobody serves {found}",
            f"`mainspring worker --queues {first.queue} --slots {first.kind}=1` would",
            len(unserved),
        )
    waiting = sum(lane.ready for lane in lanes)
    return Check("queues", Verdict.OK, f"{counted(waiting, 'task')} waiting, all served")


def pauses_check(paused: list[PausedLine]) -> Check:
    """Somebody wanted it so: that is no fault, and it explains why nothing moves."""
    from mainspring.cli.words import safe

    if not paused:
        return Check("pauses", Verdict.OK, "no dag and no queue is paused")
    told = [f"{line.what} `{safe(line.name)}`{_because(line.pause)}" for line in paused]
    more = f", and {len(told) - _PAUSED_SHOWN} more" if len(told) > _PAUSED_SHOWN else ""
    first = paused[0]
    return Check(
        "pauses",
        Verdict.OK,
        f"paused: {', '.join(told[:_PAUSED_SHOWN])}{more}",
        f"`mainspring {first.what} resume {safe(first.name)}` lets it go on",
        len(paused),
    )


def _because(pause: Pause) -> str:
    from mainspring.cli.words import clock, safe

    who = f" by {safe(pause.by)}" if pause.by else ""
    why = f": {safe(pause.note)}" if pause.note else ""
    return f" (since {clock(pause.at)}{who}{why})"


def files_check(problems: list[FileProblem]) -> Check:
    from mainspring.cli.words import counted

    if problems:
        some = ", ".join(f"`{problem.file}`" for problem in problems[:5])
        return Check(
            "files",
            Verdict.WARNING,
            f"{counted(len(problems), 'file')} of dags could not be read: {some}",
            "`mainspring dag list` shows what is wrong with them",
            len(problems),
        )
    return Check("files", Verdict.OK, "every file of dags could be read")


async def objects_check(config: Config) -> Check:
    """Put, read and remove a small object, from this machine and with this environment."""
    from mainspring.logs.places import Places

    name = config.object_store
    if name is None:
        fix = "if that is too much for it, name a store in MAINSPRING_OBJECTS"
        return Check("objects", Verdict.OK, "long logs stay in the database", fix)
    try:
        await Places(config.home).probe(name)
    except MainspringError as error:
        found = f"long logs stay in the database: {error.message}"
        return Check("objects", Verdict.WARNING, found, error.hint)
    return Check("objects", Verdict.OK, f"`{name}` takes and gives objects")


def problems_check(recent: int) -> Check:
    from mainspring.cli.words import counted

    if recent:
        return Check(
            "failures",
            Verdict.WARNING,
            f"{counted(recent, 'task', at_most=1000)} failed for good within the last hour",
            "`mainspring dlq list` shows them by error",
            recent,
        )
    return Check("failures", Verdict.OK, "no task failed for good within the last hour")


def promise_check(name: str, rows: int) -> Check:
    from mainspring.cli.words import counted

    if rows == 0:
        return Check(name, Verdict.OK, "holds", count=0)
    return Check(
        name,
        Verdict.BROKEN,
        f"broken by {counted(rows, 'row', at_most=_ROWS_MAX)}",
        "this is a bug in Mainspring: please report it, with the output of `doctor --json`",
        rows,
    )


async def _promises(connection: Connection) -> AsyncIterator[Check]:
    """Every promise, each within a time limit: on a large database some read much."""
    import asyncpg

    from mainspring.store.connection import fetch
    from mainspring.store.invariants import INVARIANTS

    await connection.execute(f"set statement_timeout = '{_PROMISE_SECONDS}s'")
    for name, sql in INVARIANTS.items():
        try:
            rows = await fetch(connection, f"select 1 from ({sql}) as broken limit {_ROWS_MAX}")
        except asyncpg.QueryCanceledError:
            found = f"not known: asking took more than {_PROMISE_SECONDS} s"
            yield Check(name, Verdict.UNKNOWN, found)
        else:
            yield promise_check(name, len(rows))


# --- on the screen ------------------------------------------------------------------------


def _print(check: Check) -> None:
    """Promises that hold are counted at the end; everything else has a line."""
    from rich.text import Text

    from mainspring.cli.output import FAINT, bullets, console, mark_text
    from mainspring.cli.words import safe

    if _is_promise(check) and check.verdict is Verdict.OK:
        return
    name = "promise" if _is_promise(check) else check.name
    found = Text(safe(check.found))
    if _is_promise(check):
        found = Text(f"{_promise_words(check.name)} {safe(check.found)}")
    if check.fix:
        found.append(f"\n{safe(check.fix)}", style=FAINT)
    mark = mark_text(_TONES[check.verdict]).append(f" {name:<9}", style="bold")
    console().print(bullets([(mark, found)]))


def _print_summary(checks: list[Check]) -> None:
    from rich.text import Text

    from mainspring.cli.output import STYLES, bullets, console, mark_text
    from mainspring.cli.words import counted

    out = console()
    held = [check for check in checks if _is_promise(check) and check.verdict is Verdict.OK]
    if held:
        mark = mark_text(Tone.GOOD).append(" promises ", style="bold")
        out.print(bullets([(mark, f"{counted(len(held), 'check')} held")]))
    broken = sum(check.verdict is Verdict.BROKEN for check in checks)
    warnings = sum(check.verdict is Verdict.WARNING for check in checks)
    out.print()
    if broken:
        out.print(Text(f"{counted(broken, 'thing')} broken", style=STYLES[Tone.BAD]))
    elif warnings:
        out.print(Text(f"All works; {counted(warnings, 'warning')}.", style=STYLES[Tone.WARN]))
    else:
        out.print(Text("All is well.", style=STYLES[Tone.GOOD]))


def _is_promise(check: Check) -> bool:
    return check.name[:1].isupper()


def _promise_words(name: str) -> str:
    """`N1_every_run_has_all_its_tasks` → `N1 every run has all its tasks:`."""
    return name.replace("_", " ") + ":"
