"""The regions of a canvas that run several times: from a loop to its exit, from an iterator to its
aggregator.

The body of a loop is what lies between the two: forward from the loop, backward from the exit, the
intersection; where a router decides, also what is reached by its continue branch only. Edges by
which that branch leads back are no circle: the loop itself carries the value over, and they say
where it comes from.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.formats.studio import canvas as canvases
from whorl.formats.studio.canvas import CONTINUE, DONE
from whorl.formats.studio.kinds import CLOSED_BY, RESULTS
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.dialects.reading.context import ReadContext
    from whorl.formats.studio.canvas import Canvas, CanvasNode, Edge

DEPTH_MAX = 16


@dataclass(slots=True, eq=False)
class Region:
    """A region; `body` holds the nodes between `start` and `end`, inner regions included."""

    start: str
    end: str
    kind: str
    body: set[str] = field(default_factory=set)
    parent: Region | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.start!r}"


@dataclass(slots=True)
class Regions:
    """All regions of a canvas, and the innermost one that each node stands in."""

    by_start: dict[str, Region] = field(default_factory=dict)
    by_end: dict[str, Region] = field(default_factory=dict)
    # An end stands inside of its own region.
    around: dict[str, Region] = field(default_factory=dict)

    def member(self, node: str, level: Region | None) -> str | None:
        """The node of a level that gives another node's result there; None: it is further out."""
        around = self.around.get(node)
        while around is not level:
            if around is None:
                return None
            node, around = around.start, around.parent
        return node

    def level(self, node: str) -> Region | None:
        """The region in which a node's result is seen; that of an end is seen outside."""
        closed = self.by_end.get(node)
        return self.around.get(node) if closed is None else closed.parent

    def is_inside(self, node: str, region: Region) -> bool:
        """Whether a node stands in a region, however deep; its end does, its start does not."""
        inner = self.around.get(node)
        while inner is not None and inner is not region:
            inner = inner.parent
        return inner is region


def is_evaluated(node: CanvasNode) -> bool:
    """Whether a loop stops when a router says so."""
    return node.type == "loop" and text_of(node.fields.get("exitCondition")).strip() == "evaluator"


def find_feedback(canvas: Canvas) -> list[Edge]:
    """The edges that lead from a continue branch back to its loop, or to a node behind that."""
    loops = [node.id for node in canvas.nodes.values() if is_evaluated(node)]
    onward = canvas.without(edge for edge in canvas.edges if edge.branch == CONTINUE)
    inside = onward.forward(loops)
    feedback: list[Edge] = []
    for router in (node.id for node in canvas.of_type("router") if node.id in inside):
        before = onward.backward(router) & inside
        seen: set[str] = set()
        queue = [edge for edge in canvas.outgoing[router] if edge.branch == CONTINUE]
        for edge in queue:
            if edge.target in before:
                feedback.append(edge)
            elif edge.target not in seen:
                seen.add(edge.target)
                queue.extend(canvas.outgoing[edge.target])
    return feedback


def read_drawn(context: ReadContext) -> tuple[Canvas, list[Edge], Regions]:
    """The canvas of a file in the making, without edges that lead back, and its regions."""
    drawn = canvases.read_canvas(context, context.root)
    feedback = find_feedback(drawn)
    canvas = drawn.without(feedback)
    regions = Regions() if canvas.circle() else find_regions(context, canvas)
    return canvas, feedback, regions


def find_regions(context: ReadContext, canvas: Canvas) -> Regions:
    """Pairs what opens with what closes, and finds what lies between."""
    regions = Regions()
    for kind in CLOSED_BY:
        _pair(context, canvas, regions, kind)
    for region in regions.by_start.values():
        region.body = _body(context, canvas, region)
    _nest(context, canvas, regions)
    for region in regions.by_start.values():
        depth, around = 1, region.parent
        while around is not None:
            depth, around = depth + 1, around.parent
        if depth == DEPTH_MAX + 1:
            message = f"{region} is nested too deeply: at most {DEPTH_MAX} levels"
            advice = "put the inner ones into a file of their own, and call it as a subworkflow"
            span = canvas.nodes[region.start].span
            context.report("W002", message, span, label="too deep", help=advice)
        _check_borders(context, canvas, regions, region)
    return regions


