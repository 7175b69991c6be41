"""The documentation's pictures of the page, taken of the examples: `make pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.conftest import Up, started_browser

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
RUNS = 6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        up = Up(Path(folder), ROOT / "examples")
        try:
            with started_browser(Path(folder) / "browser") as browser:
                take(up, browser.new_page(base_url=up.url, viewport={"width": 1280, "height": 760}))
        finally:
            up.stop()


def take(up: Up, page: Page) -> None:
    page.goto(up.link)
    for _ in range(RUNS):
        up.command("dag", "trigger", "daily_sales", "--wait")
        up.command("dag", "trigger", "hello", "--wait")
    up.command("dag", "trigger", "flaky", "--wait")
    up.command("dag", "trigger", "daily_sales")
    picture(page, "home", "/")
    picture(page, "dag", "/dags/daily_sales")
    up.command("run", "watch", "daily_sales")
    run = page.request.get("/api/v1/runs?dag=daily_sales&limit=1").json()["items"][0]["id"]
    picture(page, "run", f"/runs/{run}?tab=times")
    picture(page, "task", f"/runs/{run}/tasks/report")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    picture(page, "schedules-dark", "/schedules?tab=line")


def picture(page: Page, name: str, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    page.screenshot(path=IMAGES / f"page-{name}.png", animations="disabled")
    print(f"docs/images/page-{name}.png")


if __name__ == "__main__":
    main()
