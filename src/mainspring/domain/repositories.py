"""A branch of a Git repository as the source of dags: `git+URL@BRANCH:FOLDER`."""

from __future__ import annotations

import re

import msgspec

from mainspring.domain.errors import InputError

PREFIX = "git+"
SCHEMES = ("https", "http", "ssh", "git", "file")

_URL = re.compile(r"(?P<scheme>[a-z]+)://(?P<user>[^/@]*@)?(?P<rest>[^/]*/.+)")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_HINT = "write it like `git+https://git.example.org/team/dags.git@main:dags`"


class Repository(msgspec.Struct, frozen=True):
    url: str
    branch: str
    folder: str = ""
    """Below the repository's root; empty for the root itself."""

    def __str__(self) -> str:
        return f"{PREFIX}{self.url}@{self.branch}" + (f":{self.folder}" if self.folder else "")

    @property
    def public_url(self) -> str:
        """Without a password, for messages."""
        found = _URL.fullmatch(self.url)
        assert found is not None, "it was parsed"
        return f"{found['scheme']}://{found['rest']}"


def parse_repository(text: str) -> Repository:
    url, _, place = text.removeprefix(PREFIX).rpartition("@")
    branch, _, folder = place.partition(":")
    found = _URL.fullmatch(url)
    if found is None or not branch:
        raise InputError("the repository of dags has no address or no branch", hint=_HINT)
    if found["scheme"] not in SCHEMES:
        raise InputError(
            f"the repository of dags has an address of an unknown kind: `{found['scheme'][:20]}`",
            hint=f"known are {', '.join(SCHEMES)}",
        )
    if not _BRANCH.fullmatch(branch) or ".." in branch or branch.endswith((".lock", "/", ".")):
        raise InputError(f"`{branch[:80]}` cannot be a branch", hint=_HINT)
    folder = folder.strip("/")
    if folder and any(part in ("", ".", "..") for part in folder.split("/")):
        raise InputError(f"`{folder[:80]}` is no folder of a repository", hint=_HINT)
    return Repository(url, branch, folder)
