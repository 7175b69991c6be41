"""Ready-made tasks: `command`, `shell` and `http`, and those of installed plug-ins.

Called in a dag's function, each draws a task, without a function of the author's. The tasks are
ordinary ones of their modules, and what an operator is given are their arguments: parameters and
results may stand in any place that says so, and find their way as they do to any task.

A name is looked up among the entry points of the installed packages when it is first used, ours
like any other: see `mainspring.plugins`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mainspring.operators.commands import command, shell
    from mainspring.operators.requests import http

__all__ = ["command", "http", "shell"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from mainspring.plugins import Kind, find_plugins, load_plugin_named

    if not any(plugin.name == name for plugin in find_plugins(Kind.OPERATOR)):
        raise AttributeError(f"there is no operator `{name}`; is its package installed here?")
    found = globals()[name] = load_plugin_named(Kind.OPERATOR, name)
    return found
