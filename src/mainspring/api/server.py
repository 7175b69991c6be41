"""The process: listens, refuses what would be unsafe, and stops in order.

A server holds nothing that another one does not know: any number may run behind a load balancer.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta

import structlog
import uvicorn

from mainspring.api.application import build_application
from mainspring.api.catalogue import ROUTES
from mainspring.api.guard import Guard
from mainspring.api.services import Services
from mainspring.api.wire import Wire
from mainspring.config import Config, Listening
from mainspring.domain.errors import InputError, UnavailableError
from mainspring.store.answers import ANSWERS_KEPT, forget_answers
from mainspring.store.connection import Connection
from mainspring.store.reading import read_clock
from mainspring.store.tokens import Caller, find_token, forget_sessions

GRACE_SECONDS = 20
KEPT_SECONDS = 75
_SWEEP_SECONDS = 600.0
_SWEEP_ROWS = 10_000

log = structlog.get_logger(__name__)


class Server:
    def __init__(self, config: Config, url: str, listener: socket.socket | None = None) -> None:
        """With a listener that was given, or else with one of its own."""
        listening = config.listening
        self._given = listener
        check_listening(listening)
        secure = listening.tls_cert is not None or listening.behind_proxy
        self._listening = listening
        self._services = Services(url, home=config.home, secure=secure)
        self._guard = Guard(self._find, rate=listening.rate)
        names = [*listening.names, socket.gethostname()]
        if not is_address(listening.host):
            names.append(listening.host)
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                build_application(ROUTES, self._services, self._guard, names),
                http=Wire,
                loop="none",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                proxy_headers=listening.behind_proxy,
                forwarded_allow_ips="*" if listening.behind_proxy else "",
                # Longer than workers are silent between two beats.
                timeout_keep_alive=KEPT_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
                ssl_certfile=listening.tls_cert,
                ssl_keyfile=listening.tls_key,
            ),
            self._services.gateway.release,
        )
        self.port = listening.port

    async def run(self) -> None:
        listener = self._given or bind(self._listening)
        self.port = listener.getsockname()[1]
        try:
            await self._services.open()
            sweeping = asyncio.create_task(self._sweep())
            serving = asyncio.create_task(self._services.gateway.run())
            log.info("the server listens", at=address_of(self._listening, self.port))
            try:
                await self._uvicorn.serve([listener])
            finally:
                sweeping.cancel()
                serving.cancel()
                await asyncio.gather(sweeping, serving, return_exceptions=True)
        finally:
            listener.close()
            await self._services.close()

    @property
    def listens(self) -> bool:
        """Whether callers are answered."""
        return self._uvicorn.started

    def stop(self) -> None:
        """Take no new callers, answer those that are there, and end; each further call hurries it.

        A server that lingers first goes on for a while, says that it is not ready, and ends each
        connection with its next answer: so a load balancer sends callers elsewhere before any
        connection is refused.
        """
        linger_seconds = self._listening.linger_seconds
        if self._uvicorn.should_exit:
            self._uvicorn.force_exit = True
        elif linger_seconds and not self._services.stopping:
            log.info("the server is not ready any more, and lingers", seconds=linger_seconds)
            self._services.release()
            asyncio.get_running_loop().call_later(linger_seconds, self._end)
        else:
            self._end()

    def _end(self) -> None:
        self._services.release()
        self._uvicorn.should_exit = True

    async def _find(self, secret: str) -> Caller | None:
        return await self._services.read(find_token, secret)

    async def _sweep(self) -> None:
        """Let go of old answers and sessions. What goes wrong is tried again next time."""
        while True:
            try:
                while await self._services.write(_forget) >= _SWEEP_ROWS:
                    pass
            except Exception as error:
                log.warning("old answers could not be removed", error=repr(error))
            await asyncio.sleep(_SWEEP_SECONDS)


async def _forget(connection: Connection) -> int:
    now = await read_clock(connection)
    return max(
        await forget_answers(connection, now - ANSWERS_KEPT, _SWEEP_ROWS),
        await forget_sessions(connection, now - timedelta(days=1), _SWEEP_ROWS),
    )


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, release: Callable[[], None]) -> None:
        super().__init__(config)
        self._release = release

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Who waits for something to happen is answered, and hears that the connection ends."""
        self._release()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the business of whoever runs this process."""
        yield


def check_listening(listening: Listening) -> None:
    """InputError for what would let tokens travel in the open, or cannot work."""
    if (listening.tls_cert is None) != (listening.tls_key is None):
        raise InputError("TLS needs a certificate and its key", hint="give both, or neither")
    if listening.tls_cert is not None:
        _check_certificate(listening)
        return
    if listening.behind_proxy or is_loopback(listening.host):
        return
    raise InputError(
        f"the server would listen at `{listening.host}` without TLS: whoever sees the network would"
        " see its tokens",
        hint="give `--tls-cert` and `--tls-key`, or `--behind-proxy` if a proxy in front of it does"
        " TLS, or listen at 127.0.0.1",
    )


def _check_certificate(listening: Listening) -> None:
    assert listening.tls_cert is not None
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(listening.tls_cert, listening.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"the certificate `{listening.tls_cert}` with key `{listening.tls_key}` cannot be used:"
            f" {error.strerror or error}",
            hint="both are files in PEM format that belong together",
        ) from None


def bind(listening: Listening) -> socket.socket:
    """Our own socket, so that a port in use is told at once and in our words."""
    try:
        found = socket.getaddrinfo(
            listening.host, listening.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise UnavailableError(
            f"`{listening.host}` is no address of this machine: {error.strerror}",
            hint="correct MAINSPRING_HOST",
        ) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Handed on to each connection. Head and body are two writes: otherwise the body waits until
        # the caller has acknowledged the head, which on a connection that is kept takes 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise UnavailableError(
            f"the server cannot listen at {listening.host}:{listening.port}: {error.strerror}",
            hint="give another port with `--port` or MAINSPRING_PORT",
        ) from None
    listener.listen(2048)
    listener.setblocking(False)
    return listener


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    if is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def address_of(listening: Listening, port: int | None = None) -> str:
    """What callers on this machine write."""
    scheme = "http" if listening.tls_cert is None else "https"
    host = f"[{listening.host}]" if ":" in listening.host else listening.host
    return f"{scheme}://{host}:{port or listening.port}"
