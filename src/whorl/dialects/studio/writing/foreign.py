"""What workflows of other formats need on a canvas: inputs, outputs and exits as nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.canvas.kinds import BEGINNINGS
from whorl.dialects.studio.writing.drawing import Wire
from whorl.dialects.studio.writing.paths import path_text
from whorl.dialects.studio.writing.sketch import Here
from whorl.dialects.writing import Spot
from whorl.ir.walk import walk
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Sketch

_TYPES = ("any", "number", "boolean", "json")
SHARED = ("name", "after", "when", "timeout_s", "shape", "echo")
_LOOP = ("body", "until", "limits", "carry", "facts", "history_keep", "check", "returns")


def draw_inputs(sketch: Sketch) -> None:
    """A node for each input."""
    spot = Spot(key=sketch.key)
    for port in sketch.workflow.inputs:
        if port.type not in _TYPES:
            what = f"the type {port.type!r} of input {port.name!r}"
            sketch.ledger.lose(spot, what, "an input of a canvas is a number, boolean, json or any")
        if not port.required and port.default is None:
            what = f"the input {port.name!r}, which may be missing"
            sketch.ledger.lose(spot, what, "an input of a canvas has a value")
        data: dict[str, Any] = {
            "dataType": port.type if port.type in _TYPES[1:] else None,
            "default": port.default,
            "description": port.description or None,
        }
        sketch.drawing.add(port.name, "input", data)


def draw_outputs(sketch: Sketch) -> None:
    """A node for each output, behind what gives its value."""
    for name, value in sketch.workflow.outputs:
        node = ir.Compute(name=_free(sketch, f"{name}_output"), value=value)
        source = _source(sketch, value)
        if source is None:
            source = Wire(_free(sketch, f"{name}_value"))
            made = Here(sketch, ir.Compute(name=source.source, value=value), "")
            sketch.drawing.add(source.source, "transform", {"template": spoken_text(made, value)})
            _connect_references(sketch, made)
        sketch.drawing.add(node.name, "output", {"name": name})
        sketch.drawing.connect(source, node.name)


def _connect_references(sketch: Sketch, here: Here) -> None:
    for name in sketch.references.get(here.node.name, ()):
        if name in sketch.drawing.nodes and not sketch.drawing.sources(here.node.name):
            sketch.drawing.connect(Wire(name), here.node.name)


def _free(sketch: Sketch, name: str) -> str:
    while name in sketch.nodes or name in sketch.drawing.nodes:
        name += "_"
    return name


def _source(sketch: Sketch, value: ir.Value) -> Wire | None:
    """The node whose whole result a value is."""
    if not isinstance(value, ir.Expression):
        return None
    name = value.source.strip().removeprefix("{{").removesuffix("}}").strip()
    node = sketch.nodes.get(name)
    if isinstance(node, ir.Task | ir.Compute) and name in sketch.top:
        return Wire(name)
    return None


def spoken_text(here: Here, value: ir.Value) -> str:
    """A value as the text of a node."""
    if isinstance(value, ir.Expression):
        try:
            return path_text(here, value)
        except CannotSay as loss:
            here.lose(f"{loss.what} in {value.source[:80]!r}", loss.why)
            return value.source.replace("{{", "{ {")
    if isinstance(value, ir.Constant) and isinstance(value.value, str):
        if "{{" in value.value:
            here.lose("a text with {{", "it would be read as a place")
        return value.value
    here.lose("a value that is no text", "a transform makes texts, or takes what comes in")
    said = value.value if isinstance(value, ir.Constant) else None
    return json.dumps(said, ensure_ascii=False)


def draw_exit(here: Here, node: ir.Loop | ir.ForEach) -> None:
    """The end of a stretch: whatever nothing waits for leads to it, the last step last."""
    sketch, end = here.sketch, here.sketch.ends[node.name]
    kind = "exit" if isinstance(node, ir.Loop) else "aggregator"
    sketch.drawing.add(end, kind, {})
    if not any(name in sketch.drawing.nodes for name in _inside(node)):
        here.lose("steps of a stretch", "none of them has a node on a canvas")
        sketch.drawing.add(_free(sketch, f"{node.name}_body"), "transform", {})
    if isinstance(node, ir.Loop):
        _lose_loop(here, node)
    else:
        here.lose("the results of a step for each item", "an iterator gives one value for each")
        here.lose_unsaid(node, (*SHARED, "items", "body", "item_name", "index_name", "concurrency"))


def _inside(node: ir.Loop | ir.ForEach) -> list[str]:
    return [inner.name for _, inner in walk(node.body)]


def close_stretches(sketch: Sketch) -> None:
    """Leads whatever leads nowhere to the end of its stretch, the inner ones first."""
    drawing = sketch.drawing
    stretches = [node for node in sketch.nodes.values() if isinstance(node, ir.Loop | ir.ForEach)]
    for node in reversed(stretches):
        end, body = sketch.ends[node.name], f"{node.name}_body"
        inside = [name for inner in _inside(node) for name in (inner, sketch.ends.get(inner, ""))]
        drawn = [name for name in (*inside, body) if name in drawing.nodes]
        for name in drawn:
            if not drawing.sources(name):
                drawing.connect(Wire(node.name), name)
        last = sketch.ends.get(*[node.body.nodes[-1].name] * 2) if node.body.nodes else ""
        loose = [name for name in drawn if name != last and not drawing.targets(name)]
        for name in (*loose, *([last] if last in drawing.nodes else [])):
            if not isinstance(sketch.nodes.get(name), ir.Loop | ir.ForEach):
                drawing.connect(Wire(name), end)


def draw_start(sketch: Sketch) -> None:
    """A canvas begins somewhere: with an input that needs no value, where there is nothing else."""
    drawing = sketch.drawing
    if any(kind in BEGINNINGS for kind, _ in drawing.nodes.values()):
        return
    name = _free(sketch, "start")
    roots = [other for other in drawing.nodes if not drawing.sources(other)]
    drawing.add(name, "input", {"default": ""})
    for root in roots:
        drawing.connect(Wire(name), root)


def _lose_loop(here: Here, node: ir.Loop) -> None:
    if node.check != "after" and node.until is not None:
        here.lose("a condition that is weighed before", "a loop of a canvas runs at least once")
    if node.returns != "last":
        here.lose(f"the result {node.returns!r} of a loop", "it is that of the last iteration")
    last = node.body.nodes[-1].name if node.body.nodes else ""
    for number, carry in enumerate(node.carry):
        if number:
            here.lose(f"the carried value {carry.name!r}", "a loop of a canvas carries one value")
        elif not isinstance(carry.later, ir.Expression) or carry.later.source.strip("{ }") != last:
            here.lose(f"the carried value {carry.name!r}", "what reaches the exit is carried over")
    here.lose_unsaid(node, (*SHARED, *_LOOP))
    here.lose_unsaid(node.limits, ("iterations", "iteration_time_s", "interrupts"))


def carried_first(here: Here, node: ir.Loop) -> None:
    """What comes into a loop: the first value that it carries."""
    first = node.carry[0].first if node.carry else None
    if first is None:
        if node.carry:
            here.lose("a carried value without a first one", "an edge carries it into the loop")
        return
    source = _source(here.sketch, first)
    name = first.source.strip("{ }") if isinstance(first, ir.Expression) else ""
    if source is None and name in here.sketch.ports:
        source = Wire(name)
    if source is None:
        source = Wire(_free(here.sketch, f"{node.name}_first"))
        data = {"template": spoken_text(here, first)}
        here.drawing.add(source.source, "transform", data)
        _keep_inside(here, source.source)
    here.drawing.connect(source, node.name)


def _keep_inside(here: Here, name: str) -> None:
    """A node that takes nothing belongs to a stretch only by an edge from its start."""
    if here.around:
        here.drawing.connect(Wire(here.around), name)


def listed_items(here: Here, node: ir.ForEach) -> dict[str, Any]:
    """What an iterator goes through: a list that is written down comes from a text of it."""
    if isinstance(node.items, ir.Expression):
        try:
            return {"expression": path_text(here, node.items)}
        except CannotSay as loss:
            here.lose(f"{loss.what} in {node.items.source[:80]!r}", loss.why)
            return {}
    if not isinstance(node.items, ir.Constant):
        here.lose("a list that is computed", "an iterator takes what comes in")
        return {}
    name = _free(here.sketch, f"{node.name}_list")
    here.drawing.add(name, "transform", {"template": json.dumps(node.items.value)})
    _keep_inside(here, name)
    here.drawing.connect(Wire(name), node.name)
    return {}


def draw_branch(here: Here, node: ir.Branch) -> dict[str, Any]:
    """A choice: a router has its branches, but decides by the words of what comes in."""
    here.lose("a choice by a condition or a value", "a router chooses by a model, or by words")
    names = [case.name for case in node.cases]
    return {"mode": "pattern", "branches": [*names, *(["default"] if node.default else [])]}
