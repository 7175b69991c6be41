"""The OpenAPI 3.1 document, generated from the routes."""

from __future__ import annotations

import re
import typing
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from mainspring.api.guard import COOKIE
from mainspring.api.preconditions import TAG_PATTERN
from mainspring.api.problems import CONTENT_TYPE, TITLES, Problem
from mainspring.api.repeating import KEY_LENGTH_MAX, KEY_PATTERN
from mainspring.api.routes import Resource, Route, refusals_of
from mainspring.api.samples import sample

_SCHEMAS = "#/components/schemas/"
Schema = dict[str, Any]


def document(resources: Sequence[Resource]) -> Schema:
    routes = [route for resource in resources for route in resource.routes]
    kinds = _kinds_of(routes)
    schemas, components = msgspec.json.schema_components(
        kinds, schema_hook=_any, ref_template=_SCHEMAS + "{name}"
    )
    schema_of = dict(zip(map(_key, kinds), schemas, strict=True))
    paths: Schema = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Mainspring",
            "version": _version(),
            "description": "One engine for cron, DAGs and durable jobs. Everything that the command"
            " line can do, over HTTP.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": each.tag, "description": each.about} for each in resources],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, **_partial(routes, schema_of, components)},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`mainspring token create` makes one.",
                },
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }
    # msgspec calls a page of runs `Page_Run_`.
    text = re.sub(rb"\bPage_(\w+?)_(Part)?\b", rb"\1Page\2", msgspec.json.encode(made))
    found: Schema = msgspec.json.decode(text)
    return found


def _kinds_of(routes: Sequence[Route]) -> list[Any]:
    found: dict[str, Any] = {_key(Problem): Problem}
    for route in routes:
        told = (route.body, route.answer, *route.events.values())
        for kind in (*told, *route.parts.values(), *_query_types(route)):
            if kind is not None:
                found[_key(kind)] = kind
    return list(found.values())


def _query_types(route: Route) -> list[Any]:
    if route.query is None:
        return []
    return [field.type for field in msgspec.structs.fields(route.query)]


def _operation(route: Route, schema_of: dict[str, Schema]) -> Schema:
    operation: Schema = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": _parameters(route, schema_of),
        "responses": {
            str(route.status): _answer(route, schema_of),
            **{str(status): _problem(status, schema_of) for status in refusals_of(route)},
        },
    }
    if route.method == "GET" and route.status == 200 and not route.goes_on:
        operation["responses"]["304"] = {"description": "You have it already: see `If-None-Match`"}
    if 416 in route.refusals:
        operation["responses"]["206"] = _answer(route, schema_of)
    if route.description:
        operation["description"] = route.description
    if route.needs is None:
        operation["security"] = []
    else:
        operation["security"] = [{"token": []}, {"session": []}]
        operation["x-role"] = route.needs.value
    if route.body is not None:
        operation["requestBody"] = {
            "required": not _may_be_empty(route.body),
            "content": {
                "application/json": {
                    "schema": {**schema_of[_key(route.body)], **route.body_rule},
                    "example": route.example.body or {},
                }
            },
        }
    return operation


def _parameters(route: Route, schema_of: dict[str, Schema]) -> list[Schema]:
    found: list[Schema] = []
    for name, kind in route.parts.items():
        schema = dict(schema_of[_key(kind)])
        found.append(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": schema.pop("description", name),
                "schema": schema,
                "example": _as_typed(route.example.path.get(name, ""), schema),
            }
        )
    if route.query is not None:
        for field in msgspec.structs.fields(route.query):
            schema = _without_null(schema_of[_key(field.type)])
            if field.name == "fields":
                schema |= {"pattern": _names_of_fields(route)}
            parameter: Schema = {
                "name": field.encode_name,
                "in": "query",
                "required": field.required,
                "description": _description(schema) or field.name,
                "schema": schema,
            }
            if field.name in route.example.query:
                value = _as_typed(route.example.query[field.name], schema)
                parameter["example"] = [value] if schema.get("type") == "array" else value
            found.append(parameter)
    if route.method == "POST" and route.needs is not None:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Sent again with the same key and body, it has one effect.",
                "schema": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": KEY_LENGTH_MAX,
                    "pattern": KEY_PATTERN,
                },
            }
        )
    if route.goes_on:
        found.append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": "The id of the last event that was seen: what came since is told.",
                "schema": {"type": "string"},
            }
        )
    if route.method in ("PUT", "PATCH") and route.versioned:
        found.append(
            {
                "name": "If-Match",
                "in": "header",
                "required": False,
                "description": "Only if this version is in force: its number, or the `ETag`.",
                "schema": {"type": "string", "pattern": rf"^(?:\*|{TAG_PATTERN})$"},
                "example": '"3"',
            }
        )
    if route.method == "PUT" and route.versioned:
        found.append(
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "description": "`*`: only if there is none.",
                "schema": {"type": "string", "enum": ["*"]},
            }
        )
    return found


