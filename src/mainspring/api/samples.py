"""Examples of answers, made from their types, so that they never say what an answer cannot be."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union
from uuid import UUID

import msgspec

_NAMED: Mapping[str, Any] = {
    "dag": "daily_sales",
    "task": "extract",
    "group": "e-3f9ac1d2",
    "groups": ["e-3f9ac1d2"],
    "error_type": "ConnectionError",
    "ended": None,
    "id": 4097,
    "job_id": 4097,
    "percent": 100.0,
    "run": 4097,
    "version": 3,
    "number": 1,
    "attempt": 1,
    "term": 1,
    "generation": 1,
    "snapshot": "5f1d7e0c4a",
    "file": "sales.py",
    "owner": "sales",
    "description": "the sales of a day",
    "words": "at 02:00 each day",
    "queue": "default",
    "worker": "worker-1",
    "host": "worker-1.example.org",
    "created_by": "ada",
    "who": "ada",
    "by": "ada",
    "note": "the source is being moved",
    "message": "connection refused",
    "trigger": "manual",
    "token": "msp_" + "x" * 43,
    "next": None,
    "next_fire_at": "2026-11-16T01:00:00Z",
    "schedule": "nightly_sales",
    "expression": "0 2 * * *",
    "timezone": "Europe/Berlin",
    "exclude": [],
    "start": None,
    "end": None,
    "overlap_max": None,
    "limit": None,
    "reason": None,
    "problems": [],
    "result": 42,
    "parameters": {"region": "eu"},
    "code": "input",
    "detail": "query/limit: expected `int` >= 1",
    "hint": "",
    "stop": None,
    "error": None,
    "failed_task": None,
    "revoked_at": None,
    "rolled_back_at": None,
    "gone_at": None,
    "rerun_of": None,
    "backfill": None,
    "halted_by": None,
    "halt_note": None,
    "ended_at": None,
    "excluded_by": None,
    "verdict": "succeeded",
    "run_state": "failed",
    "remarks": [],
    "pause": None,
    "dag_pause": None,
    "paused": None,
    "cancelled": None,
}
"""What fields of these names hold in examples, where their types allow it."""


def sample(kind: Any, name: str = "") -> Any:
    """A value of this type, as JSON data."""
    if name in _NAMED and _fits(_NAMED[name], kind):
        return _NAMED[name]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return sample(arguments[0], name)
    if origin in (Union, UnionType):
        return sample(next(each for each in arguments if each is not NoneType), name)
    if origin is Literal:
        return arguments[0]
    if origin is tuple and ... not in arguments:
        return [sample(each, name) for each in arguments]
    if origin in (list, tuple, set, frozenset):
        return [sample(arguments[0], name.removesuffix("s"))]
    if origin in (dict, Mapping):
        return {sample(arguments[0]): sample(arguments[1])}
    return _plain(kind, name)


def _plain(kind: Any, name: str) -> Any:
    found = typing.get_origin(kind) or kind
    if isinstance(found, type):
        if issubclass(found, msgspec.Struct):
            config = found.__struct_config__
            tagged = {} if config.tag is None else {config.tag_field: config.tag}
            fields = msgspec.structs.fields(kind)
            return {**tagged, **{f.encode_name: sample(f.type, f.name) for f in fields}}
        if issubclass(found, Enum):
            values = [each.value for each in found]
            return "succeeded" if "succeeded" in values else values[0]
        if issubclass(found, bool):
            return False
        if issubclass(found, int):
            return 1
        if issubclass(found, float):
            return 1.5
        if issubclass(found, datetime):
            return "2026-11-15T01:00:00Z"
        if issubclass(found, date):
            return "2026-12-24"
        if issubclass(found, UUID):
            return "6f1e8a52-0b6c-4f0e-9d2b-3d1f0a6a7c11"
        if issubclass(found, bytes):
            return "NDI="
        if issubclass(found, str):
            return name or "text"
    return {}


def _fits(value: Any, kind: Any) -> bool:
    if kind is msgspec.Raw:
        return True
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
