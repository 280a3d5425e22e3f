"""How something ended: a status, and a value or an error; errors, with the place they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.ir import Task
from whorl.ir.expressions import expressions_in, outer_values
from whorl.language import LimitExceeded
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.interpreter.frames import Error, FrameFields, Outcome, Values
    from whorl.ir import Node
    from whorl.language import Json, LanguageError

# Stands for what nobody is shown.
HIDDEN = "***"
_FAILURES = frozenset({"failed", "timed_out", "cancelled"})
# Network, rate, provider, time, a broken answer, a server of tools: they say nothing about what was
# asked. Journals are replayed by these.
OUTSIDE = frozenset({"P101", "P102", "P103", "P104", "P108", "P111", "P120"})
# An answer was cut, and what its error says where a budget was the limit.
_CUT, _BY_BUDGET = "P118", "raise the budget"
_ITERATION = regex(r"\[([0-9]+)\][^\[\]]*$")


def succeeded(value: Json = None) -> Outcome:
    return {"status": "succeeded", "value": value}


def failed(error: Error, *, status: str = "failed", value: Json = None) -> Outcome:
    return {"status": status, "error": error, "value": value}


def is_failure(outcome: Outcome) -> bool:
    return outcome["status"] in _FAILURES


def error_at(address: str, code: str, message: str, **more: Json) -> Error:
    """An error at an address, with the iteration that it happened in."""
    match = _ITERATION.search(address)
    iteration = int(match[1]) if match else None
    error: Error = {"code": code, "message": message, "path": address, "iteration": iteration}
    return error | {name: fact for name, fact in more.items() if fact}


def error_facts(error: Error) -> Values:
    """The facts of an error, for a message of another code that passes it on."""
    return {"code": error["code"]} | error["facts"] if error.get("facts") else {}


def language_failure(fault: LanguageError, address: str, node: Node | None = None) -> Error:
    """The error of an expression; that of a secure `node` may quote what nobody is shown."""
    code, words = "R105" if isinstance(fault, LimitExceeded) else "R104", f"{fault}"
    if node is not None and (node.secure_outputs or (isinstance(node, Task) and node.secure)):
        sources = [e.source for value in outer_values(node) for e in expressions_in(value)]
        # A name that the file writes down is no secret.
        if fault.name is None or not any(f"'{fault.name}'" in source for source in sources):
            words = "an expression failed; the reason is hidden, since it is secure"
    return error_at(address, code, words)


def out_of_time(frame: FrameFields) -> Error:
    return error_at(frame["address"], "R101", f"{frame['name']!r} took longer than its time limit")


def root_of(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an error comes from in the end."""
    while isinstance(cause := error.get("cause"), dict) and cause.get("code"):
        error = cause
    return error


def is_cut(error: Mapping[str, Any]) -> bool:
    """Whether a budget has cut the answer that something failed of."""
    error = root_of(error)
    return error.get("code") == _CUT and _BY_BUDGET in str(error.get("message"))


def is_outside(error: Mapping[str, Any]) -> bool:
    """Whether something failed because of the outside."""
    return root_of(error).get("code") in OUTSIDE
