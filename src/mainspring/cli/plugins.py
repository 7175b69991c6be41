"""`mainspring plugins`: what other packages bring, and whether it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import json_option

if TYPE_CHECKING:
    from mainspring.plugins import Plugin


@click.group()
def plugins() -> None:
    """See which plug-ins are installed, and which work."""


@plugins.command("list")
@json_option
def list_plugins(as_json: bool) -> None:
    """Every plug-in of this installation, ours and others', each loaded once to see if it works."""
    from rich.text import Text

    from mainspring.cli.output import STYLES, console, faint, print_json, table
    from mainspring.cli.words import safe
    from mainspring.domain.states import Tone
    from mainspring.plugins import Kind, find_plugins

    found = [(plugin, _problem(plugin)) for kind in Kind for plugin in find_plugins(kind)]
    if as_json:
        print_json([_line(plugin, problem) for plugin, problem in found])
        return
    out = console()
    lines = table("kind", "name", "package", "", "state", fold=["state"])
    for plugin, problem in found:
        lines.add_row(
            plugin.kind.words,
            safe(plugin.name),
            safe(f"{plugin.package} {plugin.version}"),
            faint("ours") if plugin.ours else "third-party",
            Text(safe(problem), style=STYLES[Tone.BAD])
            if problem
            else Text("healthy", style=STYLES[Tone.GOOD]),
        )
    out.print(lines)


def _problem(plugin: Plugin) -> str:
    from mainspring.domain.errors import PluginError
    from mainspring.plugins import load_plugin

    try:
        load_plugin(plugin)
    except PluginError as error:
        return error.message
    return ""


def _line(plugin: Plugin, problem: str) -> dict[str, Any]:
    return {
        "kind": plugin.kind,
        "name": plugin.name,
        "package": plugin.package,
        "version": plugin.version,
        "place": plugin.place,
        "ours": plugin.ours,
        "healthy": not problem,
        "problem": problem or None,
    }
