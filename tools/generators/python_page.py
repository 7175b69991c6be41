"""`docs/reference/python.md`: the public names, from their definitions and docstrings.

They are read as text and not as objects: a signature then looks as it was written, whatever the
release of Python that runs this.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

MODULES = (
    "mainspring",
    "mainspring.operators",
    "mainspring.testing",
    "mainspring.testing.conformance",
    "mainspring.plugins.shapes",
)
_SHAPES = ("Executor", "Operator", "Notifier", "ObjectStore")

_HEADER = """\
<!-- Generated from src/mainspring/ by `make gen`; do not edit. -->

# Python

What `import mainspring` gives, and the modules beside it that are meant for you. Other modules may
change without notice. Guides: [your first dag](../guides/first-dag.md), [dags for a
team](../guides/authoring.md), [applications](../guides/enqueue.md), [tests](../guides/testing.md),
[plug-ins](../guides/plugins.md).
"""
_DUNDERS_KEPT = ("__init__", "__call__", "__getitem__", "__iter__", "__len__")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def render() -> str:
    return "\n".join((_HEADER, *(text for module in MODULES for text in _module(module)))) + "\n"


def names_of(module: str) -> list[str]:
    """The promised ones; of the plug-ins' shapes, those that authors of plug-ins read."""
    return list(getattr(importlib.import_module(module), "__all__", _SHAPES))


def _module(module: str) -> Iterator[str]:
    yield f"## `{module}`\n"
    yield _first_paragraph(ast.get_docstring(_tree(module)) or "") + "\n"
    for name in names_of(module):
        found = getattr(importlib.import_module(module), name)
        node = _find(_tree(found.__module__), found.__name__)
        if isinstance(node, ast.ClassDef):
            # What is written elsewhere for this class alone is its own.
            for base in found.__mro__[1:]:
                if inspect.isabstract(base) and base.__module__.startswith("mainspring."):
                    node.body += _find(_tree(base.__module__), base.__name__).body
        yield from _definition(name, node)


def _definition(name: str, node: ast.ClassDef | Function) -> Iterator[str]:
    yield f"### `{name}`\n"
    if isinstance(node, ast.ClassDef):
        yield _code(_class_head(name, node))
        yield _prose(node)
        yield from _members(node)
    else:
        yield _code(_head(node))
        yield _prose(node)


def _members(node: ast.ClassDef) -> Iterator[str]:
    lines = [*_fields(node), *_methods(node)]
    if lines:
        yield "\n".join(lines) + "\n"


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Annotated names, each with the string below it, which is how fields are documented."""
    for field, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            if field.target.id.startswith("_"):
                continue
            told = _string(after)
            yield f"- `{ast.unparse(field)}`" + (f": {_one_line(told)}" if told else "")


def _methods(node: ast.ClassDef) -> Iterator[str]:
    for method in node.body:
        if not isinstance(method, Function):
            continue
        if method.name.startswith("_") and method.name not in _DUNDERS_KEPT:
            continue
        told = ast.get_docstring(method)
        if method.name.startswith("__") and not told:
            continue
        decorators = [ast.unparse(decorator) for decorator in method.decorator_list]
        if any("property" in decorator for decorator in decorators):
            returns = f": {ast.unparse(method.returns)}" if method.returns else ""
            head = f"{method.name}{returns}"
        else:
            head = _head(method, own=False).removesuffix(" -> None").removeprefix("def ")
        yield f"- `{head}`" + (f": {_one_line(told)}" if told else "")


def _class_head(name: str, node: ast.ClassDef) -> str:
    made = next((n for n in node.body if isinstance(n, Function) and n.name == "__init__"), None)
    bases = [base for base in map(ast.unparse, node.bases) if "Struct" not in base]
    if made is None:
        return f"class {name}({', '.join(bases)})" if bases else f"class {name}"
    return _wrapped(f"class {name}", _arguments(made), "")


def _head(node: Function, *, own: bool = True) -> str:
    prefix = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if own:
        return _wrapped(f"{prefix}{node.name}", _arguments(node), returns)
    return f"{prefix}{node.name}({', '.join(_arguments(node))}){returns}"


def _wrapped(head: str, arguments: list[str], returns: str) -> str:
    line = f"{head}({', '.join(arguments)}){returns}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{head}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def _arguments(node: Function) -> list[str]:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    told: list[str] = []
    for argument, default in zip(positional, [*defaults, *given.defaults], strict=True):
        if argument.arg not in ("self", "cls"):
            told.append(_argument(argument, default))
        if given.posonlyargs and argument is given.posonlyargs[-1] and told:
            told.append("/")
    if given.vararg:
        told.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        told.append("*")
    told += map(_argument, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        told.append(f"**{_argument(given.kwarg, None)}")
    return told


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    if default is None:
        return f"{argument.arg}{annotation}"
    equals = " = " if annotation else "="
    return f"{argument.arg}{annotation}{equals}{ast.unparse(default)}"


# --- text ----------------------------------------------------------------------------------


def _prose(node: ast.ClassDef | Function) -> str:
    """The docstring, with examples set apart."""
    told = ast.get_docstring(node) or ""
    parts = re.split(r"\n\n(?=>>>)|(?<=\n)\n", told)
    shown = [
        f"```pycon\n{part.strip()}\n```" if part.lstrip().startswith(">>>") else part.strip()
        for part in parts
        if part.strip()
    ]
    return "\n\n".join(shown) + "\n" if shown else ""


def _code(text: str) -> str:
    return f"```\n{text}\n```\n"


def _first_paragraph(text: str) -> str:
    return text.partition("\n\n")[0]


def _one_line(text: str) -> str:
    return " ".join(textwrap.dedent(text).split())


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else ""
    return ""


# --- where things are defined --------------------------------------------------------------


def _tree(module: str) -> ast.Module:
    file = importlib.import_module(module).__file__
    assert file is not None
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _find(tree: ast.Module, name: str) -> ast.ClassDef | Function:
    """The last of that name: overloads come before what they stand for."""
    found = [
        node
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.name == name
    ]
    return found[-1]
