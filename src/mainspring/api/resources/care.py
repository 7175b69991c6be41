"""Taking care: whether all is well, and letting go of what is old."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store.checks import Check, Health, Verdict, checks, health
from mainspring.store.connection import Connection
from mainspring.store.pruning import Pruning, prune_some

care = Resource("care", "Whether all is well, and letting go of what is old.")


@care.get("/doctor", needs=Role.OPERATOR, shared=True)
async def doctor(call: Call) -> Health:
    """Checks, each with a verdict, what was found and what to do.

    The promises, which read much, are asked by `mainspring doctor` beside the database.
    """

    async def look(connection: Connection) -> list[Check]:
        found = [Check("database", Verdict.OK, "answers (the server's)")]
        return found + [check async for check in checks(connection)]

    return health(await call.services.read(look))


class Prune(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep_seconds: Annotated[float, Meta(ge=0, le=100 * 366 * 86400.0)]
    """Keep what finished within this time."""
    dry_run: bool = False
    """Only say how many runs would go."""


@care.post("/prune", needs=Role.ADMIN, example=Example(body={"keep_seconds": 2_592_000}))
async def prune(call: Call, body: Prune) -> Pruning:
    """Let go of finished runs that are older than is kept, with their logs and results.

    An engine does this by itself. Of very many some go; `more` then says so, and the rest is there
    for another request. Objects of long logs are left to an engine.
    """
    keep = timedelta(seconds=body.keep_seconds)
    return await call.services.write(prune_some, keep, dry_run=body.dry_run)
