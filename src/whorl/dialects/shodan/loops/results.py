"""What a loop gives: its declared outputs, each from the first, the last or all iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from whorl import ir
from whorl.dialects.shodan.fields import items_of, span_of, table_of, text_of
from whorl.dialects.shodan.loops.mapping import inner_node, slot_source
from whorl.dialects.shodan.sources import called, expression, given, output, quoted
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import PortSpec
    from whorl.source import Mapping

COUNT = "iteration_count"
TAKES = ("last", "first", "all")


def read_results(level: Level, inner: Level) -> tuple[tuple[ir.Collect, ...], ir.Fields]:
    """What is collected after each iteration, and the outputs that are made of it."""
    assert inner.loop is not None
    node = inner.loop.node
    found: dict[str, ir.Collect] = {}
    for target, take, source in mapped_outputs(inner, given(inner.loop.number)):
        found[target] = ir.Collect(target, take, expression(source))
    for port in node.outputs:
        wired = None if port.name in found else _wired(inner, port)
        if wired is not None:
            found[port.name] = ir.Collect(port.name, "last", expression(wired))
        elif port.name not in found:
            _warn_unfed(level, inner, port)
    for name, source in _exports(inner):
        found.setdefault(name, ir.Collect(name, "last", expression(source)))
    found.setdefault(COUNT, ir.Collect(COUNT, "last", expression(given(inner.loop.number))))
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


def mapped_outputs(
    inner: Level, count: str, usual: str = "last"
) -> list[tuple[str, Literal["first", "last", "all"], str]]:
    """The output mappings: the loop's output, what is taken, and from where."""
    assert inner.loop is not None
    found: list[tuple[str, Literal["first", "last", "all"], str]] = []
    for mapping in items_of(inner.draft, inner.loop.node.fields, "outputMappings"):
        source, target = table_of(mapping, "source"), text_of(mapping, "target")
        take = text_of(mapping, "take") or usual
        if take not in TAKES:
            inner.draft.report(
                "W009",
                f"'take' must be last, first or all, not {take[:40]!r}",
                span_of(mapping, "take"),
                label="unknown word",
                help=suggest(take, TAKES),
            )
            take = usual
        value = None if source is None else _mapped(inner, source, count)
        if source is None or not target:
            inner.draft.report(
                "W006",
                f"an output mapping of loop {inner.loop.node.id!r} lacks its source or target",
                mapping.span,
                label="this mapping",
                help="write source: {node: ..., output: ...} and target: NAME",
            )
        elif value is not None:
            found.append((target, cast("Literal['first', 'last', 'all']", take), value))
    return found


def _mapped(inner: Level, source: Mapping, count: str) -> str | None:
    if text_of(source, "type") == "builtin":
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
    node = inner_node(inner, source)
    return None if node is None else output(node.id, text_of(source, "output"))


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


def _warn_unfed(level: Level, inner: Level, port: PortSpec) -> None:
    if port.name == COUNT:
        return
    assert inner.loop is not None
    node = inner.loop.node
    level.draft.warn(
        "W023",
        f"output {port.name!r} of loop {node.id!r} comes from nowhere and will be null",
        node.span,
        label="no source",
        help="add it to outputMappings, or connect an inner output to it",
    )


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
