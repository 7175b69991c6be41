"""What holds for every route: its example works, its role is asked for, its document is right."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from mainspring.api.catalogue import RESOURCES, ROUTES
from mainspring.api.docs_page import curl
from mainspring.api.openapi import document
from mainspring.api.routes import Route
from mainspring.domain.roles import Role, allows
from mainspring.store.tokens import create_token, new_secret
from tests.contract.conftest import Api, as_here, far_worker

PUBLIC = {"/healthz", "/readyz", "/docs", "/login", "/api/v1/openapi.json"}


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


async def filled(api: Api, route: Route, things: dict[str, str]) -> tuple[str, str]:
    """Path and query of the route's example, with numbers of things that are there."""
    path = route.path
    if route.needs is Role.WORKER:
        things = {**things, **await far_worker(api.connection)}
    for name, value in route.example.path.items():
        value = things.get(value) or things.get(name, value)
        if name == "token":
            made = await create_token(
                api.connection, new_secret(), name="of-the-example", role=Role.VIEWER
            )
            value = str(made.id)
        path = path.replace(f"{{{name}}}", value)
    query = dict(route.example.query)
    if "code" in query:
        query["code"] = new_secret()
        await create_token(
            api.connection, query["code"], name="up", role=Role.ADMIN, kind="link", seconds=60
        )
    return path, "&".join(f"{name}={value}" for name, value in query.items())


@pytest.mark.parametrize("route", ROUTES, ids=named)
async def test_the_example_of_a_route_works_as_it_is_shown(
    api: Api, things: dict[str, str], route: Route
) -> None:
    path, query = await filled(api, route, things)
    answer = await api.ask(
        route.method,
        f"{path}?{query}" if query else path,
        headers=dict(route.example.headers),
        json=as_here(route.example.body, things),
        role=route.needs and max(route.needs, Role.ADMIN, key=[*Role].index),
    )
    expected = 206 if "Range" in route.example.headers else route.status
    assert answer.status_code == expected, answer.text
    if route.answer is not None and "fields" not in route.example.query:
        # It is of the type that the document tells.
        msgspec.json.decode(answer.content, type=route.answer)


async def test_a_route_is_there_for_those_who_have_its_role_and_for_nobody_else(
    api: Api, things: dict[str, str]
) -> None:
    wrong: list[str] = []
    for route in ROUTES:
        path, query = await filled(api, route, things)
        for role in (*Role, None):
            answer = await api.ask(
                route.method, f"{path}?{query}", role=role, json=as_here(route.example.body, things)
            )
            if route.needs is None:
                right = answer.status_code not in (403, 429)
            elif role is None:
                right = answer.status_code == 401
            elif not allows(role, route.needs):
                right = answer.status_code == 403
            else:
                right = answer.status_code not in (401, 403, 405, 429, 500)
            if not right:
                wrong.append(f"{named(route)} as {role}: {answer.status_code} {answer.text}")
        await api.connection.execute(
            "update mainspring.token set revoked_at = now() where name = 'of-the-example'"
        )
    assert not wrong, wrong


def test_public_routes_are_an_exact_list() -> None:
    assert {route.path for route in ROUTES if route.needs is None} == PUBLIC


def test_the_document_tells_every_route_with_an_example_and_leads_nowhere_else() -> None:
    text = msgspec.json.encode(document(RESOURCES))
    told: dict[str, Any] = msgspec.json.decode(text)
    assert told["openapi"] == "3.1.0"
    operations = {
        (method.upper(), path) for path, found in told["paths"].items() for method in found
    }
    assert operations == {(route.method, route.path) for route in ROUTES}
    ids = [each["operationId"] for path in told["paths"].values() for each in path.values()]
    assert len(set(ids)) == len(ids)
    for reference in set(re.findall(rb'"\$ref":"#/components/schemas/([^"]+)"', text)):
        assert reference.decode() in told["components"]["schemas"], reference
    for route in ROUTES:
        operation = told["paths"][route.path][route.method.lower()]
        for parameter in operation["parameters"]:
            assert parameter["description"], (named(route), parameter["name"])
            if parameter["in"] == "path":
                assert parameter["example"] != "", (named(route), parameter["name"])
        if route.body is not None:
            content = operation["requestBody"]["content"]["application/json"]
            msgspec.convert(content["example"], route.body)
        if route.answer is not None:
            content = operation["responses"][str(route.status)]["content"]["application/json"]
            msgspec.json.decode(msgspec.json.encode(content["example"]), type=route.answer)


async def test_the_page_shows_every_route_and_needs_nothing_from_elsewhere(api: Api) -> None:
    answer = await api.get("/docs", role=None)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for route in ROUTES:
        assert f"id={route.name}>" in answer.text
        assert curl(route).startswith("curl ")
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", answer.text)
    assert "<script" not in answer.text
