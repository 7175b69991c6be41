"""Reads the dags folder whenever its content changes, and stores what it says.

User code is imported in a child process only. A file that cannot be read is reported and the
last good version of its dags stays. Every engine that has the folder reads it; storing the same
thing twice changes nothing.
"""

from __future__ import annotations

import asyncio

import structlog

from mainspring import faults
from mainspring.bundles.read import read_bundle
from mainspring.bundles.report import BundleReport, FileProblem
from mainspring.bundles.snapshot import take_snapshot, tree_digest
from mainspring.config import Config
from mainspring.domain.errors import MainspringError
from mainspring.store.connection import Connection, Line
from mainspring.store.dags import register_dag, set_file_problems

log = structlog.get_logger(__name__)

_POLL_SECONDS = 1.0


class ReadDags:
    def __init__(self, config: Config, url: str) -> None:
        self._config = config
        self._line = Line(url, name="engine dags")
        self._read_digest = ""

    async def run(self) -> None:
        if self._config.dags is None:
            return
        try:
            while True:
                try:
                    await self.step()
                except MainspringError as error:
                    log.error("the dags folder cannot be read", error=error.message)
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            await self._line.close()

    async def step(self) -> bool:
        """Read the folder if it changed; whether it did."""
        assert self._config.dags is not None
        digest = await asyncio.to_thread(tree_digest, self._config.dags)
        if digest == self._read_digest:
            return False
        # From here on we look at the copy: the folder may change under our eyes.
        snapshot = await asyncio.to_thread(take_snapshot, self._config.dags, self._config.snapshots)
        report = await read_bundle(snapshot.path)
        faults.point("a folder of dags is read and not stored")
        await self._line.call(_store, report, snapshot.digest)
        self._read_digest = snapshot.digest
        return True


async def _store(connection: Connection, report: BundleReport, snapshot: str) -> None:
    for spec in report.dags:
        registered = await register_dag(
            connection, spec, snapshot, file=report.files.get(spec.name, "")
        )
        if registered.changed:
            log.info("dag", name=spec.name, version=registered.version, tasks=len(spec.tasks))
    for problem in report.problems:
        log.error("dag file", file=problem.file, line=problem.line, error=_words(problem))
    await set_file_problems(
        connection, [(problem.file, problem.line, _words(problem)) for problem in report.problems]
    )


def _words(problem: FileProblem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message
