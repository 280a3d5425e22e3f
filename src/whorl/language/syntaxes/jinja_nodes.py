"""Jinja2's nodes as nodes of our tree; the nodes carry offsets as `lineno`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from jinja2 import nodes

from whorl.language import tree
from whorl.language.core import check_method, find
from whorl.language.entry import FunctionEntry, Kind, bind
from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.values import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_ARITHMETIC: dict[type[nodes.Node], tuple[tree.ArithmeticOperator, int]] = {
    nodes.Add: ("+", 1),
    nodes.Sub: ("-", 1),
    nodes.Mul: ("*", 2),
    nodes.Div: ("/", 2),
    nodes.FloorDiv: ("//", 2),
    nodes.Mod: ("%", 2),
    nodes.Pow: ("**", 3),
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

_Arguments = tuple[tuple[tree.Expr, ...], tuple[tuple[str, tree.Expr], ...]]


class ExpressionConverter:
    """Converts expressions, and keeps count of how deep it is and what the template binds."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.bound: set[str] = set()
        self.loop_used = False
        self.depth = 0
        self.deepest = 0
        self._converters: dict[type[nodes.Node], Callable[[Any], tree.Expr]] = {
            nodes.Const: lambda node: tree.Literal(node.value, node.lineno),
            nodes.TemplateData: lambda node: tree.Literal(node.data, node.lineno),
            nodes.Name: self._name,
            nodes.Getattr: self._member,
            nodes.Getitem: self._item,
            nodes.List: self._list,
            nodes.Tuple: self._list,
            nodes.Dict: self._object,
            nodes.Not: lambda node: tree.Unary("not", self.expression(node.node), node.lineno),
            nodes.Neg: lambda node: tree.Unary("-", self.expression(node.node), node.lineno),
            nodes.Pos: lambda node: tree.Unary("+", self.expression(node.node), node.lineno),
            nodes.And: lambda node: self._logic(node, nodes.And, "and"),
            nodes.Or: lambda node: self._logic(node, nodes.Or, "or"),
            nodes.Compare: self._comparison,
            nodes.Concat: lambda node: tree.Concat(
                tuple(map(self.expression, node.nodes)), node.lineno
            ),
            nodes.CondExpr: self._conditional,
            nodes.Filter: lambda node: self._applied(node, "filter"),
            nodes.Test: lambda node: self._applied(node, "test"),
            nodes.Call: self._call,
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
        }

    def expression(self, node: nodes.Node) -> tree.Expr:
        """Convert one expression."""
        convert = self._converters.get(type(node))
        if convert is None:
            construct = type(node).__name__.lower()
            raise LanguageError(f"the construct {construct!r} cannot be used here", node.lineno)
        self.descend(node.lineno)
        try:
            return convert(node)
        finally:
            self.depth -= 1

    def descend(self, offset: int) -> None:
        """Go one level deeper."""
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        if self.depth > LIMITS.depth_max:
            raise LimitExceeded(
                f"source is nested more than {LIMITS.depth_max} levels deep",
                offset,
                "give parts of it a name with `set`, or split it into several steps",
            )

    def _name(self, node: nodes.Name) -> tree.Expr:
        self.loop_used = self.loop_used or node.name == "loop"
        return tree.Name(node.name, node.lineno)

    def _member(self, node: nodes.Getattr) -> tree.Expr:
        return tree.Member(self.expression(node.node), node.attr, node.lineno)

    def _item(self, node: nodes.Getitem) -> tree.Expr:
        target = self.expression(node.node)
        if isinstance(node.arg, nodes.Slice):
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            start, stop, step = (None if part is None else self.expression(part) for part in bounds)
            return tree.Slice(target, start, stop, step, node.lineno)
        return tree.Item(target, self.expression(node.arg), node.lineno)

    def _list(self, node: nodes.List | nodes.Tuple) -> tree.Expr:
        return tree.ListDisplay(tuple(map(self.expression, node.items)), node.lineno)

    def _object(self, node: nodes.Dict) -> tree.Expr:
        pairs = ((self.expression(pair.key), self.expression(pair.value)) for pair in node.items)
        return tree.ObjectDisplay(tuple(pairs), node.lineno)

    def _logic(self, node: nodes.BinExpr, kind: type[nodes.BinExpr], operator: str) -> tree.Expr:
        operands: list[nodes.Expr] = []
        left: nodes.Expr = node
        while type(left) is kind:
            operands.append(left.right)
            left = left.left
        operands.append(left)
        converted = tuple(self.expression(operand) for operand in reversed(operands))
        return tree.Logic("and" if operator == "and" else "or", converted, converted_offset(node))

    def _arithmetic(self, node: nodes.BinExpr) -> tree.Expr:
        precedence = _ARITHMETIC[type(node)][1]
        steps: list[tuple[tree.ArithmeticOperator, nodes.Expr]] = []
        left: nodes.Expr = node
        # Parentheses leave no trace in Jinja2's tree, but `(a + b) + c` means the same anyway.
        while _ARITHMETIC.get(type(left), ("", 0))[1] == precedence:
            steps.append((_ARITHMETIC[type(left)][0], cast("nodes.BinExpr", left).right))
            left = cast("nodes.BinExpr", left).left
        first = self.expression(left)
        rest = tuple((symbol, self.expression(operand)) for symbol, operand in reversed(steps))
        return tree.Arithmetic(first, rest, converted_offset(node))

    def _comparison(self, node: nodes.Compare) -> tree.Expr:
        rest = ((_COMPARISON[part.op], self.expression(part.expr)) for part in node.ops)
        return tree.Comparison(self.expression(node.expr), tuple(rest), converted_offset(node.expr))

    def _conditional(self, node: nodes.CondExpr) -> tree.Expr:
        otherwise = None if node.expr2 is None else self.expression(node.expr2)
        test, then = self.expression(node.test), self.expression(node.expr1)
        return tree.Conditional(test, then, otherwise, node.lineno)

    def _applied(self, node: nodes.Filter | nodes.Test, kind: Kind) -> tree.Expr:
        subject = self.expression(node.node) if node.node is not None else None
        arguments, keywords = self.arguments(node)
        return self.apply(kind, node.name, subject, (arguments, keywords), node.lineno)

    def apply(
        self, kind: Kind, name: str, subject: tree.Expr | None, given: _Arguments, offset: int
    ) -> tree.Expr:
        """Make the call of a filter, test or function of the library."""
        try:
            entry = find(self.library, kind, name)
            self._check_named(entry, given[0])
            bound, extra, surplus = bind(
                entry, given[0], dict(given[1]), lambda value: tree.Literal(value, offset)
            )
        except LanguageError as error:
            error.offset = offset
            raise
        leading = () if kind == "function" else (subject or tree.Name(tree.CAPTURED, offset),)
        return tree.Apply(entry, (*leading, *bound), extra, tuple(surplus.items()), offset)

    def _check_named(self, entry: FunctionEntry, arguments: tuple[tree.Expr, ...]) -> None:
        naming = _NAMING.get(entry.name) if entry.kind == "filter" else None
        if naming is None or len(arguments) <= naming[1]:
            return
        argument = arguments[naming[1]]
        if isinstance(argument, tree.Literal) and isinstance(argument.value, str):
            find(self.library, naming[0], argument.value)

    def arguments(self, node: nodes.Filter | nodes.Test | nodes.Call) -> _Arguments:
        """Convert the arguments of a call."""
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise LanguageError(
                "arguments cannot be unpacked with `*` or `**`",
                node.lineno,
                "write the arguments out",
            )
        keywords: dict[str, tree.Expr] = {}
        for keyword in node.kwargs:
            pair = cast("nodes.Keyword", keyword)
            if pair.key in keywords:
                raise LanguageError(f"the argument {pair.key!r} is given twice", node.lineno)
            keywords[pair.key] = self.expression(pair.value)
        return tuple(map(self.expression, node.args)), tuple(keywords.items())

    def _call(self, node: nodes.Call) -> tree.Expr:
        callee = node.node
        arguments, keywords = self.arguments(node)
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
        if callee.name == "loop" and "loop" in self.bound:
            raise LanguageError(
                "loops that call themselves with `loop(...)` are not supported",
                node.lineno,
                "use a macro that calls itself",
            )
        if callee.name in self.bound:
            return tree.MacroCall(callee.name, arguments, keywords, callee.lineno)
        return self.apply("function", callee.name, None, (arguments, keywords), callee.lineno)


def converted_offset(node: nodes.Node) -> int:
    """Where a node begins: at its leftmost part."""
    while isinstance(node, nodes.BinExpr):
        node = node.left
    return node.lineno


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
