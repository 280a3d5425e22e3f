"""Whether a single value is what a field takes, and what it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from whorl.dialects.native.format.forms import (
    Anything,
    Choice,
    Condition,
    Count,
    Duration,
    ListOf,
    MapOf,
    Moment,
    Nothing,
    Number,
    Object,
    OneOf,
    Ref,
    Text,
    Truth,
)
from whorl.ir.durations import parse_count, parse_duration, parse_time
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.native.format.forms import Form
    from whorl.source import Value

_MARKS = ("{{", "{%", "{#")


def is_template(text: str) -> bool:
    """Whether a text holds anything that is not literal."""
    return any(mark in text for mark in _MARKS)


def fits(scalar: Scalar, form: Form) -> bool:
    """Whether a scalar is what the form describes."""
    value = scalar.value
    match form:
        case Text():
            return isinstance(value, str) and (not form.needed or bool(value.strip()))
        case Condition():
            return isinstance(value, bool) or (isinstance(value, str) and bool(value.strip()))
        case Number():
            return _fits_number(value, form)
        case Truth():
            return isinstance(value, bool)
        case Nothing():
            return value is None
        case Duration():
            return (form.template and _is_template(value)) or duration_of(scalar) is not None
        case Moment():
            return _is_template(value) or duration_of(scalar) is not None or is_time(scalar)
        case Count():
            return (count_of(scalar) or 0) > 0
        case Choice():
            return scalar.text in form.options
        case Anything():
            return True
        case OneOf():
            return any(fits(scalar, option) for option in form.forms)
        case ListOf() | MapOf() | Object() | Ref():
            return False
        case _:
            assert_never(form)


def _is_template(value: object) -> bool:
    return isinstance(value, str) and is_template(value)


def _fits_number(value: object, form: Number) -> bool:
    if form.template and _is_template(value):
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if form.whole and value != int(value):
        return False
    return (form.low is None or value >= form.low) and (form.high is None or value <= form.high)


def out_of_bounds(value: Value, form: Form) -> bool:
    """Whether a limit is a number, but too small or too large."""
    if not isinstance(form, Number) or form.code != "W015" or not isinstance(value, Scalar):
        return False
    return isinstance(value.value, int | float) and not isinstance(value.value, bool)


def text_of(value: Value | None) -> str | None:
    """The text of a field that holds one."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        return value.value
    return None


def number_of(value: Value | None) -> float | None:
    """The number of a field that holds one."""
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def whole_of(value: Value | None) -> int | None:
    """The whole number of a field that holds one."""
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def word_of(value: Value | None, options: tuple[str, ...], default: str) -> str:
    """The word of a field that takes one of a few."""
    text = value.text if isinstance(value, Scalar) else default
    return text if text in options else default


def is_true(value: Value | None) -> bool:
    """Whether a field says true."""
    return isinstance(value, Scalar) and value.value is True


def duration_of(value: Value | None) -> float | None:
    """The seconds that a field stands for."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | int | float):
        return None
    try:
        return parse_duration(value.value)
    except ValueError:
        return None


def count_of(value: Value | None) -> int | None:
    """The count that a field stands for."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | int | float):
        return None
    try:
        return parse_count(value.value)
    except ValueError:
        return None


def is_time(value: Scalar) -> bool:
    """Whether a text is a point in time."""
    try:
        parse_time(value.text)
    except ValueError:
        return False
    return isinstance(value.value, str)


def texts_of(value: Value | None) -> tuple[str, ...]:
    """The texts of a field that holds one or a list of them."""
    if isinstance(value, Sequence):
        return tuple(item.text for item in value if isinstance(item, Scalar))
    return (value.text,) if isinstance(value, Scalar) and value.value is not None else ()


def mapping_of(value: Value | None) -> Mapping | None:
    """The object of a field that holds one."""
    return value if isinstance(value, Mapping) else None
