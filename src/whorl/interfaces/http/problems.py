"""Every failure becomes one shape of answer: a code, words, and what to do."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from whorl.errors import (
    EditRefused,
    InvalidWorkflow,
    ProviderError,
    StoreError,
    UsageError,
    WhorlError,
    safe,
)
from whorl.interfaces.advice import advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI, Request

    from whorl.errors import Diagnostic

log = logging.getLogger("whorl.http")

_STATUSES = {"W902": 404, "W903": 404, "W905": 409, "W908": 403, "W909": 403}
_STATUSES |= {"R902": 409, "C110": 409, "C111": 403, "C112": 403, "C113": 409}
_WORDS = {404: "there is nothing at this address", 405: "this address has no such method"}
_FINDINGS_MAX = 20


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is answered with words instead of being carried out.

    `again_s` says after how many seconds it may be sent again.
    """

    status: int
    code: str
    message: str
    help: str = ""
    again_s: int = 0

    def __str__(self) -> str:
        return self.message


# Codes that say more than that a request does not fit a run; so do all of providers.
_KEPT = frozenset({"W902", "W903", "W908", "W909", "R110", "R902"})


def conflict(fault: UsageError, run: str = "RUN") -> Refusal:
    # The run itself is known here, so that W902 is about a place in it.
    status = {"W908": 403, "W909": 403}.get(fault.code, 409)
    is_kept = fault.code in _KEPT or fault.code.startswith("P")
    code = fault.code if is_kept else "W905"
    return Refusal(status, code, str(fault), fault.help or advice("W905", fault.facts, run))


def answer_for(fault: Exception, root: str = "") -> JSONResponse:
    """Returns the answer for a fault; files are named as seen from the project's root."""
    match fault:
        case Refusal():
            answer = refused(fault.status, fault.code, str(fault), fault.help)
            if fault.again_s:
                answer.headers["Retry-After"] = str(fault.again_s)
            return answer
        case EditRefused():
            # With the line where the text can be edited instead.
            found = finding(fault.diagnostic, root)
            place = {name: found[name] for name in ("code", "message", "file", "line", "column")}
            return refused(422, advice=found["help"], operation=fault.operation, **place)
        case UsageError(code="C110"):
            # A file that is not what its writer last saw, with what it is.
            current = {"text": getattr(fault, "text", ""), "etag": getattr(fault, "etag", None)}
            return refused(409, fault.code, str(fault), fault.help, current=current)
        case UsageError() | StoreError():
            usual = 400 if isinstance(fault, UsageError) else 503
            return refused(_STATUSES.get(fault.code, usual), fault.code, str(fault), fault.help)
        case InvalidWorkflow():
            return _invalid(fault, root)
        case ProviderError():
            return refused(400, fault.code, str(fault))
        case RequestValidationError():
            return refused(400, "W900", _validation_words(fault.errors()))
        case HTTPException():
            words = _WORDS.get(fault.status_code, str(fault.detail))
            return refused(fault.status_code, "W900", words)
    log.error("an internal error", exc_info=fault)
    words = f"an internal error: {type(fault).__name__}"
    return refused(500, "I900", words, "the log of the server says more")


def refused(
    status: int,
    code: str,
    message: str,
    advice: str = "",
    *,
    current: dict[str, Any] | None = None,
    **others: Any,
) -> JSONResponse:
    """Returns a fault in its one shape; `others` are its place, or findings in a file."""
    error = {"code": code, "message": safe(message)[:4_000], "help": safe(advice)[:2_000]}
    content: dict[str, Any] = {"error": error | {"diagnostics": None} | others}
    return JSONResponse(content | ({} if current is None else {"current": current}), status)


def register(app: FastAPI) -> None:
    async def answer(request: Request, fault: Exception) -> JSONResponse:
        state = request.app.state.server
        return answer_for(fault, str(state.project.root) if state is not None else "")

    for kind in (Refusal, WhorlError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def finding(diagnostic: Diagnostic, root: str) -> dict[str, Any]:
    span = diagnostic.span
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": safe(diagnostic.message),
        "label": safe(diagnostic.label),
        "help": safe(diagnostic.help),
        "file": span and (span.file.removeprefix(f"{root}/") if root else span.file),
        "line": span and span.line,
        "column": span and span.column,
        "node": diagnostic.node,
    }


def _invalid(fault: InvalidWorkflow, root: str) -> JSONResponse:
    diagnostics = fault.diagnostics[:_FINDINGS_MAX]
    if not diagnostics:
        return refused(400, "W001", "the file cannot be read", diagnostics=[])
    first = diagnostics[0]
    if len(diagnostics) == 1 and first.code in ("W016", "W027") and first.span is None:
        return refused(404, first.code, first.message, first.help)
    findings = [finding(diagnostic, root) for diagnostic in diagnostics]
    return refused(400, first.code, first.message, first.help, diagnostics=findings)


def _validation_words(errors: Sequence[Any]) -> str:
    """Returns what does not fit, with its place: `iterations: Input should be ...`."""
    words = []
    for error in errors[:5]:
        place = ".".join(str(part) for part in error["loc"] if part not in ("body", "query"))
        message = str(error["msg"]).removeprefix("Value error, ")
        if error["type"] == "extra_forbidden":
            message = "there is no such field"
        words.append(f"{place[:200]}: {message}" if place else message)
    return "; ".join(words) or "the request is not valid"
