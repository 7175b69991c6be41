"""The picture of `mainspring up`."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mainspring.cli.activity import told_link

LINK = "http://127.0.0.1:8470/login?code=" + "x" * 43


@pytest.mark.parametrize("width", [20, 60, 80, 88, 89, 200])
def test_the_link_is_whole_on_one_line_however_narrow_the_terminal(width: int) -> None:
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    beside = told_link(out, LINK)
    assert isinstance(out.file, io.StringIO)
    above = out.file.getvalue()
    if width >= len(LINK) + 13:
        assert beside is not None
        assert (beside.plain, above) == (LINK, "")
    else:
        assert beside is None
        assert LINK in above
