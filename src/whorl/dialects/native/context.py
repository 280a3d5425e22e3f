"""The state of a native file while it is read or written: shared fields, places, values.

In exact files an object with nothing but `expr` (and `in`, `library`) is a foreign expression.
`literal` is a constant with {{ }} in it, `items` a list of constants that the IR holds in parts.
`entries` is such an object, or one with computed or repeated keys.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl import ir
from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import text_of
from whorl.dialects.reading.texts import read_tree
from whorl.errors import Span
from whorl.ir.expressions import Names
from whorl.language import Expression
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value, plain

if TYPE_CHECKING:
    from collections import abc


NAME_MAX = 128
# The names of what the engine tells an iteration about its loop, with the engine's own words.
_SAME = ("previous", "history", "best", "past", "person")
FACTS = {"iteration": "number", **{name: name for name in _SAME}}
# `results` reads a step whose name an expression cannot spell: results['first-draft'].
RESULTS = "results"
# What a file calls the functions that every expression has.
CORE = "native"
_CONSTANTS = frozenset({"true", "false", "none", "null", "undefined", "True", "False", "None"})
_OPERATORS = frozenset({"and", "or", "not", "in", "is", "if", "else"})
RESERVED = frozenset({*FACTS, RESULTS, *_CONSTANTS, *_OPERATORS, "steps", "loop", "it"})
NAMES = {"plain": "[A-Za-z_][A-Za-z0-9_]*", "dashed": "[A-Za-z_][A-Za-z0-9_-]*"}
_WRITTEN = Span("", 1, 1)
Attributes: TypeAlias = "abc.Mapping[str, Any]"


class CannotWriteError(Exception):
    """A plain native file cannot say this part of the IR."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place for messages: its owner and field, and where the owner is named."""

    owner: str
    field: str
    span: Span

    @property
    def words(self) -> str:
        return f"{self.field!r} of {self.owner}" if self.field else self.owner


# Where nothing is reported.
NOWHERE = Location("", "", _WRITTEN)


@dataclass(frozen=True, slots=True)
class Enclosing:
    """The surroundings of a place: the step, its path and fields, the loops that `break` could end.

    `before` is the step before, which a step waits for; `blocks` has the steps of the loop whose
    conditions are read, once they are known.
    """

    path: str = ""
    step: str = ""
    fields: Mapping | None = None
    before: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    blocks: list[ir.Block] = field(default_factory=list)


