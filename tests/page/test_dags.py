"""Dags and one dag: what people do there, by clicking."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Up, serious_issues

_BELL = """
from mainspring import RetryPolicy, dag, task

@task(retry=RetryPolicy(attempts={times}))
def ring() -> None: ...

@dag
def bell() -> None:
    ring()
"""
INK = """mark => {
  const { data } = mark.getContext('2d').getImageData(0, 0, mark.width, mark.height);
  let [most, ink] = [0, ''];
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > most) [most, ink] = [data[at + 3], data.slice(at, at + 3).join()];
  }
  return ink;
}"""
"""The colour that a mark on a canvas is painted with."""
TABS = ("grid", "graph", "schedule", "history", "versions", "backfills")


def test_a_dag_is_triggered_with_the_form_of_its_parameters(page: Page) -> None:
    page.goto("/dags")
    page.get_by_role("button", name="Trigger sales").click()
    form = page.get_by_role("dialog", name="Trigger sales")
    form.get_by_label("region").fill("us")
    form.get_by_label("limit").fill("1.5")
    form.get_by_role("button", name="Trigger", exact=True).click()
    expect(form.get_by_text("A whole number is needed.")).to_be_visible()
    form.get_by_label("limit").fill("7")
    form.get_by_role("button", name="Trigger", exact=True).click()
    expect(page).to_have_url(re.compile(r"/runs/\d+"))
    expect(page.get_by_role("main").get_by_text("Succeeded").first).to_be_visible()


def test_dags_are_found_by_name_and_tag(page: Page) -> None:
    page.goto("/dags")
    page.get_by_label("Tag", exact=True).select_option("shop")
    expect(page).to_have_url(re.compile("tag=shop"))
    expect(page.get_by_role("link", name="till")).to_be_visible()
    expect(page.get_by_role("link", name="door")).to_have_count(0)
    page.get_by_label("Search dags").fill("sal")
    expect(page.get_by_role("link", name="till")).to_have_count(0)
    page.get_by_label("Search dags").fill("nothing like it")
    page.get_by_role("link", name="Show all of them").click()
    expect(page.get_by_role("link", name="door")).to_be_visible()


def test_a_dag_is_paused_and_resumed(page: Page) -> None:
    page.goto("/dags")
    page.get_by_role("button", name="Pause till").click()
    page.get_by_role("button", name="Resume till").click()
    expect(page.get_by_role("button", name="Pause till")).to_be_visible()
    page.get_by_role("link", name="till").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("till is paused").last).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_the_grid_is_walked_by_keys_and_a_run_turns_into_its_timeline(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "sales", "--wait")
    page.goto("/dags/sales")
    grid = page.get_by_role("grid", name="Runs and tasks")
    expect(grid.get_by_role("rowheader", name="total")).to_be_visible()
    marks = page.get_by_role("list", name="Legend").locator("canvas")
    assert marks.nth(0).evaluate(INK) != marks.nth(1).evaluate(INK), "succeeded and failed"
    grid.focus()
    page.keyboard.press("ArrowDown")
    cell = page.get_by_role("gridcell")
    expect(cell).to_have_accessible_name(re.compile("total, run .* Succeeded"))
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"run=\d+"))
    page.get_by_role("button", name="Close the timeline").click()
    expect(page).not_to_have_url(re.compile(r"run=\d+"))
    grid.get_by_role("button", name=re.compile(r"^Run \d+, succeeded")).last.click()
    expect(page.get_by_role("link", name=re.compile(r"^Run \d+"))).to_be_visible()


def test_a_cell_of_the_grid_leads_to_its_task_by_key_and_by_mouse(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "sales", "--wait")
    page.goto("/dags/sales")
    grid = page.get_by_role("grid", name="Runs and tasks")
    expect(grid.get_by_role("rowheader", name="total")).to_be_visible()
    grid.focus()
    page.keyboard.press("ArrowDown")
    cell = page.get_by_role("gridcell")
    expect(cell).to_have_accessible_name(re.compile("total, run"))
    place = cell.bounding_box()
    assert place is not None
    page.keyboard.press("Enter")
    task = re.compile(r"/runs/\d+/tasks/total")
    expect(page).to_have_url(task)
    page.go_back()
    expect(grid.get_by_role("rowheader", name="total")).to_be_visible()
    middle = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.mouse.move(*middle)
    expect(page.get_by_text(re.compile(r"^total, run \d+: Succeeded"))).to_be_visible()
    page.mouse.click(*middle)
    expect(page).to_have_url(task)


def test_a_run_appears_in_the_grid_without_a_reload(page: Page, up: Up) -> None:
    page.goto("/dags/sales")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    made = up.command("dag", "trigger", "sales", "--wait")
    found = re.search(r"run (\d+)", made)
    assert found, made
    head = page.get_by_role("columnheader").get_by_role(
        "button", name=re.compile(f"^Run {found[1]}, succeeded")
    )
    expect(head).to_be_visible()


def test_the_graph_tells_how_the_tasks_of_a_run_stand(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "sales", "--wait")
    page.goto("/dags/sales?tab=graph")
    node = page.get_by_label(re.compile("^total: 1 succeeded"))
    expect(node).to_be_visible()
    expect(page.locator(".react-flow__edge.decides")).to_have_count(1)
    node.click()
    expect(page.get_by_role("link", name=re.compile(r"Open run \d+"))).to_be_visible()


def test_a_dag_without_a_schedule_is_backfilled_at_times_that_are_said(page: Page) -> None:
    page.goto("/dags/till?tab=backfills")
    page.get_by_role("link", name="Backfill a range").click()
    page.get_by_label("Times", exact=True).fill("0 3 * * *")
    days = page.get_by_role("button", name=re.compile(r"^\d+ \w+ \d{4}$"))
    days.nth(2).click()
    days.nth(3).click()
    expect(page.get_by_role("list", name="Instants").get_by_role("listitem")).to_have_count(2)
    page.get_by_role("button", name="Start the backfill").click()
    expect(page.get_by_role("heading", name=re.compile(r"till · backfill \d+"))).to_be_visible()
    page.goto("/dags/till?tab=backfills")
    expect(page.get_by_role("table", name="Backfills of till")).to_be_visible()


def test_a_change_of_a_schedule_is_previewed(page: Page) -> None:
    page.goto("/dags/sales?tab=schedule")
    expect(page.get_by_text("every day at 02:00 (Europe/Berlin)").last).to_be_visible()
    page.get_by_label("When").fill("30 2 * * *")
    page.get_by_role("button", name="Preview the change").click()
    expect(page.get_by_text("In the next four weeks")).to_be_visible()


def test_an_older_version_is_compared_with_its_code_and_gone_back_to(page: Page, up: Up) -> None:
    up.write("bell.py", _BELL.format(times=1))
    page.goto("/dags?q=bell")
    page.get_by_role("link", name="bell").click()
    page.get_by_role("link", name="Versions").click()
    expect(page.get_by_role("row").filter(has_text="In use")).to_contain_text("1")
    up.write("bell.py", _BELL.format(times=3))
    expect(page.get_by_text("task ring: retry")).to_be_visible()
    compared = page.get_by_role("region", name="How bell.py differs")
    expect(compared).to_contain_text("removed: −@task(retry=RetryPolicy(attempts=1))")
    expect(compared).to_contain_text("added: +@task(retry=RetryPolicy(attempts=3))")
    assert serious_issues(page) == []
    page.get_by_role("radio", name="Version 2").check(force=True)
    whole = page.get_by_role("region", name="bell.py in version 2")
    expect(whole).to_contain_text("def ring() -> None: ...")
    page.get_by_label("File").select_option("talk.py")
    expect(page.get_by_role("region", name="talk.py in version 2")).to_contain_text("def chatter")
    expect(page).to_have_url(re.compile("file=talk.py"))
    page.get_by_role("button", name="Go back to version 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back").click()
    expect(page.get_by_role("row").filter(has_text="In use")).to_contain_text("1")
    expect(page.get_by_role("row").filter(has_text="In the folder")).to_contain_text("2")


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
@pytest.mark.parametrize("width", [1280, 390], indirect=True)
@pytest.mark.parametrize("tab", TABS)
def test_every_face_of_a_dag_is_for_everybody(page: Page, tab: str) -> None:
    page.goto(f"/dags/sales?tab={tab}")
    expect(page.get_by_role("button", name="Trigger")).to_be_visible()
    assert serious_issues(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_history_of_a_dag_is_counted_and_leads_to_its_runs(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "sales", "--wait")
    page.goto("/dags/sales?tab=history&days=1")
    # Ends are counted when runs leave the hot tables, about ten seconds later.
    ends = page.get_by_role("img", name=re.compile(r"^\d+ runs? ended, 0 failed, hour by hour"))
    expect(ends).to_be_visible(timeout=60_000)
    expect(page.get_by_role("img", name="How long runs took, hour by hour")).to_be_visible()
    expect(
        page.get_by_role("img", name=re.compile(r"runs? on \d days?, 0 of them failed"))
    ).to_be_visible()
    ends.locator("g").last.click()
    expect(page).to_have_url(re.compile(r"/runs\?.*dag=sales.*until="))
    table = page.get_by_role("table", name="Runs")
    expect(table.get_by_role("cell", name="sales").first).to_be_visible()
