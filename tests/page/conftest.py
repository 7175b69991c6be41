"""A real browser looks at a real `mainspring up`, one of each for all tests of a process.

The browser is the Chromium of an npm package, so that nothing has to be installed by hand. A test
finds things by role and name, as people do, and fails if the page said anything in the console.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    sync_playwright,
)

from tools.build_page import WEB, node

DAGS = Path(__file__).parent / "dags"
_LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/login\?code=\S+")
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


class Up:
    """`mainspring up` with its home in a folder."""

    def __init__(self, folder: Path, dags: Path = DAGS) -> None:
        self.key = folder / "key-of-the-till"
        """Where the dag `till` looks for its key."""
        self.dags = folder / "dags"
        self.dags.mkdir()
        for file in dags.glob("*.py"):
            self.write(file.name, file.read_text().replace("key-of-the-till", str(self.key)))
        self._environment = {
            **os.environ,
            "MAINSPRING_HOME": str(folder / "home"),
            "MAINSPRING_DAGS": str(self.dags),
            "MAINSPRING_PORT": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "up", "--plain"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
        )
        lines: list[str] = []
        found: re.Match[str] | None = None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            lines.append(line)
            found = found or _LINK.search(line)
            if found and "the server listens" in "".join(lines):
                break
        assert found, "".join(lines)
        self.url, self.link = found[1], found[0]
        # Somebody has to read what it prints, or it will wait for that.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def write(self, name: str, code: str) -> None:
        (self.dags / name).write_text(code)

    def command(self, *words: str) -> str:
        """The command line beside the same database."""
        done = subprocess.run(
            [sys.executable, "-m", "mainspring", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait()


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    place = Up(tmp_path_factory.mktemp("page"))
    yield place
    place.stop()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@contextlib.contextmanager
def started_browser(folder: Path) -> Iterator[Browser]:
    """The Chromium of the package, unpacked into the folder, with libraries for machines that have
    none of a desktop's."""
    subprocess.run([node(), "browser.mjs", folder], cwd=WEB, check=True)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=folder / "chromium",
            args=_ARGUMENTS,
            env={**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")},
        )


@pytest.fixture(scope="session")
def session(browser: Browser, up: Up) -> StorageState:
    """What a browser keeps after the link was opened, which can be done once."""
    context = browser.new_context()
    page = context.new_page()
    opened = page.goto(up.link)
    assert opened is not None
    assert opened.ok, page.content()
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(params=[1280])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["light"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def context(
    browser: Browser, session: StorageState, up: Up, width: int, theme: str
) -> Iterator[BrowserContext]:
    context = browser.new_context(
        base_url=up.url,
        storage_state=session,
        viewport={"width": width, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    said: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    assert not said, said


def serious_issues(page: Page) -> list[Any]:
    """What axe finds that would keep somebody from using the page."""
    page.evaluate((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (each["id"], each["help"], [node["html"] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
