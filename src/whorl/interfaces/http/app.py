"""The application: all routes, the built page, one shape of errors, and the OpenAPI document.

`python -m whorl.interfaces.http.app [FILE]` writes that document, by default to `web/openapi.json`.
Of the page exactly the files are served that were built, and nothing that is not listed there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, cast

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response

from whorl import __version__
from whorl.interfaces.http import control, iterations, operations, records, runs, streams, workflows
from whorl.interfaces.http.auth import check_role
from whorl.interfaces.http.problems import Refusal, register
from whorl.interfaces.http.state import PROBLEMS, ServerState, check_open
from whorl.plugins import load_reference, wings

DESCRIPTION: Final = (
    "Everything that the page does and the commands do. Every request needs "
    "`Authorization: Bearer TOKEN`; bodies are JSON, and an unknown field is an error."
)
FOLDER: Final = Path(__file__).parent.parent / "web"
# Allows nothing from other sites, nothing inline, and no frames.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
page = APIRouter(include_in_schema=False)


def build_app(state: ServerState | None = None) -> FastAPI:
    app = FastAPI(
        title="Whorl",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=PROBLEMS,
        dependencies=[Depends(check_role), Depends(check_open)],
    )
    app.state.server = state
    own = (runs, iterations, records, workflows, control, streams, operations)
    added = (cast("APIRouter", load_reference(each)) for wing in wings() for each in wing.routers)
    for router in (*(module.router for module in own), *added, page):
        app.include_router(router)
    app.add_api_route("/api/openapi.json", lambda: document(app), include_in_schema=False)
    register(app)
    return app


def document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is not None:
        return app.openapi_schema
    described = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    # A request of a wrong shape is answered with 400, and everything needs the token.
    shared: dict[str, Any] = {}
    for path in described["paths"].values():
        for operation in path.values():
            answers = operation["responses"]
            if "HTTPValidationError" in str(answers.get("422")):
                del answers["422"]
            for status in sorted(set(answers) & {str(problem) for problem in PROBLEMS}):
                shared[f"Error{status}"] = answers[status]
                answers[status] = {"$ref": f"#/components/responses/Error{status}"}
    components = described["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["responses"] = shared
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    described["security"] = [{"token": []}]
    app.openapi_schema = described
    return described


@page.get("/")
def index() -> Response:
    return _file(FOLDER / "index.html")


@page.get("/assets/{name}")
def asset(name: str) -> Response:
    return _file(FOLDER / "assets" / name)


def _file(path: Path) -> Response:
    if path.suffix not in _TYPES or path.is_symlink() or not path.is_file():
        raise Refusal(404, "W900", "there is no such file")
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=_HEADERS)


def openapi_text() -> str:
    described = document(build_app())
    described["info"]["version"] = "1"
    return json.dumps(described, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "web/openapi.json")
    path.write_text(openapi_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
