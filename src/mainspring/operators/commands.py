"""`command` and `shell`: a program as a task.

A command is a vector of arguments, and each parameter or result in it is one argument of its own:
whatever it holds, it cannot become a second argument, an option that was not asked for by its
place, or shell code. The program itself, and a script for the shell, are the author's own text.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from mainspring.authoring.commands import Command
from mainspring.authoring.drawing import Later
from mainspring.authoring.tasks import task
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError
from mainspring.operators.options import (
    TaskOptions,
    check_mapping,
    check_plain,
    plain_text,
    require_drawing,
)

_DESCRIPTION_LENGTH = 120


def command(
    arguments: Sequence[Any],
    *,
    env: Mapping[str, Any] | None = None,
    cwd: Any = None,
    timeout: Duration | None = None,
    **options: Unpack[TaskOptions],
) -> Any:
    """Draw a task that runs a program, without a shell; its result is the last line it prints.

    >>> command(["pg_dump", "--dbname", database], env={"PGUSER": "backup"}, name="dump")

    `arguments` holds the program and its arguments, each of them text, a number, a parameter or a
    result. `env` adds variables, `cwd` is relative to the folder of dags. `timeout` bounds one
    attempt; the other options are those of `@task`.
    """
    require_drawing("command")
    _check_arguments("`command`", arguments)
    if not isinstance(arguments[0], str) or not arguments[0]:
        raise DefinitionError(
            "`command`: the program has to be written in the dag",
            hint="a parameter or a result can be an argument, but not choose what is run",
        )
    return _draw("command", list(arguments), env, cwd, timeout, options)


def shell(
    script: str,
    *,
    arguments: Sequence[Any] = (),
    env: Mapping[str, Any] | None = None,
    cwd: Any = None,
    timeout: Duration | None = None,
    **options: Unpack[TaskOptions],
) -> Any:
    """Draw a task that runs a script in `/bin/sh`; its result is the last line it prints.

    >>> shell('gzip -dc "$1" | wc -l', arguments=[path], name="count_lines")

    The script is fixed text. Parameters and results reach it as `"$1"`, `"$2"`, … by `arguments`,
    or as variables by `env`; in double quotes they cannot become code.
    """
    require_drawing("shell")
    written: object = script
    if not isinstance(written, str) or not written.strip():
        raise DefinitionError(
            "`shell`: the script has to be written in the dag",
            hint="hand parameters and results over by `arguments` or by `env`",
        )
    if arguments:
        _check_arguments("`shell`", arguments)
    vector = ["/bin/sh", "-c", script, "sh", *arguments]
    return _draw("shell", vector, env, cwd, timeout, options)


@task(name="command", executor="command")
def run_command(arguments: list[Any], env: dict[str, Any], cwd: Any) -> Command:
    """Run a program."""
    return Command(
        [plain_text(f"argument {number}", item) for number, item in enumerate(arguments)],
        {name: plain_text(f"variable `{name}`", value) for name, value in env.items()},
        cwd,
    )


def _draw(
    operator: str,
    vector: list[Any],
    env: Mapping[str, Any] | None,
    cwd: Any,
    timeout: Duration | None,
    options: TaskOptions,
) -> Any:
    check_mapping(f"`{operator}`: `env`", env)
    for name, value in (env or {}).items():
        check_plain(f"`{operator}`: variable `{name}`", value)
        if not name or "=" in name or "\x00" in name:
            raise DefinitionError(f"`{operator}`: a variable cannot have the name {name!r}")
    if not (cwd is None or isinstance(cwd, Later) or (isinstance(cwd, str) and cwd)):
        raise DefinitionError(f"`{operator}`: `cwd`: expected a path, got {cwd!r}")
    options.setdefault("description", _described(vector))
    drawn = run_command.with_options(timeout=timeout, **options)
    return drawn(arguments=vector, env=dict(env or {}), cwd=cwd)


def _check_arguments(what: str, arguments: object) -> None:
    if isinstance(arguments, str) or not isinstance(arguments, (list, tuple)) or not arguments:
        raise DefinitionError(
            f"{what}: expected a list of arguments",
            hint='write `["pg_dump", "--dbname", name]`, or `shell("…")` if you want a shell',
        )
    for number, item in enumerate(arguments):
        check_plain(f"{what}: argument {number}", item)
        if isinstance(item, str) and "\x00" in item:
            raise DefinitionError(f"{what}: argument {number} holds a NUL character")


def _described(vector: list[Any]) -> str:
    words = ("…" if isinstance(item, Later) else shlex.quote(str(item)) for item in vector)
    line = " ".join(" ".join(words).split())
    return line if len(line) <= _DESCRIPTION_LENGTH else f"{line[: _DESCRIPTION_LENGTH - 1]}…"
