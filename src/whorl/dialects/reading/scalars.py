"""Plain values of a file as Python values; what a value does not hold is None or empty.

Nothing is reported here: these are for places whose structure is checked elsewhere, or that accept
anything. `fields.Fields` reads the same kinds of values with diagnostics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.values import parse_duration
from whorl.source import Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from whorl.errors import Span

_SHOWN_MAX = 40


def words(text: str) -> tuple[str, ...]:
    """The words of a text, for the tables of a dialect."""
    return tuple(text.split())


def text_of(value: Value | None) -> str:
    """The text of a scalar as it is written; empty for null and for anything else."""
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def texts_of(value: Value | None) -> tuple[str, ...]:
    """The texts of a list, or of the one that stands in its place; empty ones are left out."""
    items = value if isinstance(value, Sequence) else (value,)
    return tuple(text for item in items if (text := text_of(item)))


def number_of(value: Value | None) -> float | None:
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def whole_of(value: Value | None) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def duration_of(value: Value | None) -> float | None:
    """The seconds of a scalar such as `90s`, `5m`, `PT5S` or 90."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | int | float):
        return None
    try:
        return parse_duration(value.value)
    except ValueError:
        return None


def is_true(value: Value | None) -> bool:
    return isinstance(value, Scalar) and value.value is True


def scalar_of(value: Value | None) -> Scalar | None:
    return value if isinstance(value, Scalar) and value.value is not None else None


def span_of(item: Mapping, name: str) -> Span:
    """Where a field of an object stands, or else the object."""
    value = item.get(name)
    return item.span if value is None else value.span


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= _SHOWN_MAX else value.text[:_SHOWN_MAX] + "…"
        return repr(text) if isinstance(value.value, str) else text
    return "an object" if isinstance(value, Mapping) else "a list"
