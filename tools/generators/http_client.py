"""`src/mainspring/http/client.py`: a method for each route, and `models.py`, the structs of bodies.

What a route takes becomes keyword arguments: the parts of its path by place, then the fields of its
query and its body. What it answers is the method's type.
"""

from __future__ import annotations

import enum
import keyword
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union

import msgspec
from msgspec import NODEFAULT, UNSET

from mainspring.api.catalogue import RESOURCES
from mainspring.api.routes import Resource, Route
from mainspring.domain.pages import Page
from mainspring.domain.roles import Role
from tools.generators.python_text import formatted

_PREFIX = "/api/v1"
_SERVER = "mainspring.api"
_MODELS = "mainspring.http.models"

_HEAD = '''\
# Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""The client over HTTP: a method for each route of the server."""

from __future__ import annotations

'''
_MODELS_HEAD = '''\
# Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""Structs that only bodies and answers of the server have."""

from __future__ import annotations

'''
_CLIENT = '''

class HttpClient:
    """All that the server can do, for one event loop; without one there is `SyncHttpClient`.

    Without `url` the server is that of MAINSPRING_URL, and without `token` the caller is known by
    MAINSPRING_TOKEN. What got lost on the way is asked again, for `patience_seconds`, where that
    cannot do it twice; a POST gets an Idempotency-Key for that.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: Transport | None = None,
        patience_seconds: float = 30.0,
    ) -> None:
        if transport is None:
            place = server_place(url, token)
            transport, token = Sockets(checked_url(place.url)), place.token
        self._asker = Asker(transport, token, patience_seconds)
{members}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._asker.close()
'''


@cache
def render() -> str:
    shown = Words()
    classes = []
    members = []
    for resource in RESOURCES:
        methods = list(_methods(resource))
        if not methods:
            continue
        name = _class_name(resource.tag)
        texts = "\n".join(_method_text(method, shown) for method in methods)
        classes.append(
            f'\n\nclass {name}:\n    """{resource.about}"""\n\n'
            "    def __init__(self, asker: Asker) -> None:\n        self._asker = asker\n\n"
            + textwrap.indent(texts, "    ")
        )
        members.append(f"        self.{_attribute(resource.tag)} = {name}(self._asker)")
    text = "".join(classes) + _CLIENT.format(members="\n".join(members))
    imports = (
        "from collections.abc import AsyncIterator, Mapping, Sequence\n"
        "from datetime import date, datetime\n"
        "from types import TracebackType\n"
        "from typing import TYPE_CHECKING, Any, Literal, Self\n"
        "from msgspec import UNSET, UnsetType\n"
        "from mainspring.config import server_place\n"
        "from mainspring.domain.pages import Page\n"
        "from mainspring.http.asking import Asker, Sockets, Transport\n"
        "from mainspring.http.later import Later\n"
        "from mainspring.http.requests import Reply, body, checked_url, encode, given\n"
        "from mainspring.http.requests import range_header, target, version_header\n"
    )
    return formatted(_HEAD + imports + shown.later_imports() + text)


@cache
def render_models() -> str:
    shown = Words()
    classes = [_struct_text(kind, shown) for kind in _server_structs()]
    imports = (
        "from datetime import datetime\nfrom typing import Any, Literal\n"
        "import msgspec\nfrom msgspec import UNSET, UnsetType\n"
    )
    found = shown.imports().replace(f"from {_MODELS.rpartition('.')[0]} import models\n", "")
    text = "".join(classes).replace("models.", "")
    return formatted(_MODELS_HEAD + imports + found + text)


# --- methods --------------------------------------------------------------------------------


class Method(NamedTuple):
    name: str
    route: Route


class Argument(NamedTuple):
    name: str
    sent: str
    """What it is called in the request."""
    kind: str
    default: str | None
    value: str
    """What is sent for it."""


