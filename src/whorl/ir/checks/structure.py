"""Checks that nodes refer to each other correctly, and that loops have what they need."""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import Diagnostic
from whorl.ir import nodes
from whorl.ir.checks.scopes import Subject, suggest
from whorl.ir.expressions import conditions_in
from whorl.ir.values import BranchTaken, Constant, Plateau, Score
from whorl.ir.walk import blocks_in, blocks_of, names_given, node_path, slot_path, walk
from whorl.ir.worst_case import worst_case
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


# The paths of nodes by their names.
Taken: TypeAlias = dict[str, str]
_SHOWN_MAX = 8
# The agent programs by the names that they have without a configuration.
_AGENTS = {name: name for name in ("claude-code", "codex", "gemini")} | {"claude": "claude-code"}
# The kinds of programs that keep no sessions.
_NO_SESSIONS = frozenset({"gemini", "text"})
TIME_MIN_S = 0.001
CALLS_MAX = 1_000
_ADD_A_SCORE = (
    'add a score to `until`: score: {from: "{{ review.score }}"}; without `at_least` it only '
    "measures"
)


def check_unique(
    subject: Subject, block: nodes.Block | None = None, path: str = "", taken: Taken | None = None
) -> Iterator[Diagnostic]:
    """Checks that names are unique within a scope, which open blocks share with theirs (W012)."""
    taken = {} if taken is None else taken
    for node in (block or subject.workflow.body).nodes:
        at = node_path(path, node.name)
        if node.name in taken:
            first = subject.places.node(taken[node.name])
            yield Diagnostic(
                "W012",
                f"two steps are called {node.name[:60]!r}",
                subject.places.node(at),
                f"the first one is on line {first.line}" if first else "again",
                "choose another name for one of them",
            )
        taken.setdefault(node.name, at)
        for slot, inner in blocks_of(node):
            names = taken if inner.open else {}
            yield from check_unique(subject, inner, slot_path(at, slot), names)


