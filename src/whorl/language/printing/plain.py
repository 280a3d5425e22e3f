"""Plain placeholders: texts, and paths such as `{{ a.b[0] }}`."""

from __future__ import annotations

from whorl.language import tree
from whorl.language.printing.faults import CannotSay


def print_plain(source: tree.Tree) -> str:
    """Print a tree as a text with placeholders."""
    if not source.body:
        return "" if source.value is None else _place(source.value)
    return "".join(_piece(statement) for statement in source.body)


def _piece(statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Text):
        return statement.text
    if isinstance(statement, tree.Emit):
        return _place(statement.value)
    raise CannotSay("a tag of a template", "a plain text holds paths only")


def _place(value: tree.Expr) -> str:
    return f"{{{{ {_path(value)} }}}}"


def _path(value: tree.Expr) -> str:
    match value:
        case tree.Name():
            return value.name
        case tree.Member():
            return f"{_path(value.target)}.{value.name}"
        case tree.Item(key=tree.Literal(value=int() as index)) if not isinstance(index, bool):
            return f"{_path(value.target)}[{index}]"
        case _:
            raise CannotSay("an expression", "a plain text holds paths such as {{ a.b[0] }} only")
