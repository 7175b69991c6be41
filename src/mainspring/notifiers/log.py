"""`log`: a line of JSON in the log of the engine."""

from __future__ import annotations

import sys

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.notices import Notice


class LogNotifier:
    def __init__(self, address: str) -> None:
        if address:
            raise InputError("the notifier `log` has no address", hint='write `notify=["log"]`')

    def notify(self, notice: Notice) -> None:
        told = {"event": "run ended", **msgspec.to_builtins(notice)}
        sys.stderr.write(msgspec.json.encode(told).decode() + "\n")
        sys.stderr.flush()