def check_order(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that `after` names nodes of the same block (W005)."""
    for path, block in blocks_in(subject.workflow.body):
        names = {node.name for node in block.nodes}
        for node in block.nodes:
            for after in node.after:
                if after.node in names:
                    continue
                yield Diagnostic(
                    "W005",
                    f"{node.name!r} waits for {after.node[:60]!r}, which is not in the same block",
                    subject.places.part(after) or subject.places.node(node_path(path, node.name)),
                    "unknown step",
                    suggest(after.node, names - {node.name})
                    or "there is no other step in this block",
                )


def check_cycles(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that nodes do not wait for each other in a circle (W011), once per block."""
    for path, block in blocks_in(subject.workflow.body):
        circle = _circle(block)
        if not circle:
            continue
        shown = " -> ".join(circle[:_SHOWN_MAX]) + (" -> ..." if len(circle) > _SHOWN_MAX else "")
        yield Diagnostic(
            "W011",
            f"steps wait for each other: {shown} -> {circle[0]}",
            subject.places.node(node_path(path, circle[0])),
            "waits for itself",
            "remove one `after`; to do steps again, put them into a `repeat`",
        )


def _circle(block: nodes.Block) -> list[str]:
    """Returns a circle of nodes, each waiting for the next one, from the first one written."""
    names = {node.name: index for index, node in enumerate(block.nodes)}
    waits = {n.name: [after.node for after in n.after if after.node in names] for n in block.nodes}
    if len(waits) < len(block.nodes):
        return []  # Two nodes of one name are reported as that.
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as fault:
        circle: list[str] = fault.args[1][:0:-1]
        first = circle.index(min(circle, key=names.__getitem__))
        return circle[first:] + circle[:first]
    return []


def check_jumps(
    subject: Subject, block: nodes.Block | None = None, path: str = "", loops: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """Checks that `break` and `continue` name a loop around them (W005)."""
    for node in (block or subject.workflow.body).nodes:
        at = node_path(path, node.name)
        if isinstance(node, nodes.Break | nodes.Continue) and node.loop and node.loop not in loops:
            yield Diagnostic(
                "W005",
                f"{node.name!r} names {node.loop[:60]!r}, which is not a loop around it",
                subject.places.node(at),
                "no such loop",
                suggest(node.loop, loops) or "put it inside of the loop",
            )
        inside = (*loops, node.name) if isinstance(node, nodes.Loop) else loops
        for slot, inner in blocks_of(node):
            yield from check_jumps(subject, inner, slot_path(at, slot), inside)


def check_branches(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that a branch condition names a branch of its loop's body and its case (W005)."""
    for _, loop, condition, span in subject.conditions():
        if not isinstance(condition, BranchTaken):
            continue
        given = names_given(loop.body)
        branches = {name: node for name, node in given if isinstance(node, nodes.Branch)}
        branch = branches.get(condition.node)
        if branch is None:
            message = f"{condition.node[:60]!r} is not a branch of the loop"
            advice = suggest(condition.node, branches) or "name a step with `choose` or `if`"
            yield Diagnostic("W005", message, span, "no such branch", advice)
            continue
        cases = (*branch.cases, *((branch.default,) if branch.default else ()))
        names = [case.name for case in cases]
        if condition.name not in names:
            message = f"{condition.node!r} has no case {condition.name[:60]!r}"
            advice = suggest(condition.name, names)
            yield Diagnostic("W005", message, span, "no such case", advice)


def check_calls(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that calls name existing workflows (W005) and no workflow calls itself (W011).

    A called workflow also has no trigger that may start no run or several (W030). An empty key was
    reported by its reader.
    """
    called = dict(subject.workflow.workflows)
    for path, node in subject.nodes():
        if not isinstance(node, nodes.Call) or not node.workflow:
            continue
        span, calls = subject.places.node(path), f"{node.name!r} calls {node.workflow[:60]!r}, "
        if node.workflow not in called:
            message, advice = f"{calls}which does not exist", suggest(node.workflow, called)
            yield Diagnostic("W005", message, span, "unknown workflow", advice)
        elif _leads_back(node.workflow, called):
            advice = "repeat steps with a loop, which has limits"
            yield Diagnostic("W011", f"{calls}which calls itself", span, "leads back", advice)
        elif (trigger := called[node.workflow].trigger) is not None and trigger.has_rules:
            message = f"{calls}whose trigger {trigger.name!r} may start no run or several runs"
            advice = "remove these rules from the called workflow, and decide before the call"
            yield Diagnostic("W030", message, span, "not carried out", advice)


def _leads_back(start: str, called: dict[str, nodes.Workflow]) -> bool:
    queue = [start]
    for key in queue:
        workflow = called.get(key)
        for _, node in walk(workflow.body) if workflow else ():
            if isinstance(node, nodes.Call) and node.workflow == start:
                return True
            if isinstance(node, nodes.Call) and node.workflow not in queue:
                queue.append(node.workflow)
    return False


def check_sessions(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that a step can continue its session, and is the one that began it (W007)."""
    for at, words, advice in session_faults(subject.workflow.body):
        message = f"{at.rpartition('/')[2]!r} {words}"
        yield Diagnostic("W007", message, subject.places.node(at), "cannot continue", advice)


def session_faults(
    block: nodes.Block,
    agents: Mapping[str, str] = _AGENTS,
    path: str = "",
    kept: Taken | None = None,
    *,
    continues: bool = False,
) -> Iterator[tuple[str, str, str]]:
    """Returns the steps that cannot continue a session: path, reason and advice."""
    kept = {} if kept is None else kept
    for node in block.nodes:
        at = node_path(path, node.name)
        if isinstance(node, nodes.Task) and node.kind in ("agent", "ask"):
            agent = dict(node.inputs.entries).get("agent")
            name = str(agent.value) if isinstance(agent, Constant) else ""
            who = "a model" if node.kind == "ask" else agents.get(name, "")
            words, advice = "", "give each program a session of its own"
            if who in _NO_SESSIONS and (node.session or continues):
                words = f"continues a session, but agent {name!r} keeps none"
                advice = "use claude-code or codex, or put what it must know into the prompt"
            elif node.session and who and (first := kept.setdefault(node.session, who)) != who:
                words = f"cannot share the session {node.session[:60]!r} of {first} with {who}"
            if words:
                yield at, words, advice
        is_loop = isinstance(node, nodes.Loop | nodes.ForEach)
        goes_on = getattr(node, "session", "") == "continue" if is_loop else continues
        for slot, inner in blocks_of(node):
            below = {} if is_loop else kept
            yield from session_faults(inner, agents, slot_path(at, slot), below, continues=goes_on)


def check_best(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that a loop that needs the best iteration has a score (W013)."""
    for path, loop in subject.loops():
        kinds = set(map(type, conditions_in(loop.until)))
        needs = {"return": ("returns the best iteration", loop.returns == "best")}
        takes_best = any(collect.take == "best" for collect in loop.collect)
        needs["collect"] = ("collects the best iteration", takes_best)
        needs["until"] = ("watches the score ('plateau')", Plateau in kinds)
        for field, (words, is_needed) in needs.items() if Score not in kinds else ():
            if is_needed:
                message = f"loop {loop.name!r} {words}, but nothing in it has a score"
                span = subject.places.field(path, field)
                yield Diagnostic("W013", message, span, "no score", _ADD_A_SCORE)


def check_patterns(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that patterns compile in RE2 and capture something (W014)."""
    for path, _, score, _ in subject.conditions():
        if not isinstance(score, Score) or score.pattern is None:
            continue
        from whorl.language import pattern

        node = subject.places.node(path)
        try:
            groups = pattern(score.pattern).groups
        except LanguageError as fault:
            span = subject.places.span(score, fault.offset) or node
            yield Diagnostic("W014", fault.message, span, "here", fault.help)
            continue
        if groups == 0:
            message = f"pattern {score.pattern[:60]!r} captures nothing"
            advice = "put the number into parentheses: 'SCORE: ([0-9.]+)'"
            span = subject.places.span(score) or node
            yield Diagnostic("W014", message, span, "no group", advice)


def check_limits(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that limits of the run, its loops and other nodes are positive and bounded (W007)."""
    for message in _wrong(subject.workflow.limits):
        yield Diagnostic("W007", f"the run's {message}", None, "", "raise it or remove it")
    for path, loop in subject.loops():
        span = subject.places.field(path, "at_most")
        iterations = loop.limits.iterations
        most = nodes.ITERATIONS_MAX
        if isinstance(iterations, int) and not 1 <= iterations <= most:
            message = f"loop {loop.name!r} may take from 1 to {most:,} iterations"
            advice = f"it says {iterations:,}; nest loops if more are needed"
            yield Diagnostic("W007", message, span, "out of range", advice)
        each = ("iteration time limit", TIME_MIN_S, loop.limits.iteration_time_s)
        for message in (*_wrong(loop.limits), *_out_of_range(each)):
            text = f"loop {loop.name!r}: {message}"
            yield Diagnostic("W007", text, span, "out of range", "raise it or remove it")
    for path, node in subject.nodes():
        total_s = node.total_timeout_s if isinstance(node, nodes.Task) else None
        item_s = node.item_timeout_s if isinstance(node, nodes.ForEach) else None
        times = [("timeout", TIME_MIN_S, time_s) for time_s in (node.timeout_s, total_s)]
        for message in _out_of_range(*times, ("item timeout", TIME_MIN_S, item_s)):
            span = subject.places.field(path, "timeout")
            text = f"{node.name!r}: {message}"
            yield Diagnostic("W007", text, span, "out of range", "raise it or remove it")


def _wrong(limits: nodes.LoopLimits | nodes.RunLimits) -> Iterator[str]:
    time, cost = ("time limit", TIME_MIN_S, limits.time_s), ("cost limit", 0.0, limits.cost_usd)
    counts = (("token limit", 1, limits.tokens), ("call limit", 1, limits.calls))
    return _out_of_range(time, cost, *counts)


def _out_of_range(*limits: tuple[str, float, object]) -> Iterator[str]:
    for name, least, limit in limits:
        if isinstance(limit, int | float) and not (least <= limit and math.isfinite(limit)):
            yield f"{name} of {limit:g} is not possible"


def check_worst_case(subject: Subject) -> Iterator[Diagnostic]:
    """Checks that a workflow that could make very many priced calls has a budget (W019).

    A missing budget is an error if the format needs one.
    """
    worst, limits = worst_case(subject.workflow), subject.workflow.limits
    has_budget = (limits.cost_usd, limits.tokens, limits.calls) != (None, None, None)
    if has_budget or worst.unbudgeted is None or worst.unbudgeted <= CALLS_MAX:
        return
    path = worst.heaviest
    yield Diagnostic(
        "W019",
        f"this workflow could make {worst.unbudgeted:,} priced calls, and no budget limits them",
        subject.places.field(path, "at_most") if path else None,
        "most of them here" if path else "",
        "add `budget: 5.00` (dollars) at the top, `cost` to `at_most`, or lower the limits",
        severity="error" if subject.is_budget_needed else "warning",
    )