def _methods(resource: Resource) -> Iterator[Method]:
    names: set[str] = set()
    for route in resource.routes:
        if not _is_for_callers(route):
            continue
        name = _method_name(route, resource.tag)
        if name in names:
            name = route.name
        assert name not in names, f"two routes of {resource.tag} are called {name}"
        names.add(name)
        yield Method(name, route)


def _is_for_callers(route: Route) -> bool:
    """Pages are for browsers, streams are read in another way, workers have a protocol."""
    return (
        route.path.startswith(_PREFIX)
        and route.produces in ("application/json", "text/plain")
        and (route.answer is not None or bool(route.parts))
        and route.needs is not Role.WORKER
    )


def _method_name(route: Route, tag: str) -> str:
    """`list_runs` of `runs` is `list`, `list_dag_versions` of `dags` is `list_versions`."""
    plural = tag.replace("-", "_")
    own = {plural, plural.removesuffix("s")}
    text = route.name
    for word in sorted(own, key=len, reverse=True):
        text = re.sub(rf"_{word}(?=_|$)", "", text, count=1)
    text = text.removesuffix("_of")
    return text + "_" if keyword.iskeyword(text) else text


def _method_text(method: Method, shown: Words) -> str:
    route = method.route
    parts = [Argument(name, name, shown.of(kind), None, name) for name, kind in route.parts.items()]
    # `fields` is left out: what is told of some fields is no whole item.
    query = [
        _in_query(field, shown)
        for field in (() if route.query is None else _fields(route.query))
        if field.name != "fields"
    ]
    sent = _in_body(route.body, shown)
    headers = _headers(route)
    named = [*query, *sent, *headers]
    names = [each.name for each in (*parts, *named)]
    assert len(set(names)) == len(names), f"{route.name}: {names}"
    answer = "Reply" if route.answer is None else shown.of(route.answer)
    text = _signature(method.name, parts, named, answer) + _doc(route)
    where = f'target("{route.path}", {_dict(parts)}, {_dict(query)})'
    more = []
    if route.body is not None:
        content = f"body({_dict(sent)})" if _is_struct(route.body) else "encode(document)"
        more.append(f"content={content}")
    if headers:
        more.append(f"headers={_dict(headers)}")
    if route.once:
        more.append("once=True")
    rest = "".join(f", {each}" for each in more)
    if route.answer is None:
        text += f'    return await self._asker.reply("{route.method}", {where}{rest})\n'
    elif answer == "None":
        text += f'    await self._asker.reply("{route.method}", {where}{rest})\n'
    else:
        text += f'    return await self._asker.ask("{route.method}", {where}, {answer}{rest})\n'
    if typing.get_origin(route.answer) is Page and any(each.name == "cursor" for each in query):
        text += _each_text(method, parts, [each for each in named if each.name != "cursor"], shown)
    return text


def _each_text(
    method: Method, parts: Sequence[Argument], named: Sequence[Argument], shown: Words
) -> str:
    """All items of a list, page after page."""
    [item] = typing.get_args(method.route.answer)
    each = method.name.replace("list", "each", 1).removesuffix("s")
    if not method.name.startswith("list"):
        each = f"each_of_{method.name}"
    handed = [each.name for each in parts] + [f"{each.name}={each.name}" for each in named]
    return (
        "\n"
        + _signature(each, parts, named, f"AsyncIterator[{shown.of(item)}]")
        + f'    """As `{method.name}`, all of them; `limit`: how many are asked for at a time."""\n'
        + "    cursor: str | None = None\n"
        + "    while True:\n"
        + f"        page = await self.{method.name}({', '.join([*handed, 'cursor=cursor'])})\n"
        + "        for item in page.items:\n"
        + "            yield item\n"
        + "        if page.next is None:\n"
        + "            return\n"
        + "        cursor = page.next\n"
    )


