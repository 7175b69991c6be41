"""A run's parameters: from an author's annotation to JSON Schema, and from there to a check.

The schema is made where the author's code is at hand (`parameter_spec`). The check happens
at the trigger, where only the stored spec is (`validate_parameters`): the schema is turned back
into a type that msgspec can check in one pass. The subset of JSON Schema that msgspec writes is
understood; anything else in a schema is let through, since the task's own annotations are
checked again when it runs.

Values stay JSON data here. A date is checked to be one and stays text; the host child that
calls the task makes the `date`.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import types
import typing
from collections import abc
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, ForwardRef, Literal, TypedDict, Union, get_args, get_origin
from uuid import UUID

import msgspec

from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import closest, listed, shown
from mainspring.domain.payloads import encode_json
from mainspring.domain.specs import DagSpec, ParameterSpec

Schema = dict[str, Any]


# --- at the author's: annotation → schema --------------------------------------------------


def parameter_spec(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> ParameterSpec:
    """One parameter as plain data; its default is checked against its type."""
    schema = schema_of(annotation, what=f"parameter {shown(name)}")
    if default is inspect.Parameter.empty:
        return ParameterSpec(name=name, schema=schema)
    try:
        encoded = encode_json({name: default}, what=f"the default of parameter {shown(name)}")
    except InputError as error:
        raise DefinitionError(error.message, hint=error.hint) from None
    spec = ParameterSpec(
        name=name, schema=schema, required=False, default=msgspec.json.decode(encoded)[name]
    )
    try:
        _check((spec,), encoded)
    except InputError as error:
        hint = "annotate it `… | None`" if default is None else error.hint
        raise DefinitionError(f"the default of {error.message}", hint=hint) from None
    return spec


def schema_of(annotation: Any, *, what: str = "parameter") -> Schema:
    """JSON Schema of a type; empty for no annotation, which takes anything."""
    return portable(annotation, what=what)[1]


def portable(annotation: Any, *, what: str) -> tuple[Any, Schema]:
    """A type that JSON data can be checked against, and its schema; DefinitionError if none can."""
    if annotation in (inspect.Parameter.empty, Any, object):
        return Any, {}
    try:
        normal = _normal(annotation)
        return normal, msgspec.json.schema(normal)
    except Exception as error:  # a type of the author's may raise anything on inspection
        reason = str(error).strip().splitlines()[-1] if str(error) else type(error).__name__
        raise DefinitionError(
            f"{what}: the type `{inspect.formatannotation(annotation)}` cannot be used: {reason}",
            hint="use JSON types, dates, UUID, Decimal, Enum, Literal, dataclasses, TypedDict or "
            "msgspec structs; or leave the annotation away to take anything",
        ) from None


def _normal(annotation: Any) -> Any:
    """The same type in the words that msgspec knows.

    Naive dates and times get the `format` that msgspec leaves out, without which the trigger
    would take any text; `Iterable` and `Collection`, which it does not know, become lists.
    """
    if annotation is object:
        return Any
    if annotation is datetime:
        return Annotated[datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]
    if annotation is time:
        return Annotated[time, msgspec.Meta(extra_json_schema={"format": "time"})]
    if annotation in (abc.Iterable, abc.Collection, typing.Iterable, typing.Collection):
        return list
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (None, Literal, Annotated) or not arguments:
        return annotation
    changed = tuple(_normal(argument) for argument in arguments)
    if origin in (abc.Iterable, abc.Collection):
        return list[changed]  # type: ignore[valid-type]
    if changed == arguments:
        return annotation
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007
    return origin[changed]


# --- at the trigger: schema → check --------------------------------------------------------


def validate_parameters(spec: DagSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """The run's parameters as JSON data, defaults filled in; InputError says what is wrong."""
    decoded: dict[str, Any] = msgspec.json.decode(ParameterCheck(spec).encode(given))
    return decoded


class ParameterCheck:
    """The check of one dag's parameters, for callers that make many runs of it."""

    def __init__(self, spec: DagSpec) -> None:
        self._spec = spec
        self._known = frozenset(parameter.name for parameter in spec.parameters)
        self._required = frozenset(p.name for p in spec.parameters if p.required)
        self._defaults = {parameter.name: parameter.default for parameter in spec.parameters}
        self._decode = _decoder(msgspec.json.encode(spec.parameters)).decode

    def encode(self, given: Mapping[str, Any]) -> bytes:
        """The run's parameters as JSON, defaults filled in; InputError says what is wrong."""
        if not isinstance(given, Mapping):
            raise InputError(f"parameters are a mapping of names to values, got `{_kind(given)}`")
        names = given.keys()
        if not self._required <= names <= self._known:
            _check_names(self._spec, given)
        # With the defaults, since the limit holds for what is stored.
        encoded = encode_json({**self._defaults, **given}, what="the parameters")
        try:
            self._decode(encoded)
        except msgspec.ValidationError as error:
            raise _explained(error, self._spec.parameters) from None
        return encoded