def _pair(context: ReadContext, canvas: Canvas, regions: Regions, kind: str) -> None:
    """Inner ones first: what is paired already is no end for those around it."""
    is_faulty, closing = False, CLOSED_BY[kind]
    starts = [canvas.nodes[name] for name in reversed(canvas.order())]
    for node in (node for node in starts if node.type == kind):
        ends = _ends(canvas, node, regions)
        if len(ends) == 1:
            regions.by_start[node.id] = regions.by_end[ends[0]] = Region(node.id, ends[0], kind)
            continue
        is_faulty, span, label = True, node.span, f"no {closing}"
        message = f"{node} has no {closing} behind it"
        advice = f"add a node of the type {closing!r} behind the last node of the {kind}"
        if ends:
            span, label = canvas.nodes[ends[1]].span, "one too many"
            listed = ", ".join(map(repr, ends))
            message = f"{node} leads to {len(ends)} nodes of the type {closing!r}: {listed}"
            advice = f"a {kind} has exactly one {closing}: lead all paths to the same one"
        context.report("W010", message, span, label=label, help=advice)
    for node in canvas.of_type(closing):
        if node.id not in regions.by_end and not is_faulty:
            message = f"{node} has no {kind} before it"
            advice = f"add a node of the type {kind!r} before it, or remove it"
            context.report("W010", message, node.span, label=f"no {kind}", help=advice)


def _is_after_end(edge: Edge, start: str) -> bool:
    """Whether an edge leaves a loop by a handle that carries something only when it has ended."""
    return edge.source == start and edge.source_handle in RESULTS["loop"]


def _ends(canvas: Canvas, start: CanvasNode, regions: Regions) -> list[str]:
    """The open ends that are reached first."""
    closing, ends = CLOSED_BY[start.type], list[str]()
    seen = {start.id}
    queue = [start.id]
    for name in queue:
        for edge in canvas.outgoing[name]:
            if edge.target in seen or _is_after_end(edge, start.id):
                continue
            seen.add(edge.target)
            if canvas.nodes[edge.target].type == closing and edge.target not in regions.by_end:
                ends.append(edge.target)
            else:
                queue.append(edge.target)
    return ends


def _body(context: ReadContext, canvas: Canvas, region: Region) -> set[str]:
    start, end = canvas.nodes[region.start], region.end
    reached = canvas.forward(
        [start.id], lambda edge: edge.source != end and not _is_after_end(edge, start.id)
    )
    body = (reached & canvas.backward(end, start.id)) - {start.id, end}
    if not body:
        message = f"{region} has an empty body: nothing lies between it and {end!r}"
        advice = f"put the nodes that are to be repeated between {start.id!r} and {end!r}"
        context.report("W010", message, start.span, label="empty body", help=advice)
    if not is_evaluated(start):
        return body
    # What is reached by the continue branch of a router of the body, and in no other way.
    routers = {name for name in body if canvas.nodes[name].type == "router"}
    starts = [target for name in routers for target in continue_targets(canvas, name, region)]
    continued = canvas.forward(starts, lambda edge: edge.target != end)
    others = canvas.forward(
        [start.id], lambda edge: not (edge.source in routers and edge.branch == CONTINUE)
    )
    return body | (continued - others - {start.id, end})


def continue_targets(canvas: Canvas, router: str, region: Region) -> list[str]:
    """Where the continue branch of a router leads to, inside of its region."""
    edges = (edge for edge in canvas.outgoing[router] if edge.branch == CONTINUE)
    return [edge.target for edge in edges if edge.target != region.end]


