"""The page's files: read once, sent to anybody. What they show has to be asked for with a session.

Only files that were there at the start are sent, by exact name. Any other address that is not the
API's is a view of the page, whose own router finds it: it gets the page itself.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from mainspring.api.answers import Answer, Header, send_answer
from mainspring.api.application import nowhere

FOLDER = Path(__file__).parent.parent / "page"
"""Where `make install` puts what it builds of `web/`."""
_HTML = "text/html; charset=utf-8"
_FOR_EVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
_ASK: Header = (b"cache-control", b"no-cache")
_ALLOWED = (
    b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    b" object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_POLICY: Header = (b"content-security-policy", _ALLOWED)


class PageFiles:
    """What is at no route's address."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            "/" + file.relative_to(folder).as_posix(): _answer(folder, file)
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        found = self._files.get(path)
        if found is None and _is_view(path):
            found = self._files.get("/index.html")
        if found is None or method not in ("GET", "HEAD"):
            await nowhere(scope, receive, send)
            return
        scope["mainspring.route"] = "page"
        await send_answer(send, found, method, Headers(scope=scope))


def _is_view(path: str) -> bool:
    """Views have no endings, and are not below the API: a typing error there should be told."""
    return not path.startswith("/api/") and "." not in path.rpartition("/")[2]


def _answer(folder: Path, file: Path) -> Answer:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if kind == "text/html":
        return Answer(file.read_bytes(), content_type=_HTML.encode(), headers=[_ASK, _POLICY])
    # Names of assets hold a digest of what is in them.
    kept = _FOR_EVER if file.parent.name == "assets" else _ASK
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return Answer(file.read_bytes(), content_type=kind.encode(), headers=[kept])
