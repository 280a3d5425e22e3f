"""Types of ports: a value as a port of a type has it, or an error that names the port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, kind_of, to_json_text

if TYPE_CHECKING:
    from whorl.language.run import Run

TYPES = ("string", "number", "boolean", "json", "file", "files", "any")
SHOWN_MAX = 200
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}|(?=[\d.]{2,40}$)\d*\.\d*)(?:[eE][+-]?\d{1,3})?")


def shown(run: Run, value: Value) -> str:
    """A value as templates print it: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED or value is None:
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return run.json_text(value)


def told(value: Value) -> str:
    """A value in a message, cut where it is long."""
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, list | dict):
        return kind_of(value)
    return to_json_text(value)[:SHOWN_MAX]


def convert(run: Run, value: Value, wanted: str, what: str) -> Value:
    """A value for a port of a type; texts become numbers and truth values where they say so."""
    match wanted:
        case "string" | "file":
            return value if isinstance(value, str) else shown(run, value)
        case "number":
            return _number(run, value, what)
        case "boolean":
            if isinstance(value, str) and value.strip().lower() in ("true", "false"):
                return value.strip().lower() == "true"
            if not isinstance(value, bool):
                raise mismatch(value, "a boolean", what)
        case "json":
            return _structure(run, value)
        case "files":
            return value if isinstance(value, list) else [value]
    return value


def check(value: Value, wanted: str, what: str) -> None:
    """Refuses a value that is not of the type, without changing any."""
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "file": str,
        "number": (int, float),
        "boolean": bool,
        "files": list,
    }
    kind = kinds.get(wanted)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is None or (isinstance(value, kind) and (wanted != "number" or is_number)):
        return
    raise mismatch(value, "a list of files" if wanted == "files" else f"a {wanted}", what)


def mismatch(value: Value, wanted: str, what: str) -> EvaluationError:
    """The error for a value of another type."""
    return EvaluationError(f"{what} must be {wanted}, not {told(value)}")


def _number(run: Run, value: Value, what: str) -> Value:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        try:
            value = int(text)
        except ValueError:
            value = _float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mismatch(value, "a number", what)
    return run.check_number(value, what)


def _float(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text


def _structure(run: Run, value: Value) -> Value:
    """JSON in a text is read; a text that is none is a JSON value too."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return from_json(run, value.strip())
        except EvaluationError:
            return value
    return value
