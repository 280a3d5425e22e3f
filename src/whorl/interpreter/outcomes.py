"""How something ended: a status, and a value or an error; errors, with the place they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir import Task
from whorl.language import LimitExceeded
from whorl.lazily import regex

if TYPE_CHECKING:
    from whorl.interpreter.frames import Error, FrameFields, Outcome, Values
    from whorl.ir import Node
    from whorl.language import Json, LanguageError

# Stands for what nobody is shown.
HIDDEN = "***"
_FAILURES = frozenset({"failed", "timed_out", "cancelled"})
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
        words = "an expression failed; the reason is hidden, since it is secure"
    return error_at(address, code, words)


def out_of_time(frame: FrameFields) -> Error:
    return error_at(frame["address"], "R101", f"{frame['name']!r} took longer than its time limit")
