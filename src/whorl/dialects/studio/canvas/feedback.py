"""The edges by which the `continue` branch of a router leads back into its loop.

The loop itself carries the value over, so they are no circle: they say where the value comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import Canvas, CanvasNode, Edge

CONTINUE = "continue"
DONE = "done"


def is_evaluated(node: CanvasNode) -> bool:
    """Whether a loop stops when a router says so."""
    written = node.fields.get("exitCondition")
    return (
        node.type == "loop" and isinstance(written, Scalar) and written.text.strip() == "evaluator"
    )


def find_feedback(canvas: Canvas) -> list[Edge]:
    """The edges that lead from a continue branch back to its loop, or to a node behind that."""
    loops = [node.id for node in canvas.nodes.values() if is_evaluated(node)]
    onward = canvas.without(edge for edge in canvas.edges if edge.branch == CONTINUE)
    inside = onward.forward(loops)
    found: list[Edge] = []
    for router in canvas.of_type("router"):
        if router.id not in inside:
            continue
        before = onward.backward(router.id) & inside
        found.extend(_leading_back(canvas, router.id, before))
    return found


def _leading_back(canvas: Canvas, router: str, before: set[str]) -> list[Edge]:
    found: list[Edge] = []
    seen: set[str] = set()
    queue = [edge for edge in canvas.outgoing[router] if edge.branch == CONTINUE]
    for edge in queue:
        if edge.target in before:
            found.append(edge)
        elif edge.target not in seen:
            seen.add(edge.target)
            queue.extend(canvas.outgoing[edge.target])
    return found
