"""XPath 1.0 over our XML nodes: location paths, predicates, operators and the core functions."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.loom.functions.xml import Element, parse_xml, wrapped, xml_text
from whorl.dialects.loom.functions.xpath_values import (
    AXES,
    FUNCTIONS,
    Attribute,
    Compute,
    Context,
    Document,
    Found,
    Outcome,
    as_boolean,
    as_number,
    as_text,
    compare,
    node_test,
    only_nodes,
)
from whorl.dialects.loom.values.arguments import text, wrong
from whorl.dialects.loom.values.printing import is_xml
from whorl.language.faults import EvaluationError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run
    from whorl.language.values import Value


_SOURCE_MAX = 8_192
_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>"[^"]*"|'[^']*')
      |(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
      |(?P<mark>//|::|!=|<=|>=|\.\.|[/()\[\],@.|+\-=<>*])
      |(?P<name>[^\W\d][\w.-]*(?::(?:[^\W\d][\w.-]*|\*))?))""",
    re.VERBOSE,
)
_OPERATORS = frozenset(("=", "!=", "<", "<=", ">", ">=", "+", "-", "|"))
_WORDS = frozenset(("and", "or", "div", "mod"))
# After one of these, or at the start, a name is a name and a star stands for any name.
_BEFORE_OPERAND = frozenset(("@", "::", "(", "[", ",", "/", "//", "operator"))


@dataclass(frozen=True, slots=True)
class Token:
    """One word; the kind of a mark is the mark itself."""

    kind: str
    text: str
    start: int


def tokenize(source: str) -> list[Token]:
    """Split an expression into words; the last one is `end`."""
    if len(source) > _SOURCE_MAX:
        raise LimitExceeded(f"XPath expression is longer than {_SOURCE_MAX} characters")
    tokens: list[Token] = []
    position = 0
    while source[position:].strip():
        match = _TOKEN.match(source, position)
        if match is None:
            raise EvaluationError(
                f"the XPath expression {source[:60]!r} is not valid at position '{position}'"
            )
        kind = match.lastgroup
        assert kind is not None
        word, start = match[kind], match.start(kind)
        is_operand = not tokens or tokens[-1].kind in _BEFORE_OPERAND
        if kind == "mark":
            kind = "operator" if word in _OPERATORS or (word == "*" and not is_operand) else word
        elif kind == "name" and word in _WORDS and not is_operand:
            kind = "operator"
        tokens.append(Token(kind, word, start))
        position = match.end()
    tokens.append(Token("end", "", len(source)))
    return tokens


# From the loosest to the tightest; each level is read in terms of the next.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "div", "mod"),
)
_STEP_KINDS = frozenset(("name", "*", "@", ".", ".."))
_DEPTH_MAX = 32
_STEPS_MAX = 64


def select(run: Run, value: Value, path: Value) -> Value:
    """Return what an expression gives: elements in envelopes, texts as strings, or one value."""
    if not is_xml(value):
        raise wrong("xpath", 0, "be an XML object", value)
    root = parse_xml(run, xml_text(run, value))
    compute = _Parser(run, text("xpath", 1, path)).read()
    outcome = compute(Context(run, Document(root), root, 1, 1))
    if not isinstance(outcome, list):
        return outcome
    run.check_items(len(outcome), "xpath")
    return [
        wrapped(run, node) if isinstance(node, Element) else as_text(run, node) for node in outcome
    ]


