"""From path, query and body to typed values, or a refusal that points at the field.

Size and depth are looked at before anything is decoded: what is too large is not even read, and
what is nested too deep never reaches a decoder that calls itself.
"""

from __future__ import annotations

import asyncio
import re
import typing
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive

from mainspring.api.answers import MSGPACK
from mainspring.api.oddities import check_odd, may_be_odd
from mainspring.api.problems import Refusal, field_refusal

DEPTH_MAX = 64
QUERY_LENGTH_MAX = 8_192
QUERY_FIELDS_MAX = 100
BODY_SECONDS_MAX = 30.0

_AT = re.compile(r"^(.*?)(?: - at `(?:key` in `)?\$?(.*)`)?$", re.DOTALL)
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)


class Disconnected(Exception):
    """The caller is gone; there is nobody to answer."""


def decode_parts(parts: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The path's parameters."""
    found = {}
    for name, kind in parts.items():
        text = given[name]
        check_odd(f"path/{name}", text)
        try:
            found[name] = msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError as error:
            raise field_refusal(f"path/{name}", _message(error)) from None
    return found


def decode_query(kind: type[msgspec.Struct] | None, raw: bytes) -> msgspec.Struct | None:
    if len(raw) > QUERY_LENGTH_MAX:
        raise Refusal(400, "too_large", f"the query has more than {QUERY_LENGTH_MAX:,} characters")
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=QUERY_FIELDS_MAX,
        )
    except ValueError:
        raise Refusal(
            400, "malformed", "the query cannot be understood", hint="is it encoded as UTF-8?"
        ) from None
    if kind is None:
        if pairs:
            raise field_refusal(f"query/{pairs[0][0]}", "there is no such parameter")
        return None
    lists = _lists_of(kind)
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name not in kind.__struct_encode_fields__:
            known = ", ".join(f"`{each}`" for each in kind.__struct_encode_fields__)
            raise field_refusal(
                f"query/{name}", "there is no such parameter", hint=f"there are {known}"
            )
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise field_refusal(f"query/{name}", "is given twice")
        else:
            values[name] = value
    try:
        query = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise field_refusal("query" + _pointer(error), _message(error)) from None
    check_odd("query", query)
    return query


async def read_body(receive: Receive, headers: Headers, bytes_max: int) -> bytes:
    """All of it, unless it is too large or takes for ever."""
    for name, known in (("content-encoding", "identity"), ("transfer-encoding", "chunked")):
        if headers.get(name, known).strip().lower() != known:
            raise Refusal(415, "media_type", "the body is packed", hint="send it as it is")
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > bytes_max:
        raise _too_large(bytes_max)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                chunk = message.get("body", b"")
                size += len(chunk)
                if size > bytes_max:
                    raise _too_large(bytes_max)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    return b"".join(chunks)
    except TimeoutError:
        raise Refusal(
            408,
            "slow",
            f"the body did not arrive within {BODY_SECONDS_MAX:g} s",
            headers=((b"connection", b"close"),),
        ) from None


def decode_body(
    decoder: msgspec.json.Decoder[Any] | None,
    content: bytes,
    headers: Headers,
    unpacker: msgspec.msgpack.Decoder[Any] | None = None,
) -> Any:
    """What the body says; an empty one says nothing, which is fine where all has a default."""
    if decoder is None:
        if content.strip() not in (b"", b"{}"):
            raise field_refusal("", "this takes no body", hint="send none")
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if unpacker is not None and kind == MSGPACK:
        return _decoded(unpacker, content, "MessagePack")
    if content and kind != "application/json":
        raise Refusal(
            415,
            "media_type",
            "the body has to be JSON" if kind else "it is not said what the body is",
            hint="send `Content-Type: application/json`",
        )
    check_depth(content)
    body = _decoded(decoder, content or b"{}", "JSON")
    # Workers tell of errors as they were; what must not be odd has its own bounds there.
    if unpacker is None and may_be_odd(content):
        check_odd("", body)
    return body


def _decoded(
    decoder: msgspec.json.Decoder[Any] | msgspec.msgpack.Decoder[Any], content: bytes, form: str
) -> Any:
    try:
        return decoder.decode(content)
    except msgspec.ValidationError as error:
        raise field_refusal(_pointer(error), _message(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, "malformed", f"the body is no {form}: {error}") from None


def check_depth(content: bytes) -> None:
    """Refuse what is nested deeper than anything of ours."""
    if content.count(b"[") + content.count(b"{") <= DEPTH_MAX:
        return
    depth = 0
    for match in _NESTING.finditer(content):
        if match[1]:
            depth += 1
            if depth > DEPTH_MAX:
                raise Refusal(400, "too_deep", f"the body is nested deeper than {DEPTH_MAX} levels")
        elif match[2]:
            depth -= 1


def _too_large(bytes_max: int) -> Refusal:
    return Refusal(
        413,
        "too_large",
        f"the body has more than {bytes_max:,} bytes",
        # What is still under way is not read.
        headers=((b"connection", b"close"),),
    )


@cache
def _lists_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(kind) if _is_list(field.type)}


def _is_list(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin is Annotated:
        return _is_list(typing.get_args(kind)[0])
    if origin in (Union, UnionType):
        return any(_is_list(each) for each in typing.get_args(kind))
    return origin is list


def _message(error: msgspec.ValidationError) -> str:
    match = _AT.match(str(error))
    assert match is not None
    return match[1][:1].lower() + match[1][1:]


def _pointer(error: msgspec.ValidationError) -> str:
    """`$.tasks[0].name` as `/tasks/0/name`."""
    match = _AT.match(str(error))
    assert match is not None
    return re.sub(r"\[(\w+|\.\.\.)\]", r"/\1", match[2] or "").replace(".", "/")
