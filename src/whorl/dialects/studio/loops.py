"""Regions as loops of the IR: loops with their exits, iterators with their aggregators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.texts import called, quoted
from whorl.dialects.studio.regions import continue_targets
from whorl.dialects.studio.scope import expression, field_of, known
from whorl.dialects.studio.texts import NodeReader, is_written

if TYPE_CHECKING:
    from whorl.dialects.studio.regions import Region
    from whorl.dialects.studio.scope import Scope

ITERATIONS = 5
ITERATIONS_MAX = 50
THRESHOLD = 0.95
CONCURRENCY_MAX = 64
_CONDITIONS = ("max_iterations", "evaluator", "stable_output")


def read_loop(scope: Scope, region: Region, body: ir.Block) -> list[ir.Node]:
    """A loop: its input goes round, each iteration's result is the next one's input."""
    node = NodeReader(scope, scope.canvas.nodes[region.start])
    condition = node.word("exitCondition", _CONDITIONS, "max_iterations")
    appends = node.word("feedbackMode", ("replace", "append"), "replace") == "append"
    threshold = _threshold(node)
    until: ir.Condition | None = None
    if condition == "stable_output":
        until = ir.Stable(expression(known(region.end)), threshold, whole=False)
    elif region.start in scope.deciders:
        until = ir.BranchTaken(scope.helper(scope.deciders[region.start], "branch"), "done")
    words = (("iteration", "number"), ("index", "index"), ("total", "limit"))
    loop = ir.Loop(
        body=body,
        until=until,
        limits=ir.LoopLimits(iterations=_iterations(node), iteration_time_s=scope.timeout_s),
        words={"fields": {"max_iterations": "maxIterations", "budget": "--budget"}},
        carry=(_carry(node, region, appends=appends), *scope.conversations.get(region.start, ())),
        collect=(ir.Collect("iterations", "all", expression(known(region.end))),),
        facts=tuple((scope.helper(region.start, word), fact) for word, fact in words),  # type: ignore[misc]
        tells=(("input", expression(called("preview", known(region.start)))),),
        shape=expression(called("ended", "it", quoted(region.end))),
        **node.common(),
    )
    return [loop]


def _iterations(node: NodeReader) -> int:
    number = node.number("maxIterations")
    if number is None:
        return ITERATIONS
    if number != int(number):
        node.wrong("maxIterations", f"a whole number from 1 to {ITERATIONS_MAX}")
        return ITERATIONS
    taken = max(1, min(int(number), ITERATIONS_MAX))
    if taken != number:
        message = f"{node.owner} may take from 1 to {ITERATIONS_MAX} iterations, not {number:g}; "
        message += f"it takes {taken}"
        advice = f"write a number from 1 to {ITERATIONS_MAX}"
        span = node.span("maxIterations")
        node.context.warn("W015", message, span, label=f"taken as {taken}", help=advice)
    return taken


def _threshold(node: NodeReader) -> float:
    number = node.number("stabilityThreshold")
    if number is None or 0 <= number <= 1:
        return THRESHOLD if number is None else float(number)
    node.wrong("stabilityThreshold", "a number from 0 to 1")
    return THRESHOLD


def _carry(node: NodeReader, region: Region, *, appends: bool) -> ir.Carry:
    """The input: at first what comes in, later what the iteration before fed back."""
    first = node.input or "none"
    later, giver = _feedback(node.scope, region)
    if appends:
        number = known(node.scope.helper(region.start, "iteration"))
        later = called("append", known(region.start), later, quoted(giver), number)
        first = called("text_only", first, quoted(region.start))
    return ir.Carry(region.start, first=expression(first), later=expression(later))


def _feedback(scope: Scope, region: Region) -> tuple[str, str]:
    """What an iteration feeds back, and the node that gives it: what reaches the exit, or, where a
    router decides, what is at the end of its continue path.
    """
    router = scope.deciders.get(region.start)
    if router is None:
        givers = {edge.source for edge in scope.canvas.incoming[region.end]}
        return known(region.end), givers.pop() if len(givers) == 1 else region.end
    last = _continue_end(scope, region, router)
    value = field_of(router, "value")
    if last == router:
        return value, router
    ran = called("ran", quoted(last))
    return called("pick", "true", value, ran, scope.output(last, "output", last)), last


def _continue_end(scope: Scope, region: Region, router: str) -> str:
    """The last node of the continue path; the router itself if nothing follows."""
    canvas, regions = scope.canvas, scope.regions
    sources = {edge.source for edge in scope.feedback}
    ends = {name for name in sources if name == router or regions.is_inside(name, region)}
    if not ends:
        starts = continue_targets(canvas, router, region)
        path = canvas.forward(starts, lambda edge: edge.target != region.end)
        path = {name for name in path if regions.level(name) is region}
        ends = {n for n in path if not any(edge.target in path for edge in canvas.outgoing[n])}
    if len(ends) > 1:
        listed = ", ".join(repr(name) for name in canvas.nodes if name in ends)
        message = f"the continue path of router {router!r} has {len(ends)} ends: {listed}"
        label, advice = "which of them is fed back?", "lead them together into one transform"
        scope.context.report("W010", message, canvas.nodes[router].span, label=label, help=advice)
    return min(ends, default=router)


def read_iterator(scope: Scope, region: Region, body: ir.Block) -> list[ir.Node]:
    """Each item of a list goes through the body; the aggregator makes one result of all."""
    node = NodeReader(scope, scope.canvas.nodes[region.start])
    end = NodeReader(scope, scope.canvas.nodes[region.end])
    mode = node.word("mode", ("sequential", "parallel"), "sequential")
    at_once = int(node.number("maxConcurrency") or 1)
    strategy = end.word("strategy", ("array", "concat", "merge"), "array")
    written = end.scalar("separator")
    separator = "\n" if written is None else written.text
    items = scope.helper(region.start, "items")
    shape = called("gathered", "it", quoted(region.end), quoted(strategy), quoted(separator))
    source = called("items_of", _items(node), quoted(region.start))
    each = ir.ForEach(
        items=expression(known(items)),
        body=body,
        item_name=region.start,
        index_name=scope.helper(region.start, "index"),
        concurrency=max(1, min(at_once, CONCURRENCY_MAX)) if mode == "parallel" else 1,
        shape=expression(shape),
        **node.common(),
    )
    return [ir.Compute(name=items, value=expression(source)), each]


def _items(node: NodeReader) -> str:
    """The list: what comes in, or what an expression (a template or a path) finds in it."""
    value, written = node.input or "none", node.get("expression")
    if not is_written(written):
        return value
    return node.source(written) or node.path_source(written)


def read_end(node: NodeReader) -> list[ir.Node]:
    """What one iteration gives; if the router of a loop decided to go on, what it looked at."""
    scope, region = node.scope, node.scope.regions.by_end[node.id]
    router = scope.deciders.get(region.start)
    choices = scope.choices(scope.canvas.incoming[node.id])
    if router is not None:
        choices = [called("ran", quoted(router)), field_of(router, "value"), *choices]
        scope.refer(node.id, router)
    return node.compute(called("pick", *choices))
