"""What a function takes: its parameters, by name, with their annotations as real types."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from mainspring.domain.errors import DefinitionError


def signature_of(function: Callable[..., Any], what: str, *, extra: bool) -> inspect.Signature:
    """The signature, refused if values cannot be handed over by name.

    `extra` says whether `**names` is welcome.
    """
    if not inspect.isfunction(function):
        raise DefinitionError(
            f"{what}: expected a function, got `{type(function).__name__}`",
            hint="decorate a function made with `def` or `async def`",
        )
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise DefinitionError(
                f"{what}: `*{parameter.name}` cannot be used, since arguments go by name",
                hint="take a list instead",
            )
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise DefinitionError(
                f"{what}: `{parameter.name}` is positional-only, but arguments go by name",
                hint="remove the `/` from the signature",
            )
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and not extra:
            raise DefinitionError(
                f"{what}: `**{parameter.name}` cannot be used here",
                hint="name every parameter, or take a dict",
            )
    return signature


def annotations_of(function: Callable[..., Any], what: str) -> dict[str, Any]:
    """The parameters' annotations, with those written as text looked up.

    The return annotation is left alone: it is often imported for type checkers only.
    """
    signature = inspect.signature(function)
    written = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.annotation is not inspect.Parameter.empty
    }
    holder = types.SimpleNamespace(__annotations__=written)
    try:
        return typing.get_type_hints(
            holder, inspect.unwrap(function).__globals__, include_extras=True
        )
    except NameError as error:
        raise DefinitionError(
            f"{what}: an annotation uses `{error.name}`, which is not known in its module",
            hint="import it outside of `if TYPE_CHECKING:` and define it outside of functions",
        ) from None
    except Exception as error:
        raise DefinitionError(f"{what}: an annotation cannot be read: {error}") from None
