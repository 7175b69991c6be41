"""Installed applications whose tasks a worker runs: `mainspring worker --app package.module`.

Their code is not pinned: it is what is installed where the worker runs. A worker is of no use
with an application that cannot be imported, so it tries that before it joins, in a child process
and with the path that its hosts will have; it never imports user code itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

import msgspec

from mainspring.domain.durations import format_duration
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown
from mainspring.domain.outcomes import Error
from mainspring.executors.environment import environment_for_hosts

IMPORT_SECONDS_MAX = 120.0
_REPORT_BYTES_MAX = 1 << 16
"""As much as a pipe holds; an error is bounded far below."""

_CHECK = """
import importlib, sys
from mainspring.worker.apps import report
report(importlib.import_module, sys.argv[1], int(sys.argv[2]))
"""


def package_of(module: str) -> str:
    """The top-level package, which is what a worker has or has not."""
    return module.partition(".")[0]


def check_apps(apps: Sequence[str], *, seconds_max: float = IMPORT_SECONDS_MAX) -> None:
    """InputError if an application cannot be imported here."""
    for app in apps:
        _check_name(app)
        _check_import(app, seconds_max)


def _check_name(app: str) -> None:
    if not all(part.isidentifier() for part in app.split(".")):
        like = app.partition(":")[0].removesuffix(".py").replace("/", ".").strip(".")
        raise InputError(
            f"`--app` takes the name of a module, got {shown(app)}",
            hint=f"perhaps {shown(like)}?" if like and like != app else "such as `shop.tasks`",
        )


def _check_import(app: str, seconds_max: float) -> None:
    code, told = _try_import(app, seconds_max)
    if not told:
        raise InputError(
            f"importing the application {shown(app)} ended Python with exit code {code}"
        )
    error = msgspec.json.decode(told, type=Error | None)
    if error is None:
        return
    missing = error.type == "ModuleNotFoundError"
    if error.trace and not missing:
        sys.stderr.write(f"{error.trace}\n")
    raise InputError(
        f"the application {shown(app)} cannot be imported: {error.type}: {error.message}",
        hint="start the worker where `python -m` would find it, or set PYTHONPATH"
        if missing
        else "",
    )


def _try_import(app: str, seconds_max: float) -> tuple[int, bytes]:
    """The exit code of a child that imports the application, and what it reports."""
    answer_in, answer_out = os.pipe()
    try:
        try:
            # `-c` puts the working folder on the path, as `-m` does.
            child = subprocess.Popen(
                [sys.executable, "-c", _CHECK, app, str(answer_out)],
                stdin=subprocess.DEVNULL,
                stdout=2,
                env=environment_for_hosts(),
                pass_fds=(answer_out,),
                start_new_session=True,
            )
        finally:
            os.close(answer_out)
        try:
            code = child.wait(seconds_max)
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise InputError(
                    f"importing the application {shown(app)} takes longer than"
                    f" {format_duration(seconds_max)}",
                    hint="work belongs into tasks, not into modules",
                ) from None
            raise
        # What the import has started may live on and hold the other end.
        os.set_blocking(answer_in, False)
        try:
            return code, os.read(answer_in, _REPORT_BYTES_MAX)
        except BlockingIOError:
            return code, b""
    finally:
        os.close(answer_in)


def report(imported: Callable[[str], object], app: str, answer: int) -> None:
    """In the child: try, and tell the parent how it went."""
    from mainspring.authoring.calling import error_of

    error = None
    try:
        imported(app)
    except BaseException as raised:
        error = error_of(raised)
    try:
        os.write(answer, msgspec.json.encode(error))
    finally:
        # Whatever the import has started: nobody waits for it.
        os._exit(0)
