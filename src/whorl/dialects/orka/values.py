"""Texts, numbers, lists and objects of a file, as plain values and as values of the IR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.ir.durations import parse_duration
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json
    from whorl.source import Value

LIBRARY = "orka"
_MARKS = ("{{", "{%", "{#")
# A template that is one expression would keep its type; a prompt is a text whatever it says.
_AS_TEXT = "{{ '' }}"


def is_template(text: str) -> bool:
    """Whether a text holds anything that is not literal."""
    return any(mark in text for mark in _MARKS)


def template(source: str) -> ir.Expression:
    """A template of ours."""
    return ir.Expression("template", source, LIBRARY)


def computed(function: str, *arguments: str) -> ir.Expression:
    """The call of a function of the library; the arguments are names or literals."""
    return ir.Expression("jinja", f"{function}({', '.join(arguments)})", LIBRARY)


def literal(value: Json) -> str:
    """A value as an expression writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def read_prompt(draft: Draft, value: Value | None) -> ir.Value | None:
    """Reads what a model is told: always a text."""
    if not isinstance(value, Scalar) or value.value is None:
        return None
    text = value.text
    if not is_template(text):
        return ir.Constant(text)
    bare = text.strip()
    whole = bare.startswith("{{") and bare.endswith("}}") and bare == text
    expression = template(text + _AS_TEXT if whole else text)
    draft.places.remember(expression, value)
    return expression


def read_value(draft: Draft, value: Value | None) -> ir.Value:
    """Reads any JSON; texts with marks become templates, whatever holds none a constant."""
    match value:
        case None:
            return ir.Constant(None)
        case Scalar():
            if not isinstance(value.value, str) or not is_template(value.value):
                return ir.Constant(value.value)
            expression = template(value.value)
            draft.places.remember(expression, value)
            return expression
        case Sequence():
            items = tuple(read_value(draft, item) for item in value)
            constant = all(isinstance(item, ir.Constant) for item in items)
            return ir.Constant(plain(value)) if constant else ir.Items(items)
        case Mapping():
            fields = read_fields(draft, value)
            constant = all(isinstance(entry, ir.Constant) for _, entry in fields.entries)
            return ir.Constant(plain(value)) if constant else fields


def read_fields(draft: Draft, value: Value | None) -> ir.Fields:
    """Reads an object whose values may be templates."""
    if not isinstance(value, Mapping):
        return ir.Fields()
    return ir.Fields(tuple((entry.name, read_value(draft, entry.value)) for entry in value))


def text_of(value: Value | None) -> str:
    """The text of a field; nothing where it holds none."""
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def number_of(value: Value | None) -> float | None:
    """The number of a field that holds one."""
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def truth_of(value: Value | None) -> bool:
    """Whether a field says true."""
    return isinstance(value, Scalar) and value.value is True


def read_seconds(draft: Draft, value: Value | None) -> float | None:
    """The seconds of a time limit; what is none is reported."""
    if value is None:
        return None
    try:
        seconds = parse_duration(value.value) if isinstance(value, Scalar) else 0.0  # type: ignore[arg-type]
    except (ValueError, TypeError):
        seconds = 0.0
    if seconds > 0:
        return seconds
    message = "'timeout' must be a time above 0"
    draft.report("W007", message, value.span, help="write a number of seconds, as in timeout: 60")
    return None


def scalars_of(value: Value | None) -> list[Scalar]:
    """The single values of a field that holds one or a list of them."""
    if isinstance(value, Sequence):
        return [item for item in value if isinstance(item, Scalar) and item.value is not None]
    return [value] if isinstance(value, Scalar) and value.value is not None else []


def texts_of(value: Value | None) -> list[str]:
    """The texts of a field that holds one or a list of them."""
    return [scalar.text for scalar in scalars_of(value)]


def mapping_of(value: Value | None) -> Mapping | None:
    """The object of a field that holds one."""
    return value if isinstance(value, Mapping) else None
