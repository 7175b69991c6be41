"""Who is told how far the benchmark is."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    def scenario(self, name: str, repetition: int, repetitions: int) -> None:
        """A scenario begins."""

    def phase(self, words: str, seconds: float | None = None) -> None:
        """A part of it begins, which takes that long if that is known."""

    def live(self, words: str) -> None:
        """How it goes just now."""
