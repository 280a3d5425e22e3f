"""The canvas: nodes and edges with their places, and their graph.

An unknown handle carries all of a node's result, or is ignored. A near miss of a known handle is
reported as a mistake; any other one gets a warning, since it changes the value.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from whorl.dialects.reading import fields
from whorl.dialects.reading.fields import span_of, text_of, words
from whorl.errors import did_you_mean
from whorl.ir.checks.scopes import suggest
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.dialects.reading import ReadContext
    from whorl.errors import Span
    from whorl.language import Json


# The fields of a canvas, and of its nodes and edges beside what editors add.
_CANVAS_FIELDS = words("id name description version nodes edges variables timeout budget viewport")
_NODE_FIELDS = words("id type data position style width height")
_EDGE_FIELDS = words("id type source target sourceHandle targetHandle data label style")
# What these do depends on their fields alone, so one that is nearly known can only be misspelt.
_STRICT = ("http_request", "transform")
# The branches of a router that decides a loop.
DONE, CONTINUE = "done", "continue"
_BRANCH = re.compile(r"branch-(\d{1,4})")

# The largest canvas; a hostile one is refused here before it takes time.
LIMITS = {"nodes": 1_000, "edges": 10_000, "routers": 200, "loops": 100}
_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class CanvasNode:
    """A node: `fields` are the settings of its author."""

    id: str
    type: str
    fields: Mapping
    span: Span

    def __str__(self) -> str:
        return f"{self.type} {self.id!r}"

    @property
    def place(self) -> str:
        return f"{self.span.line}:{self.span.column}"

    @property
    def branches(self) -> list[str]:
        """Returns the names of a router's branches, in order."""
        written = self.fields.get("branches")
        names: list[str] = []
        for item in written if isinstance(written, Sequence) else ():
            if isinstance(item, Mapping):
                names.append(text_of(item.get("name")) or text_of(item.get("label")))
            elif isinstance(item, Scalar):
                names.append(item.text.strip())
        return [name for name in names if name]


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """An edge; `branch` is the branch of the router that it leaves by, if any."""

    source: str
    target: str
    source_handle: str
    target_handle: str
    span: Span
    branch: str | None = None


@dataclass(slots=True)
class Canvas:
    """The nodes by id, and the edges at both ends of each."""

    nodes: dict[str, CanvasNode]
    edges: list[Edge]
    incoming: dict[str, list[Edge]] = field(init=False)
    outgoing: dict[str, list[Edge]] = field(init=False)

    def __post_init__(self) -> None:
        self.incoming = {name: [] for name in self.nodes}
        self.outgoing = {name: [] for name in self.nodes}
        for edge in self.edges:
            self.incoming[edge.target].append(edge)
            self.outgoing[edge.source].append(edge)

    def without(self, edges: Iterable[Edge]) -> Canvas:
        gone = set(edges)
        return Canvas(self.nodes, [edge for edge in self.edges if edge not in gone])

    def of_type(self, *types: str) -> list[CanvasNode]:
        """Returns the nodes of some types, in the order of the file."""
        return [node for node in self.nodes.values() if node.type in types]

    def forward(
        self, start: Iterable[str], may_follow: Callable[[Edge], bool] = lambda edge: True
    ) -> set[str]:
        """Returns the nodes that can be reached from some nodes, themselves included."""
        return fields.reached(
            start, lambda name: (e.target for e in self.outgoing[name] if may_follow(e))
        )

    def backward(self, start: str, stop: str = "") -> set[str]:
        """Returns the nodes that lead to a node, itself included, without those before `stop`."""
        return fields.reached(
            [start], lambda name: (e.source for e in self.incoming[name] if name != stop)
        )

    def order(self) -> list[str]:
        """Returns the nodes, each after all that lead to it; nodes of circles are left out."""
        waiting = {name: len(edges) for name, edges in self.incoming.items()}
        ready = [name for name, count in waiting.items() if not count]
        for name in ready:
            for edge in self.outgoing[name]:
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        return ready

    def circle(self) -> list[str]:
        """Returns the nodes of circles around one node, if a node leads back to itself."""
        left = self.nodes.keys() - self.order()
        for name in (name for name in self.nodes if name in left):
            behind = self.forward(edge.target for edge in self.outgoing[name])
            if name in behind:
                around = behind & self.backward(name)
                return [each for each in self.nodes if each in around]
        return []


