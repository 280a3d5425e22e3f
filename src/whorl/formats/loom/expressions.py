"""Logic Apps strings: literal, `@expression` that keeps its type, or text with `@{expression}`.

An expression has calls, literals and property access; no operators. `and`, `or`, `if` and
`coalesce` evaluate only what they need, so an unknown function is an error at once only where it is
certain to be called.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from whorl.errors import did_you_mean
from whorl.formats.loom.functions import collections, conversion, dates, workflow
from whorl.formats.loom.functions.workflow import ACTION_FUNCTIONS
from whorl.formats.loom.values.arguments import (
    forgiving_item,
    pay,
    print_text,
    strict_item,
    to_plain_json,
)
from whorl.language import tree
from whorl.language.calls import FunctionEntry
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.libraries import Library, Semantics, additions
from whorl.language.values import INTEGER_MAX, LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language.calls import Run
    from whorl.language.values import Value


_WORDS = ("no", "one", "two", "three", "four", "five")
# Functions that people and models expect, and that Azure does not have.
_INSTEAD = {
    "createobject": "write the object as JSON text in json(...), or use setProperty",
    "encodebase64": "use 'base64'",
    "addtodatetime": "use 'addToTime'",
    "now": "use 'utcNow'",
    "notequals": "use not(equals(...))",
    "tostring": "use 'string'",
    "append": "use union(array, createArray(value))",
}


def problem_of(
    name: str, entry: FunctionEntry | None, count: int, functions: Mapping[str, FunctionEntry]
) -> LanguageError | None:
    if entry is None:
        names = {other.name for other in functions.values()}
        advice = _INSTEAD.get(name.lower()) or did_you_mean(name, names)
        message = f"The template function {name!r} is not defined or not valid"
        return LanguageError(message, help=advice or "`whorl help concat` explains a function")
    least, most = entry.arguments_min, entry.arguments_max
    if least <= count and (most is None or count <= most):
        return None
    expected = f"{'at least ' * (most is None)}{_WORDS[least]} parameter{'s' * (least != 1)}"
    if most is not None and least != most:
        between = "or" if most == least + 1 else "to"
        expected = f"{_WORDS[least]} {between} {_WORDS[most]} parameters"
    return LanguageError(
        f"The template language function {entry.name!r} expects {expected}: "
        f"{entry.signature}. The function was invoked with '{count}' parameter(s)"
    )


def failing(problem: LanguageError) -> FunctionEntry:
    def fail(run: Run) -> Value:
        raise EvaluationError(problem.message, help=problem.help)

    return FunctionEntry("function", "unknown", "unknown", fail, problem.message)


# These evaluate only those of their arguments that they need.
_LAZY = frozenset(("and", "or", "if", "coalesce"))


def _lazily(name: str, arguments: list[tree.Expr], offset: int) -> tree.Expr:
    def checked(place: int) -> tree.Expr:
        check = collections.condition_check(name, min(place, 3))
        return tree.Apply(check, (arguments[place],), (), (), offset)

    if name == "coalesce":
        return tree.Logic("coalesce", tuple(arguments), offset)
    if name == "if":
        return tree.Conditional(checked(0), arguments[1], arguments[2], offset)
    parts = tuple(map(checked, range(len(arguments))))
    return tree.Logic("and" if name == "and" else "or", parts, offset) if parts[1:] else parts[0]


_FAMILIES = (
    *(collections.STRINGS, collections.COLLECTIONS, collections.LOGICAL, conversion.CONVERSION),
    *(collections.BINARY, conversion.MATH, dates.DATES, workflow.INTERNAL, workflow.WORKFLOW),
    *(collections.URIS, collections.OBJECTS, conversion.XML_FUNCTIONS, collections.TYPING),
)
LOGIC_FUNCTIONS = tuple(entry for family in _FAMILIES for entry in family.entries)

# Later entries take the place of earlier ones of the same name.
_LENIENT = (*collections.LENIENT_COLLECTIONS.entries, *workflow.LENIENT.entries)
LENIENT_LOGIC_FUNCTIONS: tuple[FunctionEntry, ...] = (*LOGIC_FUNCTIONS, *_LENIENT)


def read(source: str, library: str, *, lenient: bool) -> tree.Tree:
    """Reads a string by Azure's rules, or leniently by Loom's.

    The lenient rules also allow `@` before a nested call and double quotes; missing is null.
    """
    syntax, value = "logic-lenient" if lenient else "logic", None
    body: tuple[tree.Stmt, ...] = ()
    if source.startswith("@@"):
        body = (tree.Text(source[1:]),)
    elif len(source) > 1 and source[0] == "@" and source[1] != "{":
        value, _ = ExpressionReader(source, library, lenient=lenient).read(1, "end")
    else:
        body = _interpolated(source, library, lenient=lenient)
    return tree.Tree(syntax, library, value, body, frozenset())


def _interpolated(source: str, library: str, *, lenient: bool) -> tree.Body:
    body: list[tree.Stmt] = []
    literal = ""
    end = 0
    while (start := source.find("@{", end)) >= 0:
        if start > end and source[start - 1] == "@":
            literal += source[end : start - 1] + "@{"
            end = start + 2
            continue
        literal += source[end:start]
        value, end = ExpressionReader(source, library, lenient=lenient).read(start + 2, "}")
        body += [tree.Text(literal)] if literal else []
        body.append(tree.Emit(value, start + 2))
        literal = ""
    literal += source[end:]
    return (*body, tree.Text(literal)) if literal else tuple(body)


EXPRESSION_MAX = 8_192
# Deployment templates have longer ones.
_LENGTHS_MAX = {"deployment": 24_576}
_SHORTER = "put parts of it into actions of their own"

_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


@lru_cache(maxsize=16)
def _functions(library: str, lenient: bool) -> Mapping[str, FunctionEntry]:
    """Returns all functions by lower-case name: those of the syntax and of a dialect."""
    own = LENIENT_LOGIC_FUNCTIONS if lenient else LOGIC_FUNCTIONS
    return {entry.name.lower(): entry for entry in (*own, *additions(library))}


class Token(NamedTuple):
    """One word; the kind of a mark is the mark itself."""

    kind: str
    text: str
    start: int
    end: int


class ExpressionReader:
    """Reads one expression of a source."""

    def __init__(self, source: str, library: str, *, lenient: bool) -> None:
        self.source = source
        self.lenient = lenient
        self.functions = _functions(library, lenient)
        # A reader makes an expression of a text with several, which may be long as a whole.
        usual = LIMITS.source_max if source.startswith("@$") else EXPRESSION_MAX
        self.length_max = _LENGTHS_MAX.get(library, usual)
        self.depth = 0
        self.optional = 0
        self.start = 0
        self.token = Token("end", "", 0, 0)

    def read(self, start: int, closing: str) -> tuple[tree.Expr, int]:
        """Reads an expression up to a token, `end` or a brace; text may follow it."""
        self.start = start
        self._advance(start)
        value = self._expression()
        if self.token.kind != closing:
            raise self._unexpected(closing)
        return value, self.token.end

    def _advance(self, position: int | None = None) -> Token:
        """Go to the next token; returns the one before it."""
        passed = self.token
        space = _SPACE.match(self.source, passed.end if position is None else position)
        assert space is not None
        start = space.end()
        match = (_LENIENT_TOKEN if self.lenient else _TOKEN).match(self.source, start)
        if start - self.start > self.length_max:
            message = f"expression has more than {self.length_max} characters"
            raise LimitExceeded(message, self.start, _SHORTER)
        if match is not None:
            kind = match[0] if match.lastgroup == "mark" else str(match.lastgroup)
            self.token = Token(kind, match[0], start, match.end())
        elif start == len(self.source):
            self.token = Token("end", "", start, start)
        else:
            mark = self.source[start]
            advice = "the text has no closing quote" if mark in "'\"" else ""
            if mark == '"' and not self.lenient:
                advice = "write texts in single quotes"
            raise LanguageError(
                f"Unable to parse template language expression {self._shown()}: the string "
                f"character {mark!r} at position '{start - self.start}' is not expected",
                start,
                advice,
            )
        return passed

    def _take(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise self._unexpected(kind)
        return self._advance()

    def _expression(self) -> tree.Expr:
        self._descend()
        try:
            value, steps = self._primary(), 0
            while self.token.kind in (".", "[", "?"):
                steps += 1
                self._descend()
                value = self._access(value)
            self.depth -= steps
        finally:
            self.depth -= 1
        return value

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > LIMITS.depth_max:
            message = f"expression is nested more than {LIMITS.depth_max} levels deep"
            raise LimitExceeded(message, self.token.start, _SHORTER)

    def _primary(self) -> tree.Expr:
        if self.lenient and self.token.kind == "@":
            self._advance()
        token = self._advance()
        if token.kind == "text":
            quote = token.text[0]
            return tree.Literal(token.text[1:-1].replace(quote * 2, quote), token.start)
        if token.kind == "number":
            return self._number(token.text, token.start)
        if token.kind == "." and self.token.kind == "number" and self.token.text[0].isdecimal():
            return self._number(f".{self._advance().text}", token.start)
        if token.kind == "name":
            if self.token.kind == "(":
                return self._call(token)
            constant = token.text.lower()
            if constant in _CONSTANTS:
                return tree.Literal(_CONSTANTS[constant], token.start)
            raise self._unexpected("(")
        self.token = token
        raise self._unexpected("name")

    def _number(self, digits: str, offset: int) -> tree.Expr:
        if not digits.lstrip("+-").isdecimal():
            try:
                return tree.Literal(float(digits), offset)
            except ValueError:
                raise LanguageError(f"'{digits[:40]}' is not a number", offset) from None
        number = int(digits[:24])
        if len(digits) > 24 or not -INTEGER_MAX <= number < INTEGER_MAX:
            raise LanguageError(f"the number '{digits[:40]}' is an integer beyond 64 bits", offset)
        return tree.Literal(number, offset)

    def _access(self, target: tree.Expr) -> tree.Expr:
        offset = self.token.start
        forgiving = self.token.kind == "?"
        if forgiving:
            self._advance()
        if self.token.kind == ".":
            self._advance()
            if self.token.kind not in ("name", "number"):
                raise self._unexpected("name")
            name = self._advance()
            return tree.Item(target, tree.Literal(name.text, name.start), offset, forgiving)
        self._take("[")
        key = self._expression()
        self._take("]")
        return tree.Item(target, key, offset, forgiving)

    def _call(self, name: Token) -> tree.Expr:
        self._take("(")
        entry = self.functions.get(name.text.lower())
        is_lazy = entry is not None and entry.name in _LAZY
        arguments: list[tree.Expr] = []
        while self.token.kind != ")":
            if arguments:
                self._take(",")
            # The first argument is always evaluated; the others of these functions may not be.
            self.optional += bool(is_lazy and arguments)
            arguments.append(self._expression())
            self.optional -= bool(is_lazy and len(arguments) > 1)
        self._take(")")
        problem = problem_of(name.text, entry, len(arguments), self.functions)
        if problem is not None:
            if not self.optional:
                raise problem.at(name.start)
            return tree.Apply(failing(problem), (), (), (), name.start)
        assert entry is not None
        if is_lazy:
            return _lazily(entry.name, arguments, name.start)
        named = len(entry.required) + len(entry.optional)
        missing = entry.optional[max(0, len(arguments) - len(entry.required)) :]
        given = (*arguments[:named], *(tree.Literal(default, name.start) for _, default in missing))
        return tree.Apply(entry, given, tuple(arguments[named:]), (), name.start)

    def _unexpected(self, expected: str) -> LanguageError:
        kinds = (expected, self.token.kind)
        expected, actual = (_DESCRIPTIONS.get(kind, repr(kind)) for kind in kinds)
        begun = f"Unable to parse template language expression {self._shown()}: "
        return LanguageError(f"{begun}expected {expected}, not {actual}", self.token.start)

    def _shown(self) -> str:
        shown = self.source[self.start : self.start + 60]
        return f"'{shown}{'...' * (len(self.source) - self.start > 60)}'"


_SINGLE = r"""'[^']*+(?:''[^']*+)*'(?!')"""
_DOUBLE = r""""[^"]*+(?:""[^"]*+)*"(?!")"""
_OTHERS = r"""
      |(?P<number>(?:[+-]?[0-9]+\.?[0-9]*|[+-]\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![^.,(){}@\[\]?'\s]))
      |(?P<mark>[.,(){}@\[\]?])
      |(?P<name>[^.,(){}@\[\]?'"\s]+)"""
_TOKEN = re.compile(f"(?P<text>{_SINGLE}){_OTHERS}", re.VERBOSE)
_LENIENT_TOKEN = re.compile(f"(?P<text>{_SINGLE}|{_DOUBLE}){_OTHERS}", re.VERBOSE)
_SPACE = re.compile(r"\s*")

_DESCRIPTIONS = {"end": "the end", "text": "a text", "number": "a number", "name": "a name"}


LOOM = Library(functions=ACTION_FUNCTIONS, recorder="whorl.formats.loom.history:RECORDER")


def signature(entry: FunctionEntry) -> str:
    """Returns the parameters of a function; a question mark follows optional ones."""
    optional = [f"{name}?" for name, _ in entry.optional]
    further = ["..."] if entry.extra else []
    return f"{entry.name}({', '.join([*entry.required, *optional, *further])})"


LOGIC = Library(
    functions=LOGIC_FUNCTIONS,
    title="Logic Apps expressions: @{...}",
    signature=signature,
    stands_alone=True,
    read=partial(read, lenient=False),
    semantics=Semantics(strict_item, strict_item, print_text, forgiving_item, pay, to_plain_json),
)
# Members that are missing are null, as if there were a `?` before each.
LENIENT_LOGIC = Library(
    functions=LENIENT_LOGIC_FUNCTIONS,
    stands_alone=True,
    read=partial(read, lenient=True),
    semantics=Semantics(
        forgiving_item, forgiving_item, print_text, forgiving_item, pay, to_plain_json
    ),
)
