"""The documentation's pictures of the page, taken of `mainspring demo`: `make pictures`.

`ARGS="--home FOLDER"` takes them of a demo that is there.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import started_browser
from tests.page.demo import Demo

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
_WAIT_MS = 60_000.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="make pictures", description=__doc__)
    parser.add_argument("--home", type=Path, help="a demo to use again; else one is made for this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(given.home or Path(folder) / "demo")
        try:
            with started_browser(Path(folder) / "browser") as browser:
                take(demo.entered(browser, height=760).new_page())
        finally:
            demo.stop()


def take(page: Page) -> None:
    page.set_default_timeout(_WAIT_MS)
    done = newest(page, "dag=load_events&state=succeeded")["id"]
    waits = newest(page, "dag=vision_experiment&state=queued")["id"]
    picture(page, "home", "/")
    picture(page, "dags", "/dags")
    picture(page, "dag", "/dags/prices_eu")
    picture(page, "graph", "/dags/load_events?tab=graph", ".react-flow__node")
    picture(page, "history", "/dags/load_events?tab=history", "main canvas")
    picture(page, "run", f"/runs/{done}?tab=times")
    picture(page, "task", f"/runs/{done}/tasks/merge", "[data-byte]")
    picture(page, "why", f"/runs/{waits}/tasks/try_out?why=true")
    picture(page, "queues", "/queues")
    picture(page, "letters", "/dead-letters")
    picture(page, "backfill", f"/backfills/new?schedule=load_events&from={days(6)}&to={days(3)}")
    picture(page, "jobs", "/jobs/new")
    picture(page, "admin", "/admin")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    picture(page, "schedules-dark", "/schedules?tab=line")


def days(ago: int) -> str:
    return str(datetime.now(UTC).date() - timedelta(days=ago))


def newest(page: Page, asked: str) -> Any:
    return page.request.get(f"/api/v1/runs?{asked}&limit=1").json()["items"][0]


def picture(page: Page, name: str, address: str, sight: str = "main") -> None:
    page.goto(address)
    live = page.get_by_role("status").filter(has_text="Live")
    expect(live).to_be_visible(timeout=_WAIT_MS)
    expect(page.get_by_role("status", name="Loading")).to_have_count(0, timeout=_WAIT_MS)
    page.locator(sight).first.wait_for()
    page.screenshot(path=IMAGES / f"page-{name}.png", animations="disabled")
    print(f"docs/images/page-{name}.png")


if __name__ == "__main__":
    main()
