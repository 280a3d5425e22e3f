"""Logic Apps expressions: calls, literals and access; `@expression`, or text with `@{...}`."""

from __future__ import annotations

from whorl.language import tree
from whorl.language.printing.faults import CannotSay

_CHECKED = ("and", "or", "if")


def print_logic(source: tree.Tree) -> str:
    """Print a tree as a string of Logic Apps."""
    if source.value is not None:
        return f"@{_printed(source.value)}"
    text = "".join(_piece(statement) for statement in source.body)
    return f"@{text}" if text.startswith("@") and not text.startswith("@{") else text


def _piece(statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Text):
        return statement.text.replace("@{", "@@{")
    if isinstance(statement, tree.Emit):
        return f"@{{{_printed(statement.value)}}}"
    raise CannotSay("a tag of a template", "a text of Logic Apps holds expressions only")


def _printed(node: tree.Expr) -> str:
    match node:
        case tree.Literal():
            return _literal(node.value)
        case tree.Item():
            mark = "?" if node.forgiving else ""
            return f"{_printed(node.target)}{mark}[{_printed(node.key)}]"
        case tree.Logic():
            return _call(node.operator, *(_unchecked(part) for part in node.operands))
        case tree.Conditional() if node.otherwise is not None:
            return _call("if", _unchecked(node.test), node.then, node.otherwise)
        case tree.Apply() if node.function.kind == "function" and not node.keywords:
            if node.function.name in ("and", "or") and not node.extra:
                # One condition alone: the syntax leaves nothing of the call but its check.
                return _call(node.function.name, node.arguments[0])
            return _call(node.function.name, *_given(node), *node.extra)
        case tree.Name():
            raise CannotSay(f"the name {node.name!r}", "Logic Apps reads values by functions only")
        case _:
            words = type(node).__name__.lower()
            raise CannotSay(f"the construct {words!r}", "Logic Apps has functions only")


def _call(name: str, *arguments: tree.Expr) -> str:
    return f"{name}({', '.join(map(_printed, arguments))})"


def _unchecked(node: tree.Expr) -> tree.Expr:
    """A condition without the check for a boolean that the syntax puts around it."""
    if not isinstance(node, tree.Apply) or node.function.family != "logical":
        return node
    is_check = node.function.name in _CHECKED and node.function.required == ("value",)
    return node.arguments[0] if is_check else node


def _given(node: tree.Apply) -> tuple[tree.Expr, ...]:
    """The arguments without those that stand for parameters left out."""
    kept = list(node.arguments)
    least = len(node.function.required)
    while len(kept) > least and not node.extra and _is_null(kept[-1]):
        kept.pop()
    return tuple(kept)


def _is_null(node: tree.Expr) -> bool:
    return isinstance(node, tree.Literal) and node.value is None


def _literal(value: bool | float | str | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return repr(value)
