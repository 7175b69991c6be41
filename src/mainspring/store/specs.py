"""Specs of versions, decoded.

Those of large dags take a while to decode, and whoever looks at one asks for it again and again. So
some are kept, found by their bytes: a version never changes, and neither does what was decoded.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import msgspec

from mainspring.domain.specs import DagSpec

KEPT_BYTES_MAX = 8_000_000
"""Of what the kept ones were decoded from; they take several times as much."""

_decode = msgspec.json.Decoder(DagSpec).decode


class KeptSpecs:
    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._kept: OrderedDict[bytes, DagSpec] = OrderedDict()
        """The one that was asked for last comes last."""
        self._bytes = 0
        self._lock = Lock()

    def decode(self, content: bytes) -> DagSpec:
        with self._lock:
            if (known := self._kept.get(content)) is not None:
                self._kept.move_to_end(content)
                return known
            spec = self._kept[content] = _decode(content)
            self._bytes += len(content)
            while self._bytes > self._bytes_max:
                oldest, _ = self._kept.popitem(last=False)
                self._bytes -= len(oldest)
            return spec


decode_spec = KeptSpecs().decode
