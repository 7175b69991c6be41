"""`context().log`: a logger of Python's own, whose records say which attempt they are of."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any


class AttemptLogger(logging.LoggerAdapter[logging.Logger]):
    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        # Python's own would drop what the author gives as `extra`.
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs
