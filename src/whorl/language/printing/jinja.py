"""Jinja expressions: parentheses only where the grammar needs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from whorl.language import tree
from whorl.language.printing.faults import CannotSay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# How tightly an expression holds together, loosest first; the order of Jinja's grammar.
CHOICE, OR, AND, NOT, COMPARE, SUM, JOIN, PRODUCT, POWER, UNARY, TIGHT = range(11)

_NAME = re.compile(r"[^\W\d]\w*")
_WORDS = frozenset(
    ("true", "false", "none", "True", "False", "None", "and", "or", "not", "in", "is", "if", "else")
)
_BARE_TEST = re.compile(r"\bis (?:not )?\w+$")
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT}
_ESCAPES = {
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def print_expression(source: tree.Tree) -> str:
    """Print a tree that is one expression."""
    if source.value is None:
        raise CannotSay("a text with parts that are computed", "an expression is one value")
    text = printed(source.value)
    # Two braces at the beginning would be taken for those around an expression.
    return f"({text})" if text.startswith("{{") else text


def printed(node: tree.Expr, least: int = CHOICE) -> str:
    """Print an expression; in parentheses where it holds less tightly than its place needs."""
    level, text = _print(node)
    return f"({text})" if level < least else text


def _print(node: tree.Expr) -> tuple[int, str]:
    match node:
        case tree.Literal():
            return _literal(node.value)
        case tree.Name():
            return TIGHT, name_of(node.name)
        case tree.Member() | tree.Item() | tree.Slice() | tree.MethodCall():
            return TIGHT, _access(node)
        case tree.ListDisplay():
            return TIGHT, f"[{', '.join(map(printed, node.items))}]"
        case tree.ObjectDisplay():
            pairs = (f"{printed(key)}: {printed(value)}" for key, value in node.pairs)
            return TIGHT, f"{{{', '.join(pairs)}}}"
        case tree.Unary():
            return _unary(node)
        case tree.Arithmetic():
            return _arithmetic(node)
        case tree.Comparison():
            steps = (f" {symbol} {printed(operand, SUM)}" for symbol, operand in node.rest)
            return COMPARE, printed(node.first, SUM) + "".join(steps)
        case tree.Logic():
            return _logic(node)
        case tree.Concat():
            return JOIN, " ~ ".join(printed(part, PRODUCT) for part in node.parts)
        case tree.Conditional():
            return CHOICE, _conditional(node)
        case tree.Apply():
            return _apply(node)
        case tree.MacroCall():
            return TIGHT, f"{name_of(node.name)}({arguments(node.arguments, node.keywords)})"
        case _:
            assert_never(node)


def name_of(name: str) -> str:
    """A name as it is written; raises CannotSay where it cannot be."""
    if not _NAME.fullmatch(name) or not name.isidentifier() or name in _WORDS:
        raise CannotSay(f"the name {name!r}", "a name in an expression is one word")
    return name


def _literal(value: bool | float | str | None) -> tuple[int, str]:
    match value:
        case None:
            return TIGHT, "none"
        case bool():
            return TIGHT, str(value).lower()
        case str():
            return TIGHT, quoted(value)
        case _:
            return (UNARY if value < 0 else TIGHT), repr(value)


def quoted(text: str) -> str:
    """A text as a literal, in the quotes that need no escape."""
    mark = '"' if "'" in text and '"' not in text else "'"
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in text)
    return mark + escaped.replace(mark, f"\\{mark}") + mark


def _access(node: tree.Member | tree.Item | tree.Slice | tree.MethodCall) -> str:
    target = printed(node.target, TIGHT)
    if isinstance(node.target, tree.Literal) and not isinstance(node.target.value, str):
        target = f"({target})"
    match node:
        case tree.Member():
            if _NAME.fullmatch(node.name) and node.name.isidentifier():
                return f"{target}.{node.name}"
            raise CannotSay(f"the member {node.name!r}", "a member is one word")
        case tree.Item():
            if node.forgiving:
                raise CannotSay("`?[...]`", "an item that is missing is never an error in Jinja")
            return f"{target}[{printed(node.key)}]"
        case tree.Slice():
            bounds = ["" if b is None else printed(b) for b in (node.start, node.stop)]
            step = "" if node.step is None else f":{printed(node.step)}"
            return f"{target}[{':'.join(bounds)}{step}]"
        case tree.MethodCall():
            return f"{target}.{node.name}({arguments(node.arguments, node.keywords)})"


def _unary(node: tree.Unary) -> tuple[int, str]:
    if node.operator != "not":
        return UNARY, f"{node.operator}{printed(node.operand, TIGHT)}"
    operand = node.operand
    if isinstance(operand, tree.Apply) and operand.function.kind == "test":
        return COMPARE, _test(operand, "is not")
    return NOT, f"not {printed(operand, NOT)}"


def _arithmetic(node: tree.Arithmetic) -> tuple[int, str]:
    if not node.rest:
        return _print(node.first)
    levels = {_LEVELS.get(symbol, POWER) for symbol, _ in node.rest}
    if len(levels) > 1:
        raise CannotSay("a calculation of mixed operators", "each kind of operator is its own step")
    level = levels.pop()
    inner = {SUM: JOIN, PRODUCT: POWER, POWER: UNARY}[level]
    steps = (f" {symbol} {printed(operand, inner)}" for symbol, operand in node.rest)
    return level, printed(node.first, inner) + "".join(steps)


def _logic(node: tree.Logic) -> tuple[int, str]:
    if node.operator == "coalesce":
        raise CannotSay("`coalesce`", "Jinja has no operator for the first value that is not null")
    level = AND if node.operator == "and" else OR
    return level, f" {node.operator} ".join(printed(part, level + 1) for part in node.operands)


def _conditional(node: tree.Conditional) -> str:
    text = f"{closed(node.then)} if {printed(node.test, OR)}"
    return text if node.otherwise is None else f"{text} else {printed(node.otherwise)}"


def closed(node: tree.Expr) -> str:
    """An expression that a word follows: behind a bare test, that would be its argument."""
    text = printed(node, OR)
    return f"({text})" if _BARE_TEST.search(text) else text


def _apply(node: tree.Apply) -> tuple[int, str]:
    match node.function.kind:
        case "filter":
            # Filters hold tightly, but beside an operator they are easier to read in parentheses.
            return SUM, f"{_subject(node.arguments[0])} | {filter_call(node)}"
        case "test":
            return COMPARE, _test(node, "is")
        case _:
            return TIGHT, f"{name_of(node.function.name)}({given_to(node, node.arguments)})"


def _subject(node: tree.Expr) -> str:
    is_filter = isinstance(node, tree.Apply) and node.function.kind == "filter"
    return printed(node, SUM if is_filter else UNARY)


def filter_call(node: tree.Apply) -> str:
    """A filter with its arguments, without what it is applied to."""
    given = given_to(node, node.arguments[1:])
    return f"{node.function.name}({given})" if given else node.function.name


def _test(node: tree.Apply, word: str) -> str:
    subject = printed(node.arguments[0], TIGHT)
    given = given_to(node, node.arguments[1:])
    return f"{subject} {word} {node.function.name}{f'({given})' if given else ''}"


def given_to(node: tree.Apply, bound: Sequence[tree.Expr]) -> str:
    """The arguments of a call as they would be written, without those left at their default."""
    entry = node.function
    kept = list(bound)
    if not node.extra:
        defaults = dict(enumerate((v for _, v in entry.optional), start=len(entry.required)))
        while kept and _is_default(kept[-1], defaults, len(kept) - 1):
            kept.pop()
    return arguments((*kept, *node.extra), node.keywords)


def _is_default(node: tree.Expr, defaults: Mapping[int, object], place: int) -> bool:
    if place not in defaults or not isinstance(node, tree.Literal):
        return False
    return type(node.value) is type(defaults[place]) and node.value == defaults[place]


def arguments(positional: Sequence[tree.Expr], keywords: Sequence[tuple[str, tree.Expr]]) -> str:
    """Arguments of a call."""
    named = (f"{name}={printed(value)}" for name, value in keywords)
    return ", ".join((*map(printed, positional), *named))
