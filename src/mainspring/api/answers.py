"""The bytes that are sent: ETag, compression, headers."""

from __future__ import annotations

import hashlib
import zlib
from abc import ABC, abstractmethod

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

GZIP_BYTES_MIN = 1400
"""Below that an answer fits one packet anyway."""
_GZIP_LEVEL = 1
"""Lists repeat themselves: the first level already packs them well, and it is the quickest."""

encode = msgspec.json.Encoder(decimal_format="number").encode
pack = msgspec.msgpack.Encoder().encode

Header = tuple[bytes, bytes]

_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
JSON = b"application/json"
MSGPACK = "application/msgpack"


class Answer:
    """What a request is answered with; several requests may share one."""

    __slots__ = ("_packed", "_tag", "content", "content_type", "headers", "status", "version")

    def __init__(
        self,
        content: bytes = b"",
        *,
        status: int = 200,
        content_type: bytes = JSON,
        headers: list[Header] | None = None,
        version: int | None = None,
    ) -> None:
        self.content = content
        self.status = status
        self.content_type = content_type
        self.headers = headers or []
        self.version = version
        """Of what it tells, if that has versions: it is then in the tag."""
        self._tag: bytes | None = None
        self._packed: bytes | None = None

    @property
    def tag(self) -> bytes:
        if self._tag is None:
            self._tag = etag_of(self.content, self.version)
        return self._tag

    @property
    def packed(self) -> bytes:
        if self._packed is None:
            self._packed = _gzip(self.content)
        return self._packed


class Flow(ABC):
    """An answer that goes on: it sends itself, as long as there is something to send."""

    @abstractmethod
    async def go(self, scope: Scope, receive: Receive, send: Send) -> None: ...


async def send_answer(send: Send, answer: Answer, method: str, asked: Headers) -> None:
    """Send it as the caller can take it; nothing, if the caller has the same already."""
    headers = [*_ALWAYS, *answer.headers]
    names = {name for name, _ in headers}
    content, status = answer.content, answer.status
    if b"cache-control" not in names:
        # Kept by nobody but the caller, who has to ask whether it is still so.
        headers.append((b"cache-control", b"private, no-cache"))
    if method not in ("GET", "HEAD") and answer.version is not None:
        headers.append((b"etag", b'"%d"' % answer.version))
    if method in ("GET", "HEAD") and status == 200:
        tag = answer.tag
        headers += [(b"etag", tag), (b"vary", b"accept-encoding, authorization, cookie")]
        if same_tag(asked.get("if-none-match"), tag):
            status, content = 304, b""
    if len(content) >= GZIP_BYTES_MIN and takes_gzip(asked.get("accept-encoding", "")):
        content = answer.packed
        headers.append((b"content-encoding", b"gzip"))
    if status not in (204, 304):
        headers.append((b"content-length", str(len(content)).encode()))
        headers.append((b"content-type", answer.content_type))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})


def etag_of(content: bytes, version: int | None = None) -> bytes:
    """Weak: packed or not, it is the same answer. The version comes first, for `If-Match`."""
    before = b"" if version is None else b"%d." % version
    return b'W/"%s%s"' % (before, hashlib.blake2b(content, digest_size=12).hexdigest().encode())


def same_tag(given: str | None, tag: bytes) -> bool:
    if given is None:
        return False
    opaque = tag.decode().removeprefix("W/")
    return given.strip() == "*" or any(
        each.strip().removeprefix("W/") == opaque for each in given.split(",")
    )


def takes_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _gzip(content: bytes) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()
