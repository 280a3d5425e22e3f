"""For operators: numbers in the format of Prometheus, whether requests can be answered, the audit,
and the log: lines for people, or one JSON object a line for programs.

A message about a run begins with `run ID`; so every line that is about one names it in a field.
"""

import asyncio
import json
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl import __version__
from whorl.errors import StoreError, escaped, tame
from whorl.interfaces.http.models import Closed
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.http.state import STOPPING, ServerState, State, check_query
from whorl.providers.redaction import Secret, redact
from whorl.services.serving.watchers import CONTENT_TYPE, Family, text_of_families

_PATIENCE_S = 5.0
_ABOUT_RUN = "run %s"
_PATH_MAX = 500

router = APIRouter()
access = logging.getLogger("whorl.access")


@router.get(
    "/metrics",
    tags=["operations"],
    dependencies=[Depends(check_query)],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(state: State) -> Response:
    """Numbers about runs, calls, money and this server, in the text format of Prometheus.

    Counters begin when the server starts; each server counts the runs that it drives.
    """
    is_ready = False
    with suppress(StoreError):
        await check_store(state)
        is_ready = not state.driving.is_closing
    gauges = await asyncio.to_thread(_gauges, state, is_ready=is_ready)
    text = text_of_families([*state.watcher.metrics.families(), *gauges])
    return Response(text.encode("utf-8", "replace"), headers={"content-type": CONTENT_TYPE})


def _gauges(state: ServerState, *, is_ready: bool) -> list[Family]:
    runs = Family("whorl_runs", "gauge", "Runs that have not ended.", ("workflow", "status"))
    bounded = state.watcher.metrics.bounded
    queue = Family("whorl_queue_length", "gauge", "Runs that wait for their turn.", ("workflow",))
    for name, status, count in state.store.open_runs():
        runs.add(count, bounded("workflow", name), status)
        if status == "queued":
            queue.add(count, bounded("workflow", name))
    values = {
        "whorl_runs_driven": ("Runs that this server drives.", float(state.driving.count)),
        "whorl_store_bytes": ("Size of the store.", float(state.store.used_bytes())),
        "whorl_event_loop_lag_seconds": (
            "The longest time that the event loop was blocked within the last minute.",
            state.heartbeat.stall_ms / 1000,
        ),
        "whorl_ready": ("Whether the server takes new work.", float(is_ready)),
    }
    about = Family("whorl_info", "gauge", "The version.", ("version",), values={(__version__,): 1})
    single = [Family(n, "gauge", words, (), (), {(): v}) for n, (words, v) in values.items()]
    return [runs, queue, *single, about]


@router.get("/healthz", include_in_schema=False)
async def healthz(state: State) -> Response:
    """Whether runs can be driven, and for how long others were held up at most within a minute.

    Of schedules that cannot start anything, there is the number.
    A store that is gone or damaged, or has no room, takes no writes.
    """
    await check_store(state)
    known = {"stall_ms": state.heartbeat.stall_ms}
    for job in state.jobs:
        known |= job.health()
    return JSONResponse({"status": "ok", **known})


@router.get("/readyz", include_in_schema=False)
async def readyz(state: State) -> Response:
    """Whether new work is taken: the store can be written, and the server is not being stopped."""
    if state.driving.is_closing:
        raise Refusal(503, "W900", STOPPING)
    await check_store(state)
    return JSONResponse({"status": "ready"})


async def check_store(state: ServerState) -> None:
    """Raises StoreError if the store cannot be written, as far as the server knows."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await state.store.probe()
    except TimeoutError:
        # A process that writes for long delays others; restarting this server would not help.
        if (fault := state.store.watch.refusal) is not None:
            raise fault from None


class AuditQuery(Closed):
    """Which rows, the newest first."""

    since: float = Field(default=0.0, ge=0, le=2**53)
    who: str = Field(default="", max_length=500)
    run: str = Field(default="", max_length=128)
    before: int = Field(default=2**53, ge=0, le=2**53, description="only rows with smaller ids")
    limit: int = Field(default=100, ge=1, le=1_000)


class AuditItem(Closed):
    """What a user or client did."""

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


@router.get("/api/audit", tags=["audit"])
def list_audit(state: State, query: Annotated[AuditQuery, Query()]) -> AuditList:
    """Who did what, over HTTP and on the command line, the newest first."""
    deeds = state.audit.read(**query.model_dump())
    items = [AuditItem.from_row(deed) for deed in deeds]
    return AuditList(audit=items, next=items[-1].id if len(items) == query.limit else None)


def begin_log(form: str, secrets: tuple[Secret, ...]) -> None:
    """Writes the log to standard error; JSON also has lines about usual work."""
    handler = logging.StreamHandler()
    if form == "json":
        handler.setFormatter(JsonLines(secrets))
        logging.getLogger("whorl").setLevel(logging.INFO)
    else:
        handler.setFormatter(PlainLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class PlainLines(logging.Formatter):
    """Lines for people, without the control characters in names and texts of others."""

    def format(self, record: logging.LogRecord) -> str:
        return tame(super().format(record))


class JsonLines(logging.Formatter):
    """One object a line, without secrets: time, level, logger, message, and what it is about."""

    def __init__(self, secrets: tuple[Secret, ...] = ()) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if str(record.msg).startswith(_ABOUT_RUN) and isinstance(record.args, tuple):
            line["run"] = str(record.args[0])
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return escaped(json.dumps(redact(line, self._secrets), ensure_ascii=False))


@dataclass(slots=True)
class AccessLog:
    """An ASGI application around another one that logs a line for each answered request.

    The line leaves out the query, which may have the signature of an address.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not access.isEnabledFor(logging.INFO):
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        finally:
            method, path = scope["method"], str(scope["path"])[:_PATH_MAX]
            took_ms = round((time.monotonic() - began) * 1000, 1)
            fields = {"method": method, "path": path, "status": status, "took_ms": took_ms}
            access.info("%s %s %d", method, path, status, extra={"fields": fields})