def read_canvas(context: ReadContext, root: Mapping) -> Canvas:
    """Reads all nodes and edges, and reports those that are mistakes."""
    fields.check_spelling(context, root, _CANVAS_FIELDS, "the canvas")
    advice = 'write {"id": ..., ...}'
    items, edges = (fields.objects_of(context, root, name, advice) for name in ("nodes", "edges"))
    types = [text_of(item.get("type")) for item in items]
    counts = {"nodes": len(items), "edges": len(edges), "routers": types.count("router")}
    counts["loops"] = sum(map(types.count, CLOSED_BY))
    over = [name for name, count in counts.items() if count > LIMITS[name]]
    advice = "put parts of it into files of their own, and call them as subworkflows"
    for name in over:
        message = f"a canvas has at most {LIMITS[name]:,} {name}, not {counts[name]:,}"
        context.report("W002", message, root.span, label="too large", help=advice)
    if over:
        return Canvas({}, [])
    nodes: dict[str, CanvasNode] = {}
    for item in items:
        _read_node(context, nodes, item)
    drawn = [_read_edge(context, nodes, item) for item in edges]
    return Canvas(nodes, [edge for edge in drawn if edge is not None])


def _read_node(context: ReadContext, nodes: dict[str, CanvasNode], item: Mapping) -> None:
    name, kind = fields.check_id(context, item, nodes), text_of(item.get("type"))
    if not name:
        return
    span = span_of(item, "id")
    fields.check_spelling(context, item, _NODE_FIELDS, f"node {name!r}")
    if kind not in TYPES:
        message = f"node {name!r} is of the type {kind[:60]!r}, which is not known"
        where, label, advice = span_of(item, "type"), "unknown type", suggest(kind, KINDS)
        if not kind:
            message, where, label = f"node {name!r} lacks its 'type'", span, "no type"
        context.report("W009", message, where, label=label, help=advice)
    data = item.get("data")
    data = data if isinstance(data, Mapping) else Mapping((), span)
    nodes[name] = node = CanvasNode(name, kind if kind in TYPES else "note", data, span)
    own = KINDS[node.type].fields
    names = sorted(words(f"{own} timeout"))
    for entry, near in fields.unknown_fields(node.fields, names) if own is not None else ():
        if entry.name in SHARED:
            continue
        message, span = f"{node} has no field {entry.name[:60]!r}", entry.key.span
        if near and node.type in _STRICT:
            context.report("W004", message, span, label="unknown field", help=near)
        else:
            advice = suggest(entry.name, names)
            message += "; it is ignored"
            context.warn("W004", message, span, label="unknown field", help=advice)


def _read_edge(context: ReadContext, nodes: dict[str, CanvasNode], item: Mapping) -> Edge | None:
    advice, ends = "connect it to a node of the canvas", ("source", "target")
    are_nodes = [fields.check_node(context, item, end, nodes, advice) for end in ends]
    if not all(are_nodes):
        return None
    fields.check_spelling(context, item, _EDGE_FIELDS, "an edge")
    source, target = (nodes[text_of(item.get(end))] for end in ends)
    if "note" in (source.type, target.type):
        return None
    handle = text_of(item.get("sourceHandle")) or "output"
    # An edge leaves a router by the name of a branch, or by its number from 0.
    names = source.branches if source.type == "router" else []
    numbered = _BRANCH.fullmatch(handle)
    places = names[int(numbered[1]) :] if numbered else []
    branch = handle if handle in names else next(iter(places), None)
    if branch is None:
        _check_handle(context, item, source, "source")
    _check_handle(context, item, target, "target")
    target_handle = text_of(item.get("targetHandle")) or "input"
    return Edge(source.id, target.id, handle, target_handle, span_of(item, "source"), branch)


def _check_handle(context: ReadContext, edge: Mapping, node: CanvasNode, end: str) -> None:
    """Reports a handle that a node does not have; a near miss of one is an error."""
    usual, handles = "input", words(KINDS[node.type].takes)
    if end == "source":
        usual, handles = "output", SOURCE_HANDLES.get(node.type, ())
    handle, span = text_of(edge.get(f"{end}Handle")) or usual, span_of(edge, f"{end}Handle")
    # Texts of a node may name any handle at which something comes in.
    texts = (entry.value.text for entry in node.fields if isinstance(entry.value, Scalar))
    is_named = end == "target" and any("{{" in text and handle in text for text in texts)
    if not handles or handle in (*handles, usual) or is_named:
        return
    known = sorted({*node.branches, *handles, usual})
    message, advice = f"{node} has no handle {handle[:60]!r}", suggest(handle, known)
    if node.type == "router" or did_you_mean(handle, known):
        context.report("W005", message, span, label="no such handle", help=advice)
    elif end == "source":
        message += ": the edge carries all of its result"
        context.warn("W005", message, span, label="no such handle", help=advice)


