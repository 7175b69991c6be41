"""`src/mainspring/api/places.py`: which file has the routes of a path, to load it alone."""

from __future__ import annotations

from mainspring.api.catalogue import RESOURCES
from tools.generators.python_text import formatted

_FOLDER = "mainspring.api.resources."
_HEAD = '''\
# Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""Which files have the routes of a path, and what their resource is called there."""

from collections.abc import Mapping

PLACES: Mapping[str, tuple[tuple[str, str], ...]] = {
'''


def render() -> str:
    found: dict[str, set[tuple[str, str]]] = {}
    for resource in RESOURCES:
        for route in resource.routes:
            name = resource.tag.replace("-", "_")
            file = route.handler.__module__.removeprefix(_FOLDER)
            found.setdefault(route.path, set()).add((file, name))
    lines = [f"    {path!r}: {tuple(sorted(found[path]))!r},\n" for path in sorted(found)]
    return formatted(_HEAD + "".join(lines) + "}\n")
