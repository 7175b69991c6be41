"""A running `mainspring demo`, for who measures the page or takes pictures of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext


class Demo:
    """`mainspring demo` in this home; seeded there if nothing is."""

    def __init__(self, home: Path, *words: str) -> None:
        self._environment = {**os.environ, "MAINSPRING_PORT": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mainspring", "demo", "--json", "--home", str(home), *words],
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        assert lines, "mainspring demo said nothing"
        self.told = json.loads("".join(lines))
        self.link: str = self.told["link"]
        self.url = self.link.partition("/login")[0]
        self._environment["MAINSPRING_HOME"] = str(home)
        # Somebody has to read what it prints, or it will wait for that.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def command(self, *words: str) -> str:
        """The command line beside the same database."""
        done = subprocess.run(
            [sys.executable, "-m", "mainspring", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def entered(self, browser: Browser, *, height: int = 800) -> BrowserContext:
        """A browser that has opened the link, which can be done once."""
        context = browser.new_context(
            base_url=self.url, viewport={"width": 1280, "height": height}, reduced_motion="reduce"
        )
        page = context.new_page()
        opened = page.goto(self.link)
        assert opened is not None
        assert opened.ok, page.content()
        page.close()
        return context

    def stop(self) -> None:
        """A second signal hurries it: some of its tasks take minutes."""
        while self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
