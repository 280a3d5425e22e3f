"""Stretches that run several times: loops with their exits, iterators with their aggregators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.canvas.feedback import CONTINUE
from whorl.dialects.studio.functions.paths import read_path
from whorl.dialects.studio.nodes.config import Config
from whorl.dialects.studio.texts.placeholders import own_input, text_source
from whorl.dialects.studio.texts.sources import called, expression, field, known, quoted
from whorl.language import LanguageError
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.canvas.regions import Region
    from whorl.dialects.studio.scene import Scene

ITERATIONS = 5
ITERATIONS_MAX = 50
THRESHOLD = 0.95
CONCURRENCY_MAX = 64
_CONDITIONS = ("max_iterations", "evaluator", "stable_output")


def read_loop(scene: Scene, region: Region, body: ir.Block) -> list[ir.Node]:
    """A loop: its input goes round, each turn's result is the next turn's input."""
    config = Config(scene.draft, scene.canvas.nodes[region.start])
    condition = config.word("exitCondition", _CONDITIONS, "max_iterations")
    appends = config.word("feedbackMode", ("replace", "append"), "replace") == "append"
    threshold = _threshold(config)
    until: ir.Condition | None = None
    if condition == "stable_output":
        until = ir.Stable(expression(known(region.end)), threshold, whole=False)
    elif region.start in scene.deciders:
        until = ir.BranchTaken(scene.helper(scene.deciders[region.start], "branch"), "done")
    limits = ir.LoopLimits(iterations=_iterations(scene, config), iteration_time_s=scene.timeout_s)
    facts = tuple(
        (scene.helper(region.start, word), fact)
        for word, fact in (("iteration", "number"), ("index", "index"), ("total", "limit"))
    )
    loop = ir.Loop(
        body=body,
        until=until,
        limits=limits,
        limit_fields=(("max_iterations", "maxIterations"), ("budget", "--budget")),
        carry=(_carry(scene, region, appends=appends), *_conversations(scene, region)),
        collect=(ir.Collect("iterations", "all", expression(known(region.end))),),
        facts=facts,  # type: ignore[arg-type]
        tells=(("input", expression(called("preview", known(region.start)))),),
        shape=expression(called("ended", "it", quoted(region.end))),
        **config.common(),
    )
    return [loop]


def _iterations(scene: Scene, config: Config) -> int:
    number = config.number("maxIterations")
    if number is None:
        return ITERATIONS
    if number != int(number):
        value = config.get("maxIterations")
        assert value is not None
        config.wrong("maxIterations", f"a whole number from 1 to {ITERATIONS_MAX}", value)
        return ITERATIONS
    clamped = max(1, min(int(number), ITERATIONS_MAX))
    if clamped != number:
        scene.draft.warn(
            "W015",
            f"loop {config.node.id!r} may take from 1 to {ITERATIONS_MAX} iterations, not "
            f"{number:g}; it takes {clamped}",
            config.span("maxIterations"),
            label=f"taken as {clamped}",
            help=f"write a number from 1 to {ITERATIONS_MAX}",
        )
    return clamped


def _threshold(config: Config) -> float:
    number = config.number("stabilityThreshold")
    if number is None:
        return THRESHOLD
    if not 0 <= number <= 1:
        value = config.get("stabilityThreshold")
        assert value is not None
        config.wrong("stabilityThreshold", "a number from 0 to 1", value)
        return THRESHOLD
    return float(number)


def _carry(scene: Scene, region: Region, *, appends: bool) -> ir.Carry:
    """The input: at first what comes in, later what the turn before fed back."""
    first = own_input(scene, region.start) or "none"
    source, giver = _fed_back(scene, region)
    if not appends:
        return ir.Carry(region.start, first=expression(first), later=expression(source))
    number = known(scene.helper(region.start, "iteration"))
    later = called("append", known(region.start), source, quoted(giver), number)
    first = called("text_only", first, quoted(region.start))
    return ir.Carry(region.start, first=expression(first), later=expression(later))


def _fed_back(scene: Scene, region: Region) -> tuple[str, str]:
    """What a turn feeds back, and the node that gives it: what reaches the exit, or, where a router
    decides, what is at the end of its continue path.
    """
    router = scene.deciders.get(region.start)
    if router is None:
        givers = {edge.source for edge in scene.canvas.incoming[region.end]}
        return known(region.end), givers.pop() if len(givers) == 1 else region.end
    sink = _sink(scene, region, router)
    if sink == router:
        return field(router, "value"), router
    ran = called("ran", quoted(sink))
    value = scene.output(sink, "output", sink)
    return called("pick", "true", field(router, "value"), ran, value), sink


def _sink(scene: Scene, region: Region, router: str) -> str:
    """The last node of the continue path; the router itself if nothing follows."""
    canvas = scene.canvas
    explicit = {
        edge.source
        for edge in scene.feedback
        if edge.source == router or scene.is_within(edge.source, region)
    }
    starts = [
        edge.target
        for edge in canvas.outgoing[router]
        if edge.branch == CONTINUE and edge.target != region.end
    ]
    path = canvas.forward(starts, lambda edge: edge.target != region.end)
    path = {name for name in path if scene.regions.level(name) is region}
    sinks = explicit or {
        name for name in path if not any(edge.target in path for edge in canvas.outgoing[name])
    }
    if len(sinks) > 1:
        listed = ", ".join(repr(name) for name in canvas.nodes if name in sinks)
        scene.draft.report(
            "W010",
            f"the continue path of router {router!r} has {len(sinks)} ends: {listed}",
            canvas.nodes[router].span,
            label="which of them is fed back?",
            help="lead them together into one transform",
        )
    return min(sinks) if sinks else router


def _conversations(scene: Scene, region: Region) -> list[ir.Carry]:
    found: list[ir.Carry] = []
    for told in scene.conversations.get(region.start, ()):
        answer = field(told.node, "response")
        later = called("remembered", known(told.name), known(told.prompt), answer, str(told.keep))
        found.append(ir.Carry(told.name, first=ir.Constant([]), later=expression(later)))
    return found


def read_exit(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """The result of a turn; if a router decided to go on, what it looked at."""
    region = scene.regions.by_end[node.id]
    common = Config(scene.draft, node).common()
    router = scene.deciders.get(region.start)
    choices: list[str] = []
    if router is not None:
        choices = [called("ran", quoted(router)), field(router, "value")]
        scene.refer(node.id, router)
    for edge in scene.canvas.incoming[node.id]:
        choices += [scene.live(edge) or "true", scene.carried(edge)]
    return [ir.Compute(value=expression(called("pick", *choices)), **common)]


def read_iterator(scene: Scene, region: Region, body: ir.Block) -> list[ir.Node]:
    """Each item of a list goes through the body; the aggregator makes one result of all."""
    config = Config(scene.draft, scene.canvas.nodes[region.start])
    end = Config(scene.draft, scene.canvas.nodes[region.end])
    mode = config.word("mode", ("sequential", "parallel"), "sequential")
    at_once = int(config.number("maxConcurrency") or 1)
    strategy = end.word("strategy", ("array", "concat", "merge"), "array")
    written = end.scalar("separator")
    separator = "\n" if written is None else written.text
    items = scene.helper(region.start, "items")
    shape = called("gathered", "it", quoted(region.end), quoted(strategy), quoted(separator))
    source = called("items_of", _items(scene, config), quoted(region.start))
    return [
        ir.Compute(name=items, value=expression(source)),
        ir.ForEach(
            items=expression(known(items)),
            body=body,
            item_name=region.start,
            index_name=scene.helper(region.start, "index"),
            concurrency=max(1, min(at_once, CONCURRENCY_MAX)) if mode == "parallel" else 1,
            shape=expression(shape),
            **config.common(),
        ),
    ]


def _items(scene: Scene, config: Config) -> str:
    """The list: what comes in, or what an expression (a template or a path) finds in it."""
    node = config.node.id
    value = own_input(scene, node) or "none"
    written = config.get("expression")
    if not isinstance(written, Scalar) or not written.text.strip():
        return value
    source = text_source(scene, node, written)
    if source is not None:
        return source
    try:
        read_path(written.text)
    except LanguageError as fault:
        span = written.locate(fault.offset or 0)
        scene.draft.report("W008", fault.message, span, label="here", help=fault.help)
    return called("jsonpath", value, quoted(written.text))


def read_aggregator(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """What one item gives."""
    common = Config(scene.draft, node).common()
    choices: list[str] = []
    for edge in scene.canvas.incoming[node.id]:
        choices += [scene.live(edge) or "true", scene.carried(edge)]
    return [ir.Compute(value=expression(called("pick", *choices)), **common)]
