"""XPath 1.0 over our XML nodes, read into functions: location paths, predicates and operators."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from whorl.formats.loom.functions import xpath_values as values
from whorl.formats.loom.functions.xml import Node, parse_xml, wrapped, xml_text
from whorl.formats.loom.values.arguments import text, wrong
from whorl.formats.loom.values.printing import is_xml
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.values import Value


_SOURCE_MAX = 8_192
_DEPTH_MAX = 32
_STEPS_MAX = 64
_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>"[^"]*"|'[^']*')
      |(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
      |(?P<mark>//|::|!=|<=|>=|\.\.|[/()\[\],@.|+\-=<>*])
      |(?P<name>[^\W\d][\w.-]*(?::(?:[^\W\d][\w.-]*|\*))?))""",
    re.VERBOSE,
)
# After one of these, or at the start, a name is a name and a star stands for any name.
_BEFORE_OPERAND = frozenset(("@", "::", "(", "[", ",", "/", "//", "operator"))
# From the loosest to the tightest; each level is read in terms of the next.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "div", "mod"),
)
_OPERATORS = frozenset(symbol for level in _LEVELS for symbol in level) - {"*"} | {"|"}


def select(run: Run, value: Value, path: Value) -> Value:
    """Return what an expression gives: elements in envelopes, texts as strings, or one value."""
    if not is_xml(value):
        raise wrong("xpath", 0, "be an XML object", value)
    root = parse_xml(run, xml_text(run, value))
    compute = _Parser(text("xpath", 1, path)).read()
    outcome = compute(values.Context(run, root, {}, root))
    if not isinstance(outcome, list):
        return outcome
    run.check_items(len(outcome), "xpath")
    return [
        wrapped(run, node) if node.kind == "element" else values.node_text(run, node)
        for node in outcome
    ]


class _Token(NamedTuple):
    """One word; the kind of a mark is the mark itself."""

    kind: str
    text: str
    start: int


def _tokenize(source: str) -> list[_Token]:
    """Split an expression into words; the last one is `end`."""
    if len(source) > _SOURCE_MAX:
        raise LimitExceeded(f"XPath expression is longer than {_SOURCE_MAX} characters")
    tokens: list[_Token] = []
    position = 0
    while source[position:].strip():
        match = _TOKEN.match(source, position)
        if match is None:
            raise EvaluationError(
                f"the XPath expression {source[:60]!r} is not valid at position '{position}'"
            )
        kind = str(match.lastgroup)
        word, start = match[kind], match.start(kind)
        is_operand = not tokens or tokens[-1].kind in _BEFORE_OPERAND
        if kind == "mark":
            kind = "operator" if word in _OPERATORS or (word == "*" and not is_operand) else word
        elif kind == "name" and word in _OPERATORS and not is_operand:
            kind = "operator"
        tokens.append(_Token(kind, word, start))
        position = match.end()
    # Two of them: a look at the word behind the last one finds the end, too.
    return [*tokens, *[_Token("end", "", len(source))] * 2]


