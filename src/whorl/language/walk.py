"""How many steps a piece of tree takes, counted before it runs; bodies of statements pay apart."""

from __future__ import annotations

from whorl.language import tree


def weight_of(node: tree.Expr | tree.Stmt) -> int:
    """Count the nodes of an expression, or of a statement without its bodies."""
    weight = 0
    waiting: list[tree.Expr | tree.Stmt] = [node]
    while waiting:
        weight += 1
        waiting.extend(children(waiting.pop()))
    return weight


def children(node: tree.Expr | tree.Stmt) -> list[tree.Expr]:
    """Return the expressions directly inside a node, in the order of the source."""
    match node:
        case tree.Literal() | tree.Name() | tree.Text():
            return []
        case tree.Member():
            return [node.target]
        case tree.Item():
            return [node.target, node.key]
        case tree.Slice():
            bounds = [bound for bound in (node.start, node.stop, node.step) if bound is not None]
            return [node.target, *bounds]
        case tree.ListDisplay():
            return [*node.items]
        case tree.ObjectDisplay():
            return [part for pair in node.pairs for part in pair]
        case tree.Unary():
            return [node.operand]
        case tree.Arithmetic() | tree.Comparison():
            return [node.first, *(operand for _, operand in node.rest)]
        case tree.Logic():
            return [*node.operands]
        case tree.Concat():
            return [*node.parts]
        case tree.Conditional():
            rest = [] if node.otherwise is None else [node.otherwise]
            return [node.then, node.test, *rest]
        case tree.Apply():
            return [*node.arguments, *node.extra, *(value for _, value in node.keywords)]
        case tree.MethodCall():
            return [node.target, *node.arguments, *(value for _, value in node.keywords)]
        case tree.MacroCall():
            return [*node.arguments, *(value for _, value in node.keywords)]
    return _statement_children(node)


def _statement_children(node: tree.Stmt) -> list[tree.Expr]:
    match node:
        case tree.Emit() | tree.Assign() | tree.AssignMember() | tree.Capture() | tree.Filtered():
            return [node.value]
        case tree.If():
            return [test for test, _ in node.cases]
        case tree.For():
            return [node.items]
        case tree.With():
            return [value for _, value in node.bindings]
        case tree.CallBlock():
            return [node.call]
    return []