def _signature(name: str, parts: Sequence[Argument], named: Sequence[Argument], answer: str) -> str:
    # Those without a default first: who reads the signature sees what is needed.
    ordered = sorted(named, key=lambda each: each.default is not None)
    told = ["self", *(f"{each.name}: {each.kind}" for each in parts)]
    if parts:
        told.append("/")
    if ordered:
        told.append("*")
    told += [
        f"{each.name}: {each.kind}" + ("" if each.default is None else f" = {each.default}")
        for each in ordered
    ]
    return f"async def {name}({', '.join(told)}) -> {answer}:\n"


def _doc(route: Route) -> str:
    # A docstring that is one line keeps its three quotes on it.
    lines = textwrap.wrap(f'"""{route.summary}.', 88, break_long_words=False)
    if route.description:
        for paragraph in route.description.split("\n\n"):
            lines += ["", *textwrap.wrap(paragraph, 88, break_long_words=False)]
    if len(lines) == 1:
        lines[0] += '"""'
    else:
        lines.append('"""')
    return textwrap.indent("\n".join(lines) + "\n", "    ").replace("\\", "\\\\")


def _in_query(field: msgspec.structs.FieldInfo, shown: Words) -> Argument:
    """What has a default may be None: then nothing is said of it."""
    kind = shown.of(field.type, taken=True)
    if field.required:
        return Argument(field.name, field.encode_name, kind, None, field.name)
    if "None" not in kind.split(" | "):
        kind += " | None"
    return Argument(field.name, field.encode_name, kind, "None", field.name)


def _in_body(kind: Any, shown: Words) -> list[Argument]:
    if kind is None:
        return []
    if not _is_struct(kind):
        return [Argument("document", "", shown.of(kind, taken=True), None, "document")]
    return [_body_field(field, shown) for field in _fields(kind)]


def _body_field(field: msgspec.structs.FieldInfo, shown: Words) -> Argument:
    """None stands for null where the server tells null from nothing, and for nothing elsewhere."""
    kind, name = shown.of(field.type, taken=True), field.name
    if field.required:
        return Argument(name, field.encode_name, kind, None, name)
    default = field.default if field.default is not NODEFAULT else UNSET
    if default is None:
        return Argument(name, field.encode_name, kind, "None", f"given({name})")
    if isinstance(default, (bool, int, float, str)) and not isinstance(default, enum.Enum):
        return Argument(name, field.encode_name, kind, repr(default), name)
    if "UnsetType" not in kind.split(" | "):
        kind += " | UnsetType"
    return Argument(name, field.encode_name, kind, "UNSET", name)


def _headers(route: Route) -> list[Argument]:
    found = []
    if 412 in route.refusals:
        found.append(
            Argument(
                "if_match",
                "If-Match",
                "int | None",
                "None",
                "None if if_match is None else version_header(if_match)",
            )
        )
    if route.method == "POST":
        found.append(
            Argument("idempotency_key", "Idempotency-Key", "str | None", "None", "idempotency_key")
        )
    if 416 in route.refusals:
        found.append(
            Argument(
                "byte_range",
                "Range",
                "tuple[int, int | None] | None",
                "None",
                "None if byte_range is None else range_header(byte_range)",
            )
        )
    return found


def _dict(arguments: Sequence[Argument]) -> str:
    return "{" + ", ".join(f'"{each.sent}": {each.value}' for each in arguments) + "}"


