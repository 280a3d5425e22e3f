"""Actions that compute, wait, answer or end the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.plain import _TIMES
from whorl.dialects.loom.writing.times import interval
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay, print_tree

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here

_ITEM = "@item()"
_TABLE = re.compile(r'table_of\(\{"rows": it, "format": "(\w+)"\}\)')


def write_compute(here: Here, node: ir.Compute) -> dict[str, Any]:
    """The action that computes a value."""
    if node.over is not None:
        return _over(here, node)
    shaped = shape_of(node)
    given = dict(node.value.entries) if isinstance(node.value, ir.Fields) else {}
    if shaped == "checked_content(it)":
        inputs = {"content": here.value(given.get("content"))}
        if given.get("schema") != ir.Constant(None):
            inputs["schema"] = here.value(given.get("schema"))
        return {"type": "ParseJson", "inputs": inputs}
    if shaped == "joined(it)":
        inputs = {"from": here.value(given.get("from"))}
        return {"type": "Join", "inputs": inputs | {"joinWith": here.value(given.get("joinWith"))}}
    if node.name in here.page.responses:
        return {"type": "Response", "kind": "Http", "inputs": here.value(node.value)}
    computed = _time(node.value) if here.page.is_own else None
    if computed is not None:
        return computed
    return {"type": here.page.word("Compose"), "inputs": here.value(node.value)}


def shape_of(node: ir.Node) -> str:
    """The source of what an action gives as its body; empty where it gives none of its own."""
    shape = node.shape
    if isinstance(shape, ir.Fields):
        body = dict(shape.entries).get("body")
        return body.source if isinstance(body, ir.Expression) else ""
    return shape.source if isinstance(shape, ir.Expression) else ""


def _over(here: Here, node: ir.Compute) -> dict[str, Any]:
    source = {"from": here.value(node.over)}
    table = _TABLE.fullmatch(shape_of(node))
    if table is not None:
        found: dict[str, Any] = source | {"format": table[1]}
        if isinstance(node.value, ir.Fields):
            found["columns"] = [
                {"header": key, "value": here.value(one)} for key, one in node.value.entries
            ]
        return {"type": "Table", "inputs": found}
    if node.keep is not None:
        return {"type": "Query", "inputs": source | {"where": here.value(node.keep)}}
    return {"type": "Select", "inputs": source | {"select": here.value(node.value)}}


def _time(value: ir.Value) -> dict[str, Any] | None:
    """An action that computes a time, where its call is one that such actions make."""
    entries = dict(value.entries) if isinstance(value, ir.Fields) else {}
    body = entries.get("body")
    if set(entries) != {"body"} or not isinstance(body, ir.Expression):
        return None
    try:
        call = parse(body).value
    except LanguageError:
        return None
    if not isinstance(call, tree.Apply):
        return None
    for kind, (function, names) in _TIMES.items():
        if function == call.function.name:
            given = [*call.arguments, *call.extra]
            inputs = {
                name: _argument(one, body.syntax)
                for name, one in zip(names, given, strict=False)
                if not (isinstance(one, tree.Literal) and one.value is None)
            }
            return {"type": "Expression", "kind": kind, "inputs": inputs}
    return None


def _argument(node: tree.Expr, syntax: str) -> Any:
    if isinstance(node, tree.Literal):
        return node.value
    try:
        return print_tree(tree.Tree(syntax, "", node, (), frozenset()), syntax).source
    except CannotSay:
        return ""


def write_wait(here: Here, node: ir.Wait) -> dict[str, Any]:
    """A wait for an interval, or until a time."""
    if node.until is not None:
        return {
            "type": here.page.word("Wait"),
            "inputs": {"until": {"timestamp": here.value(node.until)}},
        }
    inputs = {"interval": interval(here, node.duration)}
    return {"type": here.page.word("Wait"), "inputs": inputs}


def write_stop(here: Here, node: ir.Stop) -> dict[str, Any]:
    """The end of the run."""
    inputs: dict[str, Any] = {"runStatus": node.status.capitalize()}
    if node.message != ir.Constant(None):
        inputs["runError"] = {"message": here.value(node.message)}
    if node.output is not None:
        here.lose("'output' of a stop", "the end of a run gives no output there")
    return {"type": "Terminate", "inputs": inputs}


def write_call(here: Here, node: ir.Call) -> dict[str, Any]:
    """A call of another definition."""
    file = here.page.files.get(node.workflow, node.workflow)
    inputs: dict[str, Any] = {"host": {"workflow": {"id": file.removesuffix(".json")}}}
    for key, value in node.inputs.entries:
        if key in ("body", "headers", "queries"):
            inputs[str(key)] = here.value(value)
        else:
            here.lose(f"the input {key!r} of a call", "a definition is given a body there")
    return {"type": "Workflow", "inputs": inputs}
