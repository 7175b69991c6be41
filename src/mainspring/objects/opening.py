"""Which object store a URL names."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from mainspring.domain.errors import InputError, PluginError
from mainspring.plugins import Kind, ObjectStore, find_plugin, load_plugin_named


def from_url(url: str) -> ObjectStore:
    """The store behind `s3://bucket/prefix` or the like; does not ask whether it is there."""
    store: type[ObjectStore] = load_plugin_named(Kind.OBJECT_STORE, _checked(url).scheme)
    return store(url)


def check_url(url: str) -> None:
    """URLs are stored and shown, so a secret in one is refused, and not repeated in the error."""
    _checked(url)


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("the URL of the object store cannot be understood", hint=_HINT) from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError(
            "the URL of the object store has a user, a query or a fragment in it",
            hint="give credentials by environment variables, such as AWS_ACCESS_KEY_ID",
        )
    try:
        find_plugin(Kind.OBJECT_STORE, parts.scheme)
    except PluginError as error:
        near = error.hint if parts.scheme else _HINT
        raise InputError(f"there is no object store for `{url}`: {error}", hint=near) from None
    return parts


_HINT = "such as `s3://bucket/prefix`, `gs://…`, `az://account/container` or `file:///folder`"
