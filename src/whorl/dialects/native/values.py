"""Texts, lists and objects of a file as the values of the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.scalars import is_template
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.source import Value


def read_value(draft: Draft, value: Value | None) -> ir.Value:
    """Reads any JSON; texts with {{ }} become templates, whatever holds none a constant."""
    match value:
        case None:
            return ir.Constant(None)
        case Scalar():
            return read_text(draft, value)
        case Sequence():
            items = tuple(read_value(draft, item) for item in value)
            if all(isinstance(item, ir.Constant) for item in items):
                return ir.Constant(plain(value))
            return ir.Items(items)
        case Mapping():
            fields = read_fields(draft, value)
            if all(isinstance(entry, ir.Constant) for _, entry in fields.entries):
                return ir.Constant(plain(value))
            return fields


def read_text(draft: Draft, scalar: Scalar) -> ir.Value:
    """Reads a scalar: a template, or a constant."""
    if not isinstance(scalar.value, str) or not is_template(scalar.value):
        return ir.Constant(scalar.value)
    expression = ir.Expression("template", scalar.value)
    draft.places.remember(expression, scalar)
    return expression


def read_fields(draft: Draft, value: Value | None) -> ir.Fields:
    """Reads an object whose values may be templates."""
    if not isinstance(value, Mapping):
        return ir.Fields()
    return ir.Fields(tuple((entry.name, read_value(draft, entry.value)) for entry in value))


def read_expression(draft: Draft, value: Value | None) -> ir.Expression | None:
    """Reads a condition: a Jinja expression, with or without {{ }} around it."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | bool):
        return None
    expression = ir.Expression("jinja", value.text)
    draft.places.remember(expression, value)
    return expression


def read_computed(draft: Draft, value: Value | None) -> ir.Value:
    """Reads what must be computed to be of use: a bare text is an expression here, too."""
    if isinstance(value, Scalar) and isinstance(value.value, str) and not is_template(value.value):
        return read_expression(draft, value) or ir.Constant(None)
    return read_value(draft, value)
