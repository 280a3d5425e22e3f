"""Workflows of this dialect in plain words, for the writers of others.

Functions of the library give way to names, members and comparisons where that is the same for
every value that can arrive. A node for which it is not stays as it is, and other writers list it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.block import CONCURRENCY
from whorl.dialects.shodan.writing.adopting.work import fields_of, type_of
from whorl.dialects.shodan.writing.parts import Called, called, plain, tree_of
from whorl.dialects.shodan.writing.saying import (
    OTHERWISE,
    Said,
    Scope,
    in_jinja,
    input_of,
    literal_of,
    member,
    name_of,
)
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.shodan.writing.saying import Port

    Outputs = dict[Port, Said]

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def plainly(workflow: ir.Workflow) -> ir.Workflow:
    """The workflow, and those that it calls, as far as plain words can say them."""
    gives: dict[str, dict[str, Said]] = {}
    done: dict[str, ir.Workflow] = {}
    # A workflow that calls another one stands behind it.
    for key, one in workflow.workflows:
        done[key], gives[key] = _workflow(one, gives)
    return replace(_workflow(workflow, gives)[0], workflows=tuple(done.items()))


def _workflow(
    workflow: ir.Workflow, gives: dict[str, dict[str, Said]]
) -> tuple[ir.Workflow, dict[str, Said]]:
    given = {port.name: input_of(port) for port in workflow.inputs}
    scope = Scope(given=given, called=gives)
    body, outputs = _block(scope, workflow.body)
    after = scope.knowing(outputs)
    found: list[tuple[str, ir.Value]] = []
    types: dict[str, Said] = {}
    for name, value in workflow.outputs:
        try:
            found.append((name, after.expression(value)))
            types[name] = after.say(tree_of(value))
        except CannotSay:
            found.append((name, value))
    return replace(workflow, body=body, outputs=tuple(found)), types


def _block(scope: Scope, block: ir.Block) -> tuple[ir.Block, Outputs]:
    found: Outputs = {}
    nodes: list[ir.Node] = []
    for node in block.nodes:
        here = scope.knowing(found)
        try:
            ready = called(node.when)
            for argument in ready.arguments if ready.function == "ready" else ():
                here.say(argument)
            said, outputs = _node(here, node)
            found |= outputs
            nodes.append(said if ready.function != "ready" else replace(said, when=None))
        except CannotSay:
            nodes.append(node)
    is_small = len(nodes) <= CONCURRENCY
    return replace(
        block, nodes=tuple(nodes), concurrency=None if is_small else block.concurrency
    ), found


def _node(scope: Scope, node: ir.Node) -> tuple[ir.Node, Outputs]:
    match node:
        case ir.Task():
            return _task(scope, node)
        case ir.Compute() if isinstance(node.value, ir.Fields):
            return _compute(scope, node, node.value)
        case ir.Loop():
            return _loop(scope, node)
        case ir.Call():
            entries = [(key, scope.expression(value)) for key, value in node.inputs.entries]
            outputs = {
                (node.name, name): replace(said, source=member(node.name, name))
                for name, said in scope.called.get(node.workflow, {}).items()
            }
            return replace(node, inputs=ir.Fields(tuple(entries))), outputs
    raise OTHERWISE


def _task(scope: Scope, node: ir.Task) -> tuple[ir.Node, Outputs]:
    """A question or an agent whose whole answer is its output, or whose answer is checked."""
    outputs = results_of(node)
    inputs = {str(key): value for key, value in node.inputs.entries}
    messages = called(inputs.pop("messages", None))
    if messages.function == "messages" and _is_none(messages.arguments[0]):
        inputs = {"prompt": scope.text(messages.arguments[1])} | inputs
    elif node.kind == "agent" and inputs.pop("whole", None) == ir.Constant(True):
        session = tree_of(inputs.pop("session", None))
        if session is not None and not _is_none(session):
            raise OTHERWISE
        inputs.pop("keep_session", None)
        inputs["prompt"] = scope.text(inputs["prompt"])
        inputs["folder"] = scope.text(inputs["folder"])
    else:
        raise OTHERWISE
    kept = [(name, value) for name, value in inputs.items() if value != ir.Constant(None)]
    return replace(node, inputs=ir.Fields(tuple(kept)), shape=None), outputs


def _is_none(node: tree.Expr) -> bool:
    return isinstance(node, tree.Literal) and node.value is None


def results_of(node: ir.Task) -> Outputs:
    """The outputs of an agent that are its answer as it is; raises CannotSay."""
    shape = called(node.shape)
    if shape.function != "answered":
        raise OTHERWISE
    ports = json.loads(shape.text(2))
    if node.returns is not None:
        fields = {} if ports else fields_of(node.returns)
        if not fields:
            raise OTHERWISE
        return {(node.name, f): Said(member(node.name, f), kind) for f, kind in fields.items()}
    if node.kind == "agent":
        # The line ends at the end of what a program says are cut off here alone.
        raise OTHERWISE
    is_whole = [port.get("extract", {}).get("type") == "full" for port in ports]
    if not ports or not all(is_whole) or any(port["type"] != "string" for port in ports):
        raise OTHERWISE
    return {(node.name, port["name"]): Said(name_of(node.name), "text") for port in ports}


def _compute(scope: Scope, node: ir.Compute, value: ir.Fields) -> tuple[ir.Node, Outputs]:
    outputs: Outputs = {}
    entries: list[tuple[str | ir.Expression, ir.Value]] = []
    for key, part in value.entries:
        name = str(key)
        said = Said(member(node.name, name), "text")
        if name == "path":
            entries.append((key, scope.text(part)))
        elif isinstance(part, ir.Constant):
            entries.append((key, part))
            said = replace(said, type=type_of(part.value), nullable=part.value is None)
        else:
            before = scope.say(tree_of(part))
            entries.append((key, in_jinja(before.source)))
            said = replace(said, type=before.type, nullable=before.nullable)
        outputs[node.name, name] = said
    return replace(node, value=ir.Fields(tuple(entries))), outputs


def _foreseen(body: ir.Block) -> Outputs:
    found: Outputs = {}
    for node in body.nodes:
        if isinstance(node, ir.Task):
            try:
                found |= results_of(node)
            except CannotSay:
                continue
    return found


def _loop(scope: Scope, node: ir.Loop) -> tuple[ir.Node, Outputs]:
    inner = scope.knowing(_foreseen(node.body))
    given = {name: Said(name_of(name), "integer") for name, fact in node.facts if fact == "number"}
    carry: list[ir.Carry] = []
    for one in node.carry:
        name = f"previous_{one.name.replace('.', '_')}" if "." in one.name else one.name
        if one.later is None:
            first = scope.say(tree_of(one.first))
            given[one.name] = replace(first, source=name_of(name))
            carry.append(ir.Carry(name, in_jinja(first.source)))
        elif one.first == ir.Constant(None):
            later = inner.say(tree_of(one.later))
            given[one.name] = Said(name_of(name), later.type, nullable=True)
            carry.append(ir.Carry(name, one.first, in_jinja(later.source)))
        else:
            raise OTHERWISE
    body, found = _block(scope.knowing(given=given), node.body)
    after = scope.knowing(found, given)
    collect: list[ir.Collect] = []
    outputs: Outputs = {}
    names = {one.name for one in node.body.nodes}
    for part in node.collect:
        said = after.say(tree_of(part.value))
        source = _of_last(node, part, said, names)
        if source is None:
            collect.append(replace(part, value=in_jinja(said.source)))
            kind = said if part.take == "last" else Said("", "list")
            outputs[node.name, part.name] = replace(kind, source=member(node.name, part.name))
        else:
            outputs[node.name, part.name] = replace(said, source=source)
    until = _until(after, node.until)
    return replace(
        node, body=body, carry=tuple(carry), collect=tuple(collect), until=until, shape=None
    ), outputs


def _of_last(node: ir.Loop, part: ir.Collect, said: Said, names: set[str]) -> str | None:
    """How a loop itself tells a value of its last iteration; None if it does not."""
    if part.take != "last":
        return None
    if said.source in {name for name, fact in node.facts if fact == "number"}:
        return f"{name_of(node.name)}.loop.iterations"
    is_result = said.source.partition(".")[0] in names and node.returns == "last"
    return f"{name_of(node.name)}.{said.source}" if is_result else None


def _until(scope: Scope, until: ir.Condition | None) -> ir.When | None:
    test = tree_of(until.test) if isinstance(until, ir.When) else None
    call = Called()
    if isinstance(test, tree.Unary) and test.operator == "not":
        call = called(test.operand)
    if call.function == "goes_on":
        said = scope.say(call.arguments[0])
        if said.type == "boolean" and not said.nullable:
            return ir.When(in_jinja(f"not {said.source}"))
    elif call.function == "continues":
        said, wanted = scope.say(call.arguments[3]), plain(call.arguments[2])
        kind, numbers = type_of(wanted), ("integer", "number")
        alike = said.type == kind or (said.type in numbers and kind in numbers)
        if alike and not said.nullable and wanted is not None:
            sign = _OPPOSITE[call.text(1)]
            return ir.When(in_jinja(f"{said.source} {sign} {literal_of(wanted)}"))
    raise OTHERWISE