def parse_cli_value(spec: DagSpec, name: str, text: str) -> Any:
    """The value that `-p name=text` means: JSON where the type wants it, else the text itself."""
    for parameter in spec.parameters:
        if parameter.name == name:
            break
    else:
        raise _unknown(spec, [name])
    wanted = _kinds(parameter.schema, parameter.schema.get("$defs", {}), frozenset())
    if wanted == {"string"}:
        return text
    try:
        value = msgspec.json.decode(_PYTHON_WORDS.get(text, text))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        if "string" in wanted:
            return text
        raise InputError(
            f"parameter {shown(name)}: expected {_told(wanted)}, got {shown(text)}",
            hint="write lists and objects as JSON, in quotes for the shell: -p 'ids=[1, 2]'",
        ) from None
    kind = _JSON_KINDS[type(value)]
    fits = kind in wanted or (kind == "integer" and "number" in wanted)
    # A text that happens to look like JSON of a kind that is not wanted, such as 123, is a text.
    return text if "string" in wanted and not fits else value


def _check_names(spec: DagSpec, given: Mapping[str, Any]) -> None:
    known = {parameter.name for parameter in spec.parameters}
    if unknown := [name for name in given if name not in known]:
        raise _unknown(spec, unknown)
    missing = [p.name for p in spec.parameters if p.required and p.name not in given]
    if missing:
        raise InputError(
            f"dag {shown(spec.name)} needs the parameter{'s'[: len(missing) > 1]} {listed(missing)}"
        )


def _unknown(spec: DagSpec, names: list[Any]) -> InputError:
    known = [parameter.name for parameter in spec.parameters]
    if not known:
        return InputError(f"dag {shown(spec.name)} takes no parameters, got {listed(names)}")
    return InputError(
        f"dag {shown(spec.name)} has no parameter {listed(names)}",
        hint=closest(str(names[0]), known),
    )


def _check(parameters: tuple[ParameterSpec, ...], encoded: bytes) -> None:
    decoder = _decoder(msgspec.json.encode(parameters))
    try:
        decoder.decode(encoded)
    except msgspec.ValidationError as error:
        raise _explained(error, parameters) from None


def _explained(error: msgspec.ValidationError, parameters: tuple[ParameterSpec, ...]) -> InputError:
    path, reason = what_is_wrong(error)
    schema = next((p.schema for p in parameters if p.name == path), {})
    choices = _resolved(schema, schema.get("$defs", {})).get("enum")
    return InputError(
        f"parameter `{path}`: {reason}",
        hint=f"one of {listed(map(str, choices))}" if choices else "",
    )


def what_is_wrong(error: msgspec.ValidationError) -> tuple[str, str]:
    """Where, without the leading `$.`, and why: (`days`, "expected `int`, got `str`")."""
    reason, place = str(error), ""
    if found := _PLACE.search(reason):
        reason, place = reason[: found.start()], found[1]
    return place, reason[0].lower() + reason[1:]


_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$", re.DOTALL)


# --- JSON Schema → msgspec type ------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _decoder(encoded_parameters: bytes) -> msgspec.json.Decoder[Any]:
    parameters = msgspec.json.decode(encoded_parameters, type=tuple[ParameterSpec, ...])
    fields: dict[str, Any] = {}
    for parameter in parameters:
        kind = _Types(parameter.schema.get("$defs", {})).of(parameter.schema)
        try:
            msgspec.json.Decoder(kind)
        except TypeError:
            kind = Any  # a schema that msgspec did not write; see the head of this module
        fields[parameter.name] = kind
    make: Any = TypedDict  # mypy knows the call with a literal only
    return msgspec.json.Decoder(make("Parameters", fields, total=False))


