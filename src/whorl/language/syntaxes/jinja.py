"""Jinja templates and expressions: Jinja2's lexer and parser, never its compiler or runtime.

The lexer gives character offsets in place of line numbers. Nesting is refused here, before Jinja2's
recursive parser is entered: what counts is how many Python frames the parser would stack up.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from jinja2 import Environment, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Token, TokenStream, ignored_tokens
from jinja2.lexer import operators as OPERATORS  # noqa: N812
from jinja2.parser import Parser

from whorl.language import tree
from whorl.language.calls import Kind, bind
from whorl.language.core import check_method, find
from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.tree import names_of
from whorl.language.values import INTEGER_MAX, LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Parsed = TypeVar("Parsed")

TOKENS_MAX = 20_000
FRAMES_MAX = 520
_FRAMES_PER_BRACKET = 13
_FRAMES_PER_BLOCK = 4

_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<mark>[\\'\"abfnrtv\n]))"
)
# The meaning of a mark behind a backslash, if it is not the mark itself.
_MARKS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)) | {"\n": ""}
_OPENING = frozenset(("lparen", "lbracket", "lbrace"))
_CLOSING = frozenset(("rparen", "rbracket", "rbrace"))
_BLOCKS = frozenset(("for", "if", "macro", "call", "filter", "with", "block", "autoescape"))
_OPERANDS = frozenset(("name", "string", "integer", "float"))
_WORD_OPERATORS = frozenset(("and", "or", "not", "in", "is", "if", "else", "elif"))

# Operators of other languages, and what is written here.
_FOREIGN = {
    "&&": "write `and` instead of `&&`",
    "||": "write `or` instead of `||`",
    "!": "write `not x` instead of `!x`",
    "=": "to compare, write `a == b`",
    "?": "write `b if a else c` instead of `a ? b : c`",
}
_JOINED = "join two parts by an operator, such as `and`, `==` or `~`; write texts in quotes"
# What Jinja2 says, and what we say.
_PHRASES = (
    ("'end of print statement'", "'}}'"),
    ("'end of statement block'", "'%}'"),
    ("Encountered unknown tag", "unknown tag"),
    ("Jinja was looking for", "the parser was looking for"),
    ("You probably made a nesting mistake. Jinja is expecting this tag,", "the tag is known,"),
    ("expected token", "expected"),
)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the Jinja2 environment for its lexer and parser; it never renders."""
    return Environment(keep_trailing_newline=True)


def _tokens(source: str, *, inside: bool) -> Iterator[Token]:
    """Yield the tokens of a template, or of the inside of `{{ }}`, with offsets as `lineno`."""
    count = 0
    for offset, kind, text in _positions(source, inside=inside):
        if kind in ignored_tokens or kind in ("raw_begin", "raw_end"):
            continue
        count += 1
        if count > TOKENS_MAX:
            raise LimitExceeded(f"source has more than {TOKENS_MAX} tokens", offset)
        value: object = text
        if kind == "name" and not text.isidentifier():
            raise LanguageError(f"{text!r} is not a name", offset)
        if kind == "string":
            value = _ESCAPE.sub(_unescaped, text[1:-1])
        elif kind in ("integer", "float"):
            value = _number(kind, text.replace("_", ""), offset)
        elif kind == "operator":
            kind = OPERATORS[text]
        yield Token(offset, kind, value)  # type: ignore[arg-type]


def _positions(source: str, *, inside: bool) -> Iterator[tuple[int, str, str]]:
    """Pair the tokens of Jinja2's lexer with their positions.

    The lexer yields every character of the source in order, except white space that a `-` removes
    and the `\\r` of line ends.
    """
    returns = [match.start() for match in re.finditer("\r\n", source)]
    flat = source.replace("\r\n", "\n").replace("\r", "\n")
    removed = [position - index for index, position in enumerate(returns)]
    position = 0
    lexer = environment().lexer
    stream = lexer.tokeniter(flat, None, None, "variable" if inside else None)
    try:
        for _, kind, text in stream:
            while position < len(flat) and not flat.startswith(text, position):
                position += 1
            yield position + bisect_right(removed, position - 1), kind, text
            position += len(text)
    except TemplateSyntaxError as error:
        offset = position + bisect_right(removed, position - 1)
        message = re.sub(r" at \d+$", "", error.message or "syntax error")
        raise _fault(message, source, min(offset, len(source)), is_expression=inside) from None


