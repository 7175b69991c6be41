"""Engines: those at work, and what each looks after."""

from __future__ import annotations

from mainspring.api.calls import Call
from mainspring.api.pages import Page
from mainspring.api.routes import Resource
from mainspring.domain.roles import Role
from mainspring.store.engine_shapes import Engine, told_engines

engines = Resource("engines", "Processes that fire schedules and look after runs.")


@engines.get("/engines", needs=Role.VIEWER, shared=True)
async def list_engines(call: Call) -> Page[Engine]:
    """Engines at work, by name, with the shards of schedules that they look at first."""
    return Page(await call.services.read(told_engines))
