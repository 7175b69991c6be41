"""`docs/reference/commands.md`: every command and option, as the command line itself tells them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from mainspring.cli.root import root

_HEADER = """\
<!-- Generated from src/mainspring/cli/ by `make gen`; do not edit. -->

# Commands

Each command tells this by `--help` too. Commands end with 0 when it is done, 1 when it failed and 2
when it was not understood; what they print for people may change, what they print with `--json` may
only grow. Settings that are not given come from the [environment](settings.md).
"""


def render() -> str:
    context = click.Context(root, info_name="mainspring")
    return "\n".join((_HEADER, *_group(root, context)))


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        own = click.Context(command, info_name=name, parent=context)
        if not command.hidden:
            yield from _command(command, own)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    runs_alone = not isinstance(command, click.Group) or command.invoke_without_command
    if runs_alone:
        yield f"## `{context.command_path}`\n"
        pieces = " ".join(command.collect_usage_pieces(context))
        yield f"```\n{context.command_path} {pieces}\n```\n"
        yield _paragraphs(command.help or "")
        yield from _parameters(command, context)
    if isinstance(command, click.Group):
        yield from _group(command, context)


def _parameters(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context))
        and record[1]
        and "--help" not in record[0]
    ]
    if records:
        rows = "\n".join(f"| `{_cell(option)}` | {_cell(told)} |" for option, told in records)
        yield f"| option | |\n|---|---|\n{rows}\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _paragraphs(text: str) -> str:
    """Folded by click on a terminal; here by whoever reads. `\\b` keeps a paragraph as it is."""
    shown = []
    for paragraph in inspect.cleandoc(text.replace("\f", "")).split("\n\n"):
        if paragraph.startswith("\b"):
            shown.append(f"```\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```")
        else:
            shown.append(paragraph.strip())
    return "\n\n".join(shown) + "\n"
