"""The names of requests: the variable that gets the answer, read from the code."""

from __future__ import annotations

import dis
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

_PACKAGE = __name__.rpartition(".")[0]
_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")
# What stands between a call, the wait for it and the store; the same on all versions of Python.
_PASSING = """CACHE PRECALL GET_AWAITABLE LOAD_CONST SEND YIELD_VALUE RESUME END_SEND NOP NOT_TAKEN
    JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT CLEANUP_THROW EXTENDED_ARG"""
_PASSED = frozenset(_PASSING.split())
_known: dict[tuple[CodeType, int], str] = {}


def name_of_call(otherwise: str) -> str:
    """Returns `draft` in `draft = await whorl.ask(...)`, or the function that returns it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return otherwise
    key = (frame.f_code, frame.f_lasti)
    if key not in _known:
        _known[key] = _found(frame.f_code, frame.f_lasti)
    return _known[key] or otherwise


def _found(code: CodeType, at: int) -> str:
    following = (each for each in dis.get_instructions(code) if each.offset > at)
    later = [each for each in following if each.opname not in _PASSED][:3]
    if later and later[0].opname == "COPY":
        del later[0]
    if later[1:] and later[0].opname.startswith("LOAD_") and later[1].opname == "STORE_ATTR":
        # That of an iteration is what the iteration gives, whatever that is.
        return "" if later[1].argval == "value" else str(later[1].argval)
    if later and later[0].opname.startswith(_STORES):
        name: Any = later[0].argval
        name = name[0] if isinstance(name, tuple) else name
        return name if isinstance(name, str) and name.strip("_") else ""
    if later and later[0].opname.startswith("RETURN") and not code.co_name.startswith("<"):
        return code.co_name
    return ""
