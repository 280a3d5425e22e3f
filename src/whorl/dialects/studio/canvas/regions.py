"""The stretches of a canvas that run several times: from a loop to its exit, from an iterator to
its aggregator.

The body of a loop is what lies between the two: forward from the loop, backward from the exit, the
intersection; where a router decides, also what is reached by its continue branch only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.studio.canvas.feedback import CONTINUE, is_evaluated
from whorl.dialects.studio.canvas.kinds import CLOSED_BY, DEPTH_MAX, LOOP_RESULTS

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import Canvas, CanvasNode
    from whorl.dialects.studio.draft import Draft


@dataclass(slots=True, eq=False)
class Region:
    """A stretch; `body` holds the nodes between `start` and `end`, inner stretches included."""

    start: str
    end: str
    kind: str
    body: set[str] = field(default_factory=set)
    parent: Region | None = None


@dataclass(slots=True)
class Regions:
    """All stretches of a canvas, and the innermost one that each node stands in."""

    by_start: dict[str, Region] = field(default_factory=dict)
    by_end: dict[str, Region] = field(default_factory=dict)
    holder: dict[str, Region] = field(default_factory=dict)

    def around(self, node: str) -> Region | None:
        """The innermost stretch that a node stands in; an end stands inside of its own."""
        return self.holder.get(node)

    def member(self, node: str, level: Region | None) -> str | None:
        """The node itself or the start of the stretch that holds it, as `level` sees it.

        None means that the node stands outside of the level.
        """
        name, around = node, self.around(node)
        while around is not level:
            if around is None:
                return None
            name, around = around.start, around.parent
        return name

    def level(self, node: str) -> Region | None:
        """The stretch in which a node's result is seen; that of an end is seen outside."""
        closed = self.by_end.get(node)
        return self.around(node) if closed is None else closed.parent

    def is_inside(self, node: str, region: Region) -> bool:
        """Whether a node stands in a stretch, however deep."""
        around = self.around(node)
        while around is not None and around is not region:
            around = around.parent
        return around is region


def find_regions(draft: Draft, canvas: Canvas) -> Regions:
    """Pairs what opens with what closes, and finds what lies between."""
    regions = Regions()
    for kind, closing in CLOSED_BY.items():
        _pair(draft, canvas, regions, kind, closing)
    for region in regions.by_start.values():
        region.body = _body(draft, canvas, region)
    _nest(draft, canvas, regions)
    for region in regions.by_start.values():
        _check_depth(draft, canvas, region)
        _check_borders(draft, canvas, regions, region)
    return regions


def _check_depth(draft: Draft, canvas: Canvas, region: Region) -> None:
    depth, around = 1, region.parent
    while around is not None:
        depth, around = depth + 1, around.parent
    if depth == DEPTH_MAX + 1:
        draft.report(
            "W002",
            f"{region.kind} {region.start!r} is one too deep: at most {DEPTH_MAX} in each other",
            canvas.nodes[region.start].span,
            label="too deep",
            help="put the inner ones into a file of their own, and call it as a subworkflow",
        )


def _pair(draft: Draft, canvas: Canvas, regions: Regions, kind: str, closing: str) -> None:
    """Inner ones first: what is paired already is no end for those around it."""
    paired: set[str] = set()
    faulty = False
    for name in reversed(canvas.order()):
        node = canvas.nodes[name]
        if node.type != kind:
            continue
        ends = _ends(canvas, node, closing, paired)
        if len(ends) == 1:
            region = Region(name, ends[0], kind)
            regions.by_start[name], regions.by_end[ends[0]] = region, region
            paired.add(ends[0])
        else:
            faulty = True
            _report_ends(draft, canvas, node, ends, closing)
    for node in canvas.of_type(closing):
        if node.id not in paired and not faulty:
            draft.report(
                "W010",
                f"{closing} {node.id!r} has no {kind} before it",
                node.span,
                label=f"no {kind}",
                help=f"add a node of the type {kind!r} before it, or remove it",
            )


def _ends(canvas: Canvas, start: CanvasNode, closing: str, paired: set[str]) -> list[str]:
    """The open ends that are reached first."""
    found: list[str] = []
    seen = {start.id}
    queue = [start.id]
    for name in queue:
        for edge in canvas.outgoing[name]:
            if edge.target in seen or (name == start.id and edge.source_handle in LOOP_RESULTS):
                continue
            seen.add(edge.target)
            if canvas.nodes[edge.target].type == closing and edge.target not in paired:
                found.append(edge.target)
            else:
                queue.append(edge.target)
    return found


