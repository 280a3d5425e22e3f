"""The core functions of XPath 1.0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from whorl.dialects.loom.functions.xml.nodes import DOCUMENT, Element, Instruction
from whorl.dialects.loom.functions.xml.xpath_values import (
    Attribute,
    Context,
    Found,
    Outcome,
    as_boolean,
    as_number,
    as_text,
)
from whorl.language.faults import EvaluationError

Call: TypeAlias = Callable[[Context, list[Outcome]], Outcome]


@dataclass(frozen=True, slots=True)
class XPathFunction:
    """A function, and how many arguments it takes."""

    call: Call
    least: int
    most: int


def _nodes(outcome: Outcome) -> list[Found]:
    if isinstance(outcome, list):
        return outcome
    raise EvaluationError("XPath expects nodes here, not a value")


def _own(context: Context, arguments: list[Outcome]) -> Outcome:
    return arguments[0] if arguments else [context.node]


def _name(context: Context, arguments: list[Outcome]) -> str:
    nodes = _nodes(_own(context, arguments))
    node = nodes[0] if nodes else None
    if isinstance(node, Element | Attribute | Instruction) and node.name != DOCUMENT:
        return node.name
    return ""


def _local_name(context: Context, arguments: list[Outcome]) -> str:
    return _name(context, arguments).rpartition(":")[2]


def _namespace(context: Context, arguments: list[Outcome]) -> str:
    nodes = _nodes(_own(context, arguments))
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
    return math.fsum(as_number(context.run, node) for node in _nodes(arguments[0]))


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


FUNCTIONS: dict[str, XPathFunction] = {
    "position": XPathFunction(lambda context, _: float(context.position), 0, 0),
    "last": XPathFunction(lambda context, _: float(context.size), 0, 0),
    "count": XPathFunction(lambda _, arguments: float(len(_nodes(arguments[0]))), 1, 1),
    "sum": XPathFunction(_sum, 1, 1),
    "name": XPathFunction(_name, 0, 1),
    "local-name": XPathFunction(_local_name, 0, 1),
    "namespace-uri": XPathFunction(_namespace, 0, 1),
    "string": XPathFunction(
        lambda context, given: as_text(context.run, _own(context, given)), 0, 1
    ),
    "number": XPathFunction(
        lambda context, given: as_number(context.run, _own(context, given)), 0, 1
    ),
    "boolean": XPathFunction(lambda _, arguments: as_boolean(arguments[0]), 1, 1),
    "not": XPathFunction(lambda _, arguments: not as_boolean(arguments[0]), 1, 1),
    "true": XPathFunction(lambda *_: True, 0, 0),
    "false": XPathFunction(lambda *_: False, 0, 0),
    "concat": XPathFunction(_concat, 2, 100),
    "contains": XPathFunction(_on_texts(lambda text, part: part in text), 2, 2),
    "starts-with": XPathFunction(_on_texts(lambda text, part: text.startswith(part)), 2, 2),
    "substring-before": XPathFunction(
        _on_texts(lambda text, part: text.partition(part)[0] if part in text and part else ""), 2, 2
    ),
    "substring-after": XPathFunction(
        _on_texts(lambda text, part: text.partition(part)[2] if part else text), 2, 2
    ),
    "substring": XPathFunction(_substring, 2, 3),
    "string-length": XPathFunction(
        lambda context, given: float(len(as_text(context.run, _own(context, given)))), 0, 1
    ),
    "normalize-space": XPathFunction(
        lambda context, given: " ".join(as_text(context.run, _own(context, given)).split()), 0, 1
    ),
    "translate": XPathFunction(_translate, 3, 3),
    "round": XPathFunction(lambda context, given: _rounded(as_number(context.run, given[0])), 1, 1),
    "floor": XPathFunction(_whole(math.floor), 1, 1),
    "ceiling": XPathFunction(_whole(math.ceil), 1, 1),
}