def _fault(message: str, source: str, offset: int, *, is_expression: bool) -> LanguageError:
    """Returns what Jinja2 says of a mistake in our words, with advice."""
    for theirs, ours in _PHRASES:
        message = message.replace(theirs, ours)
    message = message.rstrip(".").replace(". ", "; ")
    if is_expression and "end of template" in message:
        message, offset = message.replace("end of template", "end of expression"), len(source)
    start = source.rfind("{{", 0, offset + 2)
    rest = source[start + 2 :]
    if not is_expression and start >= 0 and "}}" not in rest.partition("{{")[0]:
        advice = "close it; for the characters themselves, write {{ '{{' }}"
        return LanguageError("'{{' is not closed by '}}'", start, advice)
    mark = source[max(0, offset - 1) : offset + 1]
    mark = mark if mark == "||" else source[offset : offset + 2]
    usual = _JOINED if message.startswith("expected '}}'") else ""
    advice = _FOREIGN.get(mark) or _FOREIGN.get(mark[:1], usual)
    return LanguageError(message[:1].lower() + message[1:], offset, advice)


def _number(kind: str, digits: str, offset: int) -> int | float:
    if kind == "float":
        number = float(digits)
        if number == float("inf"):
            raise LimitExceeded("a number in the source is too large", offset)
        return number
    if len(digits) >= 70 or int(digits, 0) > INTEGER_MAX:
        raise LimitExceeded("an integer in the source is beyond 64 bits", offset)
    return int(digits, 0)


def _unescaped(escape: re.Match[str]) -> str:
    if escape["mark"] is not None:
        return _MARKS.get(escape["mark"], escape["mark"])
    if escape["octal"] is not None:
        return chr(int(escape["octal"], 8))
    code = int(escape["hex"] or escape["short"] or escape["long"], 16)
    return "\ufffd" if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def _bounded(tokens: Iterable[Token]) -> Iterator[Token]:
    """Refuse tokens at which Jinja2's parser would have too many frames on the stack."""
    levels, pending, blocks = [0], 0, 0
    begins = sets = False
    for token in tokens:
        if token.type in ("data", "variable_begin", "block_begin"):
            levels, pending, begins = [0], 0, token.type == "block_begin"
        elif begins:
            # `set` opens a block unless it has a value; that is known at the end of the tag.
            begins, sets = False, token.value == "set"
            if token.value in _BLOCKS:
                blocks += 1
            elif token.type == "name" and token.value.startswith("end"):
                blocks = max(0, blocks - 1)
        elif token.type == "assign" and len(levels) == 1:
            sets = False
        elif token.type == "block_end":
            blocks, sets = blocks + sets, False
        elif token.type in _OPENING:
            levels.append(levels[-1] + pending + _FRAMES_PER_BRACKET)
            pending = 0
        elif token.type in _CLOSING:
            levels, pending = levels[:-1] or [0], 0
        elif token.type in _OPERANDS and token.value not in _WORD_OPERATORS:
            pending = 0
        elif token.value == "else":
            levels[-1] += 1
        elif token.type in ("add", "sub") or token.value == "not":
            pending += 1
        if levels[-1] + pending + blocks * _FRAMES_PER_BLOCK > FRAMES_MAX:
            raise LimitExceeded("source is nested too deeply", token.lineno)
        yield token


def read_template(source: str, library: str) -> tree.Tree:
    tokens = list(_bounded(_tokens(source, inside=False)))
    parsed, _ = _parsed(tokens, Parser.subparse, source, is_expression=False)
    converter = Converter(library)
    body = converter.body(parsed)
    is_one = (
        len(body) == 1
        and source.startswith("{{")
        and source.rstrip().endswith("}}")
        and tokens[-1].type == "variable_end"
        and sum(token.type == "variable_begin" for token in tokens) == 1
    )
    value = body[0].value if is_one and isinstance(body[0], tree.Emit) else None
    return tree.Tree("template", library, value, body, frozenset(converter.bound))


