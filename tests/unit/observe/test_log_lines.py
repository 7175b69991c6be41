"""One line of JSON for each thing that is said, whoever says it."""

from __future__ import annotations

import subprocess
import sys

import msgspec

_SAID = """
import logging
from mainspring.config import LogLines
from mainspring.observe.log_lines import configure_logging
configure_logging(LogLines("json"), supervised=True)
import structlog
log = structlog.get_logger("ours")
log.debug("not said")
log.info("ours", odd=object)
logging.getLogger("uvicorn.error").info("not said")
logging.getLogger("uvicorn.error").warning("theirs %s", 1)
try:
    1 / 0
except ZeroDivisionError as error:
    log.error("broke", exc_info=error)
    logging.getLogger("asyncio").exception("broke, too")
"""


def test_what_libraries_say_is_json_too_and_tracebacks_stay_in_their_line() -> None:
    # In a process of its own: how to log is set for all of a process.
    told = subprocess.run(
        [sys.executable, "-c", _SAID], capture_output=True, text=True, check=True
    ).stderr
    lines = [msgspec.json.decode(line) for line in told.splitlines()]
    assert [line["event"] for line in lines] == ["ours", "theirs 1", "broke", "broke, too"]
    assert [line["level"] for line in lines] == ["info", "warning", "error", "error"]
    assert lines[1]["logger"] == "uvicorn.error"
    assert all("ZeroDivisionError" in line["exception"] for line in lines[2:])
