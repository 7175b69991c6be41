"""Generated Python in the house format."""

from __future__ import annotations

import subprocess
import sys


def formatted(text: str) -> str:
    """Imports in order and none too many, then as `ruff format` writes it."""
    sorted_text = _ruff(text, "check", "--select", "I,F401", "--fix", "--quiet")
    return _ruff(sorted_text, "format", "--quiet")


def _ruff(text: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, "--stdin-filename", "src/generated.py", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"ruff {words[0]}: {done.stdout}{done.stderr}")
    return done.stdout
