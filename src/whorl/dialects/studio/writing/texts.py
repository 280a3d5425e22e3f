"""Expressions as what a canvas has for them: texts with places, and edges that carry values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.canvas.kinds import MAIN_FIELDS
from whorl.dialects.studio.writing.drawing import Wire
from whorl.dialects.studio.writing.paths import path_text
from whorl.dialects.studio.writing.trees import (
    alternatives,
    called,
    text_of,
    texts_of,
    tree_of,
)
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here

_INSIDE = re.compile(r"\{\{([^{}|]*)")
_STEPS = re.compile(r"[.\[]")
_COUNTED = ("item", "index", "total", "iteration")


def written(here: Here, value: ir.Value | None) -> object:
    """A value as a field of a node; a loss where a canvas has no words for it."""
    match value:
        case None:
            return None
        case ir.Constant():
            return value.value
        case ir.Expression():
            return text(here, value)
        case ir.Items():
            return [written(here, item) for item in value.items]
        case ir.Fields():
            return {_key(here, key): written(here, one) for key, one in value.entries}


def _key(here: Here, key: str | ir.Expression) -> str:
    if isinstance(key, str):
        return key
    here.lose(f"the computed key {key.source[:60]!r}", "keys of a canvas are plain texts")
    return key.source


def text(here: Here, expression: ir.Expression) -> str:
    """An expression as a text with places."""
    try:
        if not here.sketch.is_own:
            return path_text(here, expression)
        return words(here, tree_of(expression))
    except CannotSay as loss:
        here.lose(f"{loss.what} in {expression.source[:80]!r}", loss.why)
        return expression.source if here.sketch.is_own else expression.source.replace("{{", "{ {")


def words(here: Here, node: tree.Expr | None) -> str:
    """A text with places, from the expression that was made of it; raises CannotSay."""
    literal = text_of(node)
    if literal is not None:
        return literal
    if isinstance(node, tree.Concat):
        return "".join(words(here, part) for part in node.parts)
    name, arguments = called(node)
    if name == "pipe":
        return words(here, arguments[0])
    place = text_of(arguments[1]) if name == "dig" else None
    if place is None:
        raise CannotSay("an expression", "texts of a canvas hold places such as {{node.field}}")
    refer(here, place, arguments)
    return place


def refer(here: Here, place: str, arguments: list[tree.Expr]) -> None:
    """Draws the edge that a place needs: one that names no node stands for what comes in."""
    inside = _INSIDE.match(place)
    content = inside[1].strip() if inside else ""
    sketch = here.sketch
    source = arguments[0]
    node = _node_in(here, content)
    if node:
        sketch.references.setdefault(here.node.name, []).append(node)
        return
    head = _STEPS.split(content, maxsplit=1)[0]
    if head in ("", "input", "inputs"):
        steps = len(_STEPS.findall(content))
        if not (head and steps > len(arguments) - 2):
            feed(here, source)
    elif head not in (*sketch.ports, *sketch.variables, *_COUNTED):
        feed(here, source, head)


def _node_in(here: Here, content: str) -> str:
    """The node that a place names; ids may hold dots."""
    known = {*here.sketch.nodes, *here.sketch.ends.values()}
    ends = [len(content), *(found.start() for found in reversed([*_STEPS.finditer(content)]))]
    return next((content[:end] for end in ends if content[:end] in known), "")


def feed(here: Here, source: tree.Expr | None, handle: str = "input") -> None:
    """Draws the edges that carry a value to a handle; raises CannotSay."""
    if isinstance(source, tree.ObjectDisplay):
        for key, value in source.pairs:
            feed(here, value, text_of(key) or handle)
        return
    for wire in wires(here, source):
        here.drawing.connect(wire, here.node.name, handle)


def wires(here: Here, source: tree.Expr | None) -> list[Wire]:
    """The ends of the edges that carry a value; none for nothing. Raises CannotSay."""
    name, arguments = called(source)
    texts = texts_of(arguments)
    if name == "known":
        return [_from(here, texts[0], "output")]
    if name == "field":
        return [_from(here, *texts)]
    if name in ("main", "text_only"):
        return wires(here, arguments[0])
    if name == "pick":
        return [wire for pair in _pairs(arguments) for wire in _live(here, *pair)]
    if isinstance(source, tree.Literal) and source.value is None:
        return []
    raise CannotSay("a value that is computed", "an edge carries what a node gives")


def _pairs(arguments: list[tree.Expr]) -> list[tuple[tree.Expr, tree.Expr]]:
    return list(zip(arguments[::2], arguments[1::2], strict=True))


def _live(here: Here, live: tree.Expr, value: tree.Expr) -> list[Wire]:
    name, arguments = called(live)
    if name == "took":
        router, branch = texts_of(arguments)
        return [Wire(router, branch)]
    return wires(here, value)


def _from(here: Here, source: str, handle: str) -> Wire:
    sketch = here.sketch
    end = sketch.ends.get(source)
    if end is not None and not _is_inside(here, source):
        is_result = handle in ("iterations", "count", "exit_reason")
        if isinstance(sketch.nodes[source], ir.Loop):
            return Wire(source, handle) if is_result else Wire(end)
        return Wire(end, handle)
    kind = sketch.drawing.nodes.get(source, ("", {}))[0]
    if MAIN_FIELDS.get(kind) == handle:
        return Wire(source)
    for taken in taken_of(here):
        if taken.source == source and handle == "value":
            return taken
    return Wire(source, handle)


def _is_inside(here: Here, start: str) -> bool:
    return start in here.path.split("/")[:-1]


def taken_of(here: Here) -> list[Wire]:
    """The edges by which a node is reached at all: branches of routers, or nodes that ran."""
    found: list[Wire] = []
    when = None if here.node.when is None else tree_of(here.node.when)
    for part in alternatives(when):
        name, arguments = called(part)
        texts = texts_of(arguments)
        if name == "took":
            found.append(Wire(*texts))
        elif name == "ran":
            found.append(Wire(here.sketch.ends.get(texts[0], texts[0])))
    return found
