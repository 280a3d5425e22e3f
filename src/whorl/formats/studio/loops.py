"""Regions as loops of the IR: what is repeated, until when, and what is carried over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.texts import called, quoted
from whorl.formats.studio.canvas import LOOP_PORTS, continue_targets
from whorl.formats.studio.scope import expression, field_of, value_of
from whorl.formats.studio.texts import NodeReader, is_written

if TYPE_CHECKING:
    from whorl.formats.studio.canvas import Region
    from whorl.formats.studio.scope import Scope


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
    threshold = node.number("stabilityThreshold")
    if threshold is not None and not 0 <= threshold <= 1:
        node.wrong("stabilityThreshold", "a number from 0 to 1")
        threshold = None
    until: ir.Condition | None = None
    if condition == "stable_output":
        threshold = THRESHOLD if threshold is None else float(threshold)
        subject = expression(value_of(region.end))
        until = ir.Stable(subject, threshold, exceeds=True)
        if threshold == 1:
            message = f"{node.owner} never ends by 'stable_output': no similarity exceeds 1"
            advice = "write a number below 1, such as 0.99"
            span = node.span("stabilityThreshold")
            node.context.warn("W023", message, span, label="is never exceeded", help=advice)
    elif region.start in scope.deciders:
        until = ir.BranchTaken(scope.helper(scope.deciders[region.start], "branch"), "done")
    words = (("iteration", "number"), ("index", "index"), ("total", "limit"))
    loop = ir.Loop(
        body=body,
        until=until,
        limits=ir.LoopLimits(iterations=_iterations(node), iteration_time_s=scope.timeout_s),
        words={
            "fields": {"max_iterations": "maxIterations", "budget": "--budget"},
            "ports": {side: list(names) for side, names in LOOP_PORTS.items()},
        },
        carry=(_carry(node, region, appends=appends), *scope.conversations.get(region.start, ())),
        collect=(ir.Collect("iterations", "all", expression(value_of(region.end))),),
        facts=tuple((scope.helper(region.start, word), fact) for word, fact in words),  # type: ignore[misc]
        tells=(("input", expression(called("preview", value_of(region.start)))),),
        shape=expression(called("ended", "it", quoted(region.end))),
        **node.common(),
    )
    return [loop]


def _iterations(node: NodeReader) -> int:
    number = node.number("maxIterations")
    if number is None or number != int(number):
        if number is not None:
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


def _carry(node: NodeReader, region: Region, *, appends: bool) -> ir.Carry:
    """The input: at first what comes in, later what the iteration before fed back."""
    first = node.input or "none"
    later, giver = _feedback(node.scope, region)
    if appends:
        number = value_of(node.scope.helper(region.start, "iteration"))
        later = called("append", value_of(region.start), later, quoted(giver), number)
        first = called("text_only", first, quoted(region.start))
    return ir.Carry(region.start, first=expression(first), later=expression(later))


def _feedback(scope: Scope, region: Region) -> tuple[str, str]:
    """What an iteration feeds back, and the node that gives it: what reaches the exit, or, where a
    router decides, what is at the end of its continue path.
    """
    router = scope.deciders.get(region.start)
    if router is None:
        givers = {edge.source for edge in scope.canvas.incoming[region.end]}
        return value_of(region.end), givers.pop() if len(givers) == 1 else region.end
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
    last, value = min(ends, default=router), field_of(router, "value")
    if last == router:
        return value, router
    ran = called("ran", quoted(last))
    return called("pick", "true", value, ran, scope.output(last, "output", last)), last


def read_iterator(scope: Scope, region: Region, body: ir.Block) -> list[ir.Node]:
    """Each item of a list goes through the body; the aggregator makes one result of all."""
    node = NodeReader(scope, scope.canvas.nodes[region.start])
    end = NodeReader(scope, scope.canvas.nodes[region.end])
    mode = node.word("mode", ("sequential", "parallel"), "sequential")
    at_once = max(1, min(int(node.number("maxConcurrency") or 1), CONCURRENCY_MAX))
    strategy = end.word("strategy", ("array", "concat", "merge"), "array")
    written = end.scalar("separator")
    separator = "\n" if written is None else written.text
    items = scope.helper(region.start, "items")
    shape = called("gathered", "it", quoted(region.end), quoted(strategy), quoted(separator))
    listed, expressed = node.input or "none", node.get("expression")
    if is_written(expressed):
        # What an expression, which is a template or a path, finds in what comes in.
        listed = node.source(expressed) or node.path_source(expressed)
    source = called("items_of", listed, quoted(region.start))
    each = ir.ForEach(
        items=expression(value_of(items)),
        body=body,
        item_name=region.start,
        index_name=scope.helper(region.start, "index"),
        concurrency=at_once if mode == "parallel" else 1,
        shape=expression(shape),
        words={"ports": {"inputs": ["input"], "outputs": ["output"]}},
        **node.common(),
    )
    return [ir.Compute(name=items, value=expression(source)), each]


def read_end(node: NodeReader) -> list[ir.Node]:
    """What one iteration gives; if the router of a loop decided to go on, what it looked at."""
    scope, region = node.scope, node.scope.regions.by_end[node.id]
    router = scope.deciders.get(region.start)
    choices = scope.choices(scope.canvas.incoming[node.id])
    if router is not None:
        choices = [called("ran", quoted(router)), field_of(router, "value"), *choices]
        scope.refer(node.id, router)
    return node.compute(called("pick", *choices))