_BY_FORMAT: dict[str, Any] = {
    "date": date,
    "date-time": datetime,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "decimal": Decimal,
}
_BY_TYPE: dict[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": None,
}
_BOUNDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "pattern": "pattern",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minProperties": "min_length",
    "maxProperties": "max_length",
}


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The schema itself, or the definition that it refers to."""
    if "$ref" not in schema:
        return schema
    return definitions.get(schema["$ref"].rpartition("/")[2], {})


class _Types:
    """Builds types for one schema; `$defs` may refer to themselves."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self.definitions = definitions
        self.built: dict[str, Any] = {}
        self.building: set[str] = set()

    def of(self, schema: Schema) -> Any:
        if "$ref" in schema:
            return self.referred(schema["$ref"])
        if "anyOf" in schema:
            return self.union(schema)
        if "enum" in schema:
            return self.choice(schema["enum"])
        match schema.get("type"):
            case "string":
                return _bounded(self.text(schema), schema)
            case "array":
                return self.array(schema)
            case "object":
                return self.object(schema)
            case ("integer" | "number" | "boolean" | "null") as simple:
                return _bounded(_BY_TYPE[simple], schema)
            case _:
                return Any

    def referred(self, reference: str) -> Any:
        name = reference.rpartition("/")[2]
        if name in self.built:
            return self.built[name]
        if name in self.building:
            # Evaluated by msgspec at first use, when the type has been built; see `struct`.
            return ForwardRef(f"_built[{name!r}]")
        if name not in self.definitions:
            return Any
        self.building.add(name)
        self.built[name] = self.of(self.definitions[name])
        return self.built[name]

    def union(self, schema: Schema) -> Any:
        discriminator = schema.get("discriminator")
        if discriminator is None:
            return _either([self.of(item) for item in schema["anyOf"]])
        # The properties of a tagged struct hold its tag; the rest of `anyOf` is plain.
        field = discriminator["propertyName"]
        tagged = [
            self.struct(self.definitions[reference.rpartition("/")[2]], tag=(field, tag))
            for tag, reference in discriminator["mapping"].items()
        ]
        plain = [self.of(item) for item in schema["anyOf"] if "$ref" not in item]
        return _either(tagged + plain)

    def choice(self, values: list[Any]) -> Any:
        if all(value is None or type(value) in (str, int) for value in values):
            return Literal[tuple(values)]
        return bool if all(type(value) is bool for value in values) else Any

    def text(self, schema: Schema) -> Any:
        if schema.get("contentEncoding") == "base64":
            return bytes
        return _BY_FORMAT.get(schema.get("format", ""), str)

    def array(self, schema: Schema) -> Any:
        if "prefixItems" not in schema:
            return _bounded(list[self.of(schema.get("items", {}))], schema)  # type: ignore[misc]
        items = [self.of(item) for item in schema["prefixItems"]]
        required = schema.get("minItems", 0)
        if required == schema.get("maxItems") == len(items):
            return tuple[tuple(items)]  # type: ignore[misc]
        return self.make(items, required=range(required), array_like=True)

    def object(self, schema: Schema) -> Any:
        if "properties" in schema:
            return self.struct(schema)
        values = self.of(schema.get("additionalProperties") or {})
        keys = _bounded(str, schema.get("propertyNames") or {})
        return _bounded(dict[keys, values], schema)  # type: ignore[valid-type]

    def struct(self, schema: Schema, tag: tuple[str, Any] | None = None) -> Any:
        properties = {
            name: self.of(property)
            for name, property in schema["properties"].items()
            if tag is None or name != tag[0]
        }
        required = set(schema.get("required", ()))
        return self.make(
            list(properties.values()),
            required=[number for number, name in enumerate(properties) if name in required],
            rename={f"f{number}": name for number, name in enumerate(properties)},
            forbid_unknown_fields=schema.get("additionalProperties") is False,
            tag_field=tag and tag[0],
            tag=tag and tag[1],
        )

    def make(self, items: list[Any], *, required: Any, **options: Any) -> Any:
        fields: list[Any] = [
            (f"f{number}", item, msgspec.NODEFAULT)
            if number in required
            else (f"f{number}", item | msgspec.UnsetType if item is not Any else Any, msgspec.UNSET)
            for number, item in enumerate(items)
        ]
        return msgspec.defstruct(
            "object",
            fields,
            kw_only=not options.get("array_like"),
            namespace={"_built": self.built},
            **options,
        )


def _either(kinds: list[Any]) -> Any:
    return Union[tuple(kinds)]  # noqa: UP007


def _bounded(kind: Any, schema: Schema) -> Any:
    bounds = {_BOUNDS[key]: value for key, value in schema.items() if key in _BOUNDS}
    return Annotated[kind, msgspec.Meta(**bounds)] if bounds else kind


# --- the kinds of JSON value that a schema admits, for the command line ----------------------

_JSON_KINDS: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}
_EVERY_KIND = frozenset(_JSON_KINDS.values())
_SHORT = {"integer": "int", "number": "float", "boolean": "bool"}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


def _kinds(
    schema: Schema, definitions: Mapping[str, Schema], seen: frozenset[str]
) -> frozenset[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in seen or name not in definitions:
            return _EVERY_KIND
        return _kinds(definitions[name], definitions, seen | {name})
    if "anyOf" in schema:
        parts = (_kinds(item, definitions, seen) for item in schema["anyOf"])
        return functools.reduce(operator.or_, parts, frozenset[str]())
    if "enum" in schema:
        return frozenset(_JSON_KINDS.get(type(value), "string") for value in schema["enum"])
    return frozenset({schema["type"]}) if schema.get("type") in _EVERY_KIND else _EVERY_KIND


def _told(kinds: frozenset[str]) -> str:
    return " or ".join(f"`{_SHORT.get(kind, kind)}`" for kind in sorted(kinds))


def _kind(value: object) -> str:
    return type(value).__name__
