"""Jinja2's nodes as nodes of our tree; the nodes carry offsets as `lineno`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from jinja2 import nodes

from whorl.language import tree
from whorl.language.core import check_method, find
from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.names import names_of
from whorl.language.signatures import Kind, bind
from whorl.language.values import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# The operators that chain from left to right, and how strongly each one binds.
_OPERATORS: dict[type[nodes.Node], tuple[str, int]] = {
    nodes.Or: ("or", 0),
    nodes.And: ("and", 1),
    nodes.Add: ("+", 2),
    nodes.Sub: ("-", 2),
    nodes.Mul: ("*", 3),
    nodes.Div: ("/", 3),
    nodes.FloorDiv: ("//", 3),
    nodes.Mod: ("%", 3),
    nodes.Pow: ("**", 4),
}
_COMPARISON: dict[str, tree.ComparisonOperator] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
# Filters whose argument names another function, which is checked when it is written out.
_NAMING: dict[str, tuple[Kind, int]] = {
    "map": ("filter", 0),
    "select": ("test", 0),
    "reject": ("test", 0),
    "selectattr": ("test", 1),
    "rejectattr": ("test", 1),
}
_REFUSED: dict[type[nodes.Node], str] = {
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
}

_Arguments = tuple[tuple[tree.Expr, ...], tuple[tuple[str, tree.Expr], ...]]


class Converter:
    """Converts expressions and statements, and knows how deep it is and what the template binds."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.bound: set[str] = set()
        self._loop_used = False
        self._depth = self._deepest = 0
        read = self.expression
        self._expressions: dict[type[nodes.Node], Callable[[Any], tree.Expr]] = {
            nodes.Const: lambda node: tree.Literal(node.value, node.lineno),
            nodes.TemplateData: lambda node: tree.Literal(node.data, node.lineno),
            nodes.Name: self._name,
            nodes.Getattr: lambda node: tree.Member(read(node.node), node.attr, node.lineno),
            nodes.Getitem: self._item,
            nodes.List: lambda node: tree.ListDisplay(self._all(node.items), node.lineno),
            nodes.Tuple: lambda node: tree.ListDisplay(self._all(node.items), node.lineno),
            nodes.Dict: self._object,
            nodes.Compare: self._comparison,
            nodes.Concat: lambda node: tree.Concat(self._all(node.nodes), node.lineno),
            nodes.CondExpr: self._conditional,
            nodes.Filter: lambda node: self._applied(node, "filter"),
            nodes.Test: lambda node: self._applied(node, "test"),
            nodes.Call: self._call,
            nodes.Not: lambda node: tree.Unary("not", read(node.node), node.lineno),
            nodes.Neg: lambda node: tree.Unary("-", read(node.node), node.lineno),
            nodes.Pos: lambda node: tree.Unary("+", read(node.node), node.lineno),
            **dict.fromkeys(_OPERATORS, self._chain),
        }
        self._statements: dict[type[nodes.Node], Callable[[Any], tree.Stmt]] = {
            nodes.If: self._if,
            nodes.For: self._for,
            nodes.Assign: self._assign,
            nodes.AssignBlock: self._capture,
            nodes.FilterBlock: self._capture,
            nodes.With: self._with,
            nodes.Macro: lambda node: self._callable(node, node.name),
            nodes.CallBlock: self._call_block,
        }

    def expression(self, node: nodes.Node) -> tree.Expr:
        convert = self._expressions.get(type(node))
        if convert is None:
            construct = type(node).__name__.lower()
            raise LanguageError(f"the construct {construct!r} cannot be used here", node.lineno)
        self._descend(node.lineno)
        try:
            return convert(node)
        finally:
            self._depth -= 1

    def body(self, statements: Sequence[nodes.Node]) -> tree.Body:
        result: list[tree.Stmt] = []
        for statement in statements:
            convert = self._statements.get(type(statement))
            if convert is None and not isinstance(statement, nodes.Output):
                raise _refused(statement)
            self._descend(statement.lineno)
            try:
                if convert is None:
                    result.extend(map(self._output, cast("nodes.Output", statement).nodes))
                else:
                    result.append(convert(statement))
            finally:
                self._depth -= 1
        return tuple(result)

    def _descend(self, offset: int) -> None:
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        if self._depth > LIMITS.depth_max:
            raise LimitExceeded(
                f"source is nested more than {LIMITS.depth_max} levels deep",
                offset,
                "give parts of it a name with `set`, or split it into several steps",
            )

    def _all(self, parts: Iterable[nodes.Node]) -> tuple[tree.Expr, ...]:
        return tuple(map(self.expression, parts))

    def _optional(self, node: nodes.Node | None) -> tree.Expr | None:
        return None if node is None else self.expression(node)

    def _name(self, node: nodes.Name) -> tree.Expr:
        self._loop_used = self._loop_used or node.name == "loop"
        return tree.Name(node.name, node.lineno)

    def _item(self, node: nodes.Getitem) -> tree.Expr:
        target, key = self.expression(node.node), node.arg
        if isinstance(key, nodes.Slice):
            start, stop, step = map(self._optional, (key.start, key.stop, key.step))
            return tree.Slice(target, start, stop, step, node.lineno)
        return tree.Item(target, self.expression(key), node.lineno)

    def _object(self, node: nodes.Dict) -> tree.Expr:
        pairs = ((self.expression(pair.key), self.expression(pair.value)) for pair in node.items)
        return tree.ObjectDisplay(tuple(pairs), node.lineno)

    def _chain(self, node: nodes.BinExpr) -> tree.Expr:
        symbol, strength = _OPERATORS[type(node)]
        steps: list[tuple[str, nodes.Expr]] = []
        left: nodes.Expr = node
        # Parentheses leave no trace in Jinja2's tree, but `(a + b) + c` means the same anyway.
        while isinstance(left, nodes.BinExpr) and _OPERATORS[type(left)][1] == strength:
            steps.append((_OPERATORS[type(left)][0], left.right))
            left = left.left
        first = self.expression(left)
        rest = tuple((step, self.expression(operand)) for step, operand in reversed(steps))
        if strength > 1:
            return tree.Arithmetic(first, cast("Any", rest), _start(node))
        operands = (first, *(operand for _, operand in rest))
        return tree.Logic("and" if symbol == "and" else "or", operands, _start(node))

    def _comparison(self, node: nodes.Compare) -> tree.Expr:
        rest = ((_COMPARISON[part.op], self.expression(part.expr)) for part in node.ops)
        return tree.Comparison(self.expression(node.expr), tuple(rest), _start(node.expr))

    def _conditional(self, node: nodes.CondExpr) -> tree.Expr:
        otherwise = self._optional(node.expr2)
        test, then = self.expression(node.test), self.expression(node.expr1)
        return tree.Conditional(test, then, otherwise, node.lineno)

    def _applied(self, node: nodes.Filter | nodes.Test, kind: Kind) -> tree.Expr:
        subject = self._optional(node.node) or tree.Name(tree.CAPTURED, node.lineno)
        return self._apply(kind, node.name, (subject,), self._arguments(node), node.lineno)

    def _apply(
        self, kind: Kind, name: str, leading: tuple[tree.Expr, ...], given: _Arguments, offset: int
    ) -> tree.Expr:
        """The call of a filter, test or function of the library."""
        arguments, keywords = given
        try:
            entry = find(self.library, kind, name)
            other, position = _NAMING.get(name, ("", 0)) if kind == "filter" else ("", 0)
            named = arguments[position] if other and position < len(arguments) else None
            if isinstance(named, tree.Literal) and isinstance(named.value, str):
                find(self.library, cast("Kind", other), named.value)
            bound, extra, surplus = bind(
                entry, arguments, dict(keywords), lambda value: tree.Literal(value, offset)
            )
        except LanguageError as error:
            error.offset = offset
            raise
        return tree.Apply(entry, (*leading, *bound), extra, tuple(surplus.items()), offset)

    def _arguments(self, node: nodes.Filter | nodes.Test | nodes.Call) -> _Arguments:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise LanguageError(
                "arguments cannot be unpacked with `*` or `**`",
                node.lineno,
                "write each argument",
            )
        keywords: dict[str, tree.Expr] = {}
        for keyword in node.kwargs:
            pair = cast("nodes.Keyword", keyword)
            if pair.key in keywords:
                raise LanguageError(f"the argument {pair.key!r} is given twice", node.lineno)
            keywords[pair.key] = self.expression(pair.value)
        return self._all(node.args), tuple(keywords.items())

    def _call(self, node: nodes.Call) -> tree.Expr:
        callee = node.node
        arguments, keywords = self._arguments(node)
        if isinstance(callee, nodes.Getattr):
            try:
                check_method(callee.attr)
            except LanguageError as error:
                error.offset = callee.lineno
                raise
            target = self.expression(callee.node)
            return tree.MethodCall(target, callee.attr, arguments, keywords, callee.lineno)
        if not isinstance(callee, nodes.Name):
            raise LanguageError("only functions, macros and methods can be called", node.lineno)
        if callee.name not in self.bound:
            return self._apply("function", callee.name, (), (arguments, keywords), callee.lineno)
        if callee.name == "loop":
            raise LanguageError(
                "loops that call themselves with `loop(...)` are not supported",
                node.lineno,
                "use a macro that calls itself",
            )
        return tree.MacroCall(callee.name, arguments, keywords, callee.lineno)

    def _output(self, part: nodes.Node) -> tree.Stmt:
        if isinstance(part, nodes.TemplateData):
            return tree.Text(part.data)
        return tree.Emit(self.expression(part), part.lineno)

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
        outer, self._loop_used = self._loop_used, False
        test, body = self._optional(node.test), self.body(node.body)
        uses_loop, self._loop_used = self._loop_used and "loop" not in names_of(target), outer
        otherwise = self.body(node.else_)
        return tree.For(target, items, test, body, otherwise, uses_loop, node.lineno)

    def _target(self, node: nodes.Node) -> tree.Target:
        if isinstance(node, nodes.Name):
            self.bound.add(node.name)
            return node.name
        if isinstance(node, nodes.Tuple):
            self._descend(node.lineno)
            parts = tuple(map(self._target, node.items))
            self._depth -= 1
            return tree.TargetNames(parts)
        raise LanguageError("only names can be assigned to here", node.lineno)

    def _assign(self, node: nodes.Assign) -> tree.Stmt:
        value = self.expression(node.node)
        if isinstance(node.target, nodes.NSRef):
            return tree.AssignMember(node.target.name, node.target.attr, value, node.lineno)
        return tree.Assign(self._target(node.target), value, node.lineno)

    def _capture(self, node: nodes.AssignBlock | nodes.FilterBlock) -> tree.Stmt:
        body = self.body(node.body)
        self.bound.add(tree.CAPTURED)
        value = self._optional(node.filter) or tree.Name(tree.CAPTURED, node.lineno)
        if isinstance(node, nodes.FilterBlock):
            return tree.Capture("", body, value, node.lineno)
        if not isinstance(node.target, nodes.Name):
            raise LanguageError("a set block takes one name", node.lineno)
        self.bound.add(node.target.name)
        return tree.Capture(node.target.name, body, value, node.lineno)

    def _with(self, node: nodes.With) -> tree.Stmt:
        values = [self.expression(value) for value in node.values]
        targets = [self._target(target) for target in node.targets]
        bindings = tuple(zip(targets, values, strict=True))
        return tree.With(bindings, self.body(node.body), node.lineno)

    def _callable(self, node: nodes.Macro | nodes.CallBlock, name: str) -> tree.Macro:
        if isinstance(node, nodes.Macro):
            self.bound.update((name, "caller"))
        defaults = self._all(node.defaults)
        parameters = tuple(argument.name for argument in node.args)
        self.bound.update(parameters)
        deepest, self._deepest = self._deepest, self._depth
        body = self.body(node.body)
        depth, self._deepest = self._deepest - self._depth + 1, max(deepest, self._deepest)
        return tree.Macro(name, parameters, defaults, body, depth, node.lineno)

    def _call_block(self, node: nodes.CallBlock) -> tree.Stmt:
        self.bound.add(tree.CAPTURED)
        call = self.expression(node.call)
        if not isinstance(call, tree.MacroCall):
            raise LanguageError("a call block needs a macro of this template", node.lineno)
        return tree.CallBlock(call, self._callable(node, "caller"), node.lineno)


def _start(node: nodes.Node) -> int:
    """Where a node begins: at its leftmost part."""
    while isinstance(node, nodes.BinExpr):
        node = node.left
    return node.lineno


def _refused(node: nodes.Node) -> LanguageError:
    tag = _REFUSED.get(type(node))
    if tag is None:
        # The node that stands for `autoescape` has no position, its child has.
        inner = next(node.iter_child_nodes(), node)
        return LanguageError("this tag is not supported in templates", inner.lineno)
    return LanguageError(
        f"tag {tag!r} is not supported: a template cannot use other templates",
        node.lineno,
        "write the text here, or pass it in as an input",
    )