def read_expression(source: str, library: str) -> tree.Tree:
    """Read one expression, with or without the braces around it."""
    inner = _without_braces(source)
    tokens = list(_bounded(_tokens(inner, inside=True)))
    if not tokens:
        raise LanguageError("the expression is empty", 0, "write a name, a number or a text")
    node, following = _parsed(tokens, Parser.parse_expression, inner, is_expression=True)
    if not following.eos:
        token = following.current
        message = f"unexpected {token.value!r} after the expression"
        fault = _fault(message, inner, token.lineno, is_expression=True)
        usual = "an expression is written without braces; join texts with `~`"
        fault.help = fault.help or (usual if "{{" in inner else _JOINED)
        raise fault
    return tree.Tree("jinja", library, Converter(library).expression(node), (), frozenset())


def _without_braces(source: str) -> str:
    """Blank out the braces around an expression; the inside keeps its offset."""
    stripped = source.strip()
    if not (stripped.startswith("{{") and stripped.endswith("}}") and len(stripped) > 4):
        return source
    begin = source.index("{{") + 2
    end = source.rindex("}}")
    begin += source[begin] == "-"
    end -= source[end - 1] == "-"
    return " " * begin + source[begin:end]


def _parsed(
    tokens: list[Token], parse: Callable[[Parser], Parsed], source: str, *, is_expression: bool
) -> tuple[Parsed, TokenStream]:
    """Parse tokens with Jinja2; return the result and the rest."""
    parser = Parser(environment(), "")
    parser.stream = TokenStream(iter(tokens), None, None)
    try:
        return parse(parser), parser.stream
    except TemplateSyntaxError as error:
        message = error.message or "syntax error"
        raise _fault(message, source, error.lineno, is_expression=is_expression) from None
    except RecursionError:
        raise LimitExceeded("source is nested too deeply") from None


# Jinja2's nodes as nodes of our tree; the nodes carry offsets as `lineno`.

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
    nodes.Macro: "macro",
    nodes.CallBlock: "call",
    nodes.FilterBlock: "filter",
    nodes.With: "with",
}

_Arguments = tuple[tuple[tree.Expr, ...], tuple[tuple[str, tree.Expr], ...]]


class Converter:
    """Converts expressions and statements, and knows how deep it is and what the template binds."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.bound: set[str] = set()
        self._loop_used = False
        self._depth = 0
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
        """Convert the call of a filter, test or function of the library."""
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
                "arguments cannot be unpacked with `*` or `**`", node.lineno, "write each argument"
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
            raise LanguageError("only functions and methods can be called", node.lineno)
        return self._apply("function", callee.name, (), (arguments, keywords), callee.lineno)

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
            raise LanguageError("recursive loops are not supported", node.lineno)
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

    def _capture(self, node: nodes.AssignBlock) -> tree.Stmt:
        body = self.body(node.body)
        self.bound.add(tree.CAPTURED)
        value = self._optional(node.filter) or tree.Name(tree.CAPTURED, node.lineno)
        if not isinstance(node.target, nodes.Name):
            raise LanguageError("a set block takes one name", node.lineno)
        self.bound.add(node.target.name)
        return tree.Capture(node.target.name, body, value, node.lineno)


def _start(node: nodes.Node) -> int:
    """Return the start of a node: that of its leftmost part."""
    while isinstance(node, nodes.BinExpr):
        node = node.left
    return node.lineno


def _refused(node: nodes.Node) -> LanguageError:
    tag = _REFUSED.get(type(node))
    if tag is None:
        # The node of `autoescape` has no position, its child has.
        inner = next(node.iter_child_nodes(), node)
        return LanguageError("this tag is not supported in templates", inner.lineno)
    advice = "write the text here, give it a name with `set`, or pass it in as an input"
    return LanguageError(f"tag {tag!r} is not supported", node.lineno, advice)
