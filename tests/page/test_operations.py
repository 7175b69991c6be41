"""What operators do on the page, each done once by clicking."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.conftest import Up, serious_issues

VIEWS = (
    "/",
    "/jobs",
    "/jobs/new",
    "/jobs/new?kind=http&when=at",
    "/jobs/new?kind=task&when=recurring",
    "/schedules",
    "/schedules?tab=line",
    "/schedules?tab=heat",
    "/schedules?tab=missed",
    "/schedules/new",
    "/schedules/sales",
    "/schedules/sales?tab=ledger",
    "/schedules/sales?tab=versions",
    "/backfills",
    "/backfills/new",
    "/queues",
    "/queues?tab=workers",
    "/dead-letters",
    "/admin",
    "/admin?tab=engines",
    "/admin?tab=tokens",
)


# Colours depend on the theme and the layout on the width, so two pairs see all of both.
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)], indirect=True)
def test_every_view_of_operators_is_for_everybody(page: Page) -> None:
    for view in VIEWS:
        page.goto(view)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        assert serious_issues(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view


def test_a_recurring_job_is_made_run_rescheduled_and_cancelled(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="New job").click()
    page.get_by_role("textbox", name="Command").fill("sh -c 'echo swept'")
    page.get_by_text("Again and again").click()
    page.get_by_role("textbox", name="Times").fill("*/5 * * * *")
    expect(page.get_by_role("list", name="Next fires").get_by_role("listitem")).to_have_count(6)
    page.get_by_role("textbox", name="Name", exact=True).fill("sweep")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="sweep")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    runs = page.get_by_role("table", name="Runs of the job")
    expect(runs.get_by_text("Succeeded")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Reschedule").click()
    page.get_by_role("textbox", name="Times").fill("every 2h")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("every 2h")).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Cancel the job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()


def test_a_request_waits_for_its_time_and_a_task_runs_at_once(page: Page, up: Up) -> None:
    page.goto("/jobs/new")
    page.get_by_text("HTTP request").click()
    page.get_by_role("textbox", name="Address").fill(f"{up.url}/healthz")
    page.get_by_text("At a time").click()
    page.get_by_label("Time", exact=True).fill("2099-01-01T03:00")
    page.get_by_role("textbox", name="Name", exact=True).fill("far-away")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="far-away")).to_be_visible()
    expect(page.get_by_text("2099").first).to_be_visible()
    page.goto("/jobs/new?kind=task")
    page.get_by_label("Dag", exact=True).select_option("sales")
    page.get_by_role("textbox", name="Parameters").fill('{"region": "us"}')
    page.get_by_role("button", name="Run it").click()
    runs = page.get_by_role("table", name="Runs of the job")
    expect(runs.get_by_text("Succeeded")).to_be_visible()


def test_dead_letters_are_looked_at_retried_and_discarded(page: Page, up: Up) -> None:
    for number in range(3):
        up.command(
            "job", "create", "--name", f"broken-{number}", "--", "sh", "-c", f"exit {number + 3}"
        )
    page.goto("/dead-letters?error=exited")
    page.get_by_role("link", name=re.compile("exited with status")).first.click()
    rows = page.get_by_role("table", name="Dead letters").get_by_role("row")
    expect(rows).to_have_count(4)
    page.get_by_role("checkbox", name=re.compile("Choose run")).first.check()
    page.get_by_role("button", name="Discard 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(rows).to_have_count(3)
    page.get_by_role("link", name="Dead letters").last.click()
    page.get_by_role("checkbox", name="Choose all").check()
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Note").fill("it is mended")
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("run again.")).to_be_visible()


def test_a_schedule_is_made_changed_with_its_difference_in_sight_and_removed(page: Page) -> None:
    page.goto("/schedules/new")
    page.get_by_role("textbox", name="Name").fill("evenings")
    page.get_by_role("combobox", name="Dag").select_option("sales")
    expect(page.get_by_role("list", name="Next fires")).to_be_visible()
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="evenings")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("textbox", name="Times").fill("30 20 * * *")
    differing = page.get_by_role("list", name="Fires that differ").get_by_role("listitem")
    expect(differing.first).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("every day at 20:30").first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_role("heading", name="Schedules")).to_be_visible()


def test_what_somebody_else_has_changed_meanwhile_is_shown_before_it_is_overwritten(
    context: BrowserContext, up: Up
) -> None:
    up.command("schedule", "put", "mornings", "--dag", "sales", "--cron", "0 6 * * *")
    page = context.new_page()
    page.goto("/schedules/mornings")
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("textbox", name="Times").fill("0 8 * * *")
    up.command("schedule", "put", "mornings", "--dag", "sales", "--cron", "0 7 * * *")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("every day at 07:00").first).to_be_visible()
    page.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("every day at 08:00").first).to_be_visible()


def test_days_on_a_calendar_become_a_backfill(page: Page) -> None:
    page.goto("/backfills/new?schedule=sales")
    days = page.get_by_role("button", name=re.compile(r"^\d+ \w+ \d{4}$"))
    days.nth(2).click()
    days.nth(40).click()
    expect(page.get_by_role("list", name="Instants").get_by_role("listitem")).to_have_count(39)
    page.get_by_role("button", name="Start the backfill").click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("checkbox", name="Stop its open runs, too").check()
    page.get_by_role("button", name="Cancel the backfill").click()
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()


def test_a_queue_is_held_and_let_go(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "door")
    page.goto("/queues")
    page.get_by_role("button", name="Pause nobody").click()
    page.get_by_role("textbox", name="Note").fill("the lock is changed")
    page.get_by_role("button", name="Pause it").click()
    page.get_by_role("button", name="Resume nobody").click()
    expect(page.get_by_role("button", name="Pause nobody")).to_be_visible()


def test_a_worker_is_drained_and_resumed(page: Page) -> None:
    page.goto("/queues?tab=workers")
    page.get_by_role("button", name=re.compile("^Drain ")).click()
    page.get_by_role("button", name="Drain it").click()
    expect(page.get_by_text(re.compile(r"^Draining, \d+ left$"))).to_be_visible()
    page.get_by_role("button", name=re.compile("^Resume ")).click()
    expect(page.get_by_role("button", name=re.compile("^Drain "))).to_be_visible()
    expect(page.get_by_text(re.compile("Draining"))).to_have_count(0)


def test_the_secret_of_a_token_is_shown_once_and_the_token_revoked(page: Page) -> None:
    page.goto("/admin?tab=tokens")
    page.get_by_role("button", name="New token").click()
    page.get_by_role("textbox", name="Name").fill("grafana")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("textbox", name="Secret")).to_have_value(re.compile("^msp_"))
    page.get_by_role("button", name="I have it").click()
    page.get_by_role("button", name="Revoke grafana").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("button", name="Revoke grafana")).to_have_count(0)
