"""The audit of the store, for whoever administers it."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from whorl.interfaces.http.schemas.shared import Closed
from whorl.interfaces.http.state import State

router = APIRouter(prefix="/api", tags=["audit"])


class AuditQuery(Closed):
    """Which rows, the newest first."""

    since: float = Field(default=0.0, ge=0, le=2**53)
    who: str = Field(default="", max_length=500)
    run: str = Field(default="", max_length=128)
    before: int = Field(default=2**53, ge=0, le=2**53, description="only rows with smaller ids")
    limit: int = Field(default=100, ge=1, le=1_000)


class AuditItem(Closed):
    """What somebody did."""

    id: int
    at: float
    who: str = Field(description="the name of a token, `signed address`, or `command line USER`")
    role: str
    action: str
    run: str
    file: str
    outcome: str = Field(description="`ok`, or the status and the code of the refusal")


class AuditList(Closed):
    """The rows; give `next` as `before` for more of them."""

    audit: list[AuditItem]
    next: int | None = None


@router.get("/audit")
def list_audit(state: State, query: Annotated[AuditQuery, Query()]) -> AuditList:
    """Who did what, over HTTP and on the command line, the newest first."""
    deeds = state.audit.read(**query.model_dump())
    items = [AuditItem(**asdict(deed)) for deed in deeds]
    return AuditList(audit=items, next=items[-1].id if len(items) == query.limit else None)
