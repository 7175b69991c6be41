"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mainspring.domain.repositories import Repository

_F = TypeVar("_F", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)


def home_option(command: _F) -> _F:
    return click.option(
        "--home",
        type=FOLDER,
        help="Where the embedded database lives. [default: MAINSPRING_HOME, else among your data]",
    )(command)


class _Dags(click.ParamType["Path | Repository"]):
    name = "source"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | Repository:
        from mainspring.config import given_dags

        found = given_dags(value) if isinstance(value, str) else value
        if isinstance(found, Path):
            folder: Path = FOLDER.convert(found, param, ctx)
            return folder
        if found is None:
            self.fail("it is empty", param, ctx)
        return found


def dags_option(command: _F) -> _F:
    return click.option(
        "--dags",
        type=_Dags(),
        metavar="SOURCE",
        help="The folder of dags, or `git+URL@BRANCH:FOLDER`. [default: MAINSPRING_DAGS]",
    )(command)


def metrics_port_option(command: _F) -> _F:
    return click.option(
        "--metrics-port",
        type=click.IntRange(0, 65535),
        help="Tell metrics at this port; 0 takes a free one. [default: MAINSPRING_METRICS_PORT]",
    )(command)


def json_option(command: _F) -> _F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def parameter_options(command: _F) -> _F:
    command = click.option(
        "--params",
        metavar="JSON|@FILE",
        help="All parameters as one JSON object, from a file, or from stdin with @-.",
    )(command)
    return click.option(
        "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="One parameter; may be repeated."
    )(command)
