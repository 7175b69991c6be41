"""Plug-ins: what other packages bring, found by their entry points.

    group of entry points     name                        what it leads to
    mainspring.executors      `@task(executor="name")`    a class like `Executor`
    mainspring.operators      `mainspring.operators.name` a function like `Operator`
    mainspring.notifiers      `@dag(notify=["name:…"])`   a class like `Notifier`
    mainspring.object_stores  the scheme of its URLs      a class like `ObjectStore`
    mainspring.schedules      `@dag(schedule="name:…")`   a class like `Times`

Our own are declared in our `pyproject.toml` and come through the same door. Nothing is imported
before it is asked for by name, and what is wrong with one plug-in is no other's concern: its error
names the package and the entry point, and the rest goes on.

    shapes.py    what a plug-in of each kind has to be, for its author to read
    found.py     which there are, by the metadata of the installed packages
    loading.py   one of them, imported and looked at
"""

from mainspring.plugins.found import Kind, Plugin, find_plugin, find_plugins
from mainspring.plugins.loading import load_plugin, load_plugin_named
from mainspring.plugins.shapes import Executor, Notifier, ObjectStore, Operator, Times

__all__ = [
    "Executor",
    "Kind",
    "Notifier",
    "ObjectStore",
    "Operator",
    "Plugin",
    "Times",
    "find_plugin",
    "find_plugins",
    "load_plugin",
    "load_plugin_named",
]
