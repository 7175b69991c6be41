"""Which plug-ins there are, by the metadata of the installed packages; nothing is imported.

What is found is remembered for the life of the process: a package that is installed later is seen
by the processes that start later.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from mainspring.domain.errors import PluginError
from mainspring.domain.names import closest, name_problem, shown

if TYPE_CHECKING:
    from importlib.metadata import Distribution

OUR_PACKAGE = "mainspring"


class Kind(StrEnum):
    """What a plug-in can be."""

    EXECUTOR = "executor"
    OPERATOR = "operator"
    NOTIFIER = "notifier"
    OBJECT_STORE = "object_store"
    SCHEDULE = "schedule"

    @property
    def group(self) -> str:
        """Of entry points."""
        return f"mainspring.{self.value}s"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


class Plugin(msgspec.Struct, frozen=True):
    """An entry point of ours or of another package."""

    kind: Kind
    name: str
    place: str
    """`module:attribute`, as the package declares it."""
    package: str
    version: str
    problem: str = ""
    """Why it cannot be used, as far as that is known without importing it."""

    @property
    def ours(self) -> bool:
        return self.package == OUR_PACKAGE

    @property
    def told(self) -> str:
        """For messages: which plug-in, and whose."""
        return (
            f"{self.kind.words} {shown(self.name)} of package {shown(self.package)} {self.version}"
        )


@functools.cache
def find_plugins(kind: Kind) -> tuple[Plugin, ...]:
    """All of a kind, ours first. A name that is taken twice is nobody's, except for our own."""
    found = [plugin for plugin in _declared() if plugin.kind is kind]
    counts = Counter(plugin.name for plugin in found)
    ours = {plugin.name for plugin in found if plugin.ours}
    judged = (_judged(plugin, found, counts[plugin.name], ours) for plugin in found)
    return tuple(sorted(judged, key=lambda p: (not p.ours, p.name, p.package)))


def find_plugin(kind: Kind, name: str) -> Plugin:
    """The one of this name that can be used, or an error that says why there is none."""
    named = [plugin for plugin in find_plugins(kind) if plugin.name == name]
    for plugin in named:
        if not plugin.problem:
            return plugin
    for plugin in named:
        raise PluginError(f"{plugin.told} {plugin.problem}", hint=_SEE)
    known = [plugin.name for plugin in find_plugins(kind) if not plugin.problem]
    if not any(plugin.ours for plugin in _declared()):
        raise PluginError(
            f"there is no {kind.words} at all: the installed package `mainspring` declares none",
            hint="install it, or install it anew: its metadata is missing or old",
        )
    raise PluginError(
        f"there is no {kind.words} {shown(name)}",
        hint=closest(name, known) + "; is the package that brings it installed here?",
    )


def _judged(plugin: Plugin, found: list[Plugin], count: int, ours: set[str]) -> Plugin:
    problem = plugin.problem
    if not problem and (wrong := name_problem(plugin.name)):
        problem = f"cannot be used: its name {wrong}"
    if not problem and not plugin.ours and plugin.name in ours:
        problem = "has the name of one of Mainspring's own, which is used instead"
    if not problem and not plugin.ours and count > 1:
        others = {p.package for p in found if p.name == plugin.name} - {plugin.package}
        also = " and ".join(shown(other) for other in sorted(others)) or "the same package"
        problem = f"is not used, since {also} declares that name too"
    return msgspec.structs.replace(plugin, problem=problem)


@functools.cache
def _declared() -> tuple[Plugin, ...]:
    # Here, since it is slow to import and hosts, which import this package, do not need it.
    from importlib.metadata import distributions

    seen: set[str] = set()
    plugins: list[Plugin] = []
    for distribution in distributions():
        declared = list(_of(distribution))
        # A package may lie on the path twice; the first is the one that is imported.
        package = declared[0].package if declared else ""
        if package not in seen:
            seen.update({package} if package else ())
            plugins += declared
    return tuple(plugins)


def _of(distribution: Distribution) -> Iterator[Plugin]:
    # One by one, since the metadata of any package may be broken and others are to go on. Names and
    # versions are slow to read and asked for only if there is something of ours.
    kinds: list[Kind] = []
    try:
        text = distribution.read_text("entry_points.txt") or ""
        kinds = [kind for kind in Kind if f"[{kind.group}]" in text]
        entries = list(distribution.entry_points) if kinds else []
    except Exception as error:
        problem = f"cannot be used: the package's entry points cannot be read: {error}"
        for kind in kinds:
            yield Plugin(kind, "?", "", *_whose(distribution), problem)
        return
    groups = {kind.group: kind for kind in kinds}
    for entry in entries:
        if entry.group in groups:
            yield Plugin(groups[entry.group], entry.name, entry.value, *_whose(distribution))


def _whose(distribution: Distribution) -> tuple[str, str]:
    try:
        return distribution.metadata["Name"].lower().replace("_", "-"), distribution.version
    except Exception:
        return "?", "?"


_SEE = "`mainspring plugins list` shows all there are"
