"""A plug-in by its name: imported, and looked at before anybody uses it."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, assert_never

from mainspring.domain.errors import PluginError
from mainspring.domain.names import shown
from mainspring.plugins.found import Kind, Plugin, find_plugin
from mainspring.plugins.shapes import (
    executor_problem,
    notifier_problem,
    object_store_problem,
    operator_problem,
    schedule_problem,
)
from mainspring.schedule.plugged import load_schedules_by


@functools.cache
def load_plugin_named(kind: Kind, name: str) -> Any:
    return load_plugin(find_plugin(kind, name))


def load_plugin(plugin: Plugin) -> Any:
    """What the entry point leads to; a `PluginError` names it if that is of no use."""
    if plugin.problem:
        raise PluginError(f"{plugin.told} {plugin.problem}")
    try:
        loaded = import_place(plugin.place)
    except Exception as error:
        raise _cannot_be_loaded(plugin, error) from error
    except SystemExit as error:
        # A module that ends the program at import would end whoever looks at it.
        raise _cannot_be_loaded(plugin, error) from error
    if problem := _problem(plugin.kind, loaded):
        raise PluginError(
            f"{plugin.told} cannot be used: {shown(plugin.place)} {problem}",
            hint="its author finds the shape in `mainspring.plugins.shapes`",
        )
    return loaded


def import_place(place: str) -> Any:
    """What `module:attribute` leads to."""
    module, _, attribute = place.partition(":")
    found: Any = import_module(module.strip())
    for name in filter(None, attribute.partition("[")[0].strip().split(".")):
        found = getattr(found, name)
    return found


def _cannot_be_loaded(plugin: Plugin, error: BaseException) -> PluginError:
    words = f"{type(error).__name__}: {error}".rstrip(": ")
    return PluginError(
        f"{plugin.told} cannot be loaded from {shown(plugin.place)}: {words}",
        hint="correct the package, or uninstall it",
    )


def _problem(kind: Kind, loaded: object) -> str:
    match kind:
        case Kind.EXECUTOR:
            return executor_problem(loaded)
        case Kind.OPERATOR:
            return operator_problem(loaded)
        case Kind.NOTIFIER:
            return notifier_problem(loaded)
        case Kind.OBJECT_STORE:
            return object_store_problem(loaded)
        case Kind.SCHEDULE:
            return schedule_problem(loaded)
        case _:
            assert_never(kind)


load_schedules_by(functools.partial(load_plugin_named, Kind.SCHEDULE))