class _Parser:
    """Reads an expression into a function of its context."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = _tokenize(source)
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def read(self) -> values.Compute:
        compute = self._level(0)
        self._take("end")
        return compute

    def _advance(self) -> _Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def _take(self, kind: str) -> _Token:
        if self.token.kind != kind:
            raise self._unexpected()
        return self._advance()

    def _unexpected(self) -> EvaluationError:
        shown = self.token.text or "the end"
        return EvaluationError(
            f"the XPath expression {self.source[:60]!r} is not valid: {shown!r} is not expected "
            f"at position '{self.token.start}'"
        )

    def _accept(self, *symbols: str) -> str:
        """Return which of some operators follows, and go past it."""
        follows = self.token.kind == "operator" and self.token.text in symbols
        return self._advance().text if follows else ""

    def _level(self, level: int) -> values.Compute:
        if level == len(_LEVELS):
            return self._unary()
        self.depth += level == 0
        if self.depth > _DEPTH_MAX:
            raise LimitExceeded(f"XPath is nested more than {_DEPTH_MAX} levels deep")
        left = self._level(level + 1)
        while symbol := self._accept(*_LEVELS[level]):
            left = _joined(symbol, left, self._level(level + 1))
        self.depth -= level == 0
        return left

    def _unary(self) -> values.Compute:
        negations = 0
        while self._accept("-"):
            negations += 1
        parts = [self._path()]
        while self._accept("|"):
            parts.append(self._path())
        value = parts[0] if len(parts) == 1 else _union(parts)
        if not negations:
            return value
        return lambda context: (-1) ** negations * values.as_number(context.run, value(context))

    def _path(self) -> values.Compute:
        following = self.tokens[self.position + 1].kind
        if self.token.kind == "/" and following not in ("name", "*", "@", ".", ".."):
            self._advance()
            return lambda context: [context.root]
        steps: list[_Step] = []
        is_absolute = self.token.kind in ("/", "//")
        start: values.Compute | None = None
        is_call = self.token.kind == "name" and following == "("
        if self.token.kind in ("(", "literal", "number") or (
            is_call and self.token.text not in values.KINDS
        ):
            start = self._primary()
            while self.token.kind == "[":
                start = _filtered(start, self._enclosed("[", "]"))
            if self.token.kind not in ("/", "//"):
                return start
        elif not is_absolute:
            steps.append(self._step())
        while self.token.kind in ("/", "//"):
            if self._advance().kind == "//":
                steps.append(_Step("descendant-or-self", values.node_test("", "node", "")))
            steps.append(self._step())
        if len(steps) > _STEPS_MAX:
            raise LimitExceeded(f"XPath has a path of more than {_STEPS_MAX} steps")
        origin = start or (lambda context: [context.root if is_absolute else context.node])
        return lambda context: _walk(context, values.only_nodes(origin(context)), steps)

    def _primary(self) -> values.Compute:
        if self.token.kind == "(":
            return self._enclosed("(", ")")
        token = self._advance()
        if token.kind in ("literal", "number"):
            value = token.text[1:-1] if token.kind == "literal" else float(token.text)
            return lambda context: value
        self._take("(")
        arguments: list[values.Compute] = []
        while self.token.kind != ")":
            if arguments:
                self._take(",")
            arguments.append(self._level(0))
        self._take(")")
        return values.calling(token.text, arguments)

    def _enclosed(self, start: str, end: str) -> values.Compute:
        self._take(start)
        inner = self._level(0)
        self._take(end)
        return inner

    def _step(self) -> _Step:
        if self.token.kind in (".", ".."):
            axis = "self" if self._advance().kind == "." else "parent"
            return _Step(axis, values.node_test(axis, "node", ""))
        axis = "child"
        if self.token.kind == "@":
            self._advance()
            axis = "attribute"
        elif self.token.kind == "name" and self.tokens[self.position + 1].kind == "::":
            axis = self._advance().text
            self._advance()
            if axis not in values.AXES:
                raise EvaluationError(f"XPath has no axis {axis!r}")
        if self.token.kind not in ("name", "*"):
            raise self._unexpected()
        name, argument = self._advance().text, None
        if self.token.kind == "(":
            self._advance()
            argument = self._advance().text[1:-1] if self.token.kind == "literal" else ""
            self._take(")")
        step = _Step(axis, values.node_test(axis, name, argument))
        while self.token.kind == "[":
            step = replace(step, predicates=(*step.predicates, self._enclosed("[", "]")))
        return step


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a path: where to go, what to keep of it."""

    axis: str
    test: Callable[[Node], bool]
    predicates: tuple[values.Compute, ...] = ()

    def take(self, context: values.Context, node: Node) -> list[Node]:
        """Return the nodes that the step leads to, in the order of its axis."""
        if self.axis.endswith("sibling") and node.kind != "attribute":
            # To find its own place among them, a node passes its siblings.
            context.run.spend(len(node.parent.children) >> 1 if node.parent else 4)
        nodes: list[Node] = []
        for candidate in values.AXES[self.axis](node):
            context.run.spend(4)
            if self.test(candidate):
                nodes.append(candidate)
        for predicate in self.predicates:
            nodes = _kept(context, nodes, predicate)
        return nodes


def _walk(context: values.Context, nodes: list[Node], steps: list[_Step]) -> list[Node]:
    for step in steps:
        nodes = values.ordered(
            context, [target for node in nodes for target in step.take(context, node)]
        )
    return nodes


def _kept(context: values.Context, nodes: list[Node], predicate: values.Compute) -> list[Node]:
    kept: list[Node] = []
    for position, node in enumerate(nodes, 1):
        context.run.spend(4)
        outcome = predicate(replace(context, node=node, position=position, size=len(nodes)))
        if outcome == position if isinstance(outcome, float) else values.as_boolean(outcome):
            kept.append(node)
    return kept


def _union(parts: list[values.Compute]) -> values.Compute:
    return lambda context: values.ordered(
        context, [node for part in parts for node in values.only_nodes(part(context))]
    )


def _filtered(start: values.Compute, predicate: values.Compute) -> values.Compute:
    return lambda context: _kept(context, values.only_nodes(start(context)), predicate)


def _joined(symbol: str, left: values.Compute, right: values.Compute) -> values.Compute:
    sides = (left, right)
    if symbol in ("or", "and"):
        decide = any if symbol == "or" else all
        return lambda context: decide(values.as_boolean(side(context)) for side in sides)
    if symbol in values.ARITHMETIC:
        compute = values.ARITHMETIC[symbol]
        return lambda context: compute(
            *[values.as_number(context.run, side(context)) for side in sides]
        )
    return lambda context: values.compare(context.run, symbol, left(context), right(context))