def _nest(context: ReadContext, canvas: Canvas, regions: Regions) -> None:
    """Finds the region around each one; two that overlap are a mistake."""
    by_size = sorted(regions.by_start.values(), key=lambda region: len(region.body))
    for index, inner in enumerate(by_size):
        held = inner.body | {inner.start, inner.end}
        for outer in by_size[index + 1 :]:
            if not held & (outer.body | {outer.start, outer.end}):
                continue
            if held <= outer.body:
                inner.parent = outer
                break
            message = f"{inner} lies only in part inside of {outer}"
            advice = f"put all of it, with {inner.end!r}, before {outer.end!r}, or all of it "
            advice += "outside"
            span = canvas.nodes[inner.start].span
            context.report("W010", message, span, label="they overlap", help=advice)
        for name in (*inner.body, inner.end):
            regions.around.setdefault(name, inner)


def _check_borders(context: ReadContext, canvas: Canvas, regions: Regions, region: Region) -> None:
    """What runs inside gives its result to the outside by the end only."""
    for node in (node for node in canvas.nodes.values() if node.id in region.body):
        if node.type == "output":
            message, label = f"{node} stands inside of {region}", "never reached from outside"
            advice = f"put it behind {region.end!r}"
            context.report("W010", message, node.span, label=label, help=advice)
        for edge in canvas.outgoing[node.id]:
            is_inside = edge.target == region.end or edge.target in region.body
            if is_inside or regions.level(node.id) is not region:
                continue
            message = f"the edge from {node.id!r} to {edge.target!r} leaves {region} without "
            message += f"passing {region.end!r}"
            advice = f"lead it through {region.end!r}"
            context.report("W010", message, edge.span, label="leaves the body", help=advice)


def find_deciders(context: ReadContext, canvas: Canvas, regions: Regions) -> dict[str, str]:
    """The router that decides when a loop stops, by the loop, for those that stop by a router.

    It is the only one of the loop with the branches done and continue, and has no others.
    """
    deciders, around = dict[str, str](), regions.around
    for region in regions.by_start.values():
        loop = canvas.nodes[region.start]
        if not is_evaluated(loop):
            continue
        routers = [node for node in canvas.of_type("router") if around.get(node.id) is region]
        deciding = [node for node in routers if {DONE, CONTINUE} & set(node.branches)]
        fault = _decider_fault(loop, routers, deciding)
        if fault is None:
            deciders[region.start] = deciding[0].id
        else:
            message, node, label, advice = fault
            context.report("W010", message, node.span, label=label, help=advice)
    return deciders


def _decider_fault(
    loop: CanvasNode, routers: list[CanvasNode], deciding: list[CanvasNode]
) -> tuple[str, CanvasNode, str, str] | None:
    """What is wrong with the routers of a loop: the message, where, the label and the advice."""
    if len(deciding) > 1:
        listed = " and ".join(repr(node.id) for node in deciding)
        message = f"routers {listed} both decide when {loop} stops"
        advice = "one router has the branches done and continue; rename those of the others"
        return message, deciding[1], "a second one", advice
    if not deciding:
        names = ", ".join(f"{node.id!r} ({', '.join(node.branches)})" for node in routers)
        message = f"{loop} stops by an evaluator, but no router in it decides"
        message += f"; there is {names}" if names else ""
        advice = "add a router with the branches 'done' and 'continue' to its body"
        return message, loop, "no router", advice
    message = f"{deciding[0]} decides {loop} and "
    for name in deciding[0].branches:
        if name not in (DONE, CONTINUE):
            message += f"has the branch {name[:60]!r}, which is neither 'done' nor 'continue'"
            advice = "give it only the branches 'done' and 'continue'"
            return message, deciding[0], "another branch", advice
    for name in sorted({DONE, CONTINUE} - set(deciding[0].branches)):
        message += f"lacks the branch {name!r}"
        return message, deciding[0], "a branch is missing", f"add {name!r} to its branches"
    return None
