"""Fires: what all schedules do in the hours to come."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Limit, Page, cursor_of, place_of
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store.coming_fires import ComingFires, list_coming_fires
from mainspring.store.connection import Connection

fires = Resource("fires", "What fires in the hours to come.")


class Coming(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    hours: Annotated[int, Meta(ge=1, le=168, description="How many hours to look at.")] = 48
    limit: Limit = 100
    cursor: Cursor | None = None


@fires.get("/fires", needs=Role.VIEWER, shared=True, example=Example(query={"hours": "24"}))
async def list_fires(call: Call, query: Coming) -> Page[ComingFires]:
    """What each schedule does in the hours to come: counts by the hour, and the first fires.

    The first hour is the one that is under way, from now on. Schedules that are paused or over are
    left out.
    """

    async def read(connection: Connection) -> Page[ComingFires]:
        found, last = await list_coming_fires(
            connection,
            hours=query.hours,
            after=place_of("fires", query.cursor) or "",
            limit=query.limit,
        )
        return Page(found, None if last is None else cursor_of("fires", last))

    return await call.services.read(read)
