"""Dags written as JSON over HTTP: made, changed, run, removed, and kept apart from all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mainspring import task
from mainspring.client import Client
from mainspring.config import Config
from mainspring.domain.errors import ConflictError
from mainspring.engine.read_dags import ReadDags
from mainspring.store.dags import register_dag
from mainspring.store.reading import list_file_problems
from tests.contract.conftest import DAILY_SALES, Api


@task(name="orders")
def mine() -> None: ...


def orders(**rest: Any) -> dict[str, Any]:
    return {
        "name": "orders",
        "tasks": [
            {"name": "fetch", "command": ["fetch", {"$parameter": "day"}]},
            {"name": "load", "command": ["load"], "after": ["fetch"]},
        ],
        "parameters": {"day": {"type": "string", "default": "today"}},
        "owner": "sales",
        "tags": ["nightly"],
        **rest,
    }


async def test_a_dag_is_made_then_left_alone_then_gets_a_new_version(api: Api) -> None:
    made = await api.post("/dags", json=orders())
    assert made.status_code == 200, made.text
    told = made.json()
    assert (told["version"], told["created"], told["changed"]) == (1, True, True)
    assert [(task["name"], task["after"]) for task in told["tasks"]] == [
        ("fetch", []),
        ("load", ["fetch"]),
    ]
    again = (await api.post("/dags", json=orders())).json()
    assert (again["version"], again["created"], again["changed"]) == (1, False, False)
    longer = orders()
    longer["tasks"].append({"name": "tidy", "command": ["tidy"], "after": ["load"]})
    changed = (await api.post("/dags", json=longer)).json()
    assert (changed["version"], changed["changed"]) == (2, True)
    # What it was before, it can be again.
    assert (await api.post("/dags", json=orders())).json()["version"] == 1
    run = await api.post("/dags/orders/runs", json={"parameters": {"day": "monday"}})
    assert (run.status_code, run.json()["task_count"]) == (201, 2)


async def test_what_is_wrong_is_told_with_its_place_and_nothing_is_stored(api: Api) -> None:
    for change, pointer in (
        ({"tasks": [{"name": "a", "command": ["x"], "after": ["b"]}]}, "/tasks/0/after/0"),
        ({"tasks": [{"name": "a", "command": ["x"], "after": ["a"]}]}, "/tasks/0/after"),
        ({"schedule": "61 * * * *"}, "/schedule"),
        ({"schedule": {"when": ["0 1 * * *"], "timezone": "Europe/Berlim"}}, "/schedule"),
        ({"schedule": {"when": ["0 1 * * *"], "exclude": ["nothing"]}}, "/schedule"),
        ({"schedule": "0 1 * * *", "schedule_parameters": {"x": 1}}, "/schedule_parameters"),
        ({"schedule_parameters": {"day": "x"}}, "/schedule_parameters"),
    ):
        refused = await api.post("/dags", json=orders(**change))
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["pointer"] == pointer
        assert refused.json()["errors"][0]["message"]
    assert (await api.get("/dags/orders")).status_code == 404
    assert (await api.get("/schedules/orders")).status_code == 404


async def test_a_schedule_goes_with_its_dag(api: Api) -> None:
    made = await api.post("/dags", json=orders(schedule="0 1 * * *"))
    assert [each["name"] for each in made.json()["schedules"]] == ["orders"]
    later = await api.post("/dags", json=orders(schedule="0 2 * * *"))
    assert later.json()["schedules"][0]["words"] != made.json()["schedules"][0]["words"]
    # Not said: it stays.
    assert len((await api.post("/dags", json=orders())).json()["schedules"]) == 1
    gone = await api.ask("DELETE", "/dags/orders")
    assert gone.json() == {"name": "orders", "schedules": ["orders"]}
    assert (await api.get("/schedules/orders")).status_code == 404
    refused = await api.post("/dags/orders/runs", json={})
    assert (refused.status_code, refused.json()["detail"]) == (404, "the dag `orders` was removed")
    assert (await api.ask("DELETE", "/dags/orders")).status_code == 404
    back = (await api.post("/dags", json=orders())).json()
    assert (back["version"], back["created"], back["gone_at"]) == (1, True, None)
    assert (await api.ask("DELETE", "/dags/orders")).status_code == 200


async def test_only_the_version_that_was_seen_is_changed(api: Api) -> None:
    match = {"If-Match": '"1"'}
    assert (await api.post("/dags", json=orders(), headers=match)).status_code == 412
    new = {"If-None-Match": "*"}
    assert (await api.post("/dags", json=orders(), headers=new)).status_code == 200
    assert (await api.post("/dags", json=orders(), headers=new)).status_code == 412
    longer = orders(timeout="1h")
    assert (await api.post("/dags", json=longer, headers=match)).json()["version"] == 2
    late = await api.post("/dags", json=orders(timeout="2h"), headers=match)
    assert (late.status_code, late.json()["code"]) == (412, "precondition")


async def test_dags_of_files_and_of_applications_keep_their_names(api: Api) -> None:
    await register_dag(api.connection, DAILY_SALES, "snapshot", file="sales.py", source=b"digest")
    refused = await api.post("/dags", json=orders(name="daily_sales"))
    assert refused.status_code == 409
    assert "sales.py" in refused.json()["detail"]
    assert (await api.ask("DELETE", "/dags/daily_sales")).status_code == 409
    assert (await api.get("/dags/daily_sales")).json()["file"] == "sales.py"


async def test_a_file_does_not_take_the_name_of_a_written_dag(
    api: Api, database_url: str, tmp_path: Path
) -> None:
    await api.post("/dags", json=orders(name="nightly"))
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "both.py").write_text(
        "from mainspring import dag, task\n"
        "@task\ndef one() -> None: ...\n"
        "@dag\ndef nightly() -> None: one()\n"
        "@dag\ndef other() -> None: one()\n"
    )
    reader = ReadDags(Config(home=tmp_path / "home", dags=folder), database_url)
    assert await reader.step()
    assert (await api.get("/dags/nightly")).json()["owner"] == "sales"
    assert (await api.get("/dags/other")).json()["file"] == "both.py"
    [problem] = await list_file_problems(api.connection)
    assert problem.file == "both.py"
    assert "`nightly` was written as JSON" in problem.message


async def test_an_application_does_not_take_the_name_of_a_written_dag(
    api: Api, database_url: str
) -> None:
    await api.post("/dags", json=orders())
    async with Client(database_url) as client:
        with pytest.raises(ConflictError, match="was written as JSON"):
            await client.enqueue(mine)
