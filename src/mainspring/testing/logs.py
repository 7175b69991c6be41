"""What an attempt prints and logs, noted beside where it goes anyway."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class Log:
    def __init__(self) -> None:
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, text: str) -> None:
        self._pieces.append(text)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Note what is printed and logged meanwhile, from INFO on as in a worker's hosts."""
        out, err, root = sys.stdout, sys.stderr, logging.getLogger()
        level, handler = root.level, _Handler(self)
        sys.stdout, sys.stderr = _Tee(out, self), _Tee(err, self)
        root.addHandler(handler)
        root.setLevel(min(level or logging.INFO, logging.INFO))
        try:
            yield
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
            sys.stdout, sys.stderr = out, err


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._log.write(f"{self.format(record)}\n")
        except Exception:
            self.handleError(record)


class _Tee:
    """A stream that notes what it passes on; in all else the stream itself."""

    def __init__(self, stream: TextIO, log: Log) -> None:
        self._stream = stream
        self._log = log

    def write(self, text: str) -> int:
        self._log.write(text)
        return self._stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
