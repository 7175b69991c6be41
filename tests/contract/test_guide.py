"""The `curl` lines of the guide are typed as they are printed."""

from __future__ import annotations

import asyncio
import os
import re

import pytest

from mainspring.domain.roles import Role
from tests.contract.conftest import Api
from tests.docs.test_documents import ROOT, blocks_of

GUIDE = ROOT / "docs" / "guides" / "server.md"


def lines() -> list[str]:
    text = "".join(block.text + "\n" for block in blocks_of(GUIDE) if block.language == "bash")
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


async def test_what_the_guide_shows_works(api: Api, things: dict[str, str]) -> None:
    typed = lines()
    assert len(typed) > 8
    assert all(line.startswith("curl -sf ") for line in typed), typed
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


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
