"""Who may ask: tokens, sessions, and what is refused before any work."""

from __future__ import annotations

import pytest

from mainspring.domain.roles import Role
from mainspring.store.connection import fetch
from mainspring.store.tokens import create_token, new_secret, revoke_token
from tests.contract.conftest import Api


async def test_a_token_that_was_revoked_is_refused_soon(api: Api) -> None:
    secret = new_secret()
    token = await create_token(api.connection, secret, name="short", role=Role.VIEWER)
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await api.get("/runs", role=None, headers=headers)).status_code == 200
    await revoke_token(api.connection, token.id)
    # Within a second; how long it is believed is a test of its own, by a clock that we move.
    while (answer := await api.get("/runs", role=None, headers=headers)).status_code == 200:
        pass
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_token_that_has_expired_is_refused(api: Api) -> None:
    secret = new_secret()
    await create_token(api.connection, secret, name="short", role=Role.VIEWER, seconds=1e-6)
    answer = await api.get("/runs", role=None, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401


async def test_the_database_knows_no_secret(api: Api) -> None:
    made = await api.post("/tokens", json={"name": "bot", "role": "viewer"})
    assert made.status_code == 201, made.text
    secret = made.json()["token"]
    assert secret.startswith("msp_")
    rows = await fetch(api.connection, "select t::text as row from mainspring.token t")
    assert all(secret not in row["row"] for row in rows)
    assert secret not in (await api.get("/tokens")).text


@pytest.mark.parametrize(
    "given", ["Basic YTpi", "Bearer", "Bearer msp_short", "Bearer " + "é" * 47]
)
async def test_what_is_no_token_is_refused(api: Api, given: str) -> None:
    answer = await api.get("/runs", role=None, headers={"Authorization": given.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"


async def test_who_guesses_tokens_is_slowed_down_and_nobody_else(api: Api) -> None:
    statuses = [
        (await api.get("/runs", role=None, headers={"Authorization": f"Bearer {new_secret()}"}))
        for _ in range(100)
    ]
    assert {answer.status_code for answer in statuses} == {401, 429}


async def test_a_login_link_opens_once_and_its_session_acts_from_the_page_only(api: Api) -> None:
    link = new_secret()
    await create_token(api.connection, link, name="up", role=Role.ADMIN, kind="link", seconds=60)
    as_token = await api.get("/runs", role=None, headers={"Authorization": f"Bearer {link}"})
    assert as_token.status_code == 401
    opened = await api.get(f"/login?code={link}", role=None)
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    session = {"Cookie": cookie.partition(";")[0]}
    api.http.cookies.clear()
    assert (await api.get("/runs", role=None, headers=session)).status_code == 200
    order = {"name": "page", "role": "viewer"}
    foreign = await api.post(
        "/tokens", role=None, json=order, headers={**session, "Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    unsaid = await api.post("/tokens", role=None, json=order, headers=session)
    assert unsaid.status_code == 403
    own = await api.post("/tokens", role=None, json=order, headers={**session, "Origin": api.base})
    assert own.status_code == 201, own.text
    api.http.cookies.clear()
    assert (await api.get(f"/login?code={link}", role=None)).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "", "127.0.0.1.evil.example"]
)
async def test_a_name_that_is_not_ours_is_refused(api: Api, host: str) -> None:
    answer = await api.get("/healthz", role=None, headers={"Host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "10.0.0.7:80", "[::1]:8470"])
async def test_addresses_and_our_own_names_are_taken(api: Api, host: str) -> None:
    assert (await api.get("/healthz", role=None, headers={"Host": host})).status_code == 200


async def test_no_admin_can_lock_itself_out_with_its_own_token(api: Api) -> None:
    tokens = (await api.get("/tokens")).json()["items"]
    own = next(token["id"] for token in tokens if token["name"] == "the-admin")
    assert (await api.ask("DELETE", f"/tokens/{own}")).status_code == 422
