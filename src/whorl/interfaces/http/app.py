"""The application: all routes, one shape of errors, and the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from whorl import __version__
from whorl.interfaces.http.access import PROBLEMS
from whorl.interfaces.http.faults import register
from whorl.interfaces.http.routes import control, pages, runs, streams, workflows

if TYPE_CHECKING:
    from whorl.interfaces.http.desk import Desk

DESCRIPTION = (
    "Everything that the page does and the commands do. Every request needs "
    "`Authorization: Bearer TOKEN`; bodies are JSON, and an unknown field is an error."
)


def build_app(desk: Desk | None = None) -> FastAPI:
    """The application at a desk; without one it can only tell its OpenAPI document."""
    app = FastAPI(
        title="Whorl",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=PROBLEMS,
    )
    app.state.desk = desk
    # What has a fixed name comes before what may have any.
    for router in (streams.router, workflows.router, control.router, runs.router, pages.router):
        app.include_router(router)
    app.add_api_route("/api/openapi.json", lambda: document(app), include_in_schema=False)
    register(app)
    return app


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        _describe_errors(found)
        app.openapi_schema = found
    return app.openapi_schema


def _describe_errors(found: dict[str, Any]) -> None:
    """A request of a wrong shape is answered with 400, and everything needs the token."""
    shared: dict[str, Any] = {}
    for path in found["paths"].values():
        for operation in path.values():
            answers = operation["responses"]
            answers.pop("422", None)
            for status in sorted(set(answers) & {str(known) for known in PROBLEMS}):
                shared[f"Error{status}"] = answers[status]
                answers[status] = {"$ref": f"#/components/responses/Error{status}"}
    found["components"]["responses"] = shared
    schemas = found["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
