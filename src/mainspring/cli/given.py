"""Parameters and instants, from what was typed, and who typed it."""

from __future__ import annotations

import getpass
import platform
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from mainspring.cli.words import parse_moment
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown
from mainspring.domain.parameters import parse_cli_value
from mainspring.domain.specs import PAYLOAD_BYTES_MAX, DagSpec


def given_parameters(spec: DagSpec, pairs: Sequence[str], document: str | None) -> dict[str, Any]:
    """`--params` first, then each `-p` over it."""
    values = given_document(document) if document is not None else {}
    seen: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(
                f"`-p` takes a name and a value, got {shown(pair)}",
                hint="write it like `-p region=eu`",
            )
        if name in seen:
            raise InputError(f"parameter {shown(name)} is given twice")
        seen.add(name)
        values[name] = parse_cli_value(spec, name, text)
    return values


def given_moment(text: str, option: str = "--at") -> datetime:
    moment = parse_moment(text)
    if moment is None:
        raise InputError(
            f"`{option}`: {shown(text)} is no instant",
            hint="write it like `2026-11-15T01:00Z`, or `2026-11-15 01:00` in your own zone",
        )
    return moment


def person() -> str:
    """Who gives the command, as history will show it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{platform.node() or 'unknown'}"


def given_document(text: str) -> dict[str, Any]:
    content: str | bytes = text
    if text.startswith("@"):
        content = _content(text[1:])
    try:
        values = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"`--params` is no JSON: {error}",
            hint="""write it like `--params '{"region": "eu"}'` or `--params @file`""",
        ) from None
    if not isinstance(values, dict):
        raise InputError("`--params` is JSON, but no object with names and values")
    return values


def _content(path: str) -> bytes:
    try:
        if path == "-":
            content = sys.stdin.buffer.read(PAYLOAD_BYTES_MAX + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(PAYLOAD_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"`--params`: cannot read {shown(path)}: {error.strerror}") from None
    if len(content) > PAYLOAD_BYTES_MAX:
        raise InputError(f"`--params`: {shown(path)} is larger than {PAYLOAD_BYTES_MAX:,} bytes")
    return content
