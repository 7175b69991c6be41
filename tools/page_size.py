"""What a browser loads before it shows the first view, in kB as sent; exit 1 if it is too much.

Counted are the scripts that the page names and those that the view Home needs on top, packed.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.build_page import MADE

KB_MAX = 200
_NAMED = re.compile(r'(?:src|href)="/(assets/[\w.-]+\.js)"')
_IMPORTED = re.compile(r'(?:from|import)\s*"\./([\w.-]+\.js)"')


def main() -> int:
    first = _NAMED.findall((MADE / "index.html").read_text(encoding="utf-8"))
    home = next((MADE / "assets").glob("Home-*.js"))
    loaded = needed({MADE / name for name in first} | {home})
    kb = sum(len(gzip.compress(file.read_bytes(), 6)) for file in loaded) / 1000
    print(f"first load: {kb:.0f} kB of JavaScript, packed, in {len(loaded)} files")
    if kb > KB_MAX:
        print(f"error: more than {KB_MAX} kB", file=sys.stderr)
        print("hint: load what only some views need with them (`lazy`)", file=sys.stderr)
        return 1
    return 0


def needed(files: set[Path]) -> set[Path]:
    """They and all that they import at once."""
    found, left = set(files), list(files)
    while left:
        file = left.pop()
        for name in _IMPORTED.findall(file.read_text(encoding="utf-8")):
            if (other := file.with_name(name)) not in found:
                found.add(other)
                left.append(other)
    return found


if __name__ == "__main__":
    sys.exit(main())
