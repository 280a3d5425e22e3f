"""Jinja2's statement nodes as nodes of our tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from whorl.language import tree
from whorl.language.faults import LanguageError
from whorl.language.syntaxes.jinja_expressions import ExpressionConverter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_REFUSED: dict[type[nodes.Node], str] = {
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
}


class StatementConverter(ExpressionConverter):
    """Converts whole templates."""

    def __init__(self, library: str) -> None:
        super().__init__(library)
        self._statements: dict[type[nodes.Node], Callable[[Any], list[tree.Stmt]]] = {
            nodes.Output: self._output,
            nodes.If: lambda node: [self._if(node)],
            nodes.For: lambda node: [self._for(node)],
            nodes.Assign: lambda node: [self._assign(node)],
            nodes.AssignBlock: lambda node: [self._capture(node)],
            nodes.FilterBlock: lambda node: [self._filtered(node)],
            nodes.With: lambda node: [self._with(node)],
            nodes.Macro: lambda node: [self._macro(node)],
            nodes.CallBlock: lambda node: [self._call_block(node)],
        }

    def body(self, statements: Sequence[nodes.Node]) -> tree.Body:
        """Convert the statements of a body, joining neighbouring texts."""
        result: list[tree.Stmt] = []
        for statement in statements:
            convert = self._statements.get(type(statement))
            if convert is None:
                raise _refused(statement)
            self.descend(statement.lineno)
            try:
                converted = convert(statement)
            finally:
                self.depth -= 1
            result.extend(converted)
        return tuple(result)

    def _output(self, node: nodes.Output) -> list[tree.Stmt]:
        result: list[tree.Stmt] = []
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                result.append(tree.Text(part.data))
            else:
                result.append(tree.Emit(self.expression(part), part.lineno))
        return result

    def _if(self, node: nodes.If) -> tree.Stmt:
        cases = [(case.test, case.body) for case in (node, *node.elif_)]
        converted = tuple((self.expression(test), self.body(body)) for test, body in cases)
        return tree.If(converted, self.body(node.else_))

    def _for(self, node: nodes.For) -> tree.Stmt:
        if node.recursive:
            raise LanguageError(
                "recursive loops are not supported", node.lineno, "use a macro that calls itself"
            )
        items = self.expression(node.iter)
        target = self._target(node.target)
        self.bound.add("loop")
        outer, self.loop_used = self.loop_used, False
        test = None if node.test is None else self.expression(node.test)
        body = self.body(node.body)
        uses_loop, self.loop_used = self.loop_used and not _names(target, "loop"), outer
        otherwise = self.body(node.else_)
        return tree.For(target, items, test, body, otherwise, uses_loop, node.lineno)

    def _target(self, node: nodes.Node) -> tree.Target:
        if isinstance(node, nodes.Name):
            self.bound.add(node.name)
            return node.name
        if isinstance(node, nodes.Tuple):
            self.descend(node.lineno)
            parts = tuple(map(self._target, node.items))
            self.depth -= 1
            return tree.TargetNames(parts)
        raise LanguageError("only names can be assigned to here", node.lineno)

    def _assign(self, node: nodes.Assign) -> tree.Stmt:
        value = self.expression(node.node)
        if isinstance(node.target, nodes.NSRef):
            return tree.AssignMember(node.target.name, node.target.attr, value, node.lineno)
        return tree.Assign(self._target(node.target), value, node.lineno)

    def _capture(self, node: nodes.AssignBlock) -> tree.Stmt:
        body = self.body(node.body)
        value = self._after_filters(node.filter, node.lineno)
        if not isinstance(node.target, nodes.Name):
            raise LanguageError("a set block takes one name", node.lineno)
        self.bound.add(node.target.name)
        return tree.Capture(node.target.name, body, value, node.lineno)

    def _filtered(self, node: nodes.FilterBlock) -> tree.Stmt:
        body = self.body(node.body)
        return tree.Filtered(body, self._after_filters(node.filter, node.lineno), node.lineno)

    def _after_filters(self, node: nodes.Filter | None, offset: int) -> tree.Expr:
        self.bound.add(tree.CAPTURED)
        return tree.Name(tree.CAPTURED, offset) if node is None else self.expression(node)

    def _with(self, node: nodes.With) -> tree.Stmt:
        values = [self.expression(value) for value in node.values]
        targets = [self._target(target) for target in node.targets]
        return tree.With(
            tuple(zip(targets, values, strict=True)), self.body(node.body), node.lineno
        )

    def _macro(self, node: nodes.Macro) -> tree.Macro:
        self.bound.update((node.name, "caller"))
        return self._callable(node, node.name)

    def _callable(self, node: nodes.Macro | nodes.CallBlock, name: str) -> tree.Macro:
        defaults = tuple(map(self.expression, node.defaults))
        parameters = tuple(argument.name for argument in node.args)
        self.bound.update(parameters)
        deepest, self.deepest = self.deepest, self.depth
        body = self.body(node.body)
        depth, self.deepest = self.deepest - self.depth + 1, max(deepest, self.deepest)
        return tree.Macro(name, parameters, defaults, body, depth, node.lineno)

    def _call_block(self, node: nodes.CallBlock) -> tree.Stmt:
        self.bound.add(tree.CAPTURED)
        call = self.expression(node.call)
        if not isinstance(call, tree.MacroCall):
            raise LanguageError("a call block needs a macro of this template", node.lineno)
        return tree.CallBlock(call, self._callable(node, "caller"), node.lineno)


def _names(target: tree.Target, name: str) -> bool:
    if isinstance(target, str):
        return target == name
    return any(_names(part, name) for part in target.parts)


def _refused(node: nodes.Node) -> LanguageError:
    tag = _REFUSED.get(type(node))
    if tag is None:
        # The node that stands for `autoescape` has no position, its child has.
        inner = next(node.iter_child_nodes(), node)
        return LanguageError("this tag is not supported in templates", inner.lineno)
    return LanguageError(
        f"tag {tag!r} is not supported: a template cannot use other templates",
        node.lineno,
        "write the text out, or pass it in as an input",
    )