def _answer(route: Route, schema_of: dict[str, Schema]) -> Schema:
    answer: Schema = {"description": route.summary}
    if route.status == 204:
        return answer
    if route.answer is None:
        whole = route.produces.endswith("json") or route.goes_on
        schema: Schema = {"type": "object" if whole else "string"}
        answer["content"] = {route.produces: {"schema": schema}}
        if route.events:
            # OpenAPI 3.1 has no words for what a stream holds: what is in `data`, by `event`.
            answer["content"][route.produces]["x-events"] = {
                name: schema_of[_key(kind)] for name, kind in route.events.items()
            }
        return answer
    schema = schema_of[_key(route.answer)]
    if _has_fields(route):
        whole = schema["$ref"]
        schema = {"anyOf": [schema, {"$ref": f"{whole}Part"}]}
    answer["content"] = {"application/json": {"schema": schema, "example": sample(route.answer)}}
    return answer


def _problem(status: int, schema_of: dict[str, Schema]) -> Schema:
    example = {**sample(Problem), "status": status, "title": TITLES[status]}
    return {
        "description": TITLES[status],
        "content": {CONTENT_TYPE: {"schema": schema_of[_key(Problem)], "example": example}},
    }


def _partial(routes: Sequence[Route], schema_of: dict[str, Schema], components: Schema) -> Schema:
    """Pages, items and documents of which a caller wanted some fields only."""
    made: Schema = {}
    for route in routes:
        if _has_fields(route):
            name = schema_of[_key(route.answer)]["$ref"].removeprefix(_SCHEMAS)
            schema = components[name]
            if "items" not in schema["properties"]:
                made[f"{name}Part"] = _part(name, schema)
                continue
            items = schema["properties"]["items"]["items"]["$ref"].removeprefix(_SCHEMAS)
            made[f"{items}Part"] = _part(items, components[items])
            made[f"{name}Part"] = {
                "title": f"{name}Part",
                "type": "object",
                "properties": {
                    **schema["properties"],
                    "items": {"type": "array", "items": {"$ref": f"{_SCHEMAS}{items}Part"}},
                },
                "required": ["items"],
            }
    return made


def _part(name: str, schema: Schema) -> Schema:
    """The same, with nothing that has to be there."""
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "title": f"{name}Part"}


def _names_of_fields(route: Route) -> str:
    """Names of what is answered, or of each item on a page, with commas."""
    kind = next(iter(typing.get_args(route.answer)), route.answer)
    name = f"(?:{'|'.join(kind.__struct_encode_fields__)})"
    return f"^{name}(?:,{name})*$"


def _has_fields(route: Route) -> bool:
    return route.query is not None and "fields" in route.query.__struct_fields__


def _any(kind: type) -> Schema:
    """What msgspec has no schema for is JSON as somebody gave it."""
    assert kind is msgspec.Raw, kind
    return {}


def _key(kind: Any) -> str:
    return repr(kind)


def _may_be_empty(kind: Any) -> bool:
    return all(not field.required for field in msgspec.structs.fields(kind))


def _without_null(schema: Schema) -> Schema:
    """A parameter of a query is there or not; it is never null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return dict(kinds[0]) if len(kinds) == 1 else dict(schema)


def _description(schema: Schema) -> str:
    if "description" in schema:
        return str(schema["description"])
    for each in schema.get("anyOf", ()):
        if "description" in each:
            return str(each["description"])
    return ""


def description_of(kind: Any) -> str:
    """What is said of a parameter of this type."""
    return _description(msgspec.json.schema(kind, schema_hook=_any))


def _as_typed(text: str, schema: Schema) -> Any:
    kinds = {schema.get("type"), *(each.get("type") for each in schema.get("anyOf", ()))}
    return int(text) if "integer" in kinds and re.fullmatch(r"\d+", text) else text


def _version() -> str:
    try:
        return version("mainspring")
    except PackageNotFoundError:
        return "unknown"
