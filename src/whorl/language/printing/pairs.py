"""Jinja and Logic Apps: functions and operators that give the same for JSON values.

A pair holds in one direction: wherever the first one gives a value, the second gives that value.
Functions that differ for some value (truth, null, whole division, how booleans are printed) are not
in the tables, so they cannot be said on the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.language import tree
from whorl.language.core import find
from whorl.language.printing.faults import CannotSay
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry

_CHECK = "whorl.dialects.loom.functions.logical:condition_check"
Make: TypeAlias = Callable[..., tree.Expr]


def _filter(name: str) -> Make:
    def make(subject: tree.Expr, *arguments: tree.Expr) -> tree.Expr:
        entry = find("", "filter", name)
        rest = entry.optional[max(0, len(arguments) - len(entry.required)) :]
        defaults = (tree.Literal(value) for _, value in rest)
        return tree.Apply(entry, (subject, *arguments, *defaults), (), (), 0)

    return make


def _arithmetic(symbol: tree.ArithmeticOperator) -> Make:
    return lambda left, right: tree.Arithmetic(left, ((symbol, right),), 0)


def _comparison(symbol: tree.ComparisonOperator) -> Make:
    return lambda left, right: tree.Comparison(left, ((symbol, right),), 0)


def _equals(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    if not _compares_alike(left) and not _compares_alike(right):
        raise CannotSay("`equals`", "Jinja takes true for 1, and 'true' is no boolean there")
    return tree.Comparison(left, (("==", right),), 0)


def _compares_alike(node: tree.Expr) -> bool:
    """Whether both languages agree on what equals a constant."""
    if not isinstance(node, tree.Literal) or isinstance(node.value, bool) or node.value is None:
        return False
    return node.value not in (0, 1, "true", "false")


def _empty(value: tree.Expr) -> tree.Expr:
    return tree.Comparison(_filter("length")(value), (("==", tree.Literal(0)),), 0)


def _list(*items: tree.Expr) -> tree.Expr:
    return tree.ListDisplay(items, 0)


LOGIC_TO_JINJA: dict[str, Make] = {
    "length": _filter("length"),
    "empty": _empty,
    "toLower": _filter("lower"),
    "toUpper": _filter("upper"),
    "trim": _filter("trim"),
    "replace": _filter("replace"),
    "add": _arithmetic("+"),
    "sub": _arithmetic("-"),
    "mul": _arithmetic("*"),
    "greater": _comparison(">"),
    "greaterOrEquals": _comparison(">="),
    "less": _comparison("<"),
    "lessOrEquals": _comparison("<="),
    "equals": _equals,
    "not": lambda value: tree.Unary("not", value, 0),
    "createArray": _list,
}
_CHECKED = ("and", "or", "if")


def to_jinja(node: tree.Expr) -> tree.Expr:
    """One part of a Logic Apps expression as Jinja; its own parts are Jinja already."""
    match node:
        case tree.Apply() if node.function.family == "logical" and node.function.name in _CHECKED:
            # The check for a boolean: what is none is an error there, so nothing is said of it.
            return node.arguments[0]
        case tree.Apply() if node.function.name in LOGIC_TO_JINJA:
            return LOGIC_TO_JINJA[node.function.name](*node.arguments, *node.extra)
        case tree.Logic(operator="coalesce"):
            return _first_value(node.operands)
        case tree.Item(forgiving=True):
            read = tree.Item(node.target, node.key, node.offset)
            return _filter("default")(read, tree.Literal(None))
        case _:
            return node


def _first_value(operands: tuple[tree.Expr, ...]) -> tree.Expr:
    *before, found = operands
    for value in reversed(before):
        is_null = tree.Apply(find("", "test", "none"), (value,), (), (), 0)
        found = tree.Conditional(tree.Unary("not", is_null, 0), value, found, 0)
    return found


def to_logic_condition(node: tree.Expr, read: Callable[[tree.Expr], tree.Expr]) -> tree.Expr:
    """A condition of Jinja in functions of Logic Apps; `read` says how a value is read there.

    Only what is a boolean in both: comparisons with constants that both compare alike, and `and`,
    `or`, `not` of such.
    """
    match node:
        case tree.Literal(value=bool()):
            return node
        case tree.Unary(operator="not"):
            return _call("not", to_logic_condition(node.operand, read))
        case tree.Logic(operator="and" | "or"):
            parts = [to_logic_condition(part, read) for part in node.operands]
            checked = [_checked(node.operator, place, part) for place, part in enumerate(parts)]
            return tree.Logic(node.operator, tuple(checked), 0)
        case tree.Comparison(rest=(("==" | "!=" as symbol, right),)):
            if not _compares_alike(node.first) and not _compares_alike(right):
                raise CannotSay(f"`{symbol}`", "Logic Apps compares booleans and 'true' otherwise")
            both = (_operand(node.first, read), _operand(right, read))
            same = _call("equals", *both)
            return same if symbol == "==" else _call("not", same)
        case _:
            words = type(node).__name__.lower()
            raise CannotSay(f"the construct {words!r}", "Logic Apps takes booleans only, no truth")


def _checked(function: str, place: int, part: tree.Expr) -> tree.Expr:
    """An operand with the check for a boolean, as the syntax reads it."""
    check = cast("Callable[[str, int], FunctionEntry]", load_reference(_CHECK))
    return tree.Apply(check(function, min(place, 3)), (part,), (), (), 0)


def _operand(node: tree.Expr, read: Callable[[tree.Expr], tree.Expr]) -> tree.Expr:
    return node if isinstance(node, tree.Literal) else read(node)


def _call(name: str, *arguments: tree.Expr) -> tree.Expr:
    entry = find("logic", "function", name)
    count = len(entry.required)
    return tree.Apply(entry, arguments[:count], arguments[count:], (), 0)
