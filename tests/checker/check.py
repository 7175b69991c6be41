"""Asks all promises of a case, and tells what was found.

A promise that was expected to be put to the test and was not is as bad as one that is broken: a
check that cannot fail proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import asyncpg
import msgspec

from tests.checker.case import Case, nothing_may_wait, read_case
from tests.checker.finding import Finding
from tests.checker.journal import Connection, EvidenceError
from tests.checker.promises import PROMISES
from tests.checker.promises.schedules import latest
from tests.checker.rows import RunRow

EXAMPLES_MAX = 5
"""Violations of one promise that are shown; all of them are in the JSON."""


class Report(msgspec.Struct, frozen=True):
    findings: list[Finding]
    expected: list[str]
    latest: dict[str, float] = {}
    """How late schedules fired at most, in seconds, by what was broken at that time."""

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> list[Finding]:
        """What is broken, and what was to be exercised and was not."""
        return [
            finding
            for finding in self.findings
            if finding.violations or (finding.promise in self.expected and not finding.exercised)
        ]

    def finding(self, promise: str) -> Finding:
        return next(finding for finding in self.findings if finding.promise == promise)

    def text(self) -> str:
        lines = [f"{'':4}{'exercised':>10}  {'':14} promise"]
        for finding in self.findings:
            verdict = finding.verdict
            if verdict == "not exercised" and finding.promise not in self.expected:
                verdict = "not asked for"
            lines.append(
                f"{finding.promise:4}{finding.exercised:>10,}  {verdict:14} {finding.title}"
            )
            lines += [f"{'':34}{note}" for note in finding.notes]
        for finding in self.findings:
            if finding.violations:
                lines += ["", f"{finding.promise} is violated {len(finding.violations)} times:"]
                lines += [f"  - {violation}" for violation in finding.violations[:EXAMPLES_MAX]]
                if (more := len(finding.violations) - EXAMPLES_MAX) > 0:
                    lines.append(f"  … and {more} more")
        if self.latest:
            told = ", ".join(f"{around} {seconds:g} s" for around, seconds in self.latest.items())
            lines += ["", f"latest fires: {told}"]
        return "\n".join(lines)

    def json(self) -> bytes:
        return msgspec.json.format(
            msgspec.json.encode(
                {
                    "ok": self.ok,
                    "expected": self.expected,
                    "findings": [
                        {**msgspec.to_builtins(finding), "verdict": finding.verdict}
                        for finding in self.findings
                    ],
                }
            ),
            indent=2,
        )


def judge(case: Case, expect: Collection[str] | None = None) -> Report:
    """All promises, asked of evidence that has been read; `expect` names those to be exercised."""
    expected = list(PROMISES) if expect is None else [*expect]
    if unknown := [name for name in expected if name not in PROMISES]:
        raise EvidenceError(
            f"there is no promise {', '.join(unknown)}\nhint: there are {', '.join(PROMISES)}"
        )
    return Report([ask(case) for ask in PROMISES.values()], expected, latest(case))


async def check(
    folder: Path,
    url: str,
    expect: Collection[str] | None = None,
    *,
    silent: Collection[str] = (),
    may_wait: Callable[[RunRow], bool] = nothing_may_wait,
) -> Report:
    """Read everything and judge it. All promises are expected if nothing is said.

    `silent` names dags whose tasks tell no sink what they do; `may_wait` says of an open run
    whether it may be open at the end.
    """
    try:
        connection: Connection = await asyncpg.connect(
            url, server_settings={"application_name": "checker"}
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        raise EvidenceError(f"the database cannot be asked: {error}") from error
    try:
        # One snapshot: journal and tables are of the same moment.
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            case = await read_case(folder, connection, silent=silent, may_wait=may_wait)
    finally:
        await connection.close()
    return judge(case, expect)