def check_canvas(context: ReadContext, canvas: Canvas) -> None:
    span = context.root.span
    if not canvas.nodes:
        if not context.diagnostics:
            advice = "add an input, a node, an output"
            context.report("W006", "the canvas has no nodes", span, help=advice)
        return
    types = {node.type for node in canvas.nodes.values()}
    wanted = ({*BEGINNINGS, *TRIGGERS}, "begins", "input"), ({*ENDINGS}, "ends", "output")
    for kinds, what, first in wanted:
        if not types & kinds and not context.diagnostics:
            message = f"the canvas has no node where it {what}"
            advice = f"add a node of the type {first!r}"
            context.report("W006", message, span, label=f"no {first}", help=advice)
    for trigger in TRIGGERS:
        for node in canvas.of_type(trigger)[1:]:
            message = f"{node.id!r} is a second {trigger}"
            advice = "a canvas has at most one; put the other into a file of its own"
            context.report("W012", message, node.span, label="one too many", help=advice)
    for node in canvas.nodes.values() if len(canvas.nodes) > 1 else ():
        if node.type != "note" and not canvas.incoming[node.id] and not canvas.outgoing[node.id]:
            message, advice = f"{node} is connected to nothing", "connect it, or remove it"
            context.warn("W023", message, node.span, label="no edges", help=advice)
    circle = canvas.circle()
    if not circle:
        return
    shown = ", ".join([*circle[:_SHOWN_MAX], *(["..."] if len(circle) > _SHOWN_MAX else [])])
    message = f"nodes lead back to each other: {shown}"
    advice = "to repeat nodes, put them between a loop and its exit; only the continue branch of "
    advice += "the router that decides a loop may lead back"
    span = canvas.nodes[circle[0]].span
    context.report("W011", message, span, label="leads back to itself", help=advice)


# The words of the dialect: types of nodes with their fields and handles, and names of events.

LIBRARY = "studio"
# Fields that any node may have, most of them for the eye.
SHARED = words("label description timeout icon color collapsed status")
_MODEL = "provider model systemPrompt prompt temperature maxTokens"
_HTTP = "url method headers body auth authTokenSettingsKey authHeader maxResponseBytes"
_GLOB = "directory pattern mode recursive maxFiles maxSize sortBy sortOrder"


class _Kind(NamedTuple):
    """The fields of a type of nodes (None: any), the fields of its results, and its inputs.

    The latter two are its handles.
    """

    fields: str | None = None
    gives: str = ""
    takes: str = ""


KINDS = {
    "input": _Kind("name inputName dataType default defaultValue"),
    "output": _Kind("name format"),
    "llm": _Kind(
        f"{_MODEL} sessionMode maxHistory streaming",
        "response content usage cost",
        "prompt system context",
    ),
    "router": _Kind(f"{_MODEL} mode branches", "value selectedBranch explanation"),
    "transform": _Kind("mode template inputs"),
    "tool": _Kind("toolName serverName approval toolInput"),
    "approval": _Kind("message showData"),
    "subworkflow": _Kind("workflowId workflowName"),
    "http_request": _Kind(_HTTP, "status headers body encoding", "url body headers"),
    "file_glob": _Kind(_GLOB, "files count paths", "directory pattern"),
    "file_read": _Kind("path mode maxSize delimiter hasHeader", "path content size rows", "path"),
    "file_write": _Kind(
        "path content mode writeMode createDirs", "path size bytes", "path content"
    ),
    "shell_exec": _Kind(
        "command workingDir shell envVars", "stdout stderr exit_code", "command stdin workingDir"
    ),
    "validator": _Kind("schema failOnError", "valid data errors"),
    "iterator": _Kind("mode expression maxConcurrency", "item items index total result count"),
    "aggregator": _Kind("strategy separator", "result count"),
    "loop": _Kind(
        "maxIterations exitCondition stabilityThreshold feedbackMode",
        "iterations count exit_reason",
    ),
    "exit": _Kind(""),
    **dict.fromkeys(words("knowledge_base webhook_trigger cron_trigger email_send note"), _Kind()),
}
TYPES = frozenset(KINDS)
# The fields of what a node gives; nodes of other types give anything.
RESULTS = {name: words(kind.gives) for name, kind in KINDS.items() if kind.gives}
# The main part of results, which the handle `output` carries.
MAIN_FIELDS = {"llm": "response", "file_read": "content"}
# The handles by which edges leave a node.
SOURCE_HANDLES = {**RESULTS, "approval": ("approved",)}
# The handles of a loop, on the left and on the right.
LOOP_PORTS = {"inputs": ["input"], "outputs": ["output", "iterations", "count"]}
TRIGGERS = ("cron_trigger", "webhook_trigger")
BEGINNINGS = words("input file_read file_glob iterator loop tool http_request shell_exec")
ENDINGS = words("output file_write aggregator exit")
# The types of nodes that open a region of the canvas, and those that close it.
CLOSED_BY = {"loop": "exit", "iterator": "aggregator"}


