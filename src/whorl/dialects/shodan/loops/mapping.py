"""What an iteration is given: the loop's inputs, and values of the iteration before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import items_of, span_of, table_of, text_of
from whorl.dialects.shodan.parts import COUNT, PortSpec
from whorl.dialects.shodan.ports import Reference, slot_types
from whorl.dialects.shodan.sources import called, expression, given, output, packed, quoted
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode
    from whorl.source import Mapping

WHEN = ("first", "subsequent", "all")


def carry_inputs(level: Level, inner: Level) -> list[ir.Carry]:
    """The inputs of the loop: looked at once, before the first iteration."""
    assert inner.loop is not None
    found: list[ir.Carry] = []
    for name, source in loop_inputs(level, inner):
        inner.loop.inputs[name] = inner.claim(name)
        found.append(ir.Carry(inner.loop.inputs[name], first=expression(source)))
    return found


def loop_inputs(level: Level, inner: Level) -> list[tuple[str, str]]:
    """The names of the loop's inputs, and what arrives there."""
    assert inner.loop is not None
    node = inner.loop.node
    names = dict.fromkeys(level.input_names(node))
    for mapping in items_of(level.draft, node.fields, "inputMappings"):
        source = table_of(mapping, "source")
        if source is not None and text_of(source, "type") == "outer":
            names.setdefault(text_of(source, "name"))
    return [
        (name, level.own(node, name) or level.arrived(node, PortSpec(name)))
        for name in names
        if name and (name != inner.loop.item[0] or node.input(name) is not None)
    ]


def carry_previous(inner: Level) -> Callable[[], list[ir.Carry]]:
    """Reads the mappings; what they carry over is known once the inside is built."""
    assert inner.loop is not None
    scene = inner.loop
    for mapping in items_of(inner.draft, scene.node.fields, "inputMappings"):
        _read_mapping(inner, mapping)

    def carried() -> list[ir.Carry]:
        return [
            ir.Carry(name, ir.Constant(None), expression(output(node, port)))
            for (node, port), name in scene.previous.items()
        ]

    return carried


def _read_mapping(inner: Level, mapping: Mapping) -> None:
    assert inner.loop is not None
    target, source = table_of(mapping, "target"), table_of(mapping, "source")
    if target is None or source is None:
        inner.draft.report(
            "W006",
            f"an input mapping of loop {inner.loop.node.id!r} lacks its source or target",
            mapping.span,
            label="this mapping",
            help="write source: {type: outer, name: ...} and target: {node: ..., input: ...}",
        )
        return
    when = text_of(mapping, "iterations") or "all"
    if when not in WHEN:
        inner.draft.report(
            "W009",
            f"'iterations' of a mapping must be first, subsequent or all, not {when[:40]!r}",
            span_of(mapping, "iterations"),
            label="unknown word",
            help=suggest(when, WHEN),
        )
    node = inner_node(inner, target)
    value = _source(inner, source)
    if node is not None:
        expect(inner, node, "input", target)
        _check_overlap(inner, node, target, when)
    if node is not None and value is not None:
        key = (node.id, text_of(target, "input"))
        inner.loop.mappings.setdefault(key, []).append((when, value))


def _check_overlap(inner: Level, node: GraphNode, target: Mapping, when: str) -> None:
    """An input takes one value in each iteration; an edge brings one in all of them."""
    assert inner.loop is not None
    name = text_of(target, "input")
    others = [other for other, _ in inner.loop.mappings.get((node.id, name), ())]
    others += ["all" for _ in inner.edges_into(node, name)]
    if any(when == other or "all" in (when, other) for other in others):
        inner.draft.report(
            "W012",
            f"input {name!r} of {node.id!r} is given two values in the same iteration",
            span_of(target, "input"),
            label="a second value",
            help="use `first` for one mapping and `subsequent` for the other, or give the node "
            "an input for each",
        )


def expect(level: Level, node: GraphNode, kind: str, where: Mapping) -> None:
    """Has the port looked up that the field of that name says."""
    reference = Reference(level, node, kind, text_of(where, kind), span_of(where, kind))
    level.draft.references.append(reference)


