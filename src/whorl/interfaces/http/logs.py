"""The log of a server: lines for people, or one JSON object a line for programs.

A message about a run begins with `run ID`; so every line that is about one names it in a field.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whorl.errors import escaped, tame
from whorl.lazily import dataclass
from whorl.providers.redaction import Secret, redact

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

access = logging.getLogger("whorl.access")
_ABOUT_RUN = "run %s"
_PATH_MAX = 500


def begin_log(form: str, secrets: tuple[Secret, ...]) -> None:
    """Writes the log to standard error; JSON has what is usual, too."""
    handler = logging.StreamHandler()
    if form == "json":
        handler.setFormatter(JsonLines(secrets))
        logging.getLogger("whorl").setLevel(logging.INFO)
    else:
        handler.setFormatter(PlainLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class PlainLines(logging.Formatter):
    """Lines for people; what names and texts of others hold steers no terminal."""

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
    """An ASGI application around another one: a line for each request that was answered.

    Without the query: it may have the signature of an address.
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
