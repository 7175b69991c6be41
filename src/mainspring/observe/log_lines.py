"""What processes say on standard error: one line for each thing, as JSON or for people.

Libraries that log in the way of Python, as uvicorn and asyncio do, go the same way from warnings
on: a reader of JSON meets nothing else.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from mainspring.config import LogLines


class _StandardError:
    """Writes to standard error as it is then: who exchanges it must not break those who log."""

    def __init__(self, *_: object) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = self.msg

    def msg(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


def configure_logging(lines: LogLines, *, supervised: bool) -> None:
    """If nothing is said of it: for people on a terminal and below `mainspring up`, else JSON."""
    as_text = lines.format == "text"
    if lines.format is None:
        as_text = sys.stderr.isatty() or supervised
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_for_people() if as_text else _for_programs()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(lines.level)),
        logger_factory=_StandardError,
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    if not any(isinstance(handler, PassedOn) for handler in root.handlers):
        root.addHandler(PassedOn(logging.WARNING))
    logging.captureWarnings(capture=True)


def _for_people() -> list[Any]:
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]


def _for_programs() -> list[Any]:
    return [
        structlog.processors.format_exc_info,
        # Whatever somebody hands over, there is a line.
        structlog.processors.JSONRenderer(default=repr),
    ]


class PassedOn(logging.Handler):
    """Hands on what a library says."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger(record.name)
        try:
            logger.log(
                record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info
            )
        except Exception:
            self.handleError(record)
