"""Values as JSON: parameters, literal arguments and results all pass through `encode_json`.

JSON by msgspec, never pickle: what is stored can be read by any program and can run nothing.
Beyond what JSON knows, dates, UUIDs, Decimals, sets, enums, dataclasses and msgspec structs are
written in their usual text form. What has no faithful form is refused, with a sentence that says
what: NaN and the infinities (msgspec would write `null`), lone surrogates (not UTF-8), objects of
other types.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.specs import PAYLOAD_BYTES_MAX

_encoder = msgspec.json.Encoder()


def encode_json(value: Any, *, what: str = "value", bytes_max: int = PAYLOAD_BYTES_MAX) -> bytes:
    """The value as JSON; InputError when it has no faithful form; `what` names it in errors."""
    try:
        encoded = _encoder.encode(value)
    except UnicodeEncodeError:
        raise InputError(
            f"{what}: holds a lone surrogate, which is not valid text",
            hint='decode bytes with errors="replace"',
        ) from None
    except RecursionError:
        raise InputError(f"{what}: nested too deeply, or contains itself") from None
    except Exception as error:  # objects of the author's own classes may raise anything
        raise InputError(
            f"{what}: cannot be written as JSON, {_sentence(error)}",
            hint="pass plain data: text, numbers, lists, dicts, dates, UUIDs, dataclasses, structs",
        ) from None
    if len(encoded) > bytes_max:
        raise InputError(
            f"{what}: too large, {_size(len(encoded))} as JSON; the limit is {_size(bytes_max)}",
            hint="store it elsewhere and pass its address",
        )
    # Exact when it finds nothing, since a NaN is written as `null`; looks closer only when it does.
    if b"null" in encoded:
        _refuse_nan(msgspec.to_builtins(value), what)
    return encoded


def _refuse_nan(value: Any, what: str) -> None:
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, float) and not math.isfinite(item):
            raise InputError(
                f"{what}: `{item}` cannot be written as JSON", hint="use None in its place"
            )
        if isinstance(item, dict):
            rest.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            rest.extend(item)


def _sentence(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text[0].lower() + text[1:]


def _size(count: int) -> str:
    if count < 10_000:
        return f"{count} bytes"
    return f"{count / 1024:.0f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"