def _event(event: str, **fields: str) -> dict[str, Json]:
    """Returns an event of a node or of the run, with its data and its kind."""
    subject = {"node_id": "node"} if event.startswith("workflow.node.") else {"session_id": "run"}
    return {"event": event, "fields": {**subject, **fields}}


# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    "events": {
        "iteration_started": _event(
            "workflow.node.iteration", index="index", total="limit", input_preview="told.input"
        ),
        "streaming": _event("workflow.node.streaming", tokens="text"),
        "loop_finished": _event(
            "workflow.node.completed", iterations_run="iterations", exit_reason="exit_reason"
        ),
        "run_started": _event("workflow.started"),
        "node_started": _event("workflow.node.started"),
        "node_finished": _event(
            "workflow.node.completed", output_preview="preview", duration_ms="duration_ms"
        ),
        "node_skipped": _event("workflow.node.skipped"),
        "node_failed": _event("workflow.node.error", error="error"),
        "waiting": _event("workflow.node.waiting", message="message"),
        "run_succeeded": _event("workflow.completed", outputs="outputs"),
        "run_failed": _event("workflow.failed", error="error"),
    },
    # Why a loop ended: the engine's reason, or `condition_met` with what stopped it.
    "exit_reasons": {
        "condition_met.branch": "evaluator_done",
        "condition_met.stable": "stable_output",
        "failed": "error",
    },
}


# The regions of a canvas that run several times: from a loop to its exit, from an iterator to its
# aggregator.
#
# The body of a loop is what lies between the two: forward from the loop, backward from the exit,
# the intersection; where a router decides, also what is reached by its continue branch only. Edges
# by which that branch leads back are no circle: the loop itself carries the value over, and they
# say where it comes from.

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

    @property
    def depth(self) -> int:
        return 1 + self.parent.depth if self.parent is not None else 1


@dataclass(slots=True)
class Regions:
    """All regions of a canvas, and the innermost region of each node."""

    by_start: dict[str, Region] = field(default_factory=dict)
    by_end: dict[str, Region] = field(default_factory=dict)
    # An end is inside of its own region.
    around: dict[str, Region] = field(default_factory=dict)

    def member(self, node: str, level: Region | None) -> str | None:
        """Returns the node of a level with another node's result; None if that is outside."""
        around = self.around.get(node)
        while around is not level:
            if around is None:
                return None
            node, around = around.start, around.parent
        return node

    def level(self, node: str) -> Region | None:
        """Returns the region that sees a node's result; that of an end is seen outside."""
        closed = self.by_end.get(node)
        return self.around.get(node) if closed is None else closed.parent

    def is_inside(self, node: str, region: Region) -> bool:
        """Returns whether a node is in a region at any depth; its end is, its start is not."""
        inner = self.around.get(node)
        while inner is not None and inner is not region:
            inner = inner.parent
        return inner is region


def is_evaluated(node: CanvasNode) -> bool:
    """Returns whether a loop stops when a router says so."""
    return node.type == "loop" and text_of(node.fields.get("exitCondition")).strip() == "evaluator"


def find_feedback(canvas: Canvas) -> list[Edge]:
    """Returns the edges from a continue branch back to its loop, or to a node after that."""
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


def find_regions(context: ReadContext, canvas: Canvas) -> Regions:
    """Pairs starts with ends, and finds the nodes between them."""
    regions = Regions()
    for kind in CLOSED_BY:
        _pair(context, canvas, regions, kind)
    for region in regions.by_start.values():
        region.body = _body(context, canvas, region)
    _nest(context, canvas, regions)
    for region in regions.by_start.values():
        if region.depth == DEPTH_MAX + 1:
            message = f"{region} is nested too deeply: at most {DEPTH_MAX} levels"
            advice = "put the inner ones into a file of their own, and call it as a subworkflow"
            span = canvas.nodes[region.start].span
            context.report("W002", message, span, label="too deep", help=advice)
        _check_borders(context, canvas, regions, region)
    return regions


