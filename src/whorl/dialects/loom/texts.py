"""JSON values with expressions in their strings and keys, and expressions made of expressions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.templates import is_deployed
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.loom.draft import Draft
    from whorl.language import Json
    from whorl.source import Value

LIBRARY = "loom"
_NAMED = re.compile(
    r"""\b(variables|body|outputs)\(\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")\s*\)""",
    re.IGNORECASE,
)
_READS_INPUTS = re.compile(
    r"""\bresult\(|\[\s*['"]inputs['"]\s*\]|\.inputs\b|\bactions?\([^()]*['"]inputs['"]""",
    re.IGNORECASE,
)
_READS_RESULTS = re.compile(
    r"\b(?:body|outputs|actions|items?|result|action|iterationIndexes|utcNow|rand|guid)\(",
    re.IGNORECASE,
)


def expression(draft: Draft, scalar: Scalar, source: str | None = None) -> ir.Expression:
    """The expression of a string of the file; `source` where it is made of the string."""
    syntax = "logic-lenient" if draft.lenient else "logic"
    found = ir.Expression(syntax, scalar.text if source is None else source)
    if source is None:
        draft.places.remember(found, scalar)
    else:
        draft.places.remember_part(found, scalar.span)
    return found


def computed(function: str, *arguments: Json | ir.Expression) -> ir.Expression:
    """The call of a function of this dialect; `it` is given by name, everything else as JSON."""
    written = [a.source if isinstance(a, ir.Expression) else _literal(a) for a in arguments]
    return ir.Expression("jinja", f"{function}({', '.join(written)})", LIBRARY)


def named(name: str) -> ir.Expression:
    """A name that is given to an expression as it stands, such as `it`."""
    return ir.Expression("jinja", name, LIBRARY)


def _literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def has_expression(text: str) -> bool:
    """Whether a string is more than a literal."""
    return len(text) > 1 and (text[0] == "@" or "@{" in text)


def value_of(draft: Draft, value: Value | None) -> ir.Value:
    """A JSON value whose strings and keys may hold expressions."""
    match value:
        case None:
            return ir.Constant(None)
        case Scalar():
            if not isinstance(value.value, str):
                return ir.Constant(value.value)
            if not draft.lenient and is_deployed(value.value):
                text = draft.template.deployed(value.value)
                if is_deployed(text) or not has_expression(text):
                    return ir.Constant(text)
                return expression(draft, value, text)
            if has_expression(value.value):
                return expression(draft, value)
            return ir.Constant(value.value)
        case Sequence():
            items = tuple(value_of(draft, item) for item in value)
            if all(isinstance(item, ir.Constant) for item in items):
                return ir.Constant([i.value for i in items if isinstance(i, ir.Constant)])
            return ir.Items(items)
        case Mapping():
            return _fields(draft, value)


def _fields(draft: Draft, value: Mapping) -> ir.Value:
    last = {entry.name: entry for entry in value}
    entries: list[tuple[str | ir.Expression, ir.Value]] = []
    for entry in last.values():
        key = expression(draft, entry.key) if has_expression(entry.name) else entry.name
        entries.append((key, value_of(draft, entry.value)))
    constant: dict[str, Json] = {}
    for key, inner in entries:
        if not isinstance(key, str) or not isinstance(inner, ir.Constant):
            return ir.Fields(tuple(entries))
        constant[key] = inner.value
    return ir.Constant(constant)


def names_read(text: str) -> list[str]:
    """The names of the variables that a string reads."""
    return [name for function, name in _named_in(text) if function == "variables"]


def results_read(text: str) -> list[tuple[str, str]]:
    """The names of the actions whose results a string reads, each behind the function."""
    return [found for found in _named_in(text) if found[0] != "variables"]


def _named_in(text: str) -> list[tuple[str, str]]:
    return [
        (function.lower(), one.replace("''", "'") or other.replace('""', '"'))
        for function, one, other in _NAMED.findall(text)
    ]


def reads_more(text: str) -> bool:
    """Whether an expression reads anything that changes by itself, such as results of actions."""
    return _READS_RESULTS.search(text) is not None


def reads_inputs(value: Value | None) -> bool:
    """Whether an expression somewhere in a value reads what actions were given."""
    return any(_READS_INPUTS.search(scalar.text) for scalar in scalars_in(value))


def scalars_in(value: Value | None) -> list[Scalar]:
    """All strings of a value, keys too."""
    match value:
        case Scalar():
            return [value] if isinstance(value.value, str) else []
        case Sequence():
            return [found for item in value for found in scalars_in(item)]
        case Mapping():
            found = []
            for entry in value:
                if has_expression(entry.name):
                    found.append(entry.key)
                found.extend(scalars_in(entry.value))
            return found
    return []


def as_term(value: Value | None) -> str:
    """A JSON value as a part of an expression."""
    if isinstance(value, Scalar):
        if not isinstance(value.value, str):
            return _literal(value.value)
        return text_term(value.value)
    raise NotATerm(value)


class NotATerm(ValueError):
    """Arrays and objects cannot be written inside of an expression."""

    def __init__(self, value: Value | None) -> None:
        super().__init__("an array or object cannot stand here")
        self.value = value


def text_term(text: str) -> str:
    """A string of a file as a part of an expression: literal, expression, or both."""
    if not has_expression(text):
        return quote(text)
    if text.startswith("@@"):
        return quote(text[1:])
    if text[0] == "@" and text[1] != "{":
        return text[1:]
    parts: list[str] = []
    end = 0
    while (start := text.find("@{", end)) >= 0:
        if start > end and text[start - 1] == "@":
            parts.append(quote(text[end : start - 1] + "@{"))
            end = start + 2
            continue
        if start > end:
            parts.append(quote(text[end:start]))
        close = _closing(text, start + 2)
        parts.append(text[start + 2 : close])
        end = close + 1
    if end < len(text):
        parts.append(quote(text[end:]))
    return f"concat({', '.join(parts)})"


def _closing(text: str, start: int) -> int:
    """Where the expression that begins here ends: a brace that stands in no literal."""
    quote = ""
    for index in range(start, len(text)):
        mark = text[index]
        if mark == quote:
            quote = ""
        elif not quote and mark in "'\"":
            quote = mark
        elif not quote and mark == "}":
            return index
    return len(text)


def quote(text: str) -> str:
    """A text as a literal of an expression."""
    return "'" + text.replace("'", "''") + "'"
