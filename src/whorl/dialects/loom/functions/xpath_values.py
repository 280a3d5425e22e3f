"""The values of XPath 1.0, its axes, the tests of its steps and its core functions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.loom.functions.xml import DOCUMENT, Comment, Element, Instruction, Node, Text
from whorl.dialects.loom.values.printing import float_text
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.language.run import Run


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as a node of its own."""

    owner: Element
    position: int
    name: str
    text: str


Found: TypeAlias = "Node | Attribute"
Outcome: TypeAlias = "list[Found] | str | float | bool"
_NUMBER = re.compile(r"\s*-?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})\s*\Z")


class Document:
    """The document that is searched, and the order of its nodes."""

    __slots__ = ("places", "root")

    def __init__(self, root: Element) -> None:
        self.root = root
        self.places: dict[int, int] = {}

    def ordered(self, run: Run, nodes: list[Found]) -> list[Found]:
        """Return each node once, in the order of the document."""
        if len(nodes) < 2:
            return nodes
        if not self.places:
            waiting: list[Node] = [self.root]
            while waiting:
                node = waiting.pop()
                self.places[id(node)] = len(self.places)
                if isinstance(node, Element):
                    waiting.extend(reversed(node.children))
            run.spend(4 * len(self.places))
        run.spend(4 * len(nodes))
        by_place = {self._place(node): node for node in nodes}
        return [by_place[place] for place in sorted(by_place)]

    def _place(self, node: Found) -> tuple[int, int]:
        if isinstance(node, Attribute):
            return self.places[id(node.owner)], node.position
        return self.places[id(node)], 0


@dataclass(frozen=True, slots=True)
class Context:
    """The node that is looked at, its position and how many there are."""

    run: Run
    document: Document
    node: Found
    position: int
    size: int


Compute: TypeAlias = Callable[[Context], Outcome]


def node_text(run: Run, node: Found) -> str:
    """Return the text of a node: of an element, all texts inside it."""
    if not isinstance(node, Element):
        run.spend(1 + (len(node.text) >> 6))
        return node.text
    parts: list[str] = []
    waiting: list[Node] = [node]
    while waiting:
        each = waiting.pop()
        run.spend(1)
        if isinstance(each, Text):
            parts.append(each.text)
        elif isinstance(each, Element):
            waiting.extend(reversed(each.children))
    run.spend(sum(map(len, parts)) >> 6)
    return "".join(parts)


def as_text(run: Run, outcome: Outcome | Found) -> str:
    """Turn a value into a string; a node set gives its first node."""
    if isinstance(outcome, str):
        return outcome
    if isinstance(outcome, bool):
        return "true" if outcome else "false"
    if isinstance(outcome, float):
        return float_text(outcome)
    if isinstance(outcome, list):
        return node_text(run, outcome[0]) if outcome else ""
    return node_text(run, outcome)


def as_number(run: Run, outcome: Outcome | Found) -> float:
    """Turn a value into a number; what is none becomes NaN."""
    if isinstance(outcome, bool):
        return 1.0 if outcome else 0.0
    if isinstance(outcome, float):
        return outcome
    text = as_text(run, outcome)
    run.spend(len(text) >> 6)
    return float(text) if _NUMBER.match(text) else math.nan


def as_boolean(outcome: Outcome) -> bool:
    """Turn a value into a boolean."""
    return bool(outcome) and outcome == outcome  # noqa: PLR0124


_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compare(run: Run, symbol: str, left: Outcome, right: Outcome) -> bool:
    """Compare two values; a node set matches if one of its nodes does."""
    if isinstance(left, bool) or isinstance(right, bool):
        return _compared(run, symbol, as_boolean(left), as_boolean(right))
    firsts, seconds = _each(run, left), _each(run, right)
    run.spend(len(firsts) * len(seconds))
    return any(_compared(run, symbol, first, second) for first in firsts for second in seconds)


def _each(run: Run, outcome: Outcome) -> list[Outcome]:
    return [node_text(run, node) for node in outcome] if isinstance(outcome, list) else [outcome]


