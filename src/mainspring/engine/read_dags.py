"""Reads the folder or repository of dags whenever it changes, and stores what it says.

User code is imported in a child process only. A file that cannot be read is reported and the
last good version of its dags stays; so is a folder that cannot be read or kept as a whole. The
content is kept in the database before any dag points to it. Every engine that has the folder reads
it; storing the same thing twice changes nothing. A schedule that cannot be put is a problem of its
file, and tried again until it can.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import structlog

from mainspring import faults
from mainspring.bundles.git import Checkout
from mainspring.bundles.read import read_bundle
from mainspring.bundles.report import BundleReport, FileProblem
from mainspring.bundles.snapshot import (
    hold_snapshot,
    mend_snapshot,
    prune_cache,
    take_snapshot,
    tree_digest,
)
from mainspring.bundles.sources import sources_of
from mainspring.config import SNAPSHOTS_CACHED, Config
from mainspring.domain.errors import InputError, MainspringError, UnavailableError
from mainspring.engine.keep_code import KeepCode
from mainspring.patience import set_within
from mainspring.store.code_schedules import (
    Stored,
    Unfit,
    store_code_schedules,
    written_in,
)
from mainspring.store.connection import Connection, Line
from mainspring.store.dags import (
    Found,
    mark_gone,
    register_dags,
    set_file_problems,
    written_elsewhere,
)
from mainspring.store.wakeups import listen_for_dags, notify_ready
from mainspring.store.written_dags import written_among

log = structlog.get_logger(__name__)

_POLL_SECONDS = 1.0
_WHOLE_FOLDER = "."
"""In the place of a file, for what is wrong with the folder as a whole."""


class ReadDags:
    def __init__(self, config: Config, url: str) -> None:
        self._cache = config.snapshots
        self._dags = config.dags
        self._checkout: Checkout | None = None
        if config.repository is not None:
            self._checkout = Checkout(config.repository, config.home)
        self._url = url
        self._line = Line(url, name="engine dags")
        self._code = KeepCode(config, self._line)
        self._asked = asyncio.Event()
        self._read_digest = ""
        self._complaint = ""
        self._unfit = _Unfit([], [])

    async def run(self) -> None:
        if self._dags is None and self._checkout is None:
            return
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                self._asked.clear()
                try:
                    await self.step()
                    self._complaint = ""
                except MainspringError as error:
                    await self._complain(error)
                await set_within(self._asked, _POLL_SECONDS)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """For who calls `step` and not `run`."""
        await self._line.close()

    async def _listen(self) -> None:
        """For `dag refresh`. A folder is looked at each second anyway."""
        if self._checkout is not None:
            await listen_for_dags(self._url, asked=self._hurry, name="engine dags")

    def _hurry(self) -> None:
        assert self._checkout is not None
        self._checkout.hurry()
        self._asked.set()

    async def step(self) -> bool:
        """Read the folder if it changed; whether it did."""
        cache = self._cache
        folder = await self._folder()
        digest = await asyncio.to_thread(tree_digest, folder)
        if digest == self._read_digest:
            await self._try_again()
            return False
        # From here on we look at the copy: the folder may change under our eyes.
        snapshot = await asyncio.to_thread(take_snapshot, folder, cache)
        held = await asyncio.to_thread(hold_snapshot, cache, snapshot.digest)
        if held is None:
            raise UnavailableError(
                f"the snapshot {snapshot.digest[:12]} was removed from `{cache}`"
            )
        try:
            mend = functools.partial(mend_snapshot, snapshot, folder, cache)
            report = await read_bundle(snapshot.path, mend=mend)
            if await asyncio.to_thread(mend):
                raise InputError(
                    "importing the files of dags has changed others of them",
                    hint="work belongs into tasks; everything stays as it was",
                )
            sources = await asyncio.to_thread(sources_of, snapshot.path, report)
            faults.point("a folder of dags is read and not stored")
            await self._code.keep(snapshot)
            self._unfit = await self._line.call(_store, report, sources, snapshot.digest)
        finally:
            held.release()
        self._read_digest = snapshot.digest
        await asyncio.to_thread(prune_cache, cache, SNAPSHOTS_CACHED)
        return True

    async def _try_again(self) -> None:
        """Schedules that could not be put: by now their calendar may be there, or the name free."""
        if self._unfit.schedules:
            self._unfit = await self._line.call(_store_unfit, self._unfit)

    async def _folder(self) -> Path:
        if self._checkout is not None:
            return await self._checkout.folder()
        assert self._dags is not None
        return self._dags

    async def _complain(self, error: MainspringError) -> None:
        """Say once what is wrong with the folder as a whole; everything in it stays as it was."""
        words = _words(error.message, error.hint)
        if words == self._complaint:
            return
        log.error("the dags folder cannot be read", error=words)
        await self._line.call(set_file_problems, [(_WHOLE_FOLDER, None, words)])
        # The next good reading takes the complaint back, also if it finds what there was before.
        self._complaint, self._read_digest = words, ""


class _Unfit(NamedTuple):
    """What could not be put, and the problems of the files besides."""

    schedules: Sequence[Unfit]
    problems: Sequence[FileProblem]


async def _store(
    connection: Connection, report: BundleReport, sources: Mapping[str, bytes], snapshot: str
) -> _Unfit:
    taken = await written_among(connection, [spec.name for spec in report.dags])
    found = [
        Found(spec, report.files[spec.name], sources[spec.name])
        for spec in report.dags
        if spec.name not in taken
    ]
    registered = await register_dags(connection, found, snapshot)
    for dag, stored in zip(found, registered, strict=True):
        if stored.changed:
            log.info("dag", name=dag.spec.name, version=stored.version, tasks=len(dag.spec.tasks))
    problems = [*report.problems, *_namesakes(report, taken)]
    unread = {problem.file for problem in report.problems}
    for name in await mark_gone(connection, report.files, unread):
        log.warning("dag is gone", name=name)
    faults.point("dags are stored and their schedules are not")
    written = [
        written_in(schedule, dag, stored.dag_id)
        for dag, stored in zip(found, registered, strict=True)
        for schedule in dag.spec.schedules
    ]
    unfit = await _put(connection, store_code_schedules(connection, written, unread_files=unread))
    for problem in [*problems, *map(_problem_of, unfit)]:
        words = _words(problem.message, problem.hint)
        log.error("dag file", file=problem.file, line=problem.line, error=words)
    await _tell(connection, problems, unfit)
    return _Unfit(unfit, problems)


def _namesakes(report: BundleReport, taken: set[str]) -> list[FileProblem]:
    """Dags of files whose names belong to others; the rest of their files is used."""
    found = []
    for name in sorted(taken):
        error = written_elsewhere(name)
        found.append(FileProblem(report.files[name], None, error.message, error.hint))
    return found


async def _store_unfit(connection: Connection, before: _Unfit) -> _Unfit:
    """Only these: what else the folder says was put, and may have been changed since."""
    written = [unfit.written for unfit in before.schedules]
    unfit = await _put(connection, store_code_schedules(connection, written, remove=False))
    if unfit != before.schedules:
        await _tell(connection, before.problems, unfit)
    return _Unfit(unfit, before.problems)


async def _put(connection: Connection, storing: Awaitable[Stored]) -> list[Unfit]:
    stored = await storing
    for name in stored.put:
        log.info("schedule", name=name)
    for name in stored.removed:
        log.info("schedule is gone", name=name)
    if stored.lanes:
        await notify_ready(connection, stored.lanes)
    return stored.unfit


async def _tell(
    connection: Connection, problems: Sequence[FileProblem], unfit: Sequence[Unfit]
) -> None:
    await set_file_problems(connection, _by_file([*problems, *map(_problem_of, unfit)]))


def _problem_of(unfit: Unfit) -> FileProblem:
    return FileProblem(unfit.written.file, None, unfit.message, unfit.hint)


def _by_file(problems: Sequence[FileProblem]) -> list[tuple[str, int | None, str]]:
    """One for each file: the first line that is wrong, and all that is."""
    found: dict[str, list[FileProblem]] = {}
    for problem in problems:
        found.setdefault(problem.file, []).append(problem)
    return [
        (file, some[0].line, "\n".join(_words(problem.message, problem.hint) for problem in some))
        for file, some in found.items()
    ]


def _words(message: str, hint: str) -> str:
    return f"{message} ({hint})" if hint else message
