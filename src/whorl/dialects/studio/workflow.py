"""A whole file: what surrounds the canvas, and the workflow that comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.block import build_block
from whorl.dialects.studio.canvas.deciders import find_deciders
from whorl.dialects.studio.canvas.feedback import find_feedback
from whorl.dialects.studio.canvas.kinds import BEGINNINGS, ENDINGS, TRIGGERS
from whorl.dialects.studio.canvas.reading import branches_of, read_canvas
from whorl.dialects.studio.canvas.regions import find_regions
from whorl.dialects.studio.nodes.needing import trigger_port
from whorl.dialects.studio.nodes.plain import port_name, read_port
from whorl.dialects.studio.scene import Scene
from whorl.dialects.studio.texts.sources import expression, known
from whorl.dialects.studio.vocabulary import VOCABULARY
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import Canvas
    from whorl.dialects.studio.draft import Draft

_SHOWN_MAX = 8


def read_file(draft: Draft, root: Mapping) -> ir.Workflow | None:
    """The workflow of a file; None if its canvas holds no sense to go on with."""
    drawn = read_canvas(draft, root)
    feedback = find_feedback(drawn)
    canvas = drawn.without(feedback)
    _check_canvas(draft, canvas, root)
    circle = canvas.circle()
    if circle:
        _report_circle(draft, canvas, circle)
    if circle or not canvas.nodes:
        return None
    regions = find_regions(draft, canvas)
    deciders = find_deciders(draft, canvas, regions)
    if any(found.code == "W002" for found in draft.diagnostics):
        return None
    _check_branches(draft, canvas, deciders)
    scene = Scene(draft, canvas, regions, feedback, deciders)
    return _workflow(draft, root, scene)


def _workflow(draft: Draft, root: Mapping, scene: Scene) -> ir.Workflow:
    variables = _variables(root)
    scene.variables = frozenset(name for name, _ in variables)
    scene.inputs = {port_name(node): node.id for node in reversed(scene.input_nodes())}
    limit = _number(draft, root, "timeout")
    scene.timeout_s = limit
    budget = _number(draft, root, "budget")
    ports = _ports(scene)
    body = build_block(scene)
    given = [port.name for port in ports if port.name in scene.inputs]
    return ir.Workflow(
        name=_text(root, "name") or draft.document.file.rpartition("/")[2].partition(".")[0],
        description=_text(root, "description"),
        body=body,
        inputs=ports,
        main_input=given[0] if given else "",
        outputs=_outputs(scene),
        variables=variables,
        limits=ir.RunLimits(
            cost_usd=budget, time_s=None if scene.canvas.of_type("loop") else limit
        ),
        workflows=tuple(draft.workflows.items()),
        dialect="studio",
        vocabulary=VOCABULARY,
    )


def _ports(scene: Scene) -> tuple[ir.Port, ...]:
    found: dict[str, ir.Port] = {}
    for node in scene.input_nodes():
        port = read_port(scene, node)
        found.setdefault(port.name, port)
    for node in scene.canvas.of_type(*TRIGGERS):
        found.setdefault(node.id, trigger_port(scene, node))
    return tuple(found.values())


def _outputs(scene: Scene) -> tuple[tuple[str, ir.Value], ...]:
    """The output nodes by their names; without any, whatever ends the canvas."""
    found: dict[str, ir.Value] = {}
    for node in scene.canvas.of_type("output"):
        name = port_name(node)
        found[node.id if name in found else name] = expression(known(node.id))
    if found:
        return tuple(found.items())
    for node in scene.canvas.of_type(*ENDINGS):
        if scene.regions.level(node.id) is None and not scene.canvas.outgoing[node.id]:
            region = scene.regions.by_end.get(node.id)
            viewer = region.start if region else node.id
            found[node.id] = expression(scene.output(node.id, "output", viewer))
    return tuple(found.items())


def _variables(root: Mapping) -> tuple[tuple[str, ir.Value], ...]:
    written = root.get("variables")
    if not isinstance(written, Mapping):
        return ()
    return tuple((entry.name, ir.Constant(plain(entry.value))) for entry in written)


def _check_canvas(draft: Draft, canvas: Canvas, root: Mapping) -> None:
    if not canvas.nodes:
        if not draft.diagnostics:
            draft.report(
                "W006", "the canvas has no nodes", root.span, help="add an input, a node, an output"
            )
        return
    types = {node.type for node in canvas.nodes.values()}
    for wanted, what, first in ((BEGINNINGS, "begins", "input"), (ENDINGS, "ends", "output")):
        if not types & wanted and not draft.diagnostics:
            draft.report(
                "W006",
                f"the canvas has no node where it {what}",
                root.span,
                label=f"no {first}",
                help=f"add a node of the type {first!r}",
            )
    for trigger in sorted(TRIGGERS):
        for node in canvas.of_type(trigger)[1:]:
            draft.report(
                "W012",
                f"{node.id!r} is a second {trigger}",
                node.span,
                label="one too many",
                help="a canvas has at most one; put the other into a file of its own",
            )
    _check_orphans(draft, canvas)


def _check_branches(draft: Draft, canvas: Canvas, deciders: dict[str, str]) -> None:
    """Warns of branches that lead nowhere; the router of a loop may go on without an edge."""
    for router in canvas.of_type("router"):
        used = {edge.branch for edge in canvas.outgoing[router.id]}
        if router.id in deciders.values() or None in used or not used:
            continue
        for name in branches_of(router):
            if name not in used:
                draft.warn(
                    "W023",
                    f"no edge leaves router {router.id!r} by its branch {name[:60]!r}: what is "
                    "sent there goes nowhere",
                    router.span,
                    label="a branch without an edge",
                    help="connect it, or remove the branch",
                )


def _check_orphans(draft: Draft, canvas: Canvas) -> None:
    if len(canvas.nodes) < 2:
        return
    for node in canvas.nodes.values():
        if node.type != "note" and not canvas.incoming[node.id] and not canvas.outgoing[node.id]:
            draft.warn(
                "W023",
                f"{node.type} {node.id!r} is connected to nothing",
                node.span,
                label="no edges",
                help="connect it, or remove it",
            )


def _report_circle(draft: Draft, canvas: Canvas, circle: list[str]) -> None:
    shown = " -> ".join([*circle[:_SHOWN_MAX], *(["..."] if len(circle) > _SHOWN_MAX else [])])
    draft.report(
        "W011",
        f"nodes lead back to each other: {shown} -> {circle[0]}",
        canvas.nodes[circle[0]].span,
        label="leads back to itself",
        help="to repeat nodes, put them between a loop and its exit; only the continue branch of "
        "the router that decides a loop may lead back",
    )


def _text(root: Mapping, name: str) -> str:
    value = root.get(name)
    return value.text.strip() if isinstance(value, Scalar) else ""


def _number(draft: Draft, root: Mapping, name: str) -> float | None:
    value = root.get(name)
    if value is None or (isinstance(value, Scalar) and value.value is None):
        return None
    number = value.value if isinstance(value, Scalar) else None
    if isinstance(number, int | float) and not isinstance(number, bool) and number > 0:
        return float(number)
    draft.report(
        "W007",
        f"{name!r} of the workflow must be a number above 0",
        value.span,
        label="no such number",
        help="write seconds for a timeout, dollars for a budget",
    )
    return None
