"""The `curl` lines of the guide are typed as they are printed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from mainspring.domain.roles import Role
from tests.contract.conftest import Api
from tests.docs.test_documents import ROOT, blocks_of

GUIDES = ROOT / "docs" / "guides"


def lines(guide: Path) -> list[str]:
    text = "".join(block.text + "\n" for block in blocks_of(guide) if block.language == "bash")
    before, *rest = re.split(r"^curl", text, flags=re.MULTILINE)
    assert not before.strip(), before
    return [f"curl{line}" for line in rest]


@pytest.mark.parametrize("guide", ["server.md", "jobs.md"])
async def test_what_the_guide_shows_works(api: Api, things: dict[str, str], guide: str) -> None:
    typed = lines(GUIDES / guide)
    assert len(typed) > 4
    assert all(line.startswith(("curl -sf ", "curl -sfN ")) for line in typed), typed
    for line in typed:
        asked = line.replace("http://127.0.0.1:8470", api.base)
        asked = re.sub(r"\b4097\b", things["run"], asked)
        asked = asked.replace("/backfills/12", f"/backfills/{things['backfill']}")
        for written in ("e-3f9ac1d2", "4098"):
            asked = asked.replace(written, things[written])
        child = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            asked,
            env={**os.environ, "TOKEN": api.tokens[Role.OPERATOR], "no_proxy": "*"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await child.communicate()
        assert child.returncode == 0, f"{line}\n{told.decode()}"
        assert told


async def test_what_the_readme_shows_works_from_the_token_on(
    api: Api, things: dict[str, str], database_url: str
) -> None:
    [shown] = [block.text for block in blocks_of(ROOT / "README.md") if block.language == "bash"]
    assert shown.count("\ncurl -sf ") == shown.count("curl") == 4
    script = shown.replace("http://127.0.0.1:8470", api.base).replace("curl", "printf '\\n'; curl")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    child = await asyncio.create_subprocess_exec(
        "bash",
        *("-euo", "pipefail", "-c", script),
        env={
            **os.environ,
            "PATH": path,
            "MAINSPRING_DATABASE_URL": database_url,
            "no_proxy": "*",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, complaint = await child.communicate()
    assert child.returncode == 0, complaint.decode()
    run, job, again, runs = (json.loads(line) for line in told.decode().splitlines() if line)
    assert run["dag"] == "daily_sales"
    assert job["name"] == again["name"] == "greet"
    assert run["id"] in [each["id"] for each in runs["items"]]


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
