"""What a loop gives: its declared outputs, each from the first, the last or all iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast, get_args

from whorl import ir
from whorl.dialects.shodan.fields import items_of, span_of, table_of, text_of
from whorl.dialects.shodan.loops.mapping import builtin, expect, inner_node, slot_source
from whorl.dialects.shodan.parts import COUNT
from whorl.dialects.shodan.sources import called, expression, given, output, quoted
from whorl.errors import nearest
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import PortSpec
    from whorl.source import Mapping

Take = Literal["last", "first", "all"]
TAKES = get_args(Take)


def read_results(inner: Level) -> tuple[tuple[ir.Collect, ...], ir.Fields]:
    """What is collected after each iteration, and the outputs that are made of it."""
    assert inner.loop is not None
    count = given(inner.loop.number)
    outputs = loop_outputs(inner, count, "last")
    for name, source in _exports(inner):
        outputs.setdefault(name, ("last", source))
    outputs.setdefault(COUNT, ("last", count))
    found = {
        name: ir.Collect(name, take, expression(source)) for name, (take, source) in outputs.items()
    }
    return tuple(found.values()), _shape(inner, found)


def _shape(inner: Level, found: dict[str, ir.Collect]) -> ir.Fields:
    assert inner.loop is not None
    node = inner.loop.node
    types = {port.name: port.type for port in node.outputs}
    names = dict.fromkeys((*types, *found))
    entries: list[tuple[str | ir.Expression, ir.Value]] = []
    for name in names:
        is_list = name in found and found[name].take == "all"
        kind = "any" if is_list else types.get(name, "any")
        source = called("picked", "it", quoted(name), quoted(node.id), quoted(kind))
        entries.append((name, expression(source)))
    return ir.Fields(tuple(entries))


def loop_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    """What a loop gives by its mappings and edges: what is taken, and from where."""
    assert inner.loop is not None
    found = _mapped_outputs(inner, count, usual)
    for port in inner.loop.node.outputs:
        wired = None if port.name in found else _wired(inner, port)
        # Of a for-each only what its nodes gave can be gathered.
        if wired is not None and (not inner.loop.held or wired.startswith("port(")):
            found[port.name] = (usual, wired)
        elif port.name not in (*found, COUNT):
            near = nearest(port.name, found)
            inner.draft.report(
                "W010",
                f"output {port.name[:60]!r} of loop {inner.loop.node.id!r} comes from nowhere",
                port.span,
                label="no source",
                help=f"did you mean it where outputMappings says {near!r}?"
                if near
                else "add it to outputMappings, or connect an inner output to it",
            )
    return found


def _mapped_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    assert inner.loop is not None
    found: dict[str, tuple[Take, str]] = {}
    for mapping in items_of(inner.draft, inner.loop.node.fields, "outputMappings"):
        source, target = table_of(mapping, "source"), text_of(mapping, "target")
        if source is None or not target:
            inner.draft.report(
                "W006",
                f"an output mapping of loop {inner.loop.node.id!r} lacks its source or target",
                mapping.span,
                label="this mapping",
                help="write source: {node: ..., output: ...} and target: NAME",
            )
            continue
        if target in found:
            inner.draft.report(
                "W012",
                f"output {target[:60]!r} of loop {inner.loop.node.id!r} has two mappings",
                span_of(mapping, "target"),
                label="a second value",
                help="choose another target for one of them",
            )
        found[target] = (_take(inner, mapping, usual), _mapped(inner, source, count) or "none")
    return found


def _take(inner: Level, mapping: Mapping, usual: Take) -> Take:
    take = text_of(mapping, "take") or usual
    if take not in TAKES:
        inner.draft.report(
            "W009",
            f"'take' must be last, first or all, not {take[:40]!r}",
            span_of(mapping, "take"),
            label="unknown word",
            help=suggest(take, TAKES),
        )
    return cast("Take", take)


def _mapped(inner: Level, source: Mapping, count: str) -> str | None:
    if text_of(source, "type") == "builtin":
        return builtin(inner, source, count)
    node = inner_node(inner, source)
    if node is None:
        return None
    expect(inner, node, "output", source)
    return output(node.id, text_of(source, "output"))


def _wired(inner: Level, port: PortSpec) -> str | None:
    """What an edge from inside brings to an output, or the slot that can only be meant for it."""
    scene = inner.loop
    assert scene is not None
    for edge in inner.graph.edges:
        if edge.target == scene.node.id and edge.into[:2] == ("output", port.name):
            return inner.value_at(edge.source, edge.out, "")
    named = [name for name in scene.slots if name == port.name]
    named += [name for name in scene.slots if port.name.endswith(f"_{name}")]
    if not named and len(scene.slots) == 1 and len(scene.node.outputs) == 1:
        named = list(scene.slots)
    return slot_source(inner, named[0]) if named else None


def _exports(inner: Level) -> list[tuple[str, str]]:
    """Outputs of inner nodes that nodes outside of the loop are connected to."""
    assert inner.loop is not None
    graph, loop = inner.graph, inner.loop.node.id
    if inner.holder != loop:
        return []
    found: list[tuple[str, str]] = []
    for edge in graph.leaving.get(loop, ()):
        source = inner.value_at(edge.source, edge.out, "")
        found.append((f"{edge.source}.{edge.out[1]}", source or "none"))
    return found
