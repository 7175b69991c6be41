"""From routes to one ASGI application."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route as Place
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.endpoint import Endpoint
from mainspring.api.guard import Doorkeeper
from mainspring.api.problems import Refusal
from mainspring.api.routes import Method, Route
from mainspring.api.services import Services


def build_application(
    routes: Sequence[Route],
    services: Services,
    guard: Doorkeeper,
    names: Sequence[str],
) -> ASGIApp:
    from mainspring.api.frame import Frame
    from mainspring.api.page import PageFiles

    router = build_router(routes, services, guard, elsewhere=PageFiles())
    return Frame(router, services, names)


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise Refusal(
        404,
        "not_found",
        f"there is nothing at {scope['path'][:200]}",
        hint="`/docs` shows what there is",
    )


def build_router(
    routes: Sequence[Route],
    services: Services,
    guard: Doorkeeper,
    elsewhere: ASGIApp = nowhere,
) -> ASGIApp:
    """The routes alone: whoever calls it deals with what they raise."""
    paths: dict[str, dict[Method, Route]] = {}
    for route in routes:
        methods = paths.setdefault(route.path, {})
        assert route.method not in methods, f"{route.method} {route.path} is declared twice"
        methods[route.method] = route
    return Router(
        [
            # What is not a parameter is more special, and is tried first.
            _Place(path, Endpoint(methods, services, guard), methods=[*methods])
            for path, methods in sorted(paths.items(), key=lambda item: "{" in item[0])
        ],
        redirect_slashes=False,
        default=elsewhere,
    )


class _Place(Place):
    """One path. A method that it has not may belong to a path with a parameter that fits, too: a
    schedule may be called `preview`. If nobody has it, the endpoint says so itself."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)
