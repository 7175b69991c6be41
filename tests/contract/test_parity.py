"""What the command line can do, over HTTP: the same answers, and the same effects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.api.version_code import TEXT_BYTES_MAX
from mainspring.bundles.pack import pack
from mainspring.bundles.snapshot import digest_of
from mainspring.bundles.tree import Entry
from mainspring.domain.roles import Role
from mainspring.domain.states import TaskState
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.logs import append_log
from mainspring.store.reading import list_tasks, read_run
from mainspring.store.snapshots import keep_snapshot
from tests.contract.conftest import (
    DAILY_SALES,
    SALES_FILES,
    SALES_SNAPSHOT,
    Api,
    CommandLine,
    fail_run,
)
from tests.support.factory import BareWorker, dag_of, start_run


def without(document: Any, *names: str) -> Any:
    """What does not go with time."""
    if isinstance(document, dict):
        return {key: without(each, *names) for key, each in document.items() if key not in names}
    if isinstance(document, list):
        return [without(each, *names) for each in document]
    return document


async def test_why_is_told_as_the_command_line_tells_it(
    api: Api, command_line: CommandLine, finished: int
) -> None:
    failed = await fail_run(api.connection, "extract", "connection refused")
    told = (await api.get(f"/runs/{failed}/why?task=load")).json()
    assert told["task"] == "load"
    assert told["state"] == TaskState.UPSTREAM_FAILED
    assert [cause["task"] for cause in told["causes"]] == ["extract"]
    assert told["causes"][0]["reason"] == "failed"
    here = await command_line("run", "why", str(failed), "load")
    moves = ("headline", "text")
    assert without(here, *moves) == without(told, *moves)
    unknown = await api.get(f"/runs/{failed}/why?task=laod")
    assert unknown.status_code == 404
    assert "did you mean `load`" in unknown.json()["hint"]


async def test_two_runs_are_compared_as_the_command_line_does(
    api: Api, command_line: CommandLine, finished: int
) -> None:
    failed = await fail_run(api.connection, "load", "connection refused")
    told = (await api.get(f"/runs/{finished}/compare/{failed}")).json()
    assert [run["id"] for run in told["runs"]] == [finished, failed]
    assert {task["name"]: task["changed"] for task in told["tasks"]} == {
        "extract": [],
        "load": ["state"],
    }
    assert await command_line("run", "compare", str(finished), str(failed)) == told


async def test_a_task_is_closed_by_hand_with_who_and_why(api: Api) -> None:
    failed = await fail_run(api.connection, "extract", "connection refused")
    body = {"state": "succeeded", "note": "fetched it myself", "result": {"rows": 3}}
    path = f"/runs/{failed}/tasks/extract/mark"
    assert (await api.post(path, json=body, role=Role.VIEWER)).status_code == 403
    done = await api.post(path, json=body)
    assert done.status_code == 200, done.text
    assert (done.json()["opened"], done.json()["repeated"]) == (["load"], False)
    assert (await api.post(path, json=body)).json()["repeated"] is True
    task = (await api.get(f"/runs/{failed}")).json()["tasks"][0]
    assert (task["state"], task["result"]) == ("succeeded", {"rows": 3})
    assert [(each["who"], each["note"]) for each in task["by_hand"]] == [
        ("the-admin", "fetched it myself")
    ]
    refused = await api.post(path, json={"state": "skipped", "note": "no", "result": 1})
    assert refused.json()["errors"][0]["pointer"] == "/result"
    assert (await api.post(path, json={"state": "skipped", "note": ""})).status_code == 422
    nothing = await api.post(f"/runs/{failed}/tasks/extrac/mark", json=body)
    assert nothing.status_code == 404
    assert "did you mean `extract`" in nothing.json()["hint"]


async def test_what_waits_can_be_let_go_sooner(api: Api) -> None:
    dag = await register_dag(api.connection, DAILY_SALES, "snapshot")
    run = await start_run(api.connection, dag, 2)
    told = (await api.post(f"/runs/{run}/priority", json={"priority": 9})).json()
    assert (told["priority"], told["changed_tasks"]) == (9, 2)
    tasks = await list_tasks(api.connection, await read_run(api.connection, run))
    assert [task.priority for task in tasks] == [9, 9]
    assert (await api.post(f"/runs/{run}/priority", json={"priority": 10})).status_code == 422


async def test_calendars_are_put_shown_and_removed(api: Api, command_line: CommandLine) -> None:
    body = {"dates": ["2026-12-24"], "weekdays": ["Sat", "sun", "sat"]}
    put = await api.ask("PUT", "/calendars/closed", json=body)
    assert put.json() == {
        "name": "closed",
        "dates": ["2026-12-24"],
        "weekdays": ["sat", "sun"],
        "country": None,
        "subdivision": None,
        "schedules": [],
    }
    assert (await api.get("/calendars")).json()["items"] == await command_line("calendar", "list")
    shown = (await api.get("/calendars/closed")).json()
    assert shown == await command_line("calendar", "show", "closed")
    assert len(shown["next"]) == 10
    nothing = await api.ask("PUT", "/calendars/closed", json={})
    assert nothing.status_code == 422
    assert (await api.ask("DELETE", "/calendars/closed")).json() == {"name": "closed"}
    gone = await api.ask("DELETE", "/calendars/closed")
    assert gone.status_code == 404


async def test_a_calendar_that_a_schedule_excludes_stays(api: Api, finished: int) -> None:
    await api.ask("PUT", "/calendars/closed", json={"weekdays": ["sunday"]})
    spec = {"when": ["0 6 * * *"], "exclude": ["closed"]}
    made = await api.ask("PUT", "/schedules/early", json={"dag": "daily_sales", "spec": spec})
    assert made.status_code in (200, 201), made.text
    assert (await api.get("/calendars/closed")).json()["schedules"] == ["early"]
    refused = await api.ask("DELETE", "/calendars/closed")
    assert refused.status_code == 409
    assert "early" in refused.json()["detail"]


async def test_versions_are_compared_and_gone_back_to(
    api: Api, command_line: CommandLine, things: dict[str, str]
) -> None:
    longer = {"dag": "daily_sales", "before": 1, "after": 1}
    told = (await api.get("/dags/daily_sales/diff?before=1&after=1")).json()
    assert {name: told[name] for name in longer} == longer
    assert told == await command_line("dag", "diff", "daily_sales", "1", "1")
    back = await api.post("/dags/daily_sales/rollback", json={"version": 1})
    assert back.status_code == 200, back.text
    assert back.json()["version"] == 1
    unknown = await api.post("/dags/daily_sales/rollback", json={"version": 7})
    assert unknown.status_code == 404


async def test_the_code_of_a_version_is_told_to_those_who_may_act(
    api: Api, things: dict[str, str]
) -> None:
    address = "/dags/daily_sales/versions/1/code"
    told = (await api.get(address, role=Role.OPERATOR)).json()
    assert [(each["path"], each["bytes"]) for each in told["files"]] == [
        (entry.path, len(entry.content)) for entry in SALES_FILES
    ]
    assert (told["file"], told["text"], told["cut"]) == (
        "sales.py",
        "# The sales of a day.\n",
        False,
    )
    assert told["snapshot"] == SALES_SNAPSHOT
    assert (await api.get(f"{address}?file=__init__.py")).json()["text"] == ""
    assert (await api.get(address, role=Role.VIEWER)).status_code == 403
    other = await api.get(f"{address}?file=sale.py")
    assert (other.status_code, other.json()["hint"]) == (404, "did you mean `sales.py`?")
    assert (await api.get("/dags/daily_sales/versions/7/code")).status_code == 404
    written = await api.get("/dags/weekly_orders/versions/1/code")
    assert written.status_code == 422
    assert "comes from no file" in written.json()["detail"]


async def test_code_that_is_no_text_or_long_or_gone_or_damaged_is_said_to_be(
    api: Api, connection: Connection
) -> None:
    long = "ä" * (TEXT_BYTES_MAX // 2 + 1)
    files = [
        Entry("a.bin", False, b"\xff\x00"),
        Entry("b.txt", False, b"x" + long.encode()),
        Entry("c.txt", False, b"x" + b"\xff" * (TEXT_BYTES_MAX + 1)),
    ]
    await register_dag(connection, dag_of(name="odd"), digest_of(files), file="gone.py")
    address = "/dags/odd/versions/1/code"
    unkept = await api.get(address)
    assert (unkept.status_code, "no longer kept" in unkept.text) == (404, True)
    await keep_snapshot(connection, digest_of(files), pack(files))
    told = (await api.get(address)).json()
    assert (told["file"], told["text"]) == (None, None)
    texts = [(await api.get(f"{address}?file={each.path}")).json() for each in files]
    assert [(each["text"], each["cut"]) for each in texts] == [
        (None, False),
        ("x" + long[: TEXT_BYTES_MAX // 2 - 1], True),
        (None, False),
    ]
    await register_dag(connection, dag_of(tasks=2, name="odd"), "another", file="gone.py")
    await keep_snapshot(connection, "another", pack(files))
    damaged = await api.get("/dags/odd/versions/2/code")
    assert "is damaged" in damaged.json()["detail"]


async def test_the_server_looks_after_itself_as_the_doctor_does(api: Api) -> None:
    told = (await api.get("/doctor", role=Role.OPERATOR)).json()
    assert told["ok"] is False, "no engine runs here"
    verdicts = {check["name"]: check["verdict"] for check in told["checks"]}
    assert verdicts["database"] == verdicts["schema"] == "ok"
    assert verdicts["engine"] == "broken"


async def test_old_runs_are_let_go_by_an_admin(
    api: Api, command_line: CommandLine, finished: int
) -> None:
    body = {"keep_seconds": 86_400, "dry_run": True}
    assert (await api.post("/prune", json=body, role=Role.OPERATOR)).status_code == 403
    told = (await api.post("/prune", json=body)).json()
    here = await command_line("prune", "--keep", "1d", "--dry-run")
    assert without(told, "finished_before") == without(here, "finished_before")
    body["dry_run"] = False
    assert (await api.post("/prune", json=body)).json()["runs"] == 0


@pytest.mark.parametrize("path", ["/runs/{}", "/dags/daily_sales/runs/{}"])
async def test_a_caller_may_wait_for_the_end_of_a_run(api: Api, path: str) -> None:
    dag = await register_dag(api.connection, DAILY_SALES, "snapshot")
    worker = await BareWorker.join(api.connection, DAILY_SALES)
    run = await start_run(api.connection, dag, 2)
    short = await api.get(f"{path.format(run)}?wait=0.05&fields=id,state")
    assert short.json() == {"id": run, "state": "queued"}
    waiting = [
        asyncio.create_task(api.get(f"{path.format(run)}?wait=30&fields=state")) for _ in range(50)
    ]
    # All are there before the run moves: the server is asked for something else meanwhile.
    await api.get("/runs")
    assert not any(task.done() for task in waiting)
    for _ in range(2):
        [each] = await worker.claim()
        await worker.end(each)
    answers = await asyncio.gather(*waiting)
    assert {answer.json()["state"] for answer in answers} == {"succeeded"}
    assert (await api.get(f"{path.format(2**40)}?wait=30")).status_code == 404
    assert (await api.get(f"{path.format(run)}?wait=31")).status_code == 422


async def test_a_log_is_followed_as_it_grows_until_it_has_ended(api: Api) -> None:
    dag = await register_dag(api.connection, DAILY_SALES, "snapshot")
    worker = await BareWorker.join(api.connection, DAILY_SALES)
    run = await start_run(api.connection, dag, 2)
    [first] = await worker.claim()
    path = f"/runs/{run}/tasks/extract/attempts/1/logs?wait=30&offset="

    async def follow() -> tuple[str, str]:
        text, offset, ending = "", 0, "open"
        while ending == "open":
            answer = await api.get(f"{path}{offset}")
            assert answer.status_code == 200, answer.text
            text += answer.text
            offset = int(answer.headers["mainspring-log-next"])
            ending = answer.headers["mainspring-log"]
        return text, ending

    following = asyncio.create_task(follow())
    at = 0
    for piece in (b"one\n", b"two\n", b"three\n"):
        await append_log(api.connection, [(first.task_id, first.term, at, piece)])
        at += len(piece)
        while (await api.get(f"{path}{at - len(piece)}")).text == "":
            pass
    await worker.end(first)
    assert await following == ("one\ntwo\nthree\n", "complete")
    refused = await api.get(f"{path}0", headers={"Range": "bytes=0-1"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "query/offset"


async def test_the_logs_of_a_run_are_listed_with_their_lengths(api: Api, finished: int) -> None:
    told = (await api.get(f"/runs/{finished}/logs")).json()
    assert [(log["task"], log["bytes"], log["log"]) for log in told["items"]] == [
        ("extract", 300, "complete"),
        ("load", 0, "complete"),
    ]
    one = (await api.get(f"/runs/{finished}/logs?task=load")).json()
    assert [log["task"] for log in one["items"]] == ["load"]
    assert (await api.get(f"/runs/{finished}/logs?task=none")).status_code == 404
