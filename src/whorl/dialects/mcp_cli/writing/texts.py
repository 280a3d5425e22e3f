"""Prompts and conditions: texts with flat {{variables}}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.texts import PLACE
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.writing.page import Here

_FLAT = "texts hold {{variables}} only: the input, the results of steps and loop.iteration"


def write_text(here: Here, value: ir.Value) -> str:
    """A text with placeholders; what cannot be said is listed."""
    try:
        return _text(here, value)
    except CannotSay as loss:
        here.lose(loss.what, loss.why)
        return "" if not isinstance(value, ir.Expression) else value.source


def _text(here: Here, value: ir.Value) -> str:
    match value:
        case ir.Constant() if isinstance(value.value, str):
            return _literal(value.value)
        case ir.Expression():
            return _template(here, value)
        case _:
            raise CannotSay("a value that is no text", _FLAT)


def _template(here: Here, expression: ir.Expression) -> str:
    try:
        source = parse(expression)
    except LanguageError as fault:
        raise CannotSay(f"the text {expression.source[:60]!r}", fault.message) from None
    if source.value is not None:
        return place_of(here, source.value)
    return "".join(_piece(here, statement) for statement in source.body)


def _piece(here: Here, statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Text):
        return _literal(statement.text)
    if isinstance(statement, tree.Emit):
        return place_of(here, statement.value)
    raise CannotSay("a tag of a template", _FLAT)


def _literal(text: str) -> str:
    if PLACE.search(text) or "{{" in text or text.endswith("{"):
        raise CannotSay(f"the text {text[:40]!r}", "braces stand for variables there")
    return text


def place_of(here: Here, value: tree.Expr) -> str:
    """The placeholder that reads what an expression reads."""
    path = _path(value)
    name = None if path is None else here.names.get(path)
    if name is None:
        shown = f"the value {'.'.join(path)!r}" if path else "a value that is computed"
        raise CannotSay(shown, _FLAT)
    return f"{{{{{name}}}}}"


def path_of(expression: ir.Expression) -> tuple[str, ...] | None:
    """The names by which an expression reads a value; None where it does more than that."""
    try:
        value = parse(expression).value
    except LanguageError:
        return None
    return None if value is None else _path(value)


def _path(value: tree.Expr) -> tuple[str, ...] | None:
    """The names by which an expression reads a value."""
    match value:
        case tree.Name():
            return (value.name,)
        case tree.Member():
            before = _path(value.target)
            return None if before is None else (*before, value.name)
        case _:
            return None


def write_condition(here: Here, test: ir.Expression) -> str:
    """A comparison of variables."""
    try:
        if test.syntax != "jinja":
            raise CannotSay("a condition that is a text", "a condition compares variables")
        value = parse(test).value
        assert value is not None
        if not isinstance(value, tree.Comparison):
            raise CannotSay("a condition that compares nothing", "texts are true in other ways")
        return _compared(here, value)
    except (CannotSay, LanguageError) as loss:
        here.lose(f"the condition {test.source[:60]!r}", str(loss))
        return "false"


def _compared(here: Here, node: tree.Comparison) -> str:
    text = _operand(here, node.first)
    for symbol, operand in node.rest:
        if symbol in ("in", "not in"):
            raise CannotSay("`in`", "a condition compares by ==, !=, <, <=, > and >=")
        text += f" {symbol} {_operand(here, operand)}"
    if "{{" not in text:
        raise CannotSay("a condition without variables", "it is a text that is empty or not")
    return text


def _operand(here: Here, node: tree.Expr) -> str:
    if not isinstance(node, tree.Literal):
        return place_of(here, node)
    value = node.value
    if isinstance(value, str):
        if set(value) & set("'\"\\{}\n\r"):
            raise CannotSay(f"the text {value[:40]!r}", "a text in a condition holds no quotes")
        return f"'{value}'"
    return {None: "none", True: "true", False: "false"}.get(value, repr(value))  # type: ignore[arg-type]
