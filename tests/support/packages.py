"""Packages that bring plug-ins, as an installer would leave them in a folder on the path."""

from __future__ import annotations

import textwrap
from pathlib import Path


def install(
    folder: Path, name: str, entry_points: str, *, version: str = "1.0", **modules: str
) -> None:
    """The metadata of a package, and its modules by name."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(textwrap.dedent(code))
