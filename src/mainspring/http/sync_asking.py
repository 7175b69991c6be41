# Generated from src/mainspring/http/asking.py by `make gen`; do not edit.
"""One request's road: encode, send, again if need be, decode.

How it is sent is the transport's business. `Sockets` sends it over the network; the command line
beside its database has one that calls the routes in its own process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol, TypeVar
from uuid import uuid4

import msgspec

from mainspring.domain.errors import UnavailableError
from mainspring.http.refusals import refusal_of
from mainspring.http.requests import Reply, Request, checked_headers, decode
from mainspring.http.retrying import Loss, after_loss, after_reply

_T = TypeVar("_T")


class Lost(Exception):
    """There is no answer, and will be none."""

    def __init__(self, loss: Loss, reason: str) -> None:
        super().__init__(reason)
        self.loss = loss
        self.reason = reason


class Transport(Protocol):
    """Carries a request there, and the answer back. `Lost`: there is none."""

    server: str
    """What to call it in messages."""
    repeats: bool
    """Whether requests can get lost, so that they are sent again."""

    def send(self, request: Request) -> Reply: ...

    def close(self) -> None: ...


class Asker:
    def __init__(self, transport: Transport, token: str | None, patience_seconds: float) -> None:
        self._transport = transport
        self._token = token
        self._patience_seconds = patience_seconds
        self._answered = False

    def ask(
        self,
        method: str,
        target: str,
        kind: type[_T],
        *,
        content: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        once: bool = False,
    ) -> _T:
        """The answer as `kind`."""
        reply = self.reply(method, target, content=content, headers=headers, once=once)
        try:
            answer = decode(reply.content, kind)
        except msgspec.MsgspecError as error:
            raise UnavailableError(
                f"{self._transport.server} answered {method} {target} with something else than"
                f" expected: {error}",
                hint="is the server older or newer than this client?",
            ) from error
        return answer

    def reply(
        self,
        method: str,
        target: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        once: bool = False,
    ) -> Reply:
        """The answer as it came; an error if the server refused.

        `once`: a key would mean something of its own, so none is made up.
        """
        sent = checked_headers(headers or {})
        if content is not None:
            sent["Content-Type"] = "application/json"
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        if method == "POST" and self._transport.repeats and not once:
            sent.setdefault("Idempotency-Key", uuid4().hex)
        request = Request(method, target, sent, content or b"", once)
        reply = self._persist(request)
        if not 200 <= reply.status < 300:
            raise refusal_of(reply, self._transport.server)
        return reply

    def _persist(self, request: Request) -> Reply:
        """The last answer, once it is good, or patience has ended."""
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            try:
                reply = self._transport.send(request)
            except Lost as error:
                rest = after_loss(request, error.loss, tries)
                # Nobody there at the first contact: the address is wrong, or it does not run.
                nobody = error.loss is Loss.NOT_SENT and not self._answered
                if rest is None or nobody or self._spent(began, rest):
                    raise self._unreachable(error) from error
            else:
                self._answered = True
                if not self._transport.repeats:
                    return reply
                rest = after_reply(request, reply, tries)
                if rest is None or self._spent(began, rest):
                    return reply
            time.sleep(rest)

    def _spent(self, began: float, rest: float) -> bool:
        return time.monotonic() + rest - began > self._patience_seconds

    def _unreachable(self, error: Lost) -> UnavailableError:
        if error.loss is Loss.NOT_SENT:
            return UnavailableError(
                f"the server at {self._transport.server} cannot be reached: {error.reason}",
                hint="check that it runs and that MAINSPRING_URL is right",
            )
        return UnavailableError(
            f"the server at {self._transport.server} did not answer: {error.reason}",
            hint="it may have been done; look, and try again",
        )

    def close(self) -> None:
        self._transport.close()


class Sockets:
    """Over the network."""

    repeats = True

    def __init__(self, url: str) -> None:
        # Not before it is needed: it takes as long as all the rest of a command.
        import httpx2

        self.server = url
        self._httpx = httpx2
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(60.0, connect=10.0),
            headers={"User-Agent": "mainspring", "Accept-Encoding": "gzip"},
        )

    def send(self, request: Request) -> Reply:
        try:
            answer = self._client.request(
                request.method,
                self.server + request.target,
                headers=dict(request.headers),
                content=request.content or None,
            )
        except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
            raise Lost(Loss.NOT_SENT, _reason(error)) from error
        except self._httpx.TransportError as error:
            raise Lost(Loss.UNKNOWN, _reason(error)) from error
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Reply(answer.status_code, headers, answer.content)

    def close(self) -> None:
        self._client.close()


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
