"""What stands around every view: who gets in, keys, themes, and whether it is live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.page.conftest import Up, serious_issues

VIEWS = ("/dags", "/runs")


def test_without_a_session_the_page_says_how_to_get_one(browser: Browser, up: Up) -> None:
    page = browser.new_page(base_url=up.url)
    page.goto("/dags")
    expect(page.get_by_text("You have no session here")).to_be_visible()
    expect(page.get_by_label("Login link")).to_be_focused()
    page.close()


def test_a_run_appears_and_ends_without_a_reload(page: Page, up: Up) -> None:
    page.goto("/runs?dag=sales")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    up.command("dag", "trigger", "sales", "--wait")
    row = page.get_by_role("row").filter(has_text="sales").first
    expect(row).to_contain_text("Succeeded")


@pytest.mark.parametrize("width", [390], indirect=True)
def test_what_is_cut_off_says_so_takes_back_what_it_showed_and_recovers(
    context: BrowserContext,
) -> None:
    page = context.new_page()
    page.goto("/dags/sales")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    context.set_offline(True)
    expect(page.get_by_text("what you see may be old")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    context.set_offline(False)
    expect(page.get_by_text("what you see may be old")).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_view_that_follows_nothing_says_whether_the_server_is_there(page: Page) -> None:
    page.goto("/backfills/new")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


def test_a_few_letters_lead_anywhere(page: Page) -> None:
    page.goto("/runs")
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("sales")
    expect(page.get_by_role("option", name="sales").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/dags/sales"))


def test_question_mark_tells_the_keys(page: Page) -> None:
    page.goto("/dags")
    expect(page.get_by_role("heading", name="Dags", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_j_and_k_walk_through_a_list_and_enter_opens_it(page: Page, up: Up) -> None:
    up.command("dag", "trigger", "sales", "--wait")
    page.goto("/runs?dag=sales")
    expect(page.get_by_role("row").filter(has_text="sales").first).to_be_visible()
    for key in "jjk":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/runs/\d+"))


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/dags")
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)
@pytest.mark.parametrize("width", [1280, 390], indirect=True)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_for_everybody(page: Page, view: str) -> None:
    page.goto(view)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("load")
    assert serious_issues(page) == []
    # Nothing is wider than the screen.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
