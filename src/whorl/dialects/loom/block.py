"""Blocks of actions: each is read by its type, and stands behind all that it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom import calls, control, loops, outside, plain, variables, work
from whorl.dialects.loom.action import Action, Scene, find, text_at
from whorl.dialects.loom.durations import default_retry, retry_of, timeout_of
from whorl.dialects.loom.fields import check_fields
from whorl.dialects.loom.options import check_options
from whorl.dialects.loom.texts import value_of
from whorl.errors import did_you_mean
from whorl.source import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.loom.draft import Draft
    from whorl.dialects.loom.order import Order

READERS: dict[str, Callable[[Action], ir.Node]] = {
    "compose": plain.read_compose,
    "wait": plain.read_wait,
    "delay": plain.read_wait,
    "terminate": plain.read_terminate,
    "response": plain.read_response,
    "parsejson": plain.read_parse_json,
    "query": plain.read_query,
    "select": plain.read_select,
    "join": plain.read_join,
    "table": plain.read_table,
    "expression": plain.read_time,
    "initializevariable": variables.read_initialize,
    **dict.fromkeys(variables.SETTING, variables.read_set),
    "http": outside.read_http,
    "ai": work.read_ask,
    "actor": work.read_operator_task,
    "activity": work.read_operator_task,
    "if": control.read_if,
    "condition": control.read_if,
    "switch": control.read_switch,
    "foreach": control.read_foreach,
    "scope": control.read_scope,
    "parallel": control.read_parallel,
    "until": loops.read_loop,
    "while": loops.read_loop,
    "dountil": loops.read_loop,
    "workflow": calls.read_call,
}
# The types that only this dialect has: a file that uses one follows the seed's rules.
OWN = frozenset({"ai", "actor", "activity", "while", "dountil", "retry", "parallel", "condition"})
# The types that hold other actions; Azure has no inputs of theirs.
HOLDING = frozenset(
    {"if", "condition", "switch", "foreach", "scope", "parallel", "until", "while", "dountil"}
)
CONNECTORS = frozenset(
    {
        "apiconnection",
        "apiconnectionwebhook",
        "apiconnectionnotification",
        "apimanagement",
        "openapiconnection",
        "openapiconnectionwebhook",
        "serviceprovider",
        "function",
        "invokefunction",
        "httpwebhook",
        "sendtobatch",
        "javascriptcode",
        "csharpscriptcode",
        "powershellcode",
        "xslt",
        "xmlvalidation",
        "xmlcompose",
        "xmlparse",
        "liquid",
        "flatfileencoding",
        "flatfiledecoding",
        "integrationaccountartifactlookup",
        "parsedocument",
        "chunktext",
        "agent",
        "agenthandoff",
        "swiftencode",
        "swiftdecode",
        "rosettanetencode",
        "as2decode",
        "as2encode",
        "x12decode",
        "x12encode",
        "edifactencode",
        "edifactdecode",
        "datamapper",
        "batch",
        "nestedagent",
        "mcpclienttool",
    }
)
TYPES = frozenset({*READERS, *CONNECTORS, "retry"})


def read_block(draft: Draft, actions: Mapping, order: Order, scene: Scene) -> ir.Block:
    """The block of some actions."""
    nodes: list[ir.Node] = []
    for entry in actions:
        node = _read(draft, entry, scene)
        if node is not None:
            nodes.append(replace(node, after=order.after[entry.name]))
    return ir.Block(tuple(nodes))


def _read(draft: Draft, entry: Entry, scene: Scene) -> ir.Node | None:
    fields = entry.value
    draft.count_step(entry.key.span)
    if not isinstance(fields, Mapping):
        draft.report(
            "W007",
            f"action {entry.name!r} is an object",
            fields.span,
            label="no object",
            help='write {"type": "compose", "inputs": ...}',
        )
        return None
    kind = find(fields, "type")
    written = kind.text if isinstance(kind, Scalar) else ""
    action = Action(draft, entry.name, written.lower(), fields, entry.key.span, scene)
    draft.places.remember_node(action.path, entry.key.span)
    place = find(fields, "limit") or fields
    draft.places.remember_field(action.path, "at_most", place.span)
    _check_name(action)
    check_fields(action)
    check_options(action)
    if action.type == "retry":
        return _read_retry(action)
    return _finished(action, read_action(action))


def _check_name(action: Action) -> None:
    """Actions are known by their names everywhere in a definition, wherever they stand."""
    draft, lowered = action.draft, action.name.lower()
    first = draft.named.setdefault(lowered, action.span)
    if first is not action.span:
        message = f"there are two actions {action.name!r}; expressions see the one that ran last"
        where = f"the other one is at line {first.line}; Azure refuses this: give one another name"
        tell = draft.warn if draft.lenient else draft.report
        tell("W012", message, action.span, label="used twice", help=where)


def read_action(action: Action) -> ir.Node:
    """The node of an action, without its place in the order."""
    static = outside.read_static_result(action)
    if static is not None:
        return static
    reader = READERS.get(action.type)
    if reader is not None:
        return reader(action)
    if action.type in CONNECTORS:
        return outside.read_connector(action)
    kind = find(action.fields, "type")
    known = sorted(TYPES)
    draft, name = action.draft, action.type
    if kind is None:
        draft.report("W006", f"action {action.name!r} has no type", action.span, label="no type")
    else:
        draft.report(
            "W009",
            f"action {action.name!r} has the unknown type {text_at(action.fields, 'type')!r}",
            kind.span,
            label="unknown type",
            help=did_you_mean(name, known) or "a type such as compose, http, ai, until, foreach",
        )
    return ir.Compute(name=action.name, value=ir.Constant(None))


def _finished(action: Action, node: ir.Node) -> ir.Node:
    retry = retry_of(action)
    if retry is not None:
        node = replace(node, retry=retry)
    timeout_s = timeout_of(action)
    if timeout_s is not None:
        node = replace(node, timeout_s=timeout_s)
    return replace(node, echo=_echo(action)) if action.draft.reads_inputs else node


def _echo(action: Action) -> ir.Value | None:
    """What an action was given, as far as others may read it."""
    inputs = action.inputs
    if inputs is None or outside.is_secure(action) or action.type in HOLDING:
        return None
    if isinstance(inputs, Mapping):
        shown = tuple(e for e in inputs if e.name.lower() not in ("authentication", "retrypolicy"))
        inputs = Mapping(shown, inputs.span)
    return value_of(action.draft, inputs)


def _read_retry(action: Action) -> ir.Node:
    """An action that is tried again: the node is the inner action under the outer name."""
    inner = action.setting("action")
    if not isinstance(inner, Mapping):
        action.draft.report(
            "W006",
            f"{action.name!r} needs the action that it tries again",
            action.span,
            label="no action",
            help='write "action": {"type": "http", "inputs": {"uri": "..."}}',
        )
        return ir.Compute(name=action.name, value=ir.Constant(None))
    kind = text_at(inner, "type").lower()
    held = Action(action.draft, action.name, kind, inner, action.span, action.scene)
    check_fields(held)
    check_options(held)
    node = _finished(held, read_action(held))
    return replace(node, retry=retry_of(action) or default_retry(action.draft))
