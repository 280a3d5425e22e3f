"""The regions of a canvas that run several times, from a loop to its exit, from an iterator to its
aggregator; and what nodes see of each other: which value comes in, whether it comes, who waits.

The body of a loop is what lies between the two: forward from the loop, backward from the exit, the
intersection; where a router decides, also what is reached by its continue branch only. Edges by
which that branch leads back are no circle: the loop itself carries the value over, and they say
where it comes from.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.dialects.studio import canvas as canvases
from whorl.dialects.studio.canvas import CLOSED_BY, CONTINUE, DONE, LIBRARY, MAIN_FIELDS, RESULTS
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.dialects.reading.context import ReadContext
    from whorl.dialects.studio.canvas import Canvas, CanvasNode, Edge

# Handles whose value a node takes bare, when nothing else comes in.
BARE = ("input", "value")
LOOKED_AT_MAX = 500_000
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


def _find_feedback(canvas: Canvas) -> list[Edge]:
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
    feedback = _find_feedback(drawn)
    canvas = drawn.without(feedback)
    regions = Regions() if canvas.circle() else _find_regions(context, canvas)
    return canvas, feedback, regions


def _find_regions(context: ReadContext, canvas: Canvas) -> Regions:
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
            message = f"{region} is one too deep: at most {DEPTH_MAX} in each other"
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


def _find_deciders(context: ReadContext, canvas: Canvas, regions: Regions) -> dict[str, str]:
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


def value_of(name: str) -> str:
    return called("known", quoted(name))


def field_of(name: str, key: str) -> str:
    return called("field", quoted(name), quoted(key))


def expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source, LIBRARY)


@dataclass(slots=True)
class Scope:
    """The canvas, its regions, and the names of inputs (by which node) and variables."""

    context: ReadContext
    canvas: Canvas
    regions: Regions
    feedback: list[Edge]
    # The router that decides, by the loop that it decides.
    deciders: dict[str, str]
    inputs: dict[str, str] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    timeout_s: float | None = None
    # What texts refer to, by the node that holds the text: it waits for these, too.
    references: dict[str, set[str]] = field(default_factory=dict)
    # What the model nodes of a loop remember from iteration to iteration, beside its input.
    conversations: dict[str, list[ir.Carry]] = field(default_factory=dict)
    _may_skip: dict[str, bool] = field(default_factory=dict)
    # The nodes before each one, as bits.
    _before: dict[str, int] = field(default_factory=dict)
    _incoming: dict[str, dict[str, str]] = field(default_factory=dict)
    _bits: dict[str, int] = field(default_factory=dict)
    _referred: dict[str, list[str]] = field(default_factory=dict)
    _looked_at: int = 0

    def __post_init__(self) -> None:
        self._bits = {name: 1 << index for index, name in enumerate(self.canvas.nodes)}
        for name in self.canvas.order():
            edges = self.canvas.incoming[name]
            self._may_skip[name] = bool(edges) and all(map(self._may_be_dead, edges))
            self._before[name] = self._bits[name]
            for edge in edges:
                self._before[name] |= self._before[edge.source]

    def helper(self, node: str, word: str) -> str:
        """The name of something that is there for a node and is no node of the canvas."""
        name = f"{node}.{word}"
        while name in self.canvas.nodes:
            name += "_"
        return name

    def output(self, node: str, handle: str, viewer: str) -> str:
        """What a handle of a node carries, as another node sees it."""
        started = self.regions.by_start.get(node)
        if started is not None:
            return self._started(started, handle, viewer)
        ended = self.regions.by_end.get(node)
        if ended is not None:
            if self.regions.is_inside(viewer, ended):
                return value_of(node)
            return self._started(ended, handle if ended.kind == "iterator" else "output", viewer)
        kind = self.canvas.nodes[node].type
        if handle == "output" and kind in MAIN_FIELDS:
            return field_of(node, MAIN_FIELDS[kind])
        return value_of(node) if handle == "output" or kind == "input" else field_of(node, handle)

    def _started(self, region: Region, handle: str, viewer: str) -> str:
        if self.regions.is_inside(viewer, region):
            if region.kind == "iterator" and handle in ("index", "total"):
                return self.counted(region, handle)
            return value_of(region.start)
        if region.kind == "loop":
            return field_of(region.start, handle if handle in RESULTS["loop"] else "output")
        return field_of(region.start, handle) if handle != "output" else value_of(region.start)

    def counted(self, region: Region, word: str) -> str:
        """Where in its iterations a region is: index (from 0), total, iteration (from 1)."""
        if word == "total" and region.kind == "iterator":
            return f"({value_of(self.helper(region.start, 'items'))} | length)"
        if word == "iteration" and region.kind == "iterator":
            return f"({value_of(self.helper(region.start, 'index'))} + 1)"
        return value_of(self.helper(region.start, word))

    def choices(self, edges: list[Edge]) -> list[str]:
        """When each edge carries something, and what; of several the last one counts."""
        return [part for e in edges for part in (self._live(e) or "true", self._carried(e))]

    def _carried(self, edge: Edge) -> str:
        if edge.branch is not None:
            return field_of(edge.source, "value")
        return self.output(edge.source, edge.source_handle, edge.target)

    def _live(self, edge: Edge) -> str:
        """When an edge carries anything; empty where it always does."""
        if edge.branch is not None:
            return called("took", quoted(edge.source), quoted(edge.branch))
        if not self._may_be_dead(edge):
            return ""
        ended = self.regions.by_end.get(edge.source)
        return called("ran", quoted(ended.start if ended else edge.source))

    def _may_be_dead(self, edge: Edge) -> bool:
        if edge.branch is not None:
            return True
        started = self.regions.by_start.get(edge.source)
        if started is not None and self.regions.is_inside(edge.target, started):
            return False
        ended = self.regions.by_end.get(edge.source)
        return self._may_skip.get(ended.start if ended else edge.source, False)

    def when(self, node: str) -> str:
        """When a node runs: when any edge to it carries something; empty means always."""
        if not self._may_skip.get(node):
            return ""
        return " or ".join(dict.fromkeys(map(self._live, self.canvas.incoming[node])))

    def incoming(self, node: str) -> dict[str, str]:
        """What comes in, by the handle where it ends; of several live edges the last one counts."""
        if node not in self._incoming:
            by_handle: dict[str, list[Edge]] = {}
            for edge in self.canvas.incoming[node]:
                by_handle.setdefault(edge.target_handle, []).append(edge)
            self._incoming[node] = {name: self._picked(edges) for name, edges in by_handle.items()}
        return self._incoming[node]

    def _picked(self, edges: list[Edge]) -> str:
        return self._carried(edges[0]) if len(edges) == 1 else called("pick", *self.choices(edges))

    def value(self, node: str) -> str:
        """All that comes in: bare where it is one value, or an object by handle."""
        incoming = self.incoming(node)
        if not incoming:
            return "none"
        if len(incoming) == 1 and next(iter(incoming)) in BARE:
            return next(iter(incoming.values()))
        inner = ", ".join(f"{quoted(handle)}: {source}" for handle, source in incoming.items())
        return f"({{ {inner} }})"

    def leads_to(self, node: str, other: str) -> bool:
        """Whether another node waits for this one, by edges, by texts, or by their regions.

        When a file asks that too often, the answer is yes: its texts then wait for nothing more.
        """
        if self._before[node] & self._bits[other]:
            return False
        if self._looked_at > LOOKED_AT_MAX:
            return True
        reached = {node}
        queue = [node]
        for name in queue:
            around = self.regions.around.get(name)
            following = [edge.target for edge in self.canvas.outgoing[name]]
            following += self._referred.get(name, ())
            following += [around.end] if around is not None and name != around.end else []
            self._looked_at += len(following)
            queue.extend(set(following) - reached)
            reached.update(following)
        return other in reached

    def refer(self, node: str, other: str, handle: str = "output") -> str:
        """What another node gives, for a text of a node: it waits for that one."""
        references = self.references.setdefault(node, set())
        if other not in references:
            references.add(other)
            self._referred.setdefault(other, []).append(node)
        return self.output(other, handle, node)


def read_scope(context: ReadContext) -> Scope | None:
    """The canvas of a file with its regions; None if it holds no sense to go on with."""
    drawn = canvases.read_canvas(context, context.root)
    feedback = _find_feedback(drawn)
    canvas = drawn.without(feedback)
    canvases.check_canvas(context, canvas)
    if canvas.circle() or not canvas.nodes:
        return None
    regions = _find_regions(context, canvas)
    deciders = _find_deciders(context, canvas, regions)
    if any(diagnostic.code == "W002" for diagnostic in context.diagnostics):
        return None
    # Branches that lead nowhere; the router of a loop may go on without an edge.
    for router in canvas.of_type("router"):
        used = {edge.branch for edge in canvas.outgoing[router.id]}
        if router.id in deciders.values() or None in used or not used:
            continue
        for name in (name for name in router.branches if name not in used):
            message = f"no edge leaves {router} by its branch {name[:60]!r}: what is sent "
            message += "there goes nowhere"
            label, advice = "a branch without an edge", "connect it, or remove the branch"
            context.warn("W023", message, router.span, label=label, help=advice)
    return Scope(context, canvas, regions, feedback, deciders)