def _pair(context: ReadContext, canvas: Canvas, regions: Regions, kind: str) -> None:
    """Pairs inner regions first: a node that is already paired cannot end an outer region."""
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
        context.report("W005", message, span, label=label, help=advice)
    for node in canvas.of_type(closing):
        if node.id not in regions.by_end and not is_faulty:
            message = f"{node} has no {kind} before it"
            advice = f"add a node of the type {kind!r} before it, or remove it"
            context.report("W005", message, node.span, label=f"no {kind}", help=advice)


def _is_after_end(edge: Edge, start: str) -> bool:
    """Returns whether an edge leaves a loop by a handle with a value only after its end."""
    return edge.source == start and edge.source_handle in RESULTS["loop"]


def _ends(canvas: Canvas, start: CanvasNode, regions: Regions) -> list[str]:
    """Returns the open ends that are reached first."""
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
        message = f"{region} has an empty body: there is nothing between it and {end!r}"
        advice = f"put the nodes that are to be repeated between {start.id!r} and {end!r}"
        context.report("W005", message, start.span, label="empty body", help=advice)
    if not is_evaluated(start):
        return body
    # The nodes that only the continue branch of a router of the body reaches.
    routers = {name for name in body if canvas.nodes[name].type == "router"}
    starts = [target for name in routers for target in continue_targets(canvas, name, region)]
    continued = canvas.forward(starts, lambda edge: edge.target != end)
    others = canvas.forward(
        [start.id], lambda edge: not (edge.source in routers and edge.branch == CONTINUE)
    )
    return body | (continued - others - {start.id, end})


def continue_targets(canvas: Canvas, router: str, region: Region) -> list[str]:
    """Returns the targets of a router's continue branch, inside of its region."""
    edges = (edge for edge in canvas.outgoing[router] if edge.branch == CONTINUE)
    return [edge.target for edge in edges if edge.target != region.end]


def _nest(context: ReadContext, canvas: Canvas, regions: Regions) -> None:
    """Finds the region around each region; reports two that overlap."""
    by_size = sorted(regions.by_start.values(), key=lambda region: len(region.body))
    for index, inner in enumerate(by_size):
        held = inner.body | {inner.start, inner.end}
        for outer in by_size[index + 1 :]:
            if not held & (outer.body | {outer.start, outer.end}):
                continue
            if held <= outer.body:
                inner.parent = outer
                break
            message = f"{inner} is only partly inside of {outer}"
            advice = f"put all of it, with {inner.end!r}, before {outer.end!r}, or all of it "
            advice += "outside"
            span = canvas.nodes[inner.start].span
            context.report("W005", message, span, label="they overlap", help=advice)
        for name in (*inner.body, inner.end):
            regions.around.setdefault(name, inner)


def _check_borders(context: ReadContext, canvas: Canvas, regions: Regions, region: Region) -> None:
    """Reports edges that leave a region elsewhere than at its end."""
    for node in (node for node in canvas.nodes.values() if node.id in region.body):
        if node.type == "output":
            message, label = f"{node} is inside of {region}", "never reached from outside"
            advice = f"put it behind {region.end!r}"
            context.report("W005", message, node.span, label=label, help=advice)
        for edge in canvas.outgoing[node.id]:
            is_inside = edge.target == region.end or edge.target in region.body
            if is_inside or regions.level(node.id) is not region:
                continue
            message = f"the edge from {node.id!r} to {edge.target!r} leaves {region} without "
            message += f"passing {region.end!r}"
            advice = f"lead it through {region.end!r}"
            context.report("W005", message, edge.span, label="leaves the body", help=advice)


def find_deciders(context: ReadContext, canvas: Canvas, regions: Regions) -> dict[str, str]:
    """Returns, for each loop that a router stops, this router.

    It is the only router of the loop with the branches done and continue, and has no others.
    """
    deciders, around = dict[str, str](), regions.around
    for region in regions.by_start.values():
        loop = canvas.nodes[region.start]
        if not is_evaluated(loop):
            continue
        routers = [node for node in canvas.of_type("router") if around.get(node.id) is region]
        deciding = [node for node in routers if {DONE, CONTINUE} & set(node.branches)]
        if len(deciding) == 1 and set(deciding[0].branches) == {DONE, CONTINUE}:
            deciders[region.start] = deciding[0].id
            continue
        listed = " and ".join(f"{node.id!r} ({', '.join(node.branches)})" for node in routers)
        message = f"{loop} stops by an evaluator, so exactly one router in it must have the "
        message += f"branches 'done' and 'continue', and no others; there is {listed or 'none'}"
        advice = "give one router of its body these branches, and others to the others"
        span = (deciding or [loop])[-1].span
        context.report("W005", message, span, label="which one decides?", help=advice)
    return deciders
