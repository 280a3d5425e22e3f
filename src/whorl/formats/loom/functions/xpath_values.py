"""The values of XPath 1.0: nodes along axes, conversions, comparisons and the core functions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from whorl.formats.loom.functions.xml import DOCUMENT, Node
from whorl.formats.loom.values.printing import float_text
from whorl.language.faults import EvaluationError
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.language.calls import Run

Outcome: TypeAlias = "list[Node] | str | float | bool"


@dataclass(frozen=True, slots=True)
class Context:
    """The node that is looked at, its position and how many there are.

    The places are the order of all nodes of the document, once it is needed.
    """

    run: Run
    root: Node
    places: dict[int, int]
    node: Node
    position: int = 1
    size: int = 1


Compute: TypeAlias = Callable[[Context], Outcome]


_NUMBER = re.compile(r"\s*-?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})\s*\Z")


def ordered(context: Context, nodes: list[Node]) -> list[Node]:
    """Return each node once, in the order of the document."""
    if len(nodes) < 2:
        return nodes
    run, places = context.run, context.places
    if not places:
        waiting = [context.root]
        while waiting:
            node = waiting.pop()
            places[id(node)] = len(places)
            waiting.extend(reversed(node.children))
        run.spend(4 * len(places))
    run.spend(4 * len(nodes))
    by_place = {
        (places[id(node.parent if node.kind == "attribute" else node)], node.position): node
        for node in nodes
    }
    return [by_place[place] for place in sorted(by_place)]


def only_nodes(outcome: Outcome) -> list[Node]:
    if isinstance(outcome, list):
        return outcome
    raise EvaluationError("XPath expects nodes here, not a value")


def node_text(run: Run, node: Node) -> str:
    """Return the text of a node: of an element, all texts inside it."""
    if node.kind != "element":
        run.spend(1 + (len(node.text) >> 6))
        return node.text
    parts: list[str] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        run.spend(1)
        if each.kind in ("text", "cdata"):
            parts.append(each.text)
        waiting.extend(reversed(each.children))
    run.spend(sum(map(len, parts)) >> 6)
    return "".join(parts)


def _as_text(run: Run, outcome: Outcome) -> str:
    """Turn a value into a string; a node set gives its first node."""
    if isinstance(outcome, list):
        return node_text(run, outcome[0]) if outcome else ""
    if isinstance(outcome, bool):
        return str(outcome).lower()
    return float_text(outcome) if isinstance(outcome, float) else outcome


def as_number(run: Run, outcome: Outcome) -> float:
    """Turn a value into a number; what is none becomes NaN."""
    if isinstance(outcome, bool | float):
        return float(outcome)
    text = _as_text(run, outcome)
    run.spend(len(text) >> 6)
    return float(text) if _NUMBER.match(text) else math.nan


def as_boolean(outcome: Outcome) -> bool:
    return bool(outcome) and outcome == outcome  # noqa: PLR0124


_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compare(run: Run, symbol: str, left: Outcome, right: Outcome) -> bool:
    """Compare two values; a node set matches if one of its nodes does."""
    if isinstance(left, bool) or isinstance(right, bool):
        return _compared(run, symbol, as_boolean(left), as_boolean(right))
    firsts, seconds = (
        [node_text(run, node) for node in side] if isinstance(side, list) else [side]
        for side in (left, right)
    )
    run.spend(len(firsts) * len(seconds))
    return any(_compared(run, symbol, first, second) for first in firsts for second in seconds)


def _compared(run: Run, symbol: str, left: Outcome, right: Outcome) -> bool:
    if symbol in _ORDER:
        return bool(_ORDER[symbol](as_number(run, left), as_number(run, right)))
    if isinstance(left, float) or isinstance(right, float):
        left, right = as_number(run, left), as_number(run, right)
    return (left == right) is (symbol == "=")


def _remainder(left: float, right: float) -> float:
    if not right or math.isinf(left):
        return math.nan
    return left - right * int(left / right) if right - right == 0 else left


ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    # Zero and NaN divided by zero are NaN.
    "div": lambda left, right: left / right if right else math.inf * left,
    "mod": _remainder,
}


def _children(node: Node) -> list[Node]:
    """Return the children; the XML declaration is no node to XPath."""
    return [child for child in node.children if (child.kind, child.name) != ("instruction", "xml")]


def _descendants(node: Node) -> Iterable[Node]:
    waiting = _children(node)[::-1]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(_children(each)))


def _ancestors(node: Node) -> Iterable[Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _attributes(node: Node) -> list[Node]:
    return [
        Node("attribute", name, text, node, position)
        for position, (name, text) in enumerate(node.attributes.items(), 1)
        if name != "xmlns" and not name.startswith("xmlns:")
    ]


def _siblings(node: Node, *, before: bool) -> list[Node]:
    """Return the siblings before a node, the nearest first, or those after it."""
    if node.kind == "attribute" or node.parent is None:
        return []
    siblings = node.parent.children
    index = next(index for index, child in enumerate(siblings) if child is node)
    return siblings[:index][::-1] if before else siblings[index + 1 :]


AXES: dict[str, Callable[[Node], Iterable[Node]]] = {
    "child": _children,
    "descendant": _descendants,
    "descendant-or-self": lambda node: (node, *_descendants(node)),
    "self": lambda node: (node,),
    "parent": lambda node: () if node.parent is None else (node.parent,),
    "ancestor": _ancestors,
    "ancestor-or-self": lambda node: (node, *_ancestors(node)),
    "attribute": _attributes,
    "following-sibling": lambda node: _siblings(node, before=False),
    "preceding-sibling": lambda node: _siblings(node, before=True),
}
KINDS: dict[str, tuple[str, ...]] = {
    "node": (),
    "text": ("text", "cdata"),
    "comment": ("comment",),
    "processing-instruction": ("instruction",),
}


def node_test(axis: str, name: str, argument: str | None) -> Callable[[Node], bool]:
    """Return the test of a step: a name, `*`, `prefix:*`, or a kind of node such as `text()`."""
    if argument is not None:
        kinds = KINDS.get(name)
        wanted = argument if name == "processing-instruction" else ""
        return lambda node: (
            (not kinds or node.kind in kinds) and (not wanted or node.name == wanted)
        )
    kind = "attribute" if axis == "attribute" else "element"
    if name.endswith("*"):
        return lambda node: node.kind == kind and node.name.startswith(name[:-1])
    return lambda node: node.kind == kind and node.name == name


def _name(nodes: list[Node]) -> str:
    return nodes[0].name if nodes and nodes[0].name != DOCUMENT else ""


def _namespace(nodes: list[Node]) -> str:
    node = nodes[0] if nodes else None
    if node is None or node.kind not in ("element", "attribute"):
        return ""
    prefix = node.name.rpartition(":")[0]
    if not prefix and node.kind == "attribute":
        return ""
    key = f"xmlns:{prefix}" if prefix else "xmlns"
    return next(
        (each.attributes[key] for each in (node, *_ancestors(node)) if key in each.attributes), ""
    )


def _concat(context: Context, *texts: str) -> str:
    context.run.check_text(sum(map(len, texts)), "concat")
    return "".join(texts)


def _substring(context: Context, text: str, start: float, length: float = math.inf) -> str:
    context.run.spend(len(text) >> 4)
    first = _rounded(start)
    end = first + _rounded(length)
    return "".join(each for place, each in enumerate(text, 1) if first <= place < end)


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for index, each in enumerate(old):
        table.setdefault(ord(each), new[index] if index < len(new) else None)
    return text.translate(table)


def _rounded(number: float) -> float:
    return math.floor(number + 0.5) + 0.0 if math.isfinite(number) else number


def _whole(number: float, step: Callable[[float], int]) -> float:
    return float(step(number)) if math.isfinite(number) else number


_CONVERT: dict[str, Callable[[Run, Outcome], Outcome]] = {
    "nodes": lambda run, outcome: only_nodes(outcome),
    "boolean": lambda run, outcome: as_boolean(outcome),
    "number": as_number,
    "text": _as_text,
}
# By name: what it is given and what it does. Where an argument with `?` is missing, the context
# node takes its place; one with `=` has a default.
_FUNCTIONS: dict[str, tuple[str, Callable[..., Outcome]]] = {
    "position": ("context", lambda context: float(context.position)),
    "last": ("context", lambda context: float(context.size)),
    "count": ("nodes", lambda nodes: float(len(nodes))),
    "sum": (
        "context nodes",
        lambda context, nodes: math.fsum(as_number(context.run, [node]) for node in nodes),
    ),
    "name": ("nodes?", _name),
    "local-name": ("nodes?", lambda nodes: _name(nodes).rpartition(":")[2]),
    "namespace-uri": ("nodes?", _namespace),
    "string": ("text?", str),
    "number": ("number?", float),
    "boolean": ("boolean", bool),
    "not": ("boolean", operator.not_),
    "true": ("", lambda: True),
    "false": ("", lambda: False),
    "concat": ("context text text" + " text=" * 98, _concat),
    "contains": ("text text", operator.contains),
    "starts-with": ("text text", str.startswith),
    "substring-before": (
        "text text",
        lambda text, part: text.partition(part)[0] if part and part in text else "",
    ),
    "substring-after": ("text text", lambda text, part: text.partition(part)[2] if part else text),
    "substring": ("context text number number=", _substring),
    "string-length": ("text?", lambda text: float(len(text))),
    "normalize-space": ("text?", lambda text: " ".join(text.split())),
    "translate": ("text text text", _translate),
    "round": ("number", _rounded),
    "floor": ("number", lambda number: _whole(number, math.floor)),
    "ceiling": ("number", lambda number: _whole(number, math.ceil)),
}


def calling(name: str, arguments: list[Compute]) -> Compute:
    """Return the call of a function, with its arguments turned into what it is given."""
    given, call = _FUNCTIONS.get(name, ("", None))
    kinds = [kind for kind in given.split() if kind != "context"]
    required = sum(kind.isalpha() for kind in kinds)
    if call is None or not required <= len(arguments) <= len(kinds):
        raise EvaluationError(
            f"XPath has no function {name!r} with {len(arguments)} arguments",
            help=f"it has {', '.join(sorted(_FUNCTIONS))}",
        )

    def called(context: Context) -> Outcome:
        values = [argument(context) for argument in arguments]
        own = [[context.node]] if kinds and kinds[0].endswith("?") and not values else []
        converted = [
            _CONVERT[kind.rstrip("?=")](context.run, value)
            for kind, value in zip(kinds, own or values, strict=False)
        ]
        leading = [context] if given.startswith("context") else []
        outcome = call(*leading, *converted)
        texts = [value for value in (*values, outcome) if isinstance(value, str)]
        context.run.spend(1 + sum(len(text) >> 5 for text in texts))
        return outcome

    return called
