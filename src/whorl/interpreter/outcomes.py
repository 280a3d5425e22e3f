"""How things end: an outcome has a status, and a value or an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl.language import LimitExceeded

if TYPE_CHECKING:
    from whorl.interpreter.frames import Outcome
    from whorl.language import Json, LanguageError

_FAILURES = frozenset({"failed", "timed_out", "cancelled"})
_ITERATION = re.compile(r"\[([0-9]+)\][^\[\]]*$")

# Stands for what nobody is shown.
HIDDEN = "***"


def succeeded(value: Json = None) -> Outcome:
    """It went well."""
    return {"status": "succeeded", "value": value}


def failed(error: dict[str, Any], *, status: str = "failed", value: Json = None) -> Outcome:
    """It did not go well."""
    return {"status": status, "error": error, "value": value}


def is_failure(outcome: Outcome) -> bool:
    """Whether an outcome is one that somebody has to deal with."""
    return outcome["status"] in _FAILURES


def error(code: str, message: str, address: str, **more: Json) -> dict[str, Any]:
    """An error at an address, with the iteration that it happened in."""
    found = _ITERATION.search(address)
    iteration = int(found[1]) if found else None
    return {"code": code, "message": message, "path": address, "iteration": iteration} | more


def language_failure(fault: LanguageError, address: str) -> dict[str, Any]:
    """The error of an expression that could not be evaluated."""
    code = "R105" if isinstance(fault, LimitExceeded) else "R104"
    return error(code, f"{fault}", address)
