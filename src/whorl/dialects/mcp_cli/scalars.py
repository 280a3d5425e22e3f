"""What single values stand for: texts, numbers, durations, words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.durations import parse_duration
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.source import Value


def text_of(value: Value | None) -> str:
    """The text of a scalar as it is written, or nothing."""
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def texts_of(value: Value | None) -> tuple[str, ...]:
    """The texts of a list, or of the one that stands in its place."""
    if isinstance(value, Sequence):
        return tuple(text for item in value if (text := text_of(item)))
    return (text_of(value),) if text_of(value) else ()


def number_of(value: Value | None) -> float | None:
    """The number of a scalar that is one."""
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def whole_of(value: Value | None) -> int | None:
    """The whole number of a scalar that is one."""
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def duration_of(value: Value | None) -> float | None:
    """The seconds that a scalar such as `90s` or `5m` stands for."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | int | float):
        return None
    try:
        return parse_duration(value.value)
    except ValueError:
        return None


def is_true(value: Value | None) -> bool:
    """Whether a field says true."""
    return isinstance(value, Scalar) and value.value is True
