"""For-each: the inside runs once for each item of a list, several at once if asked.

`forEach: {items: INPUT, item: NAME, parallel: N}`: the input of the loop that holds the list, the
name under which inner nodes are given an item, and how many run at once (1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import scalar_of, span_of, table_of, text_of
from whorl.dialects.shodan.loops.mapping import carry_previous, loop_inputs
from whorl.dialects.shodan.loops.results import loop_outputs
from whorl.dialects.shodan.nodes.shared import common
from whorl.dialects.shodan.parts import COUNT
from whorl.dialects.shodan.sources import called, expression, given, quoted
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.level import Level

PARALLEL_MAX = 1_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def read_each(level: Level, inner: Level, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """A for-each, behind a node that holds what the loop is given."""
    scene = inner.loop
    assert scene is not None
    node = scene.node
    options = table_of(node.fields, "forEach") or Mapping((), node.span)
    scene.item = _item(inner, options)
    inputs = dict(loop_inputs(level, inner))
    items = text_of(options, "items") or next(iter(inputs), "")
    if items not in inputs:
        level.draft.report(
            "W010",
            f"'forEach' of loop {node.id!r} takes its items from the input {items[:60]!r}, which "
            "it does not have",
            span_of(options, "items"),
            label="no such input",
            help=suggest(items, inputs) or "add an input of the type json",
        )
        return [ir.Compute(value=ir.Constant(None), **common(node))]
    for name in ("continueWhile", "exitWhen"):
        if table_of(node.fields, name) is not None:
            level.draft.warn(
                "W023",
                f"{name!r} of loop {node.id!r} has no effect: 'forEach' takes all items",
                span_of(node.fields, name),
                label="no effect",
                help="leave it out, or leave 'forEach' out",
            )
    held = level.free_name(f"{node.id}.inputs")
    scene.held = held
    scene.inputs = dict.fromkeys(inputs, held)
    scene.index = inner.claim("index")
    carry_previous(inner)
    body = build(inner)
    hold = ir.Compute(
        name=held, value=ir.Fields(tuple((n, expression(s)) for n, s in inputs.items()))
    )
    each = ir.ForEach(
        items=expression(called("dig", given(held), quoted(items))),
        body=body,
        item_name=scene.item[1],
        index_name=scene.index,
        concurrency=_parallel(level, options),
        on_item_failure="halt",
        shape=_shape(inner),
        **common(node),
    )
    return [hold, each]


def _item(inner: Level, options: Mapping) -> tuple[str, str]:
    """What the item is called inside, where it stands beside the inputs of the loop."""
    assert inner.loop is not None
    name = text_of(options, "item") or "item"
    span = span_of(options, "item")
    if not _NAME.fullmatch(name):
        inner.draft.report(
            "W012",
            f"'item' names what the inside is given, and {name[:60]!r} is no name",
            span,
            label="no name",
            help="write a word of letters, digits, _ and -; a part of an item is read inside",
        )
    elif inner.loop.node.input(name) is not None:
        inner.draft.report(
            "W012",
            f"loop {inner.loop.node.id!r} has an input {name!r}, so its items need another name",
            span,
            label="taken",
            help="write forEach: {item: NAME}, with a name that no input has",
        )
    return name, inner.claim(name)


def _shape(inner: Level) -> ir.Fields:
    assert inner.loop is not None
    count = "(it | length)"
    entries: list[tuple[str | ir.Expression, ir.Value]] = []
    for target, (take, source) in loop_outputs(inner, count, "all").items():
        if source == count:
            entries.append((target, expression(count)))
            continue
        arguments = source.removeprefix("port(").removesuffix(")")
        entries.append((target, expression(f"gathered(it, {arguments}, {quoted(take)})")))
    entries.append((COUNT, expression(count)))
    return ir.Fields(tuple(entries))


def _parallel(level: Level, options: Mapping) -> int:
    written = scalar_of(options, "parallel")
    if written is None or written.value is False:
        return 1
    if written.value is True:
        return PARALLEL_MAX
    number = int(written.text) if written.text.isascii() and written.text.isdigit() else 0
    if not 1 <= number <= PARALLEL_MAX:
        level.draft.report(
            "W007",
            f"'parallel' must be true, or a whole number from 1 to {PARALLEL_MAX:,}",
            written.span,
            label="no such number",
            help="write how many items may run at once",
        )
        return 1
    return number