class _Parser:
    """Reads an expression into a function of its context."""

    def __init__(self, run: Run, source: str) -> None:
        self.run = run
        self.source = source
        self.tokens = tokenize(source)
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def read(self) -> Compute:
        compute = self._level(0)
        if self.token.kind != "end":
            raise self._unexpected()
        return compute

    def _advance(self) -> Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def _take(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise self._unexpected()
        return self._advance()

    def _unexpected(self) -> EvaluationError:
        shown = self.token.text or "the end"
        return EvaluationError(
            f"the XPath expression {self.source[:60]!r} is not valid: {shown!r} is not expected "
            f"at position '{self.token.start}'"
        )

    def _level(self, level: int) -> Compute:
        if level == len(_LEVELS):
            return self._unary()
        if level == 0:
            self.depth += 1
            if self.depth > _DEPTH_MAX:
                raise LimitExceeded(f"XPath is nested more than {_DEPTH_MAX} levels deep")
        left = self._level(level + 1)
        while self.token.kind == "operator" and self.token.text in _LEVELS[level]:
            symbol = self._advance().text
            left = _joined(symbol, left, self._level(level + 1))
        if level == 0:
            self.depth -= 1
        return left

    def _accept(self, symbol: str) -> bool:
        """Tell whether an operator follows, and go past it."""
        follows = self.token.kind == "operator" and self.token.text == symbol
        self.position += follows
        return follows

    def _unary(self) -> Compute:
        negations = 0
        while self._accept("-"):
            negations += 1
        value = self._union()
        if not negations:
            return value
        sign = -1 if negations % 2 else 1
        return lambda context: sign * as_number(context.run, value(context))

    def _union(self) -> Compute:
        parts = [self._path()]
        while self._accept("|"):
            parts.append(self._path())
        if len(parts) == 1:
            return parts[0]
        return lambda context: context.document.ordered(
            context.run, [node for part in parts for node in only_nodes(part(context))]
        )

    def _path(self) -> Compute:
        if self.token.kind in ("/", "//"):
            if self.token.kind == "/" and self.tokens[self.position + 1].kind not in _STEP_KINDS:
                self._advance()
                return lambda context: [context.document.root]
            steps = self._steps(leading=True)
            return lambda context: _walk(context, [context.document.root], steps)
        if self._is_primary():
            start = self._primary()
            while self.token.kind == "[":
                start = _filtering(start, self._predicate())
            if self.token.kind not in ("/", "//"):
                return start
            steps = self._steps(leading=True)
            return lambda context: _walk(context, only_nodes(start(context)), steps)
        steps = self._steps(leading=False)
        return lambda context: _walk(context, [context.node], steps)

    def _is_primary(self) -> bool:
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        if self.token.kind == "name" and following.kind == "(":
            return self.token.text not in ("text", "node", "comment", "processing-instruction")
        return self.token.kind in ("(", "literal", "number")

    def _primary(self) -> Compute:
        token = self._advance()
        if token.kind == "literal":
            text = token.text[1:-1]
            return lambda context: text
        if token.kind == "number":
            number = float(token.text)
            return lambda context: number
        if token.kind == "(":
            inner = self._level(0)
            self._take(")")
            return inner
        return self._call(token.text)

    def _call(self, name: str) -> Compute:
        self._take("(")
        arguments: list[Compute] = []
        while self.token.kind != ")":
            if arguments:
                self._take(",")
            arguments.append(self._level(0))
        self._take(")")
        call, least, most = FUNCTIONS.get(name, (None, 0, 0))
        if call is None or not least <= len(arguments) <= most:
            raise EvaluationError(
                f"XPath has no function {name!r} with {len(arguments)} arguments",
                help=f"it has {', '.join(sorted(FUNCTIONS))}",
            )
        return _calling(call, arguments)

    def _predicate(self) -> Compute:
        self._take("[")
        condition = self._level(0)
        self._take("]")
        return condition

    def _steps(self, *, leading: bool) -> list[_Step]:
        steps: list[_Step] = []
        if not leading:
            steps.append(self._step())
        while self.token.kind in ("/", "//"):
            if self._advance().kind == "//":
                steps.append(_Step("descendant-or-self", node_test("node", "()"), []))
            steps.append(self._step())
        if len(steps) > _STEPS_MAX:
            raise LimitExceeded(f"XPath has a path of more than {_STEPS_MAX} steps")
        return steps

    def _step(self) -> _Step:
        if self.token.kind in (".", ".."):
            axis = "self" if self._advance().kind == "." else "parent"
            return _Step(axis, node_test("node", "()"), [])
        axis = "child"
        if self.token.kind == "@":
            self._advance()
            axis = "attribute"
        elif self.token.kind == "name" and self.tokens[self.position + 1].kind == "::":
            axis = self._advance().text
            self._advance()
            if axis not in AXES:
                raise EvaluationError(f"XPath has no axis {axis!r}")
        if self.token.kind not in ("name", "*"):
            raise self._unexpected()
        name, arguments = self._advance().text, ""
        if self.token.kind == "(":
            self._advance()
            inner = self._advance().text if self.token.kind == "literal" else ""
            self._take(")")
            arguments = f"({inner[1:-1]})"
        predicates: list[Compute] = []
        while self.token.kind == "[":
            predicates.append(self._predicate())
        return _Step(axis, node_test(name, arguments), predicates)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a path: where to go, what to keep of it."""

    axis: str
    test: Callable[[Found, str], bool]
    predicates: list[Compute]

    def take(self, context: Context, node: Found) -> list[Found]:
        """Return the nodes that the step leads to, in the order of its axis."""
        if self.axis.endswith("sibling") and not isinstance(node, Attribute):
            # To find its own place among them, a node passes its siblings.
            context.run.spend(len(node.parent.children) >> 1 if node.parent else 4)
        nodes: list[Found] = []
        for candidate in AXES[self.axis](node):
            context.run.spend(4)
            if self.test(candidate, self.axis):
                nodes.append(candidate)
        for predicate in self.predicates:
            nodes = _kept(context, nodes, predicate)
        return nodes


def _walk(context: Context, nodes: list[Found], steps: list[_Step]) -> list[Found]:
    for step in steps:
        reached = [target for node in nodes for target in step.take(context, node)]
        nodes = context.document.ordered(context.run, reached)
    return nodes


def _kept(context: Context, nodes: list[Found], predicate: Compute) -> list[Found]:
    kept: list[Found] = []
    for position, node in enumerate(nodes, 1):
        context.run.spend(4)
        inner = Context(context.run, context.document, node, position, len(nodes))
        outcome = predicate(inner)
        if outcome == position if isinstance(outcome, float) else as_boolean(outcome):
            kept.append(node)
    return kept


def _filtering(start: Compute, predicate: Compute) -> Compute:
    return lambda context: _kept(context, only_nodes(start(context)), predicate)


def _calling(
    call: Callable[[Context, list[Outcome]], Outcome], arguments: list[Compute]
) -> Compute:
    def called(context: Context) -> Outcome:
        values = [argument(context) for argument in arguments]
        outcome = call(context, values)
        texts = [value for value in (*values, outcome) if isinstance(value, str)]
        context.run.spend(1 + sum(len(text) >> 5 for text in texts))
        return outcome

    return called


def _joined(symbol: str, left: Compute, right: Compute) -> Compute:
    if symbol == "or":
        return lambda context: as_boolean(left(context)) or as_boolean(right(context))
    if symbol == "and":
        return lambda context: as_boolean(left(context)) and as_boolean(right(context))
    if symbol in _ARITHMETIC:
        compute = _ARITHMETIC[symbol]
        return lambda context: compute(
            as_number(context.run, left(context)), as_number(context.run, right(context))
        )
    return lambda context: compare(context.run, symbol, left(context), right(context))


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    return math.inf * left  # Of zero and of NaN that is NaN.


def _remainder(left: float, right: float) -> float:
    if not right or math.isinf(left):
        return math.nan
    return left - right * int(left / right) if right - right == 0 else left


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": _divided,
    "mod": _remainder,
}
