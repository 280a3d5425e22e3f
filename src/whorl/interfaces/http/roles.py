"""Whether whoever asks may do what a request asks for, and what the audit notes of it.

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
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.operations import OPERATIONS, ROUTES, has_role
from whorl.lazily import dataclass
from whorl.runtimes.service.tables import Audit, AuditEntry
from whorl.runtimes.service.tokens import Role

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

    @property
    def sees_broken(self) -> bool:
        return has_role(self.role, "see broken file")

    def check(self, name: str, *, edits: bool = False) -> None:
        """Refuses an operation, on a server that writes files or does not."""
        operation = OPERATIONS[name]
        if not has_role(self.role, name):
            words = f"the token {self.name!r} has the role {self.role!r}, and this needs "
            advice = "ask the operator of the server for a token"
            raise Refusal(403, "W915", f"{words}{operation.role!r}", advice)
        if operation.needs_edit and not edits:
            words = "this server does not write files, and takes no text that is not saved"
            raise Refusal(403, "C112", words, "start the server with `whorl serve --edit`")


def operation_of(request: Request) -> str:
    """The operation that a request asks for; an address that is not in the table has none."""
    name = ROUTES.get((request.method, request.scope["route"].path))
    if name is None:
        raise Refusal(403, "W915", "no role may use this address")
    return name


async def check_role(request: Request) -> None:
    """Refuses what the role of whoever asks does not allow; called once the address is known."""
    scope, name = request.scope, operation_of(request)
    identity = scope.get(IDENTITY)
    if OPERATIONS[name].is_noted and _NOTE in scope:
        scope[_NOTE].update(action=name, **await _subject(request))
    if identity is not None:
        server = request.app.state.server
        identity.check(name, edits=server is not None and server.edits)


async def _subject(request: Request) -> dict[str, str]:
    """The run and the file that a request is about; what hooks are sent is not looked into."""
    is_api = request.url.path.startswith("/api/")
    given = _object(await request.body()) if is_api else {}
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
                AuditEntry(
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
    answer = _object(message.get("body", b""))
    if status < 400:
        run = answer.get("run")
        if isinstance(run, str) and note["action"] != "fork":
            note["run"] = run
        return "ok"
    error = answer.get("error")
    code = error.get("code", "") if isinstance(error, dict) else ""
    return f"{status} {code}".strip()


def _object(content: bytes) -> dict[str, Any]:
    """The JSON object that a body is; empty where it is none, however deep."""
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
