"""Modules that are loaded when something of them is first used.

The client knows the shapes of all that the server tells. Whoever asks for one thing, as a command
does, is not kept waiting for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
