"""Nodes one by one: what each is on a canvas, its fields, and the edges that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.writing import asking, foreign, outside, plain, turning
from whorl.dialects.studio.writing.drawing import Wire
from whorl.dialects.studio.writing.fields import seconds
from whorl.dialects.studio.writing.sketch import Here
from whorl.dialects.studio.writing.texts import taken_of
from whorl.dialects.studio.writing.trees import called, text_of, tree_of
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Sketch

_TASKS = {
    "http": ("http_request", outside.draw_http),
    "run": ("shell_exec", outside.draw_shell),
    "tool": ("tool", outside.draw_tool),
    "validate": ("validator", plain.draw_validator),
    "file_glob": ("file_glob", outside.draw_files),
    "file_read": ("file_read", outside.draw_files),
    "file_write": ("file_write", outside.draw_files),
}
_PROVIDED = ("knowledge_base", "email_send")
_HELPERS = (".items", ".prompt", ".branch", ".approval")


def draw_block(sketch: Sketch, block: ir.Block, path: str = "", around: str = "") -> None:
    """All nodes of a block, and of the stretches in it."""
    for node in block.nodes:
        here = Here(sketch, node, f"{path}/{node.name}" if path else node.name, around)
        if is_helper(sketch, node):
            continue
        if node.name == sketch.ends.get(around):
            _draw_end(here)
        else:
            _draw(here)
        if isinstance(node, ir.Loop | ir.ForEach):
            draw_block(sketch, node.body, here.path, node.name)
            _draw_taken(here)
            if not sketch.is_own:
                foreign.draw_exit(here, node)
        elif isinstance(node, ir.Branch | ir.Group):
            _draw_held(here, node, around)


def _draw_held(here: Here, node: ir.Branch | ir.Group, around: str) -> None:
    """The nodes of branches and groups stand beside the others."""
    sketch = here.sketch
    for slot, block in blocks_of(node):
        path = here.path if slot == "body" else f"{here.path}@{slot}"
        draw_block(sketch, block, path, around)
        branch = slot.removeprefix("case.")
        for inner in block.nodes:
            if not inner.after and inner.name in sketch.drawing.nodes and slot != "body":
                sketch.drawing.connect(Wire(node.name, branch), inner.name)


def is_helper(sketch: Sketch, node: ir.Node) -> bool:
    """Whether a node is there for another one, and stands on no canvas."""
    owner = next((node.name[: -len(end)] for end in _HELPERS if node.name.endswith(end)), "")
    return owner in sketch.nodes


def _draw(here: Here) -> None:
    node = here.node
    if not here.sketch.is_own:
        _lose_shared(here)
    kind, data = _kind(here)
    here.drawing.add(node.name, kind, data)
    if not isinstance(node, ir.Loop | ir.ForEach):
        _draw_taken(here)


def _lose_shared(here: Here) -> None:
    """What no node of a canvas has."""
    node = here.node
    if node.when is not None:
        here.lose("a step that runs on a condition", "a node runs when an edge leads to it")
    if node.retry is not None:
        here.lose("'retry' of a step", "nodes are not tried again")
    if node.on_failure != "halt":
        here.lose("a failure that lets others go on", "a node that fails ends the run")
    if any(one.statuses != ("passed",) for one in node.after):
        here.lose("steps that run after a failure", "a node that fails ends the run")


def _draw_taken(here: Here) -> None:
    """The edges by which a node is reached, unless they carry something already."""
    if not here.sketch.is_own:
        return
    drawn = [wire for wire, end, _ in here.drawing.edges if end == here.node.name]
    for wire in taken_of(here):
        if wire not in drawn and not (
            wire.handle == "output" and wire.source in [one.source for one in drawn]
        ):
            here.drawing.connect(wire, here.node.name)


def _draw_end(here: Here) -> None:
    node, start = here.node, here.sketch.nodes[here.around]
    assert isinstance(node, ir.Compute)
    is_loop = isinstance(start, ir.Loop)
    data = {} if not isinstance(start, ir.ForEach) else turning.aggregation(start)
    here.drawing.add(node.name, "exit" if is_loop else "aggregator", data)
    turning.draw_end(here, node)


def _kind(here: Here) -> tuple[str, dict[str, Any]]:
    node = here.node
    match node:
        case ir.Loop():
            return "loop", turning.draw_loop(here, node)
        case ir.ForEach():
            return "iterator", turning.draw_iterator(here, node)
        case ir.Gate():
            return "approval", plain.draw_approval(here, node)
        case ir.Call():
            return "subworkflow", plain.draw_call(here, node)
        case ir.Task():
            return _task(here, node)
        case ir.Compute():
            return _compute(here, node)
        case ir.Branch():
            return "router", foreign.draw_branch(here, node)
        case ir.Group():
            here.lose("a group", "its steps stand beside the others on a canvas")
            return "transform", {}
        case _:
            words = type(node).__name__.lower()
            here.lose(f"a {words}", "a canvas has no node for it")
            return "transform", {}


def _task(here: Here, node: ir.Task) -> tuple[str, dict[str, Any]]:
    if node.kind == "ask" and _shape(node) == "choose":
        return "router", asking.draw_router(here, node)
    if node.kind == "ask":
        return "llm", asking.draw_llm(here, node)
    task = asking.inputs_of(node).get("task")
    if node.kind == "use" and isinstance(task, ir.Constant) and task.value in _PROVIDED:
        return outside.draw_provided(here, node)
    if node.kind not in _TASKS:
        here.lose(f"a task of kind {node.kind!r}", "a canvas has no node for it")
        return "transform", {}
    kind, draw = _TASKS[node.kind]
    return kind, draw(here, node)


def _shape(node: ir.Task) -> str:
    return called(tree_of(node.shape))[0] if isinstance(node.shape, ir.Expression) else ""


def _compute(here: Here, node: ir.Compute) -> tuple[str, dict[str, Any]]:
    sketch = here.sketch
    if not sketch.is_own:
        return "transform", {"template": foreign.spoken_text(here, node.value)} | seconds(node)
    name, arguments = (
        called(tree_of(node.value)) if isinstance(node.value, ir.Expression) else ("", [])
    )
    given = text_of(arguments[0]) if name == "known" else None
    port = sketch.ports.get(given or "")
    if port is not None and not here.around and (given not in sketch.nodes or given == node.name):
        return "input", plain.draw_input(here, port)
    if name == "fields" and node.name in sketch.ports and "timestamp()" in node.value.source:  # type: ignore[union-attr]
        return "webhook_trigger", {"staticInput": _static(sketch.ports[node.name])}
    output = _output_name(sketch, node)
    if output is not None and not here.around:
        return "output", plain.draw_output(here, node, output)
    return plain.draw_transform(here, node)


def _static(port: ir.Port) -> str | None:
    import json

    return None if port.default == {} else json.dumps(port.default, ensure_ascii=False)


def _output_name(sketch: Sketch, node: ir.Compute) -> str | None:
    for name, value in sketch.workflow.outputs:
        if isinstance(value, ir.Expression):
            function, arguments = called(tree_of(value))
            if function == "known" and text_of(arguments[0]) == node.name:
                return name
    return None
