"""Blocks: the nodes of the canvas, or of one stretch of it, each behind all that it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.canvas.kinds import CLOSED_BY
from whorl.dialects.studio.nodes import asking, needing, outside, plain, tools, turning
from whorl.dialects.studio.texts.sources import expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.canvas.regions import Region
    from whorl.dialects.studio.scene import Scene

_READERS: dict[str, Callable[[Scene, CanvasNode], list[ir.Node]]] = {
    "input": plain.read_input,
    "output": plain.read_output,
    "llm": asking.read_llm,
    "router": asking.read_router,
    "transform": plain.read_transform,
    "tool": tools.read_tool,
    "approval": plain.read_approval,
    "subworkflow": plain.read_subworkflow,
    "http_request": outside.read_http,
    "file_glob": outside.read_file_glob,
    "file_read": outside.read_file_read,
    "file_write": outside.read_file_write,
    "shell_exec": outside.read_shell_exec,
    "validator": plain.read_validator,
    "aggregator": turning.read_aggregator,
    "exit": turning.read_exit,
    "knowledge_base": needing.read_provided,
    "email_send": needing.read_provided,
    "webhook_trigger": needing.read_trigger,
    "cron_trigger": needing.read_trigger,
}
_PAIRED = frozenset({*CLOSED_BY, *CLOSED_BY.values()})


def build_block(scene: Scene, level: Region | None = None, path: str = "") -> ir.Block:
    """The block of the whole canvas, or of a stretch."""
    built: dict[str, list[ir.Node]] = {}
    for node in scene.canvas.nodes.values():
        if node.type != "note" and scene.regions.around(node.id) is level:
            built[node.id] = _build(scene, node, f"{path}/{node.id}" if path else node.id)
    found: list[ir.Node] = []
    for name, nodes in built.items():
        # An end always gives something, so that a turn has a result.
        is_end = level is not None and name == level.end
        when = "" if is_end else scene.when(name)
        found.extend(_ordered(scene, nodes, level, when))
    return ir.Block(tuple(found))


def _build(scene: Scene, node: CanvasNode, path: str) -> list[ir.Node]:
    scene.draft.places.remember_node(path, node.span)
    region = scene.regions.by_start.get(node.id)
    if region is not None:
        body = build_block(scene, region, path)
        limit = node.fields.entry("maxIterations")
        span = node.span if limit is None else limit.value.span
        scene.draft.places.remember_field(path, "at_most", span)
        read = turning.read_loop if region.kind == "loop" else turning.read_iterator
        return read(scene, region, body)
    if node.type in _PAIRED and node.id not in scene.regions.by_end:
        # One that has no partner was reported; its fields are nobody's.
        return [ir.Compute(name=node.id, value=ir.Constant(None))]
    nodes = list(map(ir.timed_as_a_whole, _READERS[node.type](scene, node)))
    if node.id in scene.deciders.values():
        nodes.append(asking.branch_marker(scene, node))
    return nodes


def _ordered(scene: Scene, nodes: list[ir.Node], level: Region | None, when: str) -> list[ir.Node]:
    """The first node waits for all that its canvas node waits for, each other one for it."""
    owner = next(node.name for node in nodes if node.name in scene.canvas.nodes)
    test = expression(when) if when else None
    after = tuple(ir.After(name) for name in _waits(scene, owner, level))
    found: list[ir.Node] = []
    for node in nodes:
        found.append(replace(node, after=after, when=test))
        after = (ir.After(node.name),)
    return found


def _waits(scene: Scene, name: str, level: Region | None) -> list[str]:
    """What a node, or anything in the stretch that it opens, gets values from."""
    region = scene.regions.by_start.get(name)
    held = [name]
    if region is not None:
        held += [node for node in scene.canvas.nodes if scene.regions.is_inside(node, region)]
    sources: dict[str, None] = {}
    for node in held:
        named = [edge.source for edge in scene.canvas.incoming[node]]
        for source in (*named, *sorted(scene.references.get(node, ()))):
            member = scene.member(source, level)
            if member is not None and member != name:
                sources[member] = None
    return list(sources)
