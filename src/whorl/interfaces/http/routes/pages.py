"""The page: exactly the files that were built, and nothing that is not listed there."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from whorl.interfaces.http.faults import Refusal

FOLDER: Final = Path(__file__).parent.parent.parent / "web"
# Nothing from elsewhere, nothing inline, in nobody's frame.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_BYTES_MAX: Final = 20_000_000
NOT_BUILT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Whorl</title></head><body>
<h1>Whorl</h1>
<p>The page is not built in this checkout. Build it with Node 20 or newer:</p>
<pre>cd web &amp;&amp; npm ci &amp;&amp; npm run build</pre>
<p>The API works without it: everything under <code>/api</code>, with the token that
<code>whorl serve</code> has printed as <code>Authorization: Bearer TOKEN</code>.</p>
</body></html>
"""

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """Says that the server is there."""
    return {"status": "ok"}


@router.get("/")
def index(request: Request) -> Response:
    """The page, or how to build it."""
    content = _read(FOLDER / "index.html")
    return _answer(request, NOT_BUILT.encode() if content is None else content, _TYPES[".html"])


@router.get("/assets/{name}")
def asset(request: Request, name: str) -> Response:
    """A file of the page."""
    folder = FOLDER / "assets"
    try:
        is_known = name in os.listdir(folder)
    except OSError:
        is_known = False
    kind = _TYPES.get(Path(name).suffix)
    content = _read(folder / name) if is_known and kind is not None else None
    if content is None or kind is None:
        raise Refusal(404, "W900", "there is no such file")
    return _answer(request, content, kind)


def _answer(request: Request, content: bytes, kind: str) -> Response:
    """The file, unless the browser has it: names stay when contents change."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = _HEADERS | {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def _read(path: Path) -> bytes | None:
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _BYTES_MAX:
            return None
        return path.read_bytes()
    except OSError:
        return None
