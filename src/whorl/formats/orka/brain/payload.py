"""What a brain is given: objects in whatever form agents hand them over, and their fields."""

from __future__ import annotations

import json
import math
from ast import literal_eval
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.formats.orka.outputs import object_in
from whorl.language.values import to_text

if TYPE_CHECKING:
    from whorl.language import Json

Fields: TypeAlias = "dict[str, Json]"

_UNWRAPPED_MAX = 3
_LITERAL_MAX = 65_536


def table(value: Json) -> Fields:
    return value if isinstance(value, dict) else {}


def payload_of(value: Json) -> Fields:
    """What an operation is about: an object, one that a text holds, or what an agent said."""
    for _ in range(_UNWRAPPED_MAX):
        if not isinstance(value, str):
            break
        parsed = cast("Json", object_in(value)) or _literal(value)
        if parsed is None:
            return {"response": value} if value.strip() else {}
        value = parsed
    return table(value)


def _literal(written: str) -> Json:
    """The value that a text is in JSON, or as Python prints it; null where it is none."""
    if len(written) > _LITERAL_MAX or written.lstrip()[:1] not in ("{", '"', "'"):
        return None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        found: Json = json.loads(json.dumps(literal_eval(written.strip()), allow_nan=False))
        return found
    return None


def text(payload: Fields, *names: str, default: str = "") -> str:
    """The first of these fields that is a text or a number, as text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            return str(value)
    return default


def number(payload: Fields, *names: str, default: float) -> tuple[float, str]:
    """The first of these fields that is there, from 0 to 1, and what to warn of if it is none."""
    for name in names:
        value = payload.get(name)
        if value is None or value == "":
            continue
        try:
            found = float(value) if isinstance(value, str | int | float) else math.nan
        except ValueError:
            found = math.nan
        if math.isfinite(found):
            return min(1.0, max(0.0, found)), ""
        return (
            default,
            f"{name!r} is {to_text(value)[:60]!r}, which is not a number, so {default} is used",
        )
    return default, ""


def flag(payload: Fields, name: str, *, default: bool = True) -> bool:
    value = payload.get(name)
    if value is None or value == "":
        return default
    return str(value).strip().lower() not in ("false", "0", "no")


def count(payload: Fields, name: str, default: int, most: int) -> int:
    try:
        return min(most, max(1, int(float(str(payload.get(name))))))
    except (ValueError, OverflowError):
        return default


def listed(value: Json, mark: str = ",") -> list[str]:
    """The texts of a list, of one that is written as text, or of objects that have an id."""
    if isinstance(value, str):
        return [part.strip().strip("\"'[]") for part in value.split(mark) if part.strip("\"'[] ")]
    items = value if isinstance(value, list) else []
    names = ("id", "name", "node_id", "agent_id", "action")
    texts = (text(item, *names) if isinstance(item, dict) else to_text(item) for item in items)
    return [found for found in texts if found]


def items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def number_in(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
