"""The routes in a command's own process: all of them are found, and no more is loaded."""

from __future__ import annotations

import subprocess
import sys

from mainspring.api.catalogue import ROUTES
from mainspring.api.local import places_of, routes_at


def test_every_route_is_found_at_its_path() -> None:
    for route in ROUTES:
        path = route.path
        for part in route.parts:
            path = path.replace(f"{{{part}}}", route.example.path.get(part, "some"))
        found = [each for place in places_of(path) for each in routes_at(place)]
        assert route in found, path
    assert places_of("/api/v1/nothing") == ()
    assert places_of("/api/v1/runs/") == ()


def test_what_a_command_does_not_ask_for_is_not_loaded() -> None:
    """Each of these takes longer to load than the command takes to be done."""
    script = (
        "import sys, mainspring.cli.root, mainspring.api.local as local\n"
        "from mainspring.http.client import HttpClient\n"
        "for place in local.places_of('/api/v1/runs'): assert local.routes_at(place)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "mainspring.api.resources.runs" in loaded
    assert not loaded & {
        "structlog",
        "rich",
        "httpx2",
        "mainspring.api.resources.jobs",
        "mainspring.api.resources.schedules",
        "mainspring.api.gateway.gateway",
        "mainspring.api.stream.hub",
        "mainspring.client.client",
        "mainspring.http.sync_client",
        "mainspring.store.backfill_shapes",
        "mainspring.store.schedule_changes",
    }
