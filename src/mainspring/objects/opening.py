"""Which object store a URL names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from mainspring.domain.errors import InputError
from mainspring.domain.names import closest
from mainspring.objects.buckets import Bucket
from mainspring.objects.folder import Folder
from mainspring.objects.interface import ObjectStore

SCHEMES: Mapping[str, Callable[[str], ObjectStore]] = {
    "file": Folder,
    "s3": Bucket,
    "gs": Bucket,
    "az": Bucket,
}


def from_url(url: str) -> ObjectStore:
    """The store behind `s3://bucket/prefix` or the like; does not ask whether it is there."""
    check_url(url)
    return SCHEMES[urlsplit(url).scheme](url)


def check_url(url: str) -> None:
    """URLs are stored and shown, so a secret in one is refused, and not repeated in the error."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("the URL of the object store cannot be understood", hint=_HINT) from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError(
            "the URL of the object store has a user, a query or a fragment in it",
            hint="give credentials by environment variables, such as AWS_ACCESS_KEY_ID",
        )
    if parts.scheme not in SCHEMES:
        near = closest(parts.scheme, list(SCHEMES)) if parts.scheme else ""
        raise InputError(f"there is no object store for `{url}`", hint=near or _HINT)
    if parts.scheme != "file" and not parts.netloc:
        raise InputError(f"`{url}` names no bucket", hint=_HINT)


_HINT = "such as `s3://bucket/prefix`, `gs://…`, `az://account/container` or `file:///folder`"
