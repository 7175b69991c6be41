"""Schedules over HTTP: compare-and-set, previews, differences, as the command line tells them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from mainspring.schedule.parsing import schedule_from
from mainspring.store.schedule_changes import Intent, put_code_schedule
from tests.contract.conftest import Api, CommandLine

SINCE = "2027-03-25T00:00:00Z"


def order(*when: Any, **options: Any) -> dict[str, Any]:
    return {"dag": "daily_sales", "spec": {"when": list(when), **options}}


async def put(api: Api, name: str, body: object, **headers: str) -> Any:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return await api.ask("PUT", f"/schedules/{name}", json=body, headers=named)


async def test_pages_together_hold_every_schedule_once_by_name(
    api: Api, things: dict[str, str]
) -> None:
    names = [f"s{number}" for number in range(7)]
    for name in names:
        assert (await put(api, name, order("@daily"))).status_code == 200
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await api.get(f"/schedules?dag=daily_sales&limit=3{cursor}")).json()
        seen += [each["name"] for each in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted([*names, things["schedule"]])
    assert (await api.get("/schedules?dag=other")).status_code == 404


async def test_schedules_are_told_as_the_command_line_tells_them(
    api: Api, things: dict[str, str], command_line: CommandLine
) -> None:
    told = partial(command_line, "schedule")
    name = things["schedule"]
    body = order("0 2 * * *", "every 7h", timezone="Europe/Berlin", limit=900)
    assert (await put(api, name, body, If_Match='"1"')).json()["changed"] is True
    assert (await api.get("/schedules")).json()["items"] == await told("list")
    assert (await api.get(f"/schedules/{name}")).json() == await told("show", name)
    previewed = await api.get(f"/schedules/{name}/preview?since={SINCE}&count=30")
    assert previewed.json()["items"] == await told(
        "preview", name, "--from", SINCE, "--count", "30"
    )
    # Without times, `schedule diff` keeps those that there are.
    changed = {**body, "spec": {**body["spec"], "timezone": "Asia/Tokyo"}}
    differs = await api.post(f"/schedules/{name}/diff?since={SINCE}&days=3", json=changed)
    assert differs.json() == await told(
        *("diff", name, "--timezone", "Asia/Tokyo", "--from", SINCE, "--days", "3")
    )
    paused = (await api.post(f"/schedules/{name}/pause", json={"note": "why"})).json()
    assert [{**paused, "changed": False}] == await told("pause", name)


async def test_of_changes_to_one_version_a_single_one_is_made(
    api: Api, things: dict[str, str]
) -> None:
    name = things["schedule"]
    seen = await api.get(f"/schedules/{name}")
    tag = seen.headers["etag"]
    answers = await asyncio.gather(
        *(put(api, name, order(f"{minute} 2 * * *"), If_Match=tag) for minute in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 5]
    [made] = [answer for answer in answers if answer.status_code == 200]
    assert (made.json()["version"], made.headers["etag"]) == (2, '"2"')
    for answer in answers:
        if answer.status_code == 412:
            problem = answer.json()
            assert problem["code"] == "precondition"
            told = {**made.json()}
            assert told.pop("changed") is True
            assert problem["current"] == told
    assert (await api.get(f"/schedules/{name}")).json()["version"] == 2


async def test_what_is_not_there_is_made_once_and_what_is_there_is_not_overwritten(
    api: Api, things: dict[str, str]
) -> None:
    made = (await put(api, "hourly", order("@hourly"))).json()
    assert (made["version"], made["changed"]) == (1, True)
    # Whoever does not know whether it arrived sends it again.
    again = (await put(api, "hourly", order("@hourly"))).json()
    assert (again["version"], again["changed"]) == (1, False)
    clash = await put(api, "hourly", order("@daily"))
    assert (clash.status_code, clash.json()["current"]["version"]) == (409, 1)
    assert (await put(api, "hourly", order("@daily"), If_None_Match="*")).status_code == 412
    assert (await put(api, "none", order("@daily"), If_Match="*")).status_code == 412
    assert (await put(api, "none", order("@daily"), If_Match='"1"')).status_code == 412
    assert (await put(api, "hourly", order("@daily"), If_Match="*")).json()["version"] == 2
    for wrong in ("2", '"x"', '"2", "3"'):
        assert (await put(api, "hourly", order("@weekly"), If_Match=wrong)).status_code == 400
    assert (await api.get("/schedules/none")).status_code == 404


async def test_what_is_told_of_a_schedule_can_be_sent_back(
    api: Api, things: dict[str, str]
) -> None:
    body = order(
        *("0 2 * * *", "every 90m phase 5m", "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"),
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
        timezone="Europe/Berlin",
        overlap="skip",
        overlap_max=3,
        jitter_seconds=5,
        start="2026-12-01T00:00:00+01:00",
        dst_gap="skip",
        grace_seconds=7,
    )
    body |= {"parameters": {"region": "us"}, "note": "for the test"}
    told = (await put(api, "many", body)).json()
    back = {name: told[name] for name in ("dag", "spec", "parameters", "note")}
    again = await put(api, "many", back, If_Match='"1"')
    assert (again.json()["version"], again.json()["changed"]) == (1, False)


async def test_a_difference_is_what_the_change_then_makes_of_the_fires(
    api: Api, things: dict[str, str]
) -> None:
    name = things["schedule"]

    async def fires(until: str) -> set[str]:
        page = await api.get(f"/schedules/{name}/preview?since={SINCE}&until={until}&count=1000")
        return {fire["fire_at"] for fire in page.json()["items"]}

    specs = [
        order("0 2 * * *", timezone="Europe/Berlin"),
        order("0 2 * * *", "0 14 * * MON", timezone="Europe/Berlin"),
        order("30 2 * * *", timezone="Europe/Berlin", dst_gap="skip"),
        order("every 5h"),
        order("0 1 * * *"),
    ]
    for version, body in enumerate(specs, start=1):
        differs = await api.post(f"/schedules/{name}/diff?since={SINCE}&days=10", json=body)
        assert differs.status_code == 200, differs.text
        told = differs.json()
        assert (told["version"], told["complete"]) == (version, True)
        before = await fires(told["until"])
        assert (await put(api, name, body, If_Match=f'"{version}"')).status_code == 200
        after = await fires(told["until"])
        gone = {each["before"] for each in told["fires"]} - {None}
        come = {each["after"] for each in told["fires"]} - {None}
        assert (gone, come) == (before - after, after - before)
        assert told["unchanged"] == len(before & after)


async def test_a_preview_of_a_spec_is_that_of_the_schedule_which_is_made_of_it(
    api: Api, things: dict[str, str]
) -> None:
    body = order("H H * * *", "30 2 * * *", timezone="Europe/Berlin")
    asked = {"spec": body["spec"], "name": "spread", "since": SINCE, "count": 9}
    before = await api.post("/schedules/preview", json=asked)
    assert before.status_code == 200, before.text
    assert (await put(api, "spread", body)).status_code == 200
    after = await api.get(f"/schedules/spread/preview?since={SINCE}&count=9")
    assert before.json() == after.json()
    assert any("gap" in (fire["note"] or "") for fire in after.json()["items"])


async def test_a_schedule_is_paused_resumed_and_removed(api: Api, things: dict[str, str]) -> None:
    name = things["schedule"]
    paused = (await api.post(f"/schedules/{name}/pause", json={"note": "why"})).json()
    assert (paused["state"], paused["changed"]) == ("paused", True)
    assert (paused["pause"]["by"], paused["pause"]["note"]) == ("the-admin", "why")
    assert (await api.post(f"/schedules/{name}/pause")).json()["changed"] is False
    resumed = (await api.post(f"/schedules/{name}/resume")).json()
    assert (resumed["state"], resumed["changed"], resumed["pause"]) == ("active", True, None)
    assert (await api.post(f"/schedules/{name}/resume")).json()["changed"] is False
    removed = await api.ask("DELETE", f"/schedules/{name}")
    assert removed.json() == {"name": name, "removed": True}
    assert (await api.ask("DELETE", f"/schedules/{name}")).status_code == 404
    assert (await api.post(f"/schedules/{name}/pause")).status_code == 404


async def test_what_cannot_be_is_refused_and_changes_nothing(
    api: Api, things: dict[str, str]
) -> None:
    before = (await api.get("/schedules")).json()
    for body in (
        order(),
        order("61 * * * *"),
        order("0 0 31 2 *"),
        order("every 0s"),
        order("nothing-like-that:1"),
        order("2026-11-15T01:00:00"),
        order({"type": "every"}),
        order("@daily", timezone="Middle/Earth"),
        order("@daily", timezone="\x00"),
        order("@daily", exclude=["none"]),
        order("@daily", overlap="sometimes"),
        order("@daily", start="2027-01-01T00:00:00Z", end="2026-01-01T00:00:00Z"),
        {**order("@daily"), "parameters": {"colour": 1}},
        {**order("@daily"), "colour": 1},
        {"dag": "daily_sales"},
    ):
        for path, method in (("/schedules/new", "PUT"), ("/schedules/new/diff", "POST")):
            if method == "POST" and "parameters" in body:
                continue  # Parameters are checked when it is made.
            answer = await api.ask(method, path, json=body)
            assert answer.status_code == 422, (body, answer.text)
            assert answer.json()["detail"]
    for dag, status in (("daily_sale", 404), ("\x00", 422), ("", 404)):
        answer = await put(api, "new", {**order("@daily"), "dag": dag})
        assert answer.status_code == status, answer.text
    assert (await put(api, "a name", order("@daily"))).status_code == 422
    assert (await api.get("/schedules")).json() == before


async def test_a_schedule_in_a_file_is_changed_there(api: Api, things: dict[str, str]) -> None:
    intent = Intent("in_a_file", "daily_sales", schedule_from("@daily"), in_code=True)
    await put_code_schedule(api.connection, intent, by="file")
    for answer in (
        await put(api, "in_a_file", order("@hourly"), If_Match='"1"'),
        await api.ask("DELETE", "/schedules/in_a_file"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert "file of its dag" in answer.json()["detail"]


async def test_a_schedule_may_have_the_name_of_an_action(api: Api, things: dict[str, str]) -> None:
    assert (await put(api, "preview", order("@daily"))).status_code == 200
    assert (await api.get("/schedules/preview")).json()["name"] == "preview"
    refused = await api.ask("PATCH", "/schedules/preview", json={})
    assert refused.status_code == 405
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_document_that_has_not_changed_is_not_sent_again(
    api: Api, things: dict[str, str]
) -> None:
    path = f"/schedules/{things['schedule']}"
    seen = await api.get(path)
    assert seen.headers["etag"].startswith('W/"1.')
    same = await api.get(path, headers={"If-None-Match": seen.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    # The version is the same, but not what is told.
    await api.post(f"{path}/pause")
    assert (await api.get(path, headers={"If-None-Match": seen.headers["etag"]})).status_code == 200
