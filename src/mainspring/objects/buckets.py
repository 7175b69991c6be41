"""Buckets of S3, GCS and Azure as object stores, by obstore.

Credentials and endpoints come from where the vendors' own tools take them: `AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, the machine's role;
`GOOGLE_APPLICATION_CREDENTIALS`; `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`.

obstore's calls are made in threads. Its own asynchronous ones let a thread of the runtime touch
Python objects after the last answer, which aborts a process that exits just then (obstore 0.12).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mainspring.domain.errors import InputError
from mainspring.objects.failures import ObjectGone, StoreFailed

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_PIECE_BYTES = 8 * 1024 * 1024
"""Of an upload; S3 wants at least 5 MiB and at most 10,000 of them."""


class Bucket:
    def __init__(self, url: str) -> None:
        try:
            from obstore.store import from_url
        except ImportError:
            raise InputError(
                f"`{url}` needs the package obstore",
                hint="install it with `pip install 'mainspring[objects]'`",
            ) from None
        if not urlsplit(url).netloc:
            raise InputError(f"`{url}` names no bucket", hint="write it like `s3://bucket/prefix`")
        self._url = url
        # An engine asks again later, and a person wants to know soon.
        retry: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
        client: ClientConfig = {"connect_timeout": "5s", "timeout": "60s"}
        if _plain_endpoint():
            client["allow_http"] = True
        with self._told():
            self._store: Any = from_url(url, client_options=client, retry_config=retry)

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        import obstore

        with self._told():
            writer = await asyncio.to_thread(
                obstore.open_writer, self._store, key, buffer_size=_PIECE_BYTES, max_concurrency=2
            )
            # Without `close` nothing appears under the key.
            async for piece in pieces:
                await asyncio.to_thread(writer.write, piece)
            await asyncio.to_thread(writer.close)

    async def get(self, key: str, start: int, end: int) -> bytes:
        import obstore
        import obstore.exceptions

        if end <= start:
            return b""
        with self._told(key):
            try:
                found = await asyncio.to_thread(
                    obstore.get_range, self._store, key, start=start, end=end
                )
            except obstore.exceptions.BaseError as error:
                if _is_beyond_the_end(error):
                    return b""
                raise
            return bytes(found)

    async def delete(self, keys: Sequence[str]) -> None:
        import obstore

        with self._told():
            await asyncio.to_thread(obstore.delete, self._store, list(keys))

    @contextlib.contextmanager
    def _told(self, key: str | None = None) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            words = _words(error)
            if key is not None and isinstance(error, FileNotFoundError) and "ucket" not in words:
                raise ObjectGone(
                    f"there is no `{key}` in {self._url}",
                    hint="it was removed there, or MAINSPRING_OBJECTS named another store then",
                ) from None
            raise StoreFailed(
                f"the object store {self._url} cannot be used: {words}",
                hint="check MAINSPRING_OBJECTS, that the bucket exists, and the credentials",
            ) from None


def _is_beyond_the_end(error: Exception) -> bool:
    """There is such an object, and it ends before the range begins (HTTP's 416)."""
    return re.search(r"not satisfiable|InvalidRange|\b416\b", str(error)) is not None


def _words(error: Exception) -> str:
    """What the server said, or what happened on the way; without queries, which may be signed."""
    text = str(error)
    if said := re.search(r"<Message>(.*?)</Message>", text, re.DOTALL):
        return said[1].strip()
    return re.sub(r"\?\S*", "", text.partition("\n")[0]).strip() or type(error).__name__


def _plain_endpoint() -> bool:
    """Whether the environment names an endpoint without TLS, which is a choice made there."""
    given = (os.environ.get(name, "") for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
    return any(url.startswith("http://") for url in given)
