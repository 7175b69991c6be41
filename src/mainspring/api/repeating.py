"""Idempotency-Key: a POST that is sent again with its key has one effect and gets the same answer.

Two roads. Where the effect itself knows the key, as `create_runs` does, nothing else is stored: the
handler (`repeats=True`) hands the key on, and the common case costs not one statement more. All
other POSTs take the key before the work and keep the answer after it. Keys belong to the token that
sent them, and live for a day.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable

from mainspring.api.answers import JSON, Answer
from mainspring.api.problems import Refusal
from mainspring.api.services import Services
from mainspring.store.answers import Begun, begin_answer, drop_answer, keep_answer
from mainspring.store.tokens import Caller

KEY_LENGTH_MAX = 255
KEY_PATTERN = "^[ -~\\u00a1-\\u00ac\\u00ae-\\u00ff]+$"
"""What can be printed, of what a header can hold."""
REPEATED = (b"idempotency-replayed", b"true")


def given_key(text: str | None) -> str | None:
    if text is None:
        return None
    if not 0 < len(text) <= KEY_LENGTH_MAX or not re.fullmatch(KEY_PATTERN, text):
        raise Refusal(
            400,
            "idempotency_key",
            f"an Idempotency-Key has 1 to {KEY_LENGTH_MAX} printable characters",
            hint="a fresh UUID is a good one",
        )
    return text


def digest_of(method: str, path: str, content: bytes) -> bytes:
    """What a key stands for."""
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(), content))).digest()


async def take_key(services: Services, caller: Caller, key: str, digest: bytes) -> Begun:
    """What the key stands for; a refusal if that is another request."""
    salt = secrets.token_bytes(32)
    begun = await services.write(begin_answer, caller.id, key, digest, salt)
    if not begun.same:
        raise used_otherwise(key)
    return begun


async def answered_once(
    services: Services,
    caller: Caller,
    key: str,
    digest: bytes,
    work: Callable[[], Awaitable[Answer]],
) -> Answer:
    begun = await take_key(services, caller, key, digest)
    if begun.kept is not None:
        kept = begun.kept
        return Answer(kept.content, status=kept.status, content_type=JSON, headers=[REPEATED])
    if not begun.ours:
        raise Refusal(
            409,
            "in_progress",
            "a request with this Idempotency-Key is being worked at",
            hint="ask again in a while, with the same key",
            headers=((b"retry-after", b"1"),),
        )
    try:
        answer = await work()
    except BaseException:
        # It was not done, or was guarded by its own statement: the key is free for another try.
        await services.write(drop_answer, caller.id, key)
        raise
    await services.write(keep_answer, caller.id, key, answer.status, answer.content)
    return answer


def used_otherwise(key: str) -> Refusal:
    return Refusal(
        422,
        "idempotency_key",
        f"Idempotency-Key `{key}` was used for another request",
        hint="use a new key, or repeat exactly what was asked before",
    )
