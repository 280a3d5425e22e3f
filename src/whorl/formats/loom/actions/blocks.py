"""Blocks of actions: each is read by its type, and stands behind all that it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import did_you_mean
from whorl.formats.loom import external_actions, words
from whorl.formats.loom.action import Action, Location, read_policy
from whorl.formats.loom.actions import agents, code, control, steps
from whorl.formats.loom.forms import find, secured, text_at
from whorl.formats.loom.project.connections import connected
from whorl.formats.loom.project.host import limited
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.loom.order import Order
    from whorl.formats.loom.texts import LoomContext
    from whorl.source import Entry


_READERS: dict[str, Callable[[Action], ir.Node]] = {
    "compose": lambda action: ir.Compute(
        name=action.name, value=action.context.value(action.inputs)
    ),
    **dict.fromkeys(("wait", "delay"), steps.read_wait),
    "terminate": steps.read_terminate,
    "response": steps.read_response,
    **dict.fromkeys(("parsejson", "query", "select", "join", "table"), steps.read_operation),
    "expression": steps.read_time,
    "initializevariable": steps.read_initialize,
    **dict.fromkeys(words.SETTING, steps.read_set),
    "http": external_actions.read_http,
    "ai": external_actions.read_ask,
    **dict.fromkeys(("actor", "activity"), external_actions.read_operator_task),
    "workflow": external_actions.read_call,
    **dict.fromkeys(words.CONNECTORS, external_actions.read_connector),
    "javascriptcode": code.read_javascript,
    "xslt": code.read_xslt,
    "agent": agents.read_agent,
    agents.HANDOFF: agents.read_handoff,
    **dict.fromkeys(("if", "condition"), control.read_if),
    "switch": control.read_switch,
    "foreach": control.read_foreach,
    **dict.fromkeys(("scope", "parallel"), control.read_scope),
    **dict.fromkeys(words.LOOPS, control.read_loop),
}


def read_block(
    context: LoomContext, actions: Mapping, order: Order, location: Location
) -> ir.Block:
    """The block of some actions, each behind all that it waits for."""
    nodes: list[ir.Node] = []
    for entry in actions:
        node = _read_entry(context, entry, location)
        if node is not None:
            place = f"{entry.key.span.line}:{entry.key.span.column}"
            nodes.append(replace(node, after=order.after[entry.name], place=place))
    return ir.Block(tuple(nodes))


def _read_entry(context: LoomContext, entry: Entry, location: Location) -> ir.Node | None:
    fields, span = entry.value, entry.key.span
    context.count_step(span)
    if not isinstance(fields, Mapping):
        message = f"action {entry.name!r} is an object"
        advice = 'write {"type": "compose", "inputs": ...}'
        context.report("W007", message, fields.span, label="no object", help=advice)
        return None
    kind = text_at(fields, "type").lower()
    action = Action(context, entry.name, kind, fields, span, location)
    context.places.remember_node(action.path, span)
    context.places.remember_field(action.path, "at_most", (find(fields, "limit") or fields).span)
    # Actions are known by their names everywhere in a definition, wherever they stand.
    first = context.named.setdefault(action.name.lower(), span)
    if first is not span:
        message = f"there are two actions {action.name!r}; expressions see the one that ran last"
        advice = f"the other one is at line {first.line}; Azure refuses this: give one another name"
        tell = context.warn if context.lenient else context.report
        tell("W012", message, span, label="used twice", help=advice)
    action.check()
    return _read_retry(action) if kind == "retry" else _read_action(action)


def _read_action(action: Action) -> ir.Node:
    """The node of an action, without its place in the order."""
    reader = _READERS.get(action.type, _read_unknown)
    node = external_actions.read_static_result(action) or reader(action)
    if action.type == "response" and isinstance(node, ir.Compute):
        action.context.answers_later |= "asynchronous" in action.options
        node = replace(node, answers=True)
    retry, timeout_s = action.retry(), action.timeout_s()
    if retry is not None:
        node = replace(node, retry=retry)
    if timeout_s is not None:
        node = replace(node, timeout_s=timeout_s)
    if isinstance(node, ir.Task) and node.kind == "connector":
        node = connected(action, node)
    node = limited(action, node) if action.context.host else node
    if secure := secured(action.fields):
        node = _secured(node, secure)
    return replace(node, echo=_echo(action)) if action.context.reads_inputs else node


def _secured(node: ir.Node, secure: set[str]) -> ir.Node:
    """The node of an action with secure inputs or outputs; a computation gives what it is given."""
    if isinstance(node, ir.Stop):
        return replace(node, message=ir.Constant("the reason is secure and is not shown"))
    is_hidden = "outputs" in secure or isinstance(node, ir.Compute | ir.Assign)
    return replace(node, secure_outputs=is_hidden)


def _read_unknown(action: Action) -> ir.Node:
    context, kind = action.context, find(action.fields, "type")
    if kind is None:
        message = f"action {action.name!r} has no type"
        context.report("W006", message, action.span, label="no type")
    else:
        written = text_at(action.fields, "type")
        message = f"action {action.name!r} has the unknown type {written!r}"
        near = did_you_mean(action.type, sorted(words.TYPES))
        advice = near or "a type such as compose, http, ai, until, foreach"
        context.report("W009", message, kind.span, label="unknown type", help=advice)
    return action.nothing()


def _echo(action: Action) -> ir.Value | None:
    """What an action was given, as far as others may read it."""
    inputs = external_actions.given_inputs(action)
    if inputs is None or "inputs" in secured(action.fields) or action.type in words.HOLDING:
        return None
    if isinstance(inputs, Mapping):
        shown = tuple(e for e in inputs if e.name.lower() not in ("authentication", "retrypolicy"))
        inputs = Mapping(shown, inputs.span)
    return action.context.value(inputs)


def _read_retry(action: Action) -> ir.Node:
    """An action that is tried again: the node is the inner action under the outer name."""
    inner = action.setting("action")
    if not isinstance(inner, Mapping):
        advice = 'write "action": {"type": "http", "inputs": {"uri": "..."}}'
        action.missing("needs the action that it tries again", "no action", advice)
        return action.nothing()
    held = replace(action, type=text_at(inner, "type").lower(), fields=inner)
    held.check()
    node = _read_action(held)
    return replace(
        node, retry=action.retry() or read_policy(action.context, Mapping((), action.span))
    )
