"""Nodes of a block that need no frame: they are skipped, or they only compute."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from whorl.interpreter import outcomes
from whorl.interpreter.constructs.ends import (
    SKIPPED_BY_CONDITION,
    SKIPPED_BY_ORDER,
    SUCCEEDED,
    end_of,
    record,
    satisfies,
)
from whorl.interpreter.evaluation import OverlayScope, changed, value_of, values_over
from whorl.interpreter.events import join
from whorl.ir import Assign, Compute
from whorl.language import LanguageError, truth

if TYPE_CHECKING:
    from whorl.interpreter.frames import BlockFrame, Outcome, Values
    from whorl.interpreter.plan import BlockPlan
    from whorl.interpreter.state import State
    from whorl.ir import Node
    from whorl.language import Json


def end_at_once(machine: State, frame: BlockFrame, plan: BlockPlan, name: str) -> bool:
    """Ends a node that needs no frame: it is skipped, or it only computes."""
    node = plan.nodes[name]
    ends = frame["ends"]
    for after in plan.nodes[name].after:
        if not satisfies(ends[after.node], after):
            record(machine, frame, name, SKIPPED_BY_ORDER)
            return True
    address = join(frame["address"], name)
    inputs: Json = None
    try:
        if node.when is not None and not truth(node.when, machine.scope(frame)):
            record(machine, frame, name, SKIPPED_BY_CONDITION)
            machine.note("node.skipped", address, {"cause": "condition"})
            return True
        if not isinstance(node, Compute | Assign):
            return False
        if machine.observer is not None:
            machine.observer.computing(machine, frame, node)
        inputs = echo_of(machine, frame, node)
        outcome = _compute(machine, frame, node)
    except LanguageError as fault:
        outcome = outcomes.failed(outcomes.language_failure(fault, address, node))
    end = end_of(machine, frame, node, outcome)
    record(machine, frame, name, end, outcome["value"], inputs=inputs)
    is_answer = isinstance(node, Compute) and node.answers and end is SUCCEEDED
    if is_answer and frame["block"].startswith(":"):
        # What a workflow answers that is called is its result, and no answer of the run.
        machine.note("run.answered", address)
    return True


def _compute(machine: State, frame: BlockFrame, node: Compute | Assign) -> Outcome:
    scope = machine.scope(frame)
    value: Json
    if isinstance(node, Assign):
        value = _assign(machine, frame, node)
    elif node.over is None:
        value = value_of(node.value, scope)
    else:
        place = f"{frame['scope']} {node.name}"
        value = machine.collect(place, partial(values_over, node, scope))
    if isinstance(node, Compute) and node.warns is not None:
        warning = value_of(node.warns, OverlayScope({"it": value}, scope))
        machine.warn_of(join(frame["address"], node.name), warning)
    if node.shape is not None:
        value = value_of(node.shape, OverlayScope({"it": value}, scope))
    return outcomes.succeeded(value)


def _assign(machine: State, frame: BlockFrame, node: Assign) -> Values:
    scope = machine.scope(frame)
    assigned: Values = {}
    root: dict[str, Any] = machine.root_values(frame["scope"])
    recorder = machine.plan.recorder(frame["block"] + node.name)
    for name, assignment in node.sets:
        value = value_of(assignment, scope)
        variables = root if recorder is None else root[recorder.variables]
        assigned[name] = changed(node.operation, name, variables.get(name), value)
        if recorder is None:
            root[name] = assigned[name]
        else:
            # Records may hold the variables as they were.
            root[recorder.variables] = variables | {name: assigned[name]}
    return assigned


def echo_of(machine: State, frame: BlockFrame, node: Node) -> Json:
    """What a node's record tells as its inputs; nothing where they cannot be computed."""
    if node.echo is None:
        return None
    try:
        return value_of(node.echo, machine.scope(frame))
    except LanguageError:
        # The node itself fails of it, and says why.
        return None