def inner_node(inner: Level, where: Mapping) -> GraphNode | None:
    """The node of the loop that a mapping names; interface nodes have no values of their own."""
    assert inner.loop is not None
    name = text_of(where, "node")
    found = inner.named(name)
    if found is not None and not found.type.startswith("interface-"):
        return found
    inner.draft.report(
        "W010",
        f"loop {inner.loop.node.id!r} has no node {name[:60]!r} inside",
        span_of(where, "node"),
        label="no such node",
        help=suggest(name, [node.id for node in inner.members]),
    )
    return None


def builtin(inner: Level, source: Mapping, count: str) -> str | None:
    """The only value that every loop has by itself: how many iterations there were."""
    if text_of(source, "name") == COUNT:
        return count
    inner.draft.report(
        "W010",
        f"there is no builtin {text_of(source, 'name')[:40]!r}",
        span_of(source, "name"),
        label="unknown name",
        help=f"write {COUNT}",
    )
    return None


def _source(inner: Level, source: Mapping) -> str | None:
    scene = inner.loop
    assert scene is not None
    kind = text_of(source, "type")
    match kind:
        case "outer":
            return _outer(inner, source)
        case "previous" if not scene.held:
            return _previous(inner, source)
        case "builtin":
            return builtin(inner, source, scene.counted)
        case "item" if scene.held:
            return given(scene.item[1])
    known = ("outer", "item" if scene.held else "previous", "builtin")
    inner.draft.report(
        "W009",
        f"the source of a mapping is of the type {kind[:40]!r}, which is not known"
        + (" in a for-each" if kind == "previous" else ""),
        span_of(source, "type"),
        label="unknown type",
        help=suggest(kind, known),
    )
    return None


def _outer(inner: Level, source: Mapping) -> str | None:
    """An input of the loop, or the item that is present."""
    assert inner.loop is not None
    assert inner.around is not None
    name = text_of(source, "name")
    if not inner.loop.held or name != inner.loop.item[0]:
        place = Reference(inner.around, inner.loop.node, "input", name, span_of(source, "name"))
        inner.draft.references.append(place)
    return inner.loop.seen(("input", name, ""))


def _previous(inner: Level, source: Mapping) -> str | None:
    assert inner.loop is not None
    node = inner_node(inner, source)
    if node is None:
        return None
    expect(inner, node, "output", source)
    key = (node.id, text_of(source, "output"))
    if key not in inner.loop.previous:
        inner.loop.previous[key] = inner.claim(f"{key[0]}.{key[1]}")
    return given(inner.loop.previous[key])


def carry_slots(inner: Level) -> Callable[[], list[ir.Carry]]:
    """Slots whose value goes from one iteration to the next; one not written keeps its value."""
    scene = inner.loop
    assert scene is not None
    types = slot_types(inner.draft, scene.node, "feedback")
    for node in inner.members:
        ports = {"interface-input": node.outputs, "interface-output": node.inputs}.get(node.type)
        for port in ports or ():
            is_fed_back = node.type == "interface-output" or port.name.startswith("prev.")
            if is_fed_back:
                types.setdefault(port.name.removeprefix("prev."), port.type)
    for name in types:
        scene.slots[name] = inner.claim(f"prev.{name}")

    def carried() -> list[ir.Carry]:
        return [_slot(inner, name, kind) for name, kind in types.items()]

    return carried


def _slot(inner: Level, name: str, kind: str) -> ir.Carry:
    assert inner.loop is not None
    carried = inner.loop.slots[name]
    source = slot_source(inner, name)
    if source is None:
        return ir.Carry(carried, ir.Constant(None))
    spec = PortSpec(name, kind)
    typed = called("arrive", source, quoted(inner.loop.node.id), packed(spec.packed()))
    return ir.Carry(carried, ir.Constant(None), expression(called("kept", typed, given(carried))))


def slot_source(inner: Level, name: str) -> str | None:
    """What is written into a slot: by a dock's handle, or by the output node of the inside."""
    assert inner.loop is not None
    loop = inner.loop.node.id
    for edge in inner.graph.edges:
        if edge.target == loop and edge.into == ("dock", name, "current"):
            return inner.value_at(edge.source, edge.out, "")
    for node in inner.members:
        if node.type == "interface-output" and node.input(name) is not None:
            return inner.fed(node, name)
    return None