def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _class_name(tag: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[-_ ]", tag))


def _attribute(tag: str) -> str:
    return re.sub(r"[- ]", "_", tag)


# --- structs --------------------------------------------------------------------------------


def _server_structs() -> list[type[msgspec.Struct]]:
    """Those of the server's own that are inside of bodies, or answers; inner ones first."""
    found: list[type[msgspec.Struct]] = []

    def look(kind: Any) -> None:
        if _is_struct(kind):
            if kind in found or not kind.__module__.startswith(_SERVER):
                return
            for field in _fields(kind):
                look(field.type)
            found.append(kind)
            return
        for inner in typing.get_args(kind):
            look(inner)

    for resource in RESOURCES:
        for _, route in _methods(resource):
            if _is_struct(route.body):
                for field in _fields(route.body):
                    look(field.type)
            elif route.body is not None:
                look(route.body)
            look(route.answer)
    return found


def _struct_text(kind: type[msgspec.Struct], shown: Words) -> str:
    renamed = any(field.name != field.encode_name for field in _fields(kind))
    assert not renamed, f"{kind.__name__}: fields that are called otherwise are not written yet"
    lines = [
        f"\n\nclass {kind.__name__}(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):"
    ]
    lines += [f'    """{(kind.__doc__ or "").strip()}"""', ""] if kind.__doc__ else []
    for field in _fields(kind):
        told = f"    {field.name}: {shown.of(field.type)}"
        if not field.required:
            told += f" = {_default(field, shown)}"
        lines.append(told)
    return "\n".join(lines) + "\n"


def _default(field: msgspec.structs.FieldInfo, shown: Words) -> str:
    if field.default is UNSET:
        return "UNSET"
    if isinstance(field.default, enum.Enum):
        return f"{shown.of(type(field.default))}.{field.default.name}"
    if field.default is not NODEFAULT:
        return repr(field.default)
    made = field.default_factory()
    assert made in ([], {}, ()), f"{field.name}: {made!r}"
    return repr(made)


# --- types ----------------------------------------------------------------------------------


class Words:
    """Types as they are written, and what has to be imported for that."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}

    def of(self, kind: Any, *, taken: bool = False) -> str:
        """`taken`: of an argument, which may be any sequence or mapping."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is Annotated:
            return self.of(arguments[0], taken=taken)
        if origin in (Union, types.UnionType):
            told = dict.fromkeys(self.of(each, taken=taken) for each in arguments)
            return " | ".join(sorted(told, key=lambda each: each in ("None", "UnsetType")))
        if origin is Literal:
            return f"Literal[{', '.join(map(repr, arguments))}]"
        if origin is Page:
            return f"Page[{self.of(arguments[0])}]"
        if origin is not None:
            inner = ", ".join(self.of(each, taken=taken) for each in arguments)
            name = {list: "Sequence", dict: "Mapping"}.get(origin) if taken else origin.__name__
            return f"{name}[{inner}]"
        return self._plain(kind)

    def imports(self) -> str:
        lines = []
        for module, name in sorted(self._modules.items()):
            package, _, last = module.rpartition(".")
            alias = "" if last == name else f" as {name}"
            lines.append(f"from {package} import {last}{alias}\n")
        return "".join(lines)

    def later_imports(self) -> str:
        """As `imports`, but loaded when they are first used."""
        stand_ins = [f"{name} = Later({module!r})\n" for module, name in self._modules.items()]
        return (
            "if TYPE_CHECKING:\n"
            + textwrap.indent(self.imports(), "    ")
            + "else:\n"
            + textwrap.indent("".join(sorted(stand_ins)), "    ")
        )

    def _plain(self, kind: Any) -> str:
        if kind in (None, types.NoneType):
            return "None"
        if kind is Any:
            return "Any"
        if kind is ...:
            return "..."
        module = kind.__module__
        if module in ("builtins", "datetime"):
            return str(kind.__name__)
        if module.startswith("msgspec"):
            return "UnsetType" if kind is msgspec.UnsetType else f"msgspec.{kind.__name__}"
        if module.startswith(_SERVER):
            module = _MODELS
        assert module.startswith("mainspring."), kind
        return f"{self._named(module)}.{kind.__name__}"

    def _named(self, module: str) -> str:
        """The module's last name, or its last two if another one is called so."""
        if module not in self._modules:
            package, _, last = module.rpartition(".")
            taken = last in self._modules.values()
            self._modules[module] = f"{package.rpartition('.')[2]}_{last}" if taken else last
        return self._modules[module]
