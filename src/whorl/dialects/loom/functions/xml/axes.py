"""The axes of XPath and the tests of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from whorl.dialects.loom.functions.xml.nodes import Comment, Element, Instruction, Node, Text
from whorl.dialects.loom.functions.xml.xpath_values import Attribute, Found

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


def _self(node: Found) -> Iterator[Found]:
    yield node


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


def _siblings(node: Found) -> tuple[list[Node], int]:
    if isinstance(node, Attribute) or node.parent is None:
        return [], 0
    return node.parent.children, next(
        index for index, child in enumerate(node.parent.children) if child is node
    )


def _following_siblings(node: Found) -> Iterator[Found]:
    siblings, index = _siblings(node)
    yield from siblings[index + 1 :]


def _preceding_siblings(node: Found) -> Iterator[Found]:
    siblings, index = _siblings(node)
    yield from reversed(siblings[:index])


def _with_self(axis: Axis) -> Axis:
    def both(node: Found) -> Iterator[Found]:
        yield node
        yield from axis(node)

    return both


AXES: dict[str, Axis] = {
    "child": _children,
    "descendant": _descendants,
    "descendant-or-self": _with_self(_descendants),
    "self": _self,
    "parent": _parent,
    "ancestor": _ancestors,
    "ancestor-or-self": _with_self(_ancestors),
    "attribute": _attributes,
    "following-sibling": _following_siblings,
    "preceding-sibling": _preceding_siblings,
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
