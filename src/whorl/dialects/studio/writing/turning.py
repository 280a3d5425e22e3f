"""Stretches that run several times: loops with their exits, iterators with their aggregators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.nodes.turning import ITERATIONS, ITERATIONS_MAX, THRESHOLD
from whorl.dialects.studio.writing import foreign
from whorl.dialects.studio.writing.asking import feed_input, spoken
from whorl.dialects.studio.writing.drawing import Wire
from whorl.dialects.studio.writing.fields import number, seconds
from whorl.dialects.studio.writing.texts import wires
from whorl.dialects.studio.writing.trees import called, text_of, tree_of
from whorl.dialects.writing.unsaid import words_for
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here
    from whorl.language import tree


def draw_loop(here: Here, node: ir.Loop) -> dict[str, Any]:
    """The start of a loop."""
    data: dict[str, Any] = {}
    most = node.limits.iterations
    if not isinstance(most, int) or not 1 <= most <= ITERATIONS_MAX:
        words = most if isinstance(most, int) else "a computed number of"
        here.lose(f"{words} iterations", f"a loop of a canvas takes from 1 to {ITERATIONS_MAX}")
        most = ITERATIONS_MAX
    data["maxIterations"] = None if most == ITERATIONS else most
    match node.until:
        case None:
            pass
        case ir.Stable():
            _check_subject(here, node, node.until)
            data["exitCondition"] = "stable_output"
            if node.until.threshold != THRESHOLD:
                data["stabilityThreshold"] = number(node.until.threshold)
        case ir.BranchTaken(name="done") if here.sketch.is_own:
            data["exitCondition"] = "evaluator"
        case _:
            words = words_for(node.until)
            here.lose(
                f"{words} as the condition of a loop", "a router or a likeness ends one there"
            )
    if not here.sketch.is_own:
        foreign.carried_first(here, node)
    elif node.carry:
        _first(here, node, node.carry[0], data)
    return data | seconds(node)


def _check_subject(here: Here, node: ir.Loop, stable: ir.Stable) -> None:
    if here.sketch.is_own:
        return
    last = node.body.nodes[-1].name if node.body.nodes else ""
    subject = stable.subject.source if isinstance(stable.subject, ir.Expression) else ""
    if subject.strip("{ }") != last:
        here.lose("the value whose likeness ends a loop", "it is what reaches the exit there")


def _first(here: Here, node: ir.Loop, carry: ir.Carry, data: dict[str, Any]) -> None:
    first, later = carry.first, carry.later
    if isinstance(later, ir.Expression) and called(tree_of(later))[0] == "append":
        data["feedbackMode"] = "append"
    if isinstance(first, ir.Expression):
        feed_input(here, tree_of(first))
    if not isinstance(later, ir.Expression):
        return
    sink = _sink(called(tree_of(later))[1])
    if sink:
        # Where a continue path has one end only, that one is fed back without being told.
        here.sketch.references.setdefault(node.name, []).append(sink)


def _sink(arguments: list[tree.Expr]) -> str:
    for part in arguments:
        name, held = called(part)
        if name == "ran":
            return text_of(held[0]) or ""
    return ""


def draw_end(here: Here, node: ir.Compute) -> None:
    """The end of a turn: an edge for each way that leads to it."""
    if not isinstance(node.value, ir.Expression):
        return
    name, arguments = called(tree_of(node.value))
    decider = _decider(here)
    for live, value in zip(arguments[::2], arguments[1::2], strict=True) if name == "pick" else ():
        live_name, held = called(live)
        if live_name == "ran" and text_of(held[0]) == decider and called(value)[0] == "field":
            here.sketch.references.setdefault(node.name, []).append(decider)
            continue
        try:
            found = (
                [Wire(text_of(held[0]) or "", text_of(held[1]) or "")]
                if live_name == "took"
                else wires(here, value)
            )
        except CannotSay as loss:
            here.lose(loss.what, loss.why)
            continue
        for wire in found:
            here.drawing.connect(wire, node.name)


def _decider(here: Here) -> str:
    loop = here.sketch.nodes.get(here.around)
    if isinstance(loop, ir.Loop) and isinstance(loop.until, ir.BranchTaken):
        return loop.until.node.removesuffix(".branch")
    return ""


def draw_iterator(here: Here, node: ir.ForEach) -> dict[str, Any]:
    """The start of a stretch for each item."""
    data: dict[str, Any] = {}
    if node.concurrency != 1:
        data = {"mode": "parallel", "maxConcurrency": node.concurrency}
    if not here.sketch.is_own:
        return data | foreign.listed_items(here, node) | seconds(node)
    listed = here.sketch.nodes.get(f"{node.name}.items")
    value = listed.value if isinstance(listed, ir.Compute) else node.items
    if isinstance(value, ir.Expression):
        parsed = tree_of(value)
        name, arguments = called(parsed)
        data |= _items(here, arguments[0] if name == "items_of" else parsed, value)
    return data | seconds(node)


def _items(here: Here, source: tree.Expr | None, value: ir.Expression) -> dict[str, Any]:
    name, arguments = called(source)
    if name == "jsonpath":
        feed_input(here, arguments[0])
        return {"expression": text_of(arguments[1])}
    return {"expression": spoken(here, source, value)}


def aggregation(node: ir.ForEach) -> dict[str, Any]:
    """The fields of the node that gathers the results."""
    if not isinstance(node.shape, ir.Expression):
        return {}
    name, arguments = called(tree_of(node.shape))
    if name != "gathered":
        return {}
    strategy, separator = text_of(arguments[2]), text_of(arguments[3])
    return {
        "strategy": None if strategy == "array" else strategy,
        "separator": None if separator == "\n" else separator,
    }