def _compared(run: Run, symbol: str, left: Outcome, right: Outcome) -> bool:
    if symbol in _ORDER:
        return bool(_ORDER[symbol](as_number(run, left), as_number(run, right)))
    if isinstance(left, float) or isinstance(right, float):
        equal = as_number(run, left) == as_number(run, right)
    else:
        equal = left == right
    return equal if symbol == "=" else not equal


Axis: TypeAlias = Callable[[Found], Iterator[Found]]


def _children(node: Found) -> Iterator[Found]:
    if isinstance(node, Element):
        # The XML declaration is no node to XPath.
        yield from (
            child
            for child in node.children
            if not (isinstance(child, Instruction) and child.name == "xml")
        )


def _descendants(node: Found) -> Iterator[Found]:
    waiting: list[Node] = list(reversed(node.children)) if isinstance(node, Element) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, Instruction) and each.name == "xml":
            continue
        yield each
        if isinstance(each, Element):
            waiting.extend(reversed(each.children))


def _parent(node: Found) -> Iterator[Found]:
    above = node.owner if isinstance(node, Attribute) else node.parent
    if above is not None:
        yield above


def _ancestors(node: Found) -> Iterator[Found]:
    above = next(_parent(node), None)
    while isinstance(above, Element):
        yield above
        above = above.parent


def _attributes(node: Found) -> Iterator[Found]:
    if isinstance(node, Element):
        for position, (name, text) in enumerate(node.attributes.items(), 1):
            if name != "xmlns" and not name.startswith("xmlns:"):
                yield Attribute(node, position, name, text)


def _siblings(node: Found) -> tuple[list[Node], list[Node]]:
    """Return the siblings before a node and those after it."""
    if isinstance(node, Attribute) or node.parent is None:
        return [], []
    siblings = node.parent.children
    index = next(index for index, child in enumerate(siblings) if child is node)
    return siblings[:index], siblings[index + 1 :]


def _with_self(axis: Axis) -> Axis:
    def both(node: Found) -> Iterator[Found]:
        yield node
        yield from axis(node)

    return both


AXES: dict[str, Axis] = {
    "child": _children,
    "descendant": _descendants,
    "descendant-or-self": _with_self(_descendants),
    "self": lambda node: iter((node,)),
    "parent": _parent,
    "ancestor": _ancestors,
    "ancestor-or-self": _with_self(_ancestors),
    "attribute": _attributes,
    "following-sibling": lambda node: iter(_siblings(node)[1]),
    "preceding-sibling": lambda node: reversed(_siblings(node)[0]),
}

_KINDS: dict[str, type] = {"text": Text, "comment": Comment}


def node_test(name: str, arguments: str) -> Callable[[Found, str], bool]:
    """Return the test of a step: a name, `*`, `prefix:*`, or a kind of node such as `text()`."""
    if arguments:
        return _kind_test(name, arguments)
    if name == "*":
        return lambda node, axis: isinstance(node, Attribute if axis == "attribute" else Element)
    prefix = name[:-1] if name.endswith(":*") else None

    def named(node: Found, axis: str) -> bool:
        if not isinstance(node, Attribute if axis == "attribute" else Element):
            return False
        return node.name.startswith(prefix) if prefix else node.name == name

    return named


def _kind_test(name: str, arguments: str) -> Callable[[Found, str], bool]:
    if name == "processing-instruction":
        wanted = arguments[1:-1]
        return lambda node, axis: (
            isinstance(node, Instruction) and (not wanted or node.name == wanted)
        )
    kind = _KINDS.get(name)
    return lambda node, axis: kind is None or isinstance(node, kind)


Call: TypeAlias = Callable[[Context, list[Outcome]], Outcome]


def only_nodes(outcome: Outcome) -> list[Found]:
    """Return a node set; refuse other values."""
    if isinstance(outcome, list):
        return outcome
    raise EvaluationError("XPath expects nodes here, not a value")


def _own(context: Context, arguments: list[Outcome]) -> Outcome:
    return arguments[0] if arguments else [context.node]


def _name(context: Context, arguments: list[Outcome]) -> str:
    nodes = only_nodes(_own(context, arguments))
    node = nodes[0] if nodes else None
    if isinstance(node, Element | Attribute | Instruction) and node.name != DOCUMENT:
        return node.name
    return ""


