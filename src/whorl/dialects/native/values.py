"""Values of a file as values of the IR and back: constants, templates, expressions, names.

In exact files an object with nothing but `expr` (and `in`, `library`), `literal`, `items` or
`entries` says what a plain value cannot: a foreign expression, a constant with {{ }} in it, a list
or an object of constants that the IR holds in parts, an object with computed or repeated keys.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from whorl import ir
from whorl.dialects.reading.texts import read_tree
from whorl.errors import Span
from whorl.language import Expression
from whorl.source import Entry, Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Collection

    from whorl.dialects.native.context import Context
    from whorl.source import Value

NAME_MAX = 128
# The names of what the engine tells an iteration about its loop, with the engine's own words.
FACTS = {
    "iteration": "number",
    "previous": "previous",
    "history": "history",
    "best": "best",
    "past": "past",
    "person": "person",
}
# `results` reads a step whose name an expression cannot spell: results['first-draft'].
RESULTS = "results"
# What a file calls the functions that every expression has.
CORE = "native"
_CONSTANTS = frozenset({"true", "false", "none", "null", "undefined", "True", "False", "None"})
_OPERATORS = frozenset({"and", "or", "not", "in", "is", "if", "else"})
_WORDS = _CONSTANTS | _OPERATORS | {"steps", "loop", "it"}
RESERVED = frozenset({*FACTS, RESULTS, *_WORDS})
NAMES = {"plain": "[A-Za-z_][A-Za-z0-9_]*", "dashed": "[A-Za-z_][A-Za-z0-9_-]*"}
_TEMPLATE_MARKS = ("{{", "{%", "{#")
_EXPRESSION_KEYS = frozenset(("expr", "in", "library"))
_WRITTEN = Span("", 1, 1)


class CannotWriteError(Exception):
    """A plain native file cannot say this part of the IR."""


def is_template(text: str) -> bool:
    """Whether a text holds anything that is not literal."""
    return any(mark in text for mark in _TEMPLATE_MARKS)


def is_marked(context: Context, value: Value) -> bool:
    """Whether an object marks a value that plain text cannot say."""
    return (
        context.exact
        and isinstance(value, Mapping)
        and is_mark_of({entry.name for entry in value.entries})
    )


def is_mark_of(keys: Collection[str]) -> bool:
    """Whether an object with these keys would be taken for a mark."""
    if len(keys) == 1:
        return next(iter(keys)) in ("expr", "literal", "items", "entries")
    return "expr" in keys and _EXPRESSION_KEYS.issuperset(keys)


def check_name(
    context: Context, key: Scalar, what: str, allowed: Literal["plain", "dashed"]
) -> None:
    """Reports a name that an expression could not read, or that means something already."""
    name = key.text
    if context.exact:
        return
    if name in RESERVED:
        context.report(
            "W012",
            f"{what} cannot be called {name!r}: that word has a meaning of its own",
            key.span,
            label="reserved",
            help=f"choose another name, such as {('my_' + name)!r}",
        )
    elif not re.fullmatch(NAMES[allowed], name) or len(name) > NAME_MAX:
        marks = "letters, digits and '_'" if allowed == "plain" else "letters, digits, '_' and '-'"
        advice = (
            f"a name begins with a letter, is made of {marks}, and has up to {NAME_MAX} of them"
        )
        message = f"{what} cannot be called {name[:40]!r}"
        context.report("W012", message, key.span, label="not a name", help=advice)


def read_result(name: str, part: str = "") -> Expression:
    """The expression that reads the result of a step, or a part of it such as `.stdout`."""
    if re.fullmatch(NAMES["plain"], name):
        return Expression("jinja", name + part)
    # A name with a dash is a subtraction in Jinja; a plain path can spell it.
    return Expression("plain", f"{{{{ {name}{part} }}}}")


def read_value(context: Context, value: Value | None) -> ir.Value:
    """Reads any JSON; texts with {{ }} become templates, whatever holds none a constant."""

    def read_mark(value: Mapping) -> ir.Value | None:
        return _read_marked(context, value) if is_marked(context, value) else None

    return read_tree(value, partial(read_text, context), read_mark=read_mark, folds=True)


def read_text(context: Context, scalar: Scalar) -> ir.Value:
    """Reads a scalar: a template, or a constant."""
    if not isinstance(scalar.value, str) or not is_template(scalar.value):
        return ir.Constant(scalar.value)
    return read_expression(context, scalar, "template")


def read_expression(context: Context, scalar: Scalar, syntax: str = "jinja") -> Expression:
    """Reads a text as an expression, and remembers where it stands."""
    expression = Expression(syntax, scalar.text, context.library)
    context.places.remember(expression, scalar)
    return expression


def _read_marked(context: Context, value: Mapping) -> ir.Value:
    inner = next((entry.value for entry in value if entry.name not in ("in", "library")), value)
    if "literal" in value:
        return ir.Constant(plain(inner))
    if "expr" in value and isinstance(inner, Scalar):
        library, written = value.get("library"), value.get("in")
        syntax = written.text if isinstance(written, Scalar) else "jinja"
        usual = usual_library(context, syntax)
        expression = Expression(
            syntax, inner.text, usual if library is None else library_name(library)
        )
        context.places.remember(expression, inner)
        return expression
    if isinstance(inner, Sequence) and "items" in value:
        return ir.Items(tuple(read_value(context, item) for item in inner))
    if isinstance(inner, Sequence) and all(_is_pair(item) for item in inner):
        return ir.Fields(tuple(_read_pair(context, item) for item in inner))
    words = "a text under 'expr', a list under 'items', or pairs of a key and a value"
    context.report("W007", f"a marked value must have {words}", value.span, label="not a value")
    return ir.Constant(None)


def _is_pair(value: Value) -> bool:
    return isinstance(value, Sequence) and len(value) == 2


def _read_pair(context: Context, pair: Value) -> tuple[str | Expression, ir.Value]:
    assert isinstance(pair, Sequence)
    key = read_value(context, pair.items[0])
    name = key if isinstance(key, Expression) else str(getattr(key, "value", ""))
    return name, read_value(context, pair.items[1])


def library_name(value: Value | None) -> str:
    """The library that a field names; the functions that all have are of none."""
    text = value.text if isinstance(value, Scalar) else ""
    return "" if text == CORE else text


def usual_library(context: Context, syntax: str) -> str:
    """The library of an expression that does not name one: other syntaxes bring their own."""
    return context.library if syntax in ("jinja", "template") else ""


def write_value(context: Context, value: ir.Value) -> Any:
    """A value as it is read: plain where that says the same, else marked."""
    match value:
        case ir.Constant():
            return value.value if _is_plain(context, value.value) else write_marked(context, value)
        case Expression():
            is_own = value.syntax == "template" and value.library == context.library
            is_plain = is_own and is_template(value.source)
            return value.source if is_plain else write_marked(context, value)
        case ir.Items():
            if all(isinstance(item, ir.Constant) for item in value.items):
                return write_marked(context, value)
            return [write_value(context, item) for item in value.items]
        case ir.Fields():
            keys = [key for key, _ in value.entries if isinstance(key, str)]
            is_mixed = not all(isinstance(one, ir.Constant) for _, one in value.entries)
            is_object = len(set(keys)) == len(value.entries) and not is_mark_of(keys)
            if not is_mixed or not is_object:
                return write_marked(context, value)
            return {key: write_value(context, one) for key, one in value.entries}


def _is_plain(context: Context, value: Any) -> bool:
    """Whether a JSON value would be read as the constant that it is."""
    if isinstance(value, str):
        return not is_template(value)
    if isinstance(value, list):
        return all(_is_plain(context, item) for item in value)
    if isinstance(value, dict):
        is_mark = context.exact and is_mark_of(value.keys())
        return not is_mark and all(_is_plain(context, item) for item in value.values())
    return True


def write_marked(context: Context, value: object) -> dict[str, Any]:
    """A value as a mark, which says it exactly; raises CannotWriteError in a plain file."""
    if not context.exact:
        raise CannotWriteError(value)
    match value:
        case Expression():
            found: dict[str, Any] = {"expr": value.source}
            if value.syntax != "jinja":
                found["in"] = value.syntax
            if value.library != usual_library(context, value.syntax):
                found["library"] = value.library or CORE
            return found
        case ir.Constant():
            return {"literal": value.value}
        case ir.Items():
            return {"items": [write_value(context, item) for item in value.items]}
        case ir.Fields():
            return {"entries": [_write_pair(context, *entry) for entry in value.entries]}
    raise CannotWriteError(value)


def _write_pair(context: Context, key: str | Expression, value: ir.Value) -> list[Any]:
    name = ir.Constant(key) if isinstance(key, str) else key
    return [write_value(context, name), write_value(context, value)]


def as_source(value: Any) -> Value:
    """A JSON value as the reader of a file would give it."""
    if isinstance(value, dict):
        entries = (Entry(Scalar(key, _WRITTEN), as_source(one)) for key, one in value.items())
        return Mapping(tuple(entries), _WRITTEN)
    if isinstance(value, list):
        return Sequence(tuple(as_source(one) for one in value), _WRITTEN)
    return Scalar(value, _WRITTEN)


def is_same(one: object, other: object) -> bool:
    """Whether two parts of the IR are equal, numbers and truth values told apart."""
    return one == other and repr(one) == repr(other)
