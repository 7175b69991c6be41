"""The promised names, and what importing them costs."""

import subprocess
import sys

import mainspring
import mainspring.operators


def test_public_names_are_exactly_these() -> None:
    assert mainspring.__all__ == [
        "Client",
        "Command",
        "ConflictError",
        "Context",
        "Dag",
        "DataInterval",
        "DefinitionError",
        "Fail",
        "InputError",
        "MainspringError",
        "NotFoundError",
        "Retry",
        "RetryPolicy",
        "Schedule",
        "Skip",
        "SyncClient",
        "Task",
        "TaskDefaults",
        "UnavailableError",
        "context",
        "dag",
        "task",
    ]
    for name in mainspring.__all__:
        assert getattr(mainspring, name) is not None


def test_import_loads_neither_driver_nor_web_framework_nor_event_loop_nor_schedules() -> None:
    script = (
        "import sys, mainspring; "
        "print([m for m in ('asyncpg', 'uvloop', 'starlette', 'uvicorn', 'asyncio', 'click',"
        " 'zoneinfo', 'dateutil', 'mainspring.schedule') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_ready_made_tasks_are_exactly_these() -> None:
    assert mainspring.operators.__all__ == ["command", "http", "shell"]