def _namespace(context: Context, arguments: list[Outcome]) -> str:
    nodes = only_nodes(_own(context, arguments))
    node = nodes[0] if nodes else None
    if not isinstance(node, Element | Attribute):
        return ""
    prefix = node.name.rpartition(":")[0]
    if not prefix and isinstance(node, Attribute):
        return ""
    key = f"xmlns:{prefix}" if prefix else "xmlns"
    owner: Element | None = node if isinstance(node, Element) else node.owner
    while owner is not None:
        if key in owner.attributes:
            return owner.attributes[key]
        owner = owner.parent
    return ""


def _sum(context: Context, arguments: list[Outcome]) -> float:
    return math.fsum(as_number(context.run, node) for node in only_nodes(arguments[0]))


def _concat(context: Context, arguments: list[Outcome]) -> str:
    texts = [as_text(context.run, argument) for argument in arguments]
    context.run.check_text(sum(map(len, texts)), "concat")
    return "".join(texts)


def _substring(context: Context, arguments: list[Outcome]) -> str:
    run = context.run
    text, start = as_text(run, arguments[0]), _rounded(as_number(run, arguments[1]))
    end = math.inf if len(arguments) < 3 else start + _rounded(as_number(run, arguments[2]))
    run.spend(len(text) >> 4)
    return "".join(each for place, each in enumerate(text, 1) if start <= place < end)


def _translate(context: Context, arguments: list[Outcome]) -> str:
    text, old, new = (as_text(context.run, argument) for argument in arguments)
    table: dict[int, str | None] = {}
    for index, each in enumerate(old):
        table.setdefault(ord(each), new[index] if index < len(new) else None)
    return text.translate(table)


def _rounded(number: float) -> float:
    return math.floor(number + 0.5) + 0.0 if math.isfinite(number) else number


def _whole(step: Callable[[float], int]) -> Call:
    def stepped(context: Context, arguments: list[Outcome]) -> float:
        number = as_number(context.run, arguments[0])
        return float(step(number)) if math.isfinite(number) else number

    return stepped


def _on_texts(call: Callable[[str, str], Outcome]) -> Call:
    return lambda context, arguments: call(
        as_text(context.run, arguments[0]), as_text(context.run, arguments[1])
    )


def _on_own_text(call: Callable[[str], Outcome]) -> Call:
    return lambda context, arguments: call(as_text(context.run, _own(context, arguments)))


# By name: what it does, how many arguments it takes at least and at most.
FUNCTIONS: dict[str, tuple[Call, int, int]] = {
    "position": (lambda context, _: float(context.position), 0, 0),
    "last": (lambda context, _: float(context.size), 0, 0),
    "count": (lambda _, arguments: float(len(only_nodes(arguments[0]))), 1, 1),
    "sum": (_sum, 1, 1),
    "name": (_name, 0, 1),
    "local-name": (lambda *given: _name(*given).rpartition(":")[2], 0, 1),
    "namespace-uri": (_namespace, 0, 1),
    "string": (_on_own_text(str), 0, 1),
    "number": (lambda context, given: as_number(context.run, _own(context, given)), 0, 1),
    "boolean": (lambda _, arguments: as_boolean(arguments[0]), 1, 1),
    "not": (lambda _, arguments: not as_boolean(arguments[0]), 1, 1),
    "true": (lambda *_: True, 0, 0),
    "false": (lambda *_: False, 0, 0),
    "concat": (_concat, 2, 100),
    "contains": (_on_texts(operator.contains), 2, 2),
    "starts-with": (_on_texts(str.startswith), 2, 2),
    "substring-before": (
        _on_texts(lambda text, part: text.partition(part)[0] if part and part in text else ""),
        2,
        2,
    ),
    "substring-after": (
        _on_texts(lambda text, part: text.partition(part)[2] if part else text),
        2,
        2,
    ),
    "substring": (_substring, 2, 3),
    "string-length": (_on_own_text(lambda text: float(len(text))), 0, 1),
    "normalize-space": (_on_own_text(lambda text: " ".join(text.split())), 0, 1),
    "translate": (_translate, 3, 3),
    "round": (lambda context, given: _rounded(as_number(context.run, given[0])), 1, 1),
    "floor": (_whole(math.floor), 1, 1),
    "ceiling": (_whole(math.ceil), 1, 1),
}
