"""What is no request, is too long or comes too slowly is refused on the wire; TLS works."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mainspring.api import wire
from mainspring.api.problems import Problem
from mainspring.api.server import Server, bind
from mainspring.config import Config, Listening
from tests.contract.conftest import Api


async def answer_to(api: Api, *pieces: bytes) -> tuple[int, Problem]:
    """What the server says before it closes."""
    address = urlsplit(api.base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    for piece in pieces:
        writer.write(piece)
    told = await reader.read()
    writer.close()
    head, _, content = told.partition(b"\r\n\r\n")
    return int(head.split()[1]), msgspec.json.decode(content, type=Problem)


async def test_a_head_without_end_is_refused(api: Api) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
    # Not a byte more than it takes: what is not read when a server closes may cost the answer.
    rest = b"x" * (wire.HEAD_BYTES_MAX + 1 - len(start))
    status, problem = await answer_to(api, start, rest)
    assert (status, problem.code) == (431, "too_large")
    assert (await api.get("/healthz", role=None)).status_code == 200


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"]
)
async def test_what_is_no_request_is_refused(api: Api, sent: bytes) -> None:
    status, problem = await answer_to(api, sent)
    assert (status, problem.code) == (400, "malformed")


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHo"])
async def test_a_head_that_does_not_come_is_not_waited_for(
    api: Api, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "HEAD_SECONDS_MAX", 0.01)
    status, problem = await answer_to(api, sent)
    assert (status, problem.code) == (408, "slow")


async def test_what_comes_after_a_request_never_answers_it(api: Api) -> None:
    address = urlsplit(api.base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    writer.write(ask * 3 + b"nonsense\r\n\r\n" + ask)
    told = await reader.read()
    writer.close()
    assert (told.count(b"HTTP/1.1 "), told.count(b"HTTP/1.1 200 ")) == (3, 3), told


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        (b"Host: localhost\r\nHost: localhost\r\n", 400),
        (b"", 421),
        (b"Host: localhost:evil.example\r\n", 421),
        (b"Host: [::1\r\n", 421),
        (b"Host: [::1]evil.example\r\n", 421),
        (b"Host: localhost@evil.example\r\n", 421),
    ],
)
async def test_a_host_that_is_none_is_refused(api: Api, hosts: bytes, status: int) -> None:
    ask = b"GET /healthz HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n"
    assert (await answer_to(api, ask))[0] == status


async def test_a_connection_serves_many_requests_and_long_bodies(api: Api, finished: int) -> None:
    for _ in range(3):
        big = {"parameters": {"region": "x" * 200_000}}
        assert (await api.post("/dags/daily_sales/runs", json=big)).status_code == 201
        assert (await api.get("/runs?limit=1&fields=id")).status_code == 200


async def test_tls_is_spoken_with_the_given_certificate(database_url: str, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    listening = Listening(host="127.0.0.1", port=0, tls_cert=cert, tls_key=key)
    server = Server(Config(home=tmp_path, listening=listening), database_url)
    running = asyncio.create_task(server.run())
    while not server.listens:
        assert not running.done(), running.result()
        await asyncio.sleep(0.005)
    trusted = ssl.create_default_context(cafile=str(cert))
    async with httpx2.AsyncClient(verify=trusted, trust_env=False, timeout=60) as http:
        answer = await http.get(f"https://127.0.0.1:{server.port}/readyz")
    assert answer.json() == {"status": "ready"}
    server.stop()
    await running


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_path, key_path = folder / "cert.pem", folder / "key.pem"
    cert_path.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert_path, key_path


def test_a_connection_sends_what_it_has_without_waiting_for_acknowledgements() -> None:
    listener = bind(Listening(port=0))
    listener.setblocking(True)
    with listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
