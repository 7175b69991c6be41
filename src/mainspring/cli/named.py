"""Runs, dags and parameters by what was typed, asked of the routes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store import shapes

_NUMBER_MAX = 2**63 - 1


async def named_run(client: HttpClient, text: str) -> int:
    """A run's id, `last` for the newest run of all, or a dag's name for its newest."""
    if text.isascii() and text.isdigit():
        if int(text) > _NUMBER_MAX:
            raise NotFoundError(f"there is no run {text}")
        return int(text)
    if text == "last":
        if not (found := (await client.runs.list(limit=1)).items):
            raise NotFoundError(
                "there is no run yet", hint="start one with `mainspring dag trigger`"
            )
        return found[0].id
    try:
        found = (await client.runs.list(dag=text, limit=1)).items
    except NotFoundError as error:
        raise NotFoundError(
            f"{shown(text)} is neither a run's number nor a dag",
            hint=error.hint or "`mainspring run list` shows what there is",
        ) from None
    if not found:
        raise NotFoundError(
            f"dag {shown(text)} has not run yet", hint=f"start it: `mainspring dag trigger {text}`"
        )
    return found[0].id


def parameters_of(
    dag: shapes.DagWhole, pairs: Sequence[str], document: str | None
) -> dict[str, Any]:
    """`--params` first, then each `-p` over it."""
    from mainspring.cli.given import given_parameters
    from mainspring.domain.specs import DagSpec, ParameterSpec

    known = tuple(
        ParameterSpec(each.name, each.schema, each.required, each.default)
        for each in dag.parameters
    )
    return given_parameters(DagSpec(name=dag.name, tasks=(), parameters=known), pairs, document)


async def clock(client: HttpClient) -> datetime:
    """The database's, from which everything is counted."""
    return (await client.operations.clock()).now
