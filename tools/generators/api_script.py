"""`web/src/generated/api.ts`: what the server takes and tells, as types for the page.

Made from the same OpenAPI document that the server serves, so the page cannot ask for what is not
there, or misread what is told, without the compiler's word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mainspring.api.catalogue import RESOURCES
from mainspring.api.openapi import document

Schema = Mapping[str, Any]

_HEADER = """\
// Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def render() -> str:
    made = document(RESOURCES)
    operations = [
        (method, path, operation)
        for path, methods in made["paths"].items()
        if path.startswith("/api/v1/") and path != "/api/v1/openapi.json"
        for method, operation in methods.items()
    ]
    shapes = [
        _shape(name, schema)
        for name, schema in sorted(made["components"]["schemas"].items())
        if not _is_part(name)
    ]
    return "\n".join((_HEADER, *shapes, _types(operations), _table(operations)))


def _shape(name: str, schema: Schema) -> str:
    about = _comment(schema.get("description"), "")
    if schema.get("type") == "object" and "properties" in schema:
        return f"{about}export interface {_named(name)} {_fields(schema, '')}\n"
    return f"{about}export type {_named(name)} = {_type(schema, '')};\n"


def _named(name: str) -> str:
    """Shapes that share a name come with their module: `a.b.differing.Difference`."""
    *_, module, own = ("", *name.split("."))
    return "".join(word.capitalize() for word in module.split("_")) + own


def _fields(schema: Schema, indent: str) -> str:
    required = set(schema.get("required", ()))
    inner = indent + "  "
    lines = []
    for name, field in schema["properties"].items():
        optional = "" if name in required else "?"
        lines.append(
            f"{_comment(field.get('description'), inner)}{inner}readonly {_key(name)}{optional}: "
            f"{_type(field, inner)};\n"
        )
    return "{\n" + "".join(lines) + indent + "}"


def _type(schema: Schema, indent: str) -> str:
    if "$ref" in schema:
        return _named(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return _union(json.dumps(each) for each in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _union(_type(each, indent) for each in schema[several])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_type({**schema, "type": each}, indent) for each in kind)
    if kind == "null":
        return "null"
    if kind == "array":
        if "prefixItems" in schema:
            inside = ", ".join(_type(each, indent) for each in schema["prefixItems"])
            return f"readonly [{inside}]"
        return f"readonly ({_type(schema.get('items') or {}, indent)})[]"
    if kind == "object":
        if "properties" in schema:
            return _fields(schema, indent)
        values = schema.get("additionalProperties")
        inside = _type(values, indent) if isinstance(values, Mapping) and values else "unknown"
        return f"Readonly<Record<string, {inside}>>"
    return _PLAIN.get(kind or "", "unknown")


def _union(parts: Iterable[str]) -> str:
    return " | ".join(each for each in dict.fromkeys(parts) if not _is_part(each))


def _is_part(name: str) -> bool:
    """Whether `fields` makes it of an answer: the page never asks for less than the whole."""
    return name.endswith("Part")


def _types(operations: list[tuple[str, str, Schema]]) -> str:
    lines = ["/** What each operation takes and answers. */", "export interface Operations {"]
    for _, _, operation in operations:
        lines += [
            f"  /** {operation['summary']}. */",
            f"  {operation['operationId']}: {{",
            f"    parts: {_parameters(operation, 'path')};",
            f"    query: {_parameters(operation, 'query')};",
            f"    body: {_body(operation)};",
            f"    answer: {_answer(operation)};",
            "  };",
        ]
    return "\n".join([*lines, "}", ""])


def _parameters(operation: Schema, place: str) -> str:
    found = [each for each in operation["parameters"] if each["in"] == place]
    if not found:
        return "object"
    inside = "; ".join(
        f"{_key(each['name'])}{'' if each.get('required') else '?'}: {_type(each['schema'], '')}"
        for each in found
    )
    return f"{{ {inside} }}"


def _body(operation: Schema) -> str:
    body = operation.get("requestBody")
    if body is None:
        return "undefined"
    kind = _type(body["content"]["application/json"]["schema"], "    ")
    return kind if body["required"] else f"{kind} | undefined"


def _answer(operation: Schema) -> str:
    good = next(told for status, told in operation["responses"].items() if status.startswith("2"))
    for kind, content in good.get("content", {}).items():
        return _type(content["schema"], "    ") if kind == "application/json" else "string"
    return "undefined"


def _table(operations: list[tuple[str, str, Schema]]) -> str:
    lines = ["/** Where each operation is. */", "export const OPERATIONS = {"]
    lines += [
        f"  {operation['operationId']}: [{json.dumps(method.upper())}, {json.dumps(path)}],"
        for method, path, operation in operations
    ]
    lines += [
        "} as const satisfies Record<keyof Operations, readonly [string, string]>;",
        "",
    ]
    return "\n".join(lines)


def _comment(text: str | None, indent: str) -> str:
    if not text:
        return ""
    words = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {words} */\n"


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name)
