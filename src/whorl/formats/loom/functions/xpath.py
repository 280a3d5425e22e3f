"""XPath 1.0 over XML by lxml; its work is reckoned before, since nothing can interrupt it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from whorl.formats.loom.functions.xml import Node, parse_xml, wrapped, write_xml, xml_text
from whorl.formats.loom.values.arguments import text, wrong
from whorl.formats.loom.values.printing import is_xml
from whorl.language.faults import EvaluationError, LimitExceeded

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.values import Value

_SOURCE_MAX = 4_096
_DEPTH_MAX = 32
# A step pays for 256 pieces of work: 200,000 steps are about a second.
_PIECES = 8
# They may compare each character of a text with each of another one.
_SEARCHES = frozenset(("contains", "substring-before", "substring-after", "translate"))
_FUNCTIONS = _SEARCHES | {
    *("boolean", "ceiling", "concat", "count", "false", "floor", "last", "local-name", "name"),
    *("namespace-uri", "normalize-space", "not", "number", "position", "round", "starts-with"),
    *("string", "string-length", "substring", "sum", "true"),
}
_TOKEN = re.compile(
    r"""(?P<literal>"[^"]*"|'[^']*')|(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
      |(?P<axis>[^\W\d][\w.-]*(?=\s*::))
      |(?P<test>(?:node|text|comment|processing-instruction)\s*\(\s*(?:"[^"]*"|'[^']*')?\s*\))
      |(?P<name>[^\W\d][\w.-]*(?::(?:[^\W\d][\w.-]*|\*))?)(?P<call>(?=\s*\())?
      |(?P<mark>//|::|!=|<=|>=|\.\.|\S)""",
    re.VERBOSE,
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
# What stands before an operand, and what before the name of a node.
_BEGINNINGS = frozenset(("(", "[", ",", "|", "operator", "comparison"))
_BEFORE_NAMES = _BEGINNINGS | {"/", "//", "::", "@"}
_NAMED_OPERATORS = frozenset(("*", "and", "or", "div", "mod"))
_NARROW_AXES = frozenset(("child", "self", "attribute"))


def select(run: Run, value: Value, path: Value) -> Value:
    """Return what an expression gives: elements in envelopes, texts as strings, or one value."""
    if not is_xml(value):
        raise wrong("xpath", 0, "be an XML object", value)
    expression = text("xpath", 1, path)
    document = parse_xml(run, xml_text(run, value))
    if expression.strip() in ("/", "."):
        return [wrapped(run, document)]
    outcome = _evaluate(run, expression, document)
    if isinstance(outcome, str):
        run.check_text(len(outcome), "xpath")
    if not isinstance(outcome, list):
        return outcome
    run.check_items(len(outcome), "xpath")
    return [wrapped(run, each) if isinstance(each, Node) else each for each in outcome]


def _evaluate(run: Run, expression: str, document: Node) -> list[Node | str] | str | float | bool:
    try:
        from lxml import etree
    except ImportError:
        raise EvaluationError(
            "xpath needs the extra `xslt`, which is not installed",
            help="install it with `pip install 'whorl[xslt]'`",
        ) from None
    source = write_xml(document)
    elements, nodes, depth = _counted(document)
    reader = _Reader(expression, nodes, depth)
    run.spend(reader.read() * (nodes + reader.texts(len(source))) >> _PIECES)
    declared = {
        name[6:]: uri
        for element in elements
        for name, uri in element.attributes.items()
        if name.startswith("xmlns:")
    }
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        strip_cdata=False,
    )
    try:
        root = etree.fromstring(source.encode("utf-8", "replace"), parser)
        own = dict(zip(root.iter("*"), elements, strict=True))
        found = root.getroottree().xpath(reader.rewritten, namespaces=declared, smart_strings=False)
    except etree.XMLSyntaxError as error:
        raise EvaluationError(f"the value is not valid XML: {error}") from None
    except (etree.XPathError, ValueError) as error:
        reason = f"the XPath expression {expression[:60]!r} is not valid: {error}"
        raise EvaluationError(reason) from None
    if isinstance(found, str | float | bool):
        return found
    return [each if isinstance(each, str) else own.get(each) or each.text or "" for each in found]


def _counted(document: Node) -> tuple[list[Node], int, int]:
    """Return the elements in their order, how many nodes there are and how deep they lie."""
    elements: list[Node] = []
    nodes = depth = 1
    waiting = [(child, 1) for child in reversed(document.children)]
    while waiting:
        node, level = waiting.pop()
        nodes += 1 + len(node.attributes)
        depth = max(depth, level)
        if node.kind == "element":
            elements.append(node)
        waiting.extend((child, level + 1) for child in reversed(node.children))
    return elements, nodes, depth


class _Reader:
    """Reads an expression: what it calls, and how often it may come to each node at most.

    `visits` is that number for the path that is read, `contexts` for what stands before the
    brackets that are open. A path begins at the document, and for lxml at the root element:
    `rewritten` says where.
    """

    def __init__(self, expression: str, nodes: int, depth: int) -> None:
        if len(expression) > _SOURCE_MAX:
            raise LimitExceeded(f"XPath expression is longer than {_SOURCE_MAX} characters")
        self.expression = expression
        self.nodes = nodes
        self.depth = depth
        # Of nodes that lie in each other all descendants are found, and joined pair by pair.
        self.spread = depth * (1 + (nodes >> 6))
        self.contexts = [1]
        self.visits = self.most = self.needle = 1
        self.searches = False
        self.nested = self.done = 0
        self.before = "("
        self.rewritten = ""

    def read(self) -> int:
        """Return how often each node may be looked at."""
        count = 1
        for token in _TOKEN.finditer(self.expression):
            count += 1
            self._take(str(token.lastgroup), token["name"] or token[0], token.start())
        self.rewritten += self.expression[self.done :]
        # Texts that are joined grow with each part.
        return self.most * count * (count if "concat" in self.expression else 1)

    def texts(self, length: int) -> int:
        """Return what looking at the texts of all nodes takes: an inner text counts again."""
        return ((length * self.depth >> 5) + 1) * (min(self.needle, length) if self.searches else 1)

    def _visit(self, visits: int) -> None:
        self.visits = visits
        self.most = max(self.most, visits)

    def _together(self) -> int:
        """Return how often a node is among those that a path has come to: once for each context."""
        return self.contexts[-1] * self.nodes if len(self.contexts) > 1 else 1

    def _take(self, kind: str, word: str, start: int) -> None:
        if self.before not in _BEFORE_NAMES and word in _NAMED_OPERATORS:
            self.before = "operator"
            return
        self._check(kind, word)
        if self.before in _BEGINNINGS:
            self._begin(kind, word, start)
        elif word in ("/", "//"):
            self._visit(min(self.visits, self._together()) * (self.spread if word == "//" else 1))
        if kind == "axis" and word not in _NARROW_AXES:
            self._visit(self.visits * (self.spread if word[:4] == "desc" else self.nodes))
        elif word == "..":
            self._visit(self.visits * self.nodes)
        elif word == "[":
            self.contexts.append(self.visits)
        elif word == "]" and len(self.contexts) > 1:
            self.visits = self.contexts.pop()
        elif word == ")":
            self.visits = self._together()
        self.before = word if kind == "mark" else kind
        if word in _COMPARISONS or word in ("+", "-"):
            self.before = "comparison" if word in _COMPARISONS else "operator"

    def _check(self, kind: str, word: str) -> None:
        if kind == "call" and word not in _FUNCTIONS:
            names = ", ".join(sorted(_FUNCTIONS))
            raise EvaluationError(f"XPath has no function {word!r}", help=f"it has {names}")
        if (kind, word) == ("axis", "namespace"):
            raise EvaluationError(f"XPath has no axis {word!r}")
        self.nested += (word in ("(", "[")) - (word in (")", "]"))
        if self.nested > _DEPTH_MAX:
            raise LimitExceeded(f"XPath is nested more than {_DEPTH_MAX} levels deep")
        self.searches = self.searches or word in _SEARCHES
        if kind == "literal":
            self.needle = max(self.needle, len(word))
        elif self.before == "," and kind != "number":
            # It may be any text of the document.
            self.needle = sys.maxsize

    def _begin(self, kind: str, word: str, start: int) -> None:
        """Begin an operand: a path from the document, one from the context, or a value."""
        is_value = kind in ("literal", "number", "call") or word == "-"
        if self.before == "|" or (self.before == "comparison" and not is_value):
            # Each node on the left meets each one on the right.
            self._visit(self.visits * self.nodes)
        self._visit(self._together() if word in ("/", "//") else self.contexts[-1])
        is_step = kind in ("axis", "test", "name") or word in ("*", "@", ".", "..")
        if is_step and len(self.contexts) == 1:
            self.rewritten += self.expression[self.done : start] + "/"
            self.done = start