def _report_ends(
    draft: Draft, canvas: Canvas, node: CanvasNode, ends: list[str], closing: str
) -> None:
    if not ends:
        draft.report(
            "W010",
            f"{node.type} {node.id!r} has no {closing} behind it",
            node.span,
            label=f"no {closing}",
            help=f"add a node of the type {closing!r} behind the last node of the {node.type}",
        )
        return
    listed = ", ".join(map(repr, ends))
    draft.report(
        "W010",
        f"{node.type} {node.id!r} leads to {len(ends)} nodes of the type {closing!r}: {listed}",
        canvas.nodes[ends[1]].span,
        label="one too many",
        help=f"a {node.type} has exactly one {closing}: lead all paths to the same one",
    )


def _body(draft: Draft, canvas: Canvas, region: Region) -> set[str]:
    reached = canvas.forward(
        [region.start],
        lambda edge: (
            edge.source != region.end
            and not (edge.source == region.start and edge.source_handle in LOOP_RESULTS)
        ),
    )
    body = (reached & canvas.backward(region.end, region.start)) - {region.start, region.end}
    if not body:
        draft.report(
            "W010",
            f"{region.kind} {region.start!r} has an empty body: nothing lies between it and "
            f"{region.end!r}",
            canvas.nodes[region.start].span,
            label="empty body",
            help=f"put the nodes that are to be repeated between {region.start!r} and "
            f"{region.end!r}",
        )
    if is_evaluated(canvas.nodes[region.start]):
        body |= _continued(canvas, region, body)
    return body


def _continued(canvas: Canvas, region: Region, body: set[str]) -> set[str]:
    """What is reached by the continue branch of a router of the body, and in no other way."""
    routers = {name for name in body if canvas.nodes[name].type == "router"}
    starts = [
        edge.target
        for name in routers
        for edge in canvas.outgoing[name]
        if edge.branch == CONTINUE and edge.target != region.end
    ]
    continued = canvas.forward(starts, lambda edge: edge.target != region.end)
    others = canvas.forward(
        [region.start], lambda edge: not (edge.source in routers and edge.branch == CONTINUE)
    )
    return continued - others - {region.start, region.end}


def _nest(draft: Draft, canvas: Canvas, regions: Regions) -> None:
    """Finds the stretch around each one; two that overlap are a mistake."""
    found = sorted(regions.by_start.values(), key=lambda region: len(region.body))
    for index, inner in enumerate(found):
        held = inner.body | {inner.start, inner.end}
        for outer in found[index + 1 :]:
            shared = held & (outer.body | {outer.start, outer.end})
            if not shared:
                continue
            if not held <= outer.body:
                _report_overlap(draft, canvas, inner, outer)
                continue
            inner.parent = outer
            break
        for name in (*inner.body, inner.end):
            regions.holder.setdefault(name, inner)


def _report_overlap(draft: Draft, canvas: Canvas, inner: Region, outer: Region) -> None:
    draft.report(
        "W010",
        f"{inner.kind} {inner.start!r} lies only in part inside of {outer.kind} {outer.start!r}",
        canvas.nodes[inner.start].span,
        label="they overlap",
        help=f"put all of it, with {inner.end!r}, before {outer.end!r}, or all of it outside",
    )


def _check_borders(draft: Draft, canvas: Canvas, regions: Regions, region: Region) -> None:
    """What runs inside gives its result to the outside by the end only."""
    for name in canvas.nodes:
        if name not in region.body:
            continue
        if canvas.nodes[name].type == "output":
            draft.report(
                "W010",
                f"output {name!r} stands inside of {region.kind} {region.start!r}",
                canvas.nodes[name].span,
                label="never reached from outside",
                help=f"put it behind {region.end!r}",
            )
        for edge in canvas.outgoing[name]:
            inside = edge.target == region.end or edge.target in region.body
            if not inside and regions.level(name) is region:
                draft.report(
                    "W010",
                    f"the edge from {name!r} to {edge.target!r} leaves {region.kind} "
                    f"{region.start!r} without passing {region.end!r}",
                    edge.span,
                    label="leaves the body",
                    help=f"lead it through {region.end!r}",
                )
