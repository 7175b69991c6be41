"""If-Match and If-None-Match on changes: only if it is what the caller has seen.

What has versions has them in its ETag: `W/"3.5f1d…"` is version 3 as it was told then. To change it
only the version counts, so `"3"` says the same; what became of its fires meanwhile does not matter.
"""

from __future__ import annotations

import re
from enum import Enum

from starlette.datastructures import Headers

from mainspring.api.problems import Refusal
from mainspring.domain.names import shown

TAG_PATTERN = r'(?:W/)?"([0-9]{1,9})(?:\.[0-9a-f]+)?"'
_TAG = re.compile(TAG_PATTERN)


class Expected(Enum):
    ANY = "any"
    """There has to be one, of whatever version."""
    NONE = "none"
    """There may be none."""
    UNSAID = "unsaid"


def expected_version(headers: Headers) -> int | Expected:
    """What has to be in force for a change to be made."""
    match, none = headers.get("if-match"), headers.get("if-none-match")
    if match is not None and none is not None:
        raise _malformed("If-Match and If-None-Match cannot both hold")
    if none is not None:
        if none.strip() != "*":
            raise _malformed(f"`If-None-Match` of a change is `*`, not {shown(none)}")
        return Expected.NONE
    if match is None:
        return Expected.UNSAID
    if match.strip() == "*":
        return Expected.ANY
    found = _TAG.fullmatch(match.strip())
    if found is None:
        raise _malformed(f"{shown(match)} is no version")
    return int(found[1])


def version_tag(version: int) -> bytes:
    return b'"%d"' % version


def _malformed(message: str) -> Refusal:
    return Refusal(
        400, "precondition", message, hint='send the `ETag` as it was given, or `If-Match: "3"`'
    )
