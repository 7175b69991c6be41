"""`webhook:https://…`: the notice as JSON, by POST.

Any status from 200 to 299 means that it was heard; whatever else is told again later. The address
may be `$NAME`, a variable in the environment of the engine, since it is often a secret.
"""

from __future__ import annotations

import http.client
import os
import ssl
from urllib.parse import urlsplit

import msgspec

from mainspring.domain.errors import InputError, UnavailableError
from mainspring.domain.notices import Notice

_TIMEOUT_SECONDS = 10.0


class WebhookNotifier:
    def __init__(self, address: str) -> None:
        self._address = address
        if not address.startswith("$"):
            _check(address)

    def notify(self, notice: Notice) -> None:
        address = self._resolved()
        parts = urlsplit(address)
        assert parts.hostname is not None
        place = (parts.hostname, parts.port)
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                *place, timeout=_TIMEOUT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(*place, timeout=_TIMEOUT_SECONDS)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": notice.key,
            "User-Agent": "mainspring",
            "Connection": "close",
        }
        try:
            connection.request("POST", target, msgspec.json.encode(notice), headers)
            status = connection.getresponse().status
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise UnavailableError(f"{parts.scheme}://{parts.hostname} answered {status}")

    def _resolved(self) -> str:
        if not self._address.startswith("$"):
            return self._address
        name = self._address[1:]
        address = os.environ.get(name, "")
        if not address:
            raise InputError(f"the variable `{name}` is not set for the engine")
        _check(address)
        return address


def _check(address: str) -> None:
    try:
        parts = urlsplit(address)
        _ = parts.port
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        sound = False
    if not sound or not address.isprintable() or " " in address:
        # Without the address, which may be a secret.
        raise InputError(
            "the address of a webhook cannot be understood",
            hint="write `webhook:https://hooks.example.org/path`, or `webhook:$VARIABLE`",
        )
