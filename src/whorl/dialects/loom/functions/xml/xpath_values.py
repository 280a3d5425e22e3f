"""The values of XPath: node sets, strings, numbers, booleans, and how they turn into each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.loom.functions.xml.nodes import Element, Node, Text
from whorl.dialects.loom.values.printing import float_text

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
        found = {self._place(node): node for node in nodes}
        return [found[place] for place in sorted(found)]

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


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


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
        return _ORDER[symbol](as_number(run, left), as_number(run, right))
    if isinstance(left, float) or isinstance(right, float):
        equal = as_number(run, left) == as_number(run, right)
    else:
        equal = left == right
    return equal if symbol == "=" else not equal