@dataclass(slots=True)
class Context(ReadContext):
    """Everything that the forms of one workflow share, whether they read or write it.

    `library` is the library of its expressions. An `exact` file, such as a converted one, marks
    what plain native text cannot say, and takes names and numbers as they are. `local` are the
    names of the workflows in the file itself, `calls` checks the calls of them, and `shared` are
    the fields of the file that they use by default.
    """

    kinds: abc.Mapping[str, Any] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    calls: list[abc.Callable[[], None]] = field(default_factory=list)
    shared: abc.Mapping[str, Any] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    name: str = ""
    library: str = ""
    exact: bool = False
    around: Enclosing = field(default_factory=Enclosing)

    @property
    def body(self) -> ir.Block:
        """Returns the steps of the loop around a condition."""
        return self.around.blocks[-1] if self.around.blocks else ir.Block(())

    def within(self, **changes: Any) -> Context:
        """Returns the same context at another place of the workflow."""
        return replace(self, around=replace(self.around, **changes))

    def check_name(self, key: Scalar, what: str, allowed: Literal["plain", "dashed"]) -> None:
        """Reports a name that an expression could not read, or that is reserved."""
        name = key.text
        if self.exact:
            return
        if name in RESERVED:
            message = f"{name!r} is a reserved name"
            advice = f"choose another name, such as {('my_' + name)!r}"
            self.report("W012", message, key.span, label="reserved", help=advice)
        elif not re.fullmatch(NAMES[allowed], name) or len(name) > NAME_MAX:
            marks = "digits and '_'" if allowed == "plain" else "digits, '_' and '-'"
            advice = f"a name begins with a letter, has only the letters a to z, {marks}, and is "
            advice += f"at most {NAME_MAX} characters long"
            message = f"{what} cannot be called {name[:40]!r}"
            self.report("W012", message, key.span, label="not a name", help=advice)

    def is_marked(self, value: Value) -> bool:
        """Checks whether an object marks a value that plain text cannot say."""
        if not self.exact or not isinstance(value, Mapping):
            return False
        return is_mark_of({entry.name for entry in value})

    def read_value(self, value: Value | None) -> ir.Value:
        """Reads any JSON: texts with {{ }} become templates, values without them constants."""
        return read_tree(value, self.read_text, read_mark=self._read_mark, folds=True)

    def read_text(self, scalar: Scalar) -> ir.Value:
        """Reads a scalar: a template, or a constant."""
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return ir.Constant(scalar.value)
        return self.read_expression(scalar, "template")

    def read_expression(
        self, scalar: Scalar, syntax: str = "jinja", library: str | None = None
    ) -> Expression:
        """Reads a text as an expression, and remembers its place."""
        usual = self._library_of(syntax) if library is None else library
        expression = Expression(syntax, scalar.text, usual)
        self.places.remember(expression, scalar)
        return expression

    def _library_of(self, syntax: str) -> str:
        """Returns the library of an expression that names none: other syntaxes bring their own."""
        return self.library if syntax in ("jinja", "template") else ""

    def _read_mark(self, value: Mapping) -> ir.Value | None:
        if not self.is_marked(value):
            return None
        inner = next((entry.value for entry in value if entry.name not in ("in", "library")), value)
        if "literal" in value:
            return ir.Constant(plain(inner))
        if "expr" in value and isinstance(inner, Scalar):
            library = value.get("library")
            syntax = text_of(value.get("in")) or "jinja"
            own = None if library is None else library_name(library)
            return self.read_expression(inner, syntax, own)
        items = inner.items if isinstance(inner, Sequence) else None
        if items is not None and "items" in value:
            return ir.Items(tuple(map(self.read_value, items)))
        if items is not None and all(isinstance(i, Sequence) and len(i) == 2 for i in items):
            parts = [tuple(map(self.read_value, item)) for item in items]  # type: ignore[arg-type]
            keys = [
                k if isinstance(k, Expression) else str(getattr(k, "value", "")) for k, _ in parts
            ]
            return ir.Fields(tuple(zip(keys, [part for _, part in parts], strict=True)))
        words = "a text under 'expr', a list under 'items', or pairs of a key and a value"
        self.report("W007", f"a marked value must have {words}", value.span, label="not a value")
        return ir.Constant(None)

    def write_value(self, value: ir.Value) -> Any:
        """Returns a value as it is written: plain if that reads as the same value, else marked."""
        match value:
            case ir.Constant() if self._is_plain(value.value):
                return value.value
            case Expression(syntax="template") if value.library == self.library:
                return value.source if is_template(value.source) else self.write_marked(value)
            case ir.Items() if not all(isinstance(item, ir.Constant) for item in value.items):
                return [self.write_value(item) for item in value.items]
            case ir.Fields():
                keys = [key for key, _ in value.entries if isinstance(key, str)]
                is_mixed = not all(isinstance(part, ir.Constant) for _, part in value.entries)
                if is_mixed and len(set(keys)) == len(value.entries) and not is_mark_of(keys):
                    return {key: self.write_value(part) for key, part in value.entries}
        return self.write_marked(value)

    def _is_plain(self, value: Any) -> bool:
        """Checks whether a JSON value would be read as the same constant."""
        if isinstance(value, str):
            return not is_template(value)
        if isinstance(value, dict):
            is_mark = self.exact and is_mark_of(value.keys())
            return not is_mark and all(map(self._is_plain, value.values()))
        return not isinstance(value, list) or all(map(self._is_plain, value))

    def write_marked(self, value: object) -> dict[str, Any]:
        """Returns a value as a mark, which is exact; raises CannotWriteError in a plain file."""
        match value if self.exact else None:
            case Expression(syntax, source, library):
                mark: dict[str, Any] = {"expr": source}
                mark |= {"in": syntax} if syntax != "jinja" else {}
                is_usual = library == self._library_of(syntax)
                return mark if is_usual else mark | {"library": library or CORE}
            case ir.Constant(constant):
                return {"literal": constant}
            case ir.Items(items):
                return {"items": [self.write_value(item) for item in items]}
            case ir.Fields(entries):
                pairs = [(ir.Constant(k) if isinstance(k, str) else k, v) for k, v in entries]
                return {"entries": [list(map(self.write_value, pair)) for pair in pairs]}
        raise CannotWriteError(value)


def is_template(text: str) -> bool:
    """Checks whether a text holds anything that is not literal."""
    return any(mark in text for mark in ("{{", "{%", "{#"))


def is_mark_of(keys: abc.Collection[str]) -> bool:
    """Checks whether an object with these keys would be read as a mark."""
    if len(keys) == 1:
        return next(iter(keys)) in ("expr", "literal", "items", "entries")
    return "expr" in keys and {"expr", "in", "library"}.issuperset(keys)


def library_name(value: Value | None) -> str:
    """Returns the library that a field names, or "" for the core."""
    text = value.text if isinstance(value, Scalar) else ""
    return "" if text == CORE else text


def read_result(name: str, part: str = "") -> Expression:
    """Returns the expression that reads the result of a step, or a part of it such as `.stdout`."""
    if re.fullmatch(NAMES["plain"], name):
        return Expression("jinja", name + part)
    # A name with a dash is a subtraction in Jinja; a plain path can spell it.
    return Expression("plain", f"{{{{ {name}{part} }}}}")


def as_source(value: Any) -> Value:
    """Returns a JSON value as the reader of a file would give it."""
    if isinstance(value, dict):
        entries = (Entry(Scalar(key, _WRITTEN), as_source(part)) for key, part in value.items())
        return Mapping(tuple(entries), _WRITTEN)
    if isinstance(value, list):
        return Sequence(tuple(map(as_source, value)), _WRITTEN)
    return Scalar(value, _WRITTEN)


def is_same(part: object, other: object) -> bool:
    """Checks whether two parts of the IR are equal; numbers and booleans are different."""
    return part == other and repr(part) == repr(other)
