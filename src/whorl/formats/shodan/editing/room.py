"""How much room nodes take on a canvas, so that what is new covers none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl.wings.editor.kit.sketch import at

if TYPE_CHECKING:
    from whorl.wings.editor.kit.sketch import Sketch, SketchNode

Box: TypeAlias = tuple[float, float, float, float]

# A node as it is drawn, what a port more adds to it, and what the rim of a loop adds to its inside.
_NODE = (160, 56)
_PORT, _HEAD = 20, 30
_SIDE, _TOP, _BOTTOM = 24, 54, 20
_LOOP = (220, _NODE[1] + _TOP + _BOTTOM)
# What is left free between two of them.
GAP = 40


def drawn(sketch: Sketch, node: SketchNode) -> Box:
    """Where a node begins, and its width and height: of a loop with all that it holds."""
    x, y = node.position or (0, 0)
    if node.body in ("none", "file"):
        ports = max(len(node.inputs), len(node.outputs))
        return x, y, _NODE[0], max(_NODE[1], _HEAD + _PORT * ports if ports > 2 else 0)
    width, height = node.size or (0, 0)
    boxes = [drawn(sketch, one) for one in sketch.inside(node.path)]
    width, height = max(width, _LOOP[0]), max(height, _LOOP[1])
    if boxes:
        # Nodes of an inner workflow have coordinates of their own, which begin below its head.
        is_own = at(sketch.inside(node.path)[0].value, "parentId") is None
        left = _SIDE - min(0, *(box[0] for box in boxes)) if is_own else 0
        top = _TOP - min(0, *(box[1] for box in boxes)) if is_own else 0
        width = max(width, left + _SIDE + max(box[0] + box[2] for box in boxes))
        height = max(height, top + _BOTTOM + max(box[1] + box[3] for box in boxes))
    return x, y, width, height


def uncovered(sketch: Sketch, into: str, x: float, y: float) -> float:
    """How far down a new loop has to stand so that it lies over no other node."""
    beside = [drawn(sketch, node) for node in sketch.inside(into) if node.position]
    for left, top, width, height in sorted(beside, key=lambda box: box[1]):
        is_beside = left < x + _LOOP[0] + GAP and x < left + width + GAP
        if is_beside and top < y + _LOOP[1] and y < top + height:
            y = top + height + GAP
    return y
