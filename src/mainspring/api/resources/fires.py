"""Fires: what all schedules do in the hours to come, and what they left out."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Limit, Page, cursor_of, place_of
from mainspring.api.problems import field_refusal
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store.coming_fires import ComingFires, list_coming_fires
from mainspring.store.connection import Connection
from mainspring.store.schedule_reading import page_skipped
from mainspring.store.schedule_shapes import SkippedFires, skipped_fires

fires = Resource("fires", "What fires in the hours to come, and what was missed or skipped.")


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


class Skipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Limit = 100
    cursor: Cursor | None = None


@fires.get("/fires/skipped", needs=Role.VIEWER, shared=True, example=Example(query={"limit": "20"}))
async def list_skipped(call: Call, query: Skipped) -> Page[SkippedFires]:
    """Fires of all schedules that made no run, with the reason; newest first.

    Fires that follow one another and were skipped for one reason are told as one, by the first.
    """
    found = await call.services.read(
        page_skipped, before=_place(query.cursor), limit=query.limit + 1
    )
    more = len(found) > query.limit
    found = found[: query.limit]
    last = cursor_of("skipped", f"{found[-1].fire_at.isoformat()}/{found[-1].id}") if more else None
    return Page([skipped_fires(line) for line in found], last)


def _place(cursor: str | None) -> tuple[datetime, int] | None:
    place = place_of("skipped", cursor)
    if place is None:
        return None
    moment, _, entry = place.partition("/")
    with contextlib.suppress(ValueError, OverflowError):
        fire_at, number = datetime.fromisoformat(moment).astimezone(UTC), int(entry)
        if 0 <= number < 2**63:
            return fire_at, number
    raise field_refusal("query/cursor", "is none of this list")
