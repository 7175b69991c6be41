"""Secrets that were given to jobs and runs are shown to operators, and to viewers as stars."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mainspring.api.catalogue import ROUTES
from mainspring.api.masking import masked, quotes
from mainspring.api.pages import Page
from mainspring.domain.roles import Role
from mainspring.store import job_shapes, shapes
from tests.contract.conftest import Api

REQUEST = {
    "name": "charge",
    "http": {
        "url": "https://shop.example/{order}",
        "headers": {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Accept": "text/*"},
        "json": {"nested": [{"clientSecret": "s3cret"}]},
    },
    "parameters": {"order": "7"},
}


async def test_viewers_see_stars_where_operators_see_the_secret(api: Api) -> None:
    made = await api.post("/jobs", json=REQUEST)
    assert made.status_code == 201, made.text
    run = made.json()["jobId"]
    for path in ("/jobs/charge", "/jobs", f"/runs/{run}", f"/runs/{run}?fields=parameters"):
        whole = (await api.get(path, role=Role.OPERATOR)).text
        told = (await api.get(path, role=Role.VIEWER)).text
        assert "Bearer s3cret" in whole, path
        assert "s3cret" not in told, path
        assert '"Accept":"text/*"' in told, path
        # One is not told what the other was told before.
        assert (await api.get(path, role=Role.OPERATOR)).text.count("s3cret") == 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"password": "x", "pass": "x"}, {"password": "***", "pass": "x"}),
        ({"token": None, "tokens": ["x", 1]}, {"token": None, "tokens": ["***", "***"]}),
        ({"a": [{"api_key": {"b": "x"}}]}, {"a": [{"api_key": {"b": "***"}}]}),
        ({"name": "token", "values": ["x", "y"]}, {"name": "token", "values": ["***", "***"]}),
        ({"name": "region", "values": ["token"]}, {"name": "region", "values": ["token"]}),
    ],
)
def test_what_is_called_a_secret_is_masked_wherever_it_is(given: Any, told: Any) -> None:
    assert msgspec.json.decode(masked(msgspec.json.encode(given))) == told


def test_answers_that_quote_are_known_by_their_types() -> None:
    assert quotes(Page[job_shapes.Job])
    assert quotes(shapes.RunWhole)
    assert not quotes(Page[shapes.Run])
    assert not quotes(shapes.Lane)
    quoting = {route.name for route in ROUTES if quotes(route.answer)}
    assert {"show_run", "show_dag_run", "list_jobs", "show_job", "compare"} <= quoting
