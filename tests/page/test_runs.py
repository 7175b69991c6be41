"""Runs and tasks: find them, see why they wait, read their logs, do something about it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Up, serious_issues

_RUN = re.compile(r"run (\d+)")
_CROWD = """
from mainspring import dag, task

@task
async def come() -> None: ...

@dag
def crowd() -> None:
    for number in range(300):
        come.named(f"come_{number}")()
"""


def _triggered(up: Up, *words: str) -> int:
    found = _RUN.search(up.command("dag", "trigger", *words))
    assert found
    return int(found[1])


@pytest.fixture(scope="session")
def talk(up: Up) -> int:
    return _triggered(up, "talk", "--wait")


@pytest.fixture(scope="session")
def failed(up: Up) -> int:
    """A run of `till` that found no key."""
    return _triggered(up, "till", "--wait")


def _state(page: Page) -> Locator:
    """How the thing stands that the view is about."""
    return page.locator("main > header")


def _lines(page: Page) -> Locator:
    return page.get_by_role("region", name="Log of").locator("[data-byte]")


# --- runs -------------------------------------------------------------------------------------


def test_runs_are_found_by_dag_and_state_and_the_address_keeps_it(page: Page, talk: int) -> None:
    page.goto("/runs")
    page.get_by_label("Dag", exact=True).select_option("talk")
    page.get_by_label("State", exact=True).select_option("succeeded")
    page.get_by_label("Trigger", exact=True).select_option("manual")
    page.get_by_label("Made", exact=True).select_option("24")
    expect(page.get_by_role("link", name=str(talk), exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("Dag", exact=True)).to_have_value("talk")
    page.get_by_label("State", exact=True).select_option("cancelled")
    expect(page.get_by_text("There are no such runs.")).to_be_visible()


def test_runs_are_found_by_a_part_of_their_dags_name_and_by_its_tags(
    page: Page, talk: int, failed: int
) -> None:
    page.goto("/runs")
    page.get_by_label("Names of dags").fill("TAL")
    expect(page).to_have_url(re.compile("text=TAL"))
    expect(page.get_by_role("link", name=str(failed), exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name=str(talk), exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("Names of dags")).to_have_value("TAL")
    page.get_by_label("Names of dags").fill("")
    page.get_by_label("Tag", exact=True).select_option("shop")
    expect(page.get_by_role("link", name=str(talk), exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name=str(failed), exact=True)).to_be_visible()


def test_a_run_is_gone_to_by_its_number(page: Page, talk: int) -> None:
    page.goto("/runs")
    page.get_by_label("Go to a run by its number").fill(str(talk))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"talk · {talk}")).to_be_visible()


def test_a_run_shows_its_tasks_times_graph_history_and_details(page: Page, talk: int) -> None:
    page.goto(f"/runs/{talk}")
    expect(page.get_by_role("table", name="Tasks").get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="Times").click()
    expect(page.get_by_role("table", name="Times of tasks")).to_contain_text("chatter")
    page.get_by_role("link", name="Graph").click()
    expect(page.get_by_text("tell", exact=True)).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("table", name="History")).to_contain_text("Run succeeded")
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_text('"lines": 20000')).to_be_visible()


def test_tasks_of_a_run_are_found_by_name(page: Page, talk: int) -> None:
    page.goto(f"/runs/{talk}")
    page.get_by_label("Search tasks").fill("tel")
    expect(page.get_by_role("link", name="chatter")).to_have_count(0)
    page.get_by_role("link", name="tell").click()
    expect(page.get_by_role("heading", name="tell")).to_be_visible()


def test_of_a_run_of_many_tasks_the_first_are_there_at_once_and_then_all(
    page: Page, up: Up
) -> None:
    up.write("crowd.py", _CROWD)
    page.goto("/dags")
    page.get_by_role("button", name="Trigger crowd").click()
    page.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
    expect(_state(page)).to_contain_text("Succeeded")
    run = int(page.url.rpartition("/")[2])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/v1")[2]))
    page.goto(f"/runs/{run}/tasks/come_299")
    expect(page.get_by_role("heading", name="come_299")).to_be_visible()
    expect(_state(page)).to_contain_text("Succeeded")
    first, alone = (f"/runs/{run}?tasks_max=100", f"/runs/{run}/tasks/come_299")
    assert set(asked) >= {first, alone}
    page.goto(f"/runs/{run}")
    tasks = page.get_by_role("table", name="Tasks")
    expect(tasks).to_have_attribute("aria-rowcount", "301")
    page.get_by_label("Search tasks").fill("come_299")
    expect(page.get_by_role("link", name="come_299")).to_be_visible()
    page.get_by_role("link", name="Times").click()
    expect(page.get_by_role("table", name="Times of tasks")).to_contain_text("come_")


def test_a_run_is_compared_with_another(page: Page, up: Up, talk: int) -> None:
    other = _triggered(up, "talk", "-p", "lines=10", "--wait")
    page.goto(f"/runs/{talk}?tab=compare")
    page.get_by_label("Other run").select_option(str(other))
    expect(page.get_by_text("Other parameters")).to_be_visible()
    expect(page.get_by_role("table", name="Tasks of both runs")).to_contain_text("result")


def test_a_run_is_cancelled_after_one_question(page: Page, up: Up) -> None:
    run = _triggered(up, "hall")
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keep it as it is").click()
    expect(_state(page)).not_to_contain_text("Cancelled")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(_state(page)).to_contain_text("Cancelled")


def test_a_run_is_rerun_as_a_whole_from_a_task_and_on_the_latest_version(
    page: Page, up: Up
) -> None:
    run = _triggered(up, "sales", "--wait")
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Rerun").click()
    page.get_by_role("menuitem", name="All tasks").click()
    expect(page.get_by_text(f"2 tasks of run {run} will run again.")).to_be_visible()
    expect(_state(page)).to_contain_text("Succeeded")
    page.get_by_role("button", name="Rerun").click()
    page.get_by_role("menuitem", name="From a task").click()
    page.get_by_role("dialog").get_by_role("cell", name="total").click()
    expect(page.get_by_text(f"1 task of run {run} will run again.")).to_be_visible()
    expect(_state(page)).to_contain_text("Succeeded")
    page.get_by_role("button", name="Rerun").click()
    page.get_by_role("menuitem", name="On the latest version").click()
    expect(page.get_by_role("link", name=f"run {run}")).to_be_visible()


def test_what_failed_runs_again_once_its_cause_is_gone(page: Page, up: Up) -> None:
    up.key.unlink(missing_ok=True)
    run = _triggered(up, "till", "--wait")
    page.goto(f"/runs/{run}")
    expect(page.get_by_text("FileNotFoundError").first).to_be_visible()
    up.key.write_text("brass")
    page.get_by_role("button", name="Why?").click()
    page.get_by_role("button", name="Run again what failed").click()
    expect(_state(page)).to_contain_text("Succeeded")
    up.key.unlink()


# --- why --------------------------------------------------------------------------------------


def test_why_says_that_nobody_serves_a_queue_and_which_command_would(page: Page, up: Up) -> None:
    up.command("queue", "pause", "stage", "--note", "the piano is being tuned")
    run = _triggered(up, "stage")
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Why?").click()
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("the piano is being tuned")
    why.get_by_role("button", name="Resume the queue").click()
    expect(_state(page)).to_contain_text("Succeeded")


def test_a_task_that_waits_says_why_without_being_asked(page: Page, up: Up) -> None:
    up.command("dag", "pause", "stage", "--note", "no concert today")
    run = _triggered(up, "stage")
    page.goto(f"/runs/{run}/tasks/sing")
    expect(page.get_by_text("no concert today")).to_be_visible()
    page.get_by_role("button", name="Resume the dag").click()
    expect(_state(page)).to_contain_text("Succeeded")


# --- tasks and logs ---------------------------------------------------------------------------


def test_a_log_is_read_searched_and_wrapped(page: Page, talk: int) -> None:
    page.goto(f"/runs/{talk}/tasks/chatter")
    expect(_lines(page).first).to_contain_text("INFO line 0:")
    page.get_by_role("button", name="First error").click()
    expect(_lines(page).filter(has_text="ERROR line 10000:")).to_be_in_viewport()
    expect(page).to_have_url(re.compile(r"at=\d+"))
    page.get_by_label("Search this log").fill("line 19999:")
    expect(page.get_by_text("1 line", exact=True)).to_be_visible()
    page.get_by_role("button", name="Next line found").click()
    expect(_lines(page).filter(has_text="line 19999:")).to_be_in_viewport()
    page.get_by_role("switch", name="Wrap").click()
    expect(_lines(page).filter(has_text="line 19999:")).to_be_in_viewport()
    page.reload()
    expect(_lines(page).filter(has_text="line 19999:")).to_be_in_viewport()


def test_a_log_is_downloaded_whole(page: Page, talk: int) -> None:
    page.goto(f"/runs/{talk}/tasks/chatter")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 20_000
    assert lines[-1].startswith("\x1b[32mINFO\x1b[0m line 19999:")


def test_a_log_that_is_being_written_is_followed_until_somebody_scrolls_up(
    page: Page, up: Up
) -> None:
    run = _triggered(up, "hall")
    page.goto(f"/runs/{run}/tasks/listen")
    expect(_lines(page).filter(has_text="heard 60")).to_be_in_viewport()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("region", name="Log of").hover()
    page.mouse.wheel(0, -300)
    expect(page.get_by_role("switch", name="Follow")).not_to_be_checked()
    page.get_by_role("switch", name="Follow").click()
    expect(page.get_by_role("switch", name="Follow")).to_be_checked()
    up.command("run", "cancel", str(run))
    expect(_state(page)).to_contain_text("Cancelled")


def test_a_task_is_marked_by_hand_and_that_is_kept(page: Page, up: Up) -> None:
    up.key.unlink(missing_ok=True)
    run = _triggered(up, "till", "--wait")
    page.goto(f"/runs/{run}/tasks/open_till")
    page.get_by_role("button", name="More for this task").click()
    page.get_by_role("menuitem", name="Mark as succeeded").click()
    page.get_by_label("Note").fill("opened with a screwdriver")
    page.get_by_label("Result").fill("not json")
    page.get_by_role("button", name="Mark it").click()
    expect(page.get_by_text("This is not JSON.")).to_be_visible()
    page.get_by_label("Result").fill('"screwdriver"')
    page.get_by_role("button", name="Mark it").click()
    expect(_state(page)).to_contain_text("Succeeded")
    page.goto(f"/runs/{run}?tab=history")
    expect(page.get_by_text("opened with a screwdriver")).to_be_visible()


def test_attempts_stand_side_by_side_and_inputs_beside_the_result(
    page: Page, failed: int, talk: int
) -> None:
    page.goto(f"/runs/{failed}/tasks/open_till?tab=attempts")
    expect(page.get_by_role("region", name="Attempt 1")).to_contain_text("FileNotFoundError")
    page.goto(f"/runs/{talk}/tasks/tell?tab=data")
    expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text("20000 lines")
    expect(page.get_by_role("region", name="Result of chatter")).to_contain_text("20000")


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
@pytest.mark.parametrize("width", [1280, 390], indirect=True)
def test_runs_and_tasks_are_for_everybody(page: Page, talk: int, failed: int) -> None:
    for view in (
        f"/runs/{failed}?why=true",
        f"/runs/{talk}?tab=times",
        f"/runs/{failed}?tab=history",
        f"/runs/{talk}?tab=details",
        f"/runs/{talk}/tasks/chatter",
        f"/runs/{failed}/tasks/open_till",
        f"/runs/{failed}/tasks/open_till?tab=attempts",
        f"/runs/{talk}/tasks/tell?tab=data",
    ):
        page.goto(view)
        something = page.get_by_role("heading", level=2).or_(page.get_by_role("table"))
        expect(something.or_(_lines(page)).first).to_be_visible()
        assert serious_issues(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
