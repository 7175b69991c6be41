"""Ask a server, over its socket, whether it is there and lets us in.

A process id or an open socket prove too little: a zombie has both a pid and the file, and a stopped
or starting server accepts connections into its backlog. So the question is a real start of a
session, in the few bytes that PostgreSQL's protocol needs for it, without a driver.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from mainspring.embedded.configuration import PORT

_PROTOCOL = 3 << 16
_TOO_MANY_CONNECTIONS = b"53300"


def socket_path(folder: Path) -> Path:
    return folder / f".s.PGSQL.{PORT}"


def answers(socket_folder: Path, *, role: str, database: str, timeout_seconds: float = 5) -> bool:
    """Whether a session can begin now, or is refused only because all connections are taken."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_seconds)
        try:
            connection.connect(str(socket_path(socket_folder)))
            connection.sendall(_startup_message(role, database))
            with connection.makefile("rb") as stream:
                while (kind := stream.read(1)) not in (b"", b"Z", b"E"):
                    stream.read(_body_length(stream.read(4)))
                if kind == b"E":
                    body = stream.read(_body_length(stream.read(4)))
                    return b"C" + _TOO_MANY_CONNECTIONS in body.split(b"\0")
            if kind == b"Z":
                connection.sendall(b"X" + struct.pack("!i", 4))
            return kind == b"Z"
        except (OSError, struct.error):
            return False


def _startup_message(role: str, database: str) -> bytes:
    parameters = {"user": role, "database": database, "application_name": "mainspring probe"}
    body = struct.pack("!i", _PROTOCOL)
    body += b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _body_length(length: bytes) -> int:
    (count,) = struct.unpack("!i", length)
    return int(count) - 4
