"""Which role a request needs, and what the audit calls it: one table for all addresses.

Whoever is let in by another way than a token or a session (a public address, a signature) was let
in for that one address, and has no role.
"""

import asyncio
import json
import logging
from collections.abc import MutableMapping
from dataclasses import field
from typing import Any, Final

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import StoreError, safe
from whorl.interfaces.http.faults import Refusal
from whorl.lazily import dataclass
from whorl.runtimes.service.audit import Audit, Deed
from whorl.runtimes.service.tokens import ROLES, Role

# Method and address to role and action; an action without a name changes nothing.
NEEDED: Final[dict[tuple[str, str], tuple[Role, str]]] = {
    ("POST", "/api/session"): ("read", ""),
    ("POST", "/api/validate"): ("read", ""),
    ("POST", "/api/workflows/sketch"): ("read", ""),
    ("POST", "/api/workflows/edit"): ("read", ""),
    ("POST", "/api/workflows/names"): ("read", ""),
    ("POST", "/api/experiments/{name}/what-if"): ("read", ""),
    ("POST", "/api/runs/{run}/what-if"): ("read", ""),
    ("POST", "/api/runs"): ("run", "start"),
    ("POST", "/api/experiments"): ("run", "run experiment"),
    ("POST", "/api/experiments/{name}/stop"): ("steer", "stop experiment"),
    ("POST", "/api/tries"): ("run", "try"),
    ("PUT", "/api/pins"): ("run", "pin"),
    ("POST", "/api/runs/{run}/fork"): ("run", "fork"),
    **{
        ("POST", f"/api/runs/{{run}}/{verb}"): ("steer", verb)
        for verb in ("pause", "resume", "cancel", "stop", "continue", "accept", "approve", "reject")
    },
    ("PUT", "/api/workflows/source"): ("admin", "save"),
    ("POST", "/api/workflows"): ("admin", "new file"),
    ("GET", "/api/audit"): ("admin", ""),
    ("POST", "/api/schedules"): ("admin", "add schedule"),
    ("DELETE", "/api/schedules/{schedule}"): ("admin", "remove schedule"),
    ("POST", "/api/schedules/{schedule}/pause"): ("steer", "pause schedule"),
    ("POST", "/api/schedules/{schedule}/resume"): ("steer", "resume schedule"),
    ("POST", "/api/schedules/{schedule}/run"): ("run", "run schedule"),
    **{
        (method, f"/hooks/workflows/{{workflow}}/{{trigger}}{rest}"): ("run", "start")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        for rest in ("", "/{path:path}")
    },
    ("POST", "/hooks/{name}"): ("run", "start"),
    ("POST", "/hooks/runs/{run}/{address:path}"): ("steer", "call"),
}
_UNKNOWN: Final[tuple[Role, str]] = ("admin", "unknown")
_READING: Final = ("GET", "HEAD")
_SIGNED: Final = "signed address"
# Where the identity of whoever asks and what the audit notes stand in the scope of a request.
IDENTITY: Final = "whorl.identity"
_NOTE: Final = "whorl.audit"

log = logging.getLogger("whorl.http")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: the name of the token, its role, and, of one of the store, its hash."""

    name: str
    role: Role
    digest: bytes = b""

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


def needed(method: str, address: str) -> tuple[Role, str]:
    """The role that a request needs, and its name in the audit."""
    usual: tuple[Role, str] = ("read", "") if method in _READING else _UNKNOWN
    return NEEDED.get((method, address), usual)


async def check_role(request: Request) -> None:
    """Refuses what the role of whoever asks does not allow; called once the address is known."""
    scope = request.scope
    role, action = needed(request.method, scope["route"].path)
    identity = scope.get(IDENTITY)
    if action and _NOTE in scope:
        scope[_NOTE].update(action=action, **await _subject(request))
    if identity is not None and not identity.may(role):
        words = f"the token {identity.name!r} has the role {identity.role!r}, and this needs "
        raise Refusal(403, "W915", f"{words}{role!r}", "ask the operator of the server for a token")


async def _subject(request: Request) -> dict[str, str]:
    """The run and the file that a request is about."""
    try:
        body: Any = json.loads(await request.body() or b"{}")
    except ValueError:
        body = {}
    is_api = request.url.path.startswith("/api/")
    given = body if isinstance(body, dict) and is_api else {}
    names = (given.get(name) for name in ("workflow", "file"))
    file = next((name for name in names if isinstance(name, str)), "")
    known = ("workflow", "schedule", *(["name"] if is_api else []))
    named = (request.path_params.get(name) for name in known)
    file = file or next((str(name) for name in named if name), "")
    return {"run": str(request.path_params.get("run", "")), "file": file}


@dataclass(eq=False)
class Audited:
    """An ASGI application around another one: what changes something is noted, then answered."""

    app: ASGIApp
    audit: Audit
    _late: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note: MutableMapping[str, str] = {}
        scope[_NOTE] = note
        start: Message | None = None

        async def send_noted(message: Message) -> None:
            nonlocal start
            if note and message["type"] == "http.response.start":
                start = message
                return
            if note and start is not None:
                await self._add(scope, note, _outcome(start["status"], message, note))
                note.clear()
                await send(start)
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            if note:
                # It may have been carried out, although nobody has waited for the answer.
                late = asyncio.ensure_future(self._add(scope, dict(note), "not answered"))
                self._late.add(late)
                late.add_done_callback(self._late.discard)

    async def _add(self, scope: Scope, note: MutableMapping[str, str], outcome: str) -> None:
        identity = scope.get(IDENTITY) or Identity(_SIGNED, "run")
        role = identity.role if IDENTITY in scope else ""
        try:
            await self.audit.add(
                Deed(
                    who=identity.name,
                    role=role,
                    action=note["action"],
                    run=note["run"],
                    file=note["file"],
                    outcome=outcome,
                )
            )
        except StoreError as fault:
            who, action = safe(identity.name), safe(note["action"])
            log.error("%s by %s is not in the audit: %s", action, who, safe(str(fault)))


def _outcome(status: int, message: Message, note: MutableMapping[str, str]) -> str:
    """`ok`, or the status and the code of the fault; an answer may name the run that was made."""
    try:
        answer: Any = json.loads(message.get("body", b"") or b"{}")
    except ValueError:
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    if status < 400:
        run = answer.get("run")
        if isinstance(run, str) and note["action"] != "fork":
            note["run"] = run
        return "ok"
    error = answer.get("error")
    code = error.get("code", "") if isinstance(error, dict) else ""
    return f"{status} {code}".strip()
