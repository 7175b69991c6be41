"""A line at the end of the tests that says how many orders were played.

The hook is taken up by `tests/fault/conftest.py`, which is read where the line is written, also if
the tests run in several processes.
"""

from __future__ import annotations

from collections import Counter

import pytest

COUNTED = "races: "
"""How the properties of a test's report begin that count what it played."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, count in report.user_properties:
                    if name.startswith(COUNTED):
                        total[name.removeprefix(COUNTED)] += count
    if total:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in total.items())
        terminalreporter.write_line(f"races in lock step: {told}")
