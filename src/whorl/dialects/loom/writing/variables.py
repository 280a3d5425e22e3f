"""Actions that declare, set and change variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.variables import _TYPES
from whorl.dialects.loom.writing.here import escaped
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here

_TEXT = r"'((?:[^']|'')*)'"
_TYPED = re.compile(rf"@(?:sub\(0, )?\$typed(?:OrNull)?\({_TEXT}, '(\w+)', (.*?)\)+", re.DOTALL)
_WRAPPED = re.compile(rf"@\$typed(?:OrNull)?\({_TEXT}, '(\w+)', (.*)\)", re.DOTALL)
_DECLARED = re.compile(rf"@\$declared\({_TEXT}, (.*)\)", re.DOTALL)
_LITERAL = re.compile(r"'(?:[^']|'')*'")


def declared_types(workflow: ir.Workflow) -> dict[str, str]:
    """The variables that actions declare, each with its type; empty where none is known."""
    if workflow.dialect != "loom":
        return {}
    variables = dict(workflow.variables).get("$variables")
    given = _names(variables)
    found: dict[str, list[ir.Value]] = {}
    for _, node in walk(workflow.body):
        if not isinstance(node, ir.Assign) or node.operation in ("append", "join"):
            continue
        for name, value in node.sets:
            if name not in given:
                found.setdefault(name, []).append(value)
    return {name: _type(values) for name, values in found.items()}


def first_settings(workflow: ir.Workflow) -> frozenset[str]:
    """The actions that declare variables: for each the first one that stands in no other action."""
    declared = declared_types(workflow)
    found: dict[str, str] = {}
    # What stands in no other action comes first.
    for _, node in sorted(walk(workflow.body), key=lambda one: "/" in one[0]):
        if isinstance(node, ir.Assign) and node.operation == "set":
            for name, _ in node.sets:
                if name in declared:
                    found.setdefault(name, node.name)
    return frozenset(found.values())


def _names(variables: ir.Value | None) -> set[str]:
    if isinstance(variables, ir.Fields):
        return {key for key, _ in variables.entries if isinstance(key, str)}
    if isinstance(variables, ir.Expression):
        # Written down by the reader as a list of texts.
        return set(re.findall(r'"((?:[^"\\]|\\.)*)"', variables.source))
    return set()


def _type(values: list[ir.Value]) -> str:
    for value in values:
        typed = _TYPED.match(value.source) if isinstance(value, ir.Expression) else None
        if typed is not None:
            return typed[2]
    if any(isinstance(value, ir.Expression) for value in values):
        return ""
    first = values[0]
    if isinstance(first, ir.Constant):
        kinds = [kind for kind, cls in _TYPES.items() if type(first.value) is cls]
        return kinds[0] if kinds else ""
    return "array" if isinstance(first, ir.Items) else "object"


def write_assign(here: Here, node: ir.Assign) -> dict[str, Any]:
    """The action of an assignment."""
    page = here.page
    if node.operation == "set" and (len(node.sets) > 1 or node.name in page.first_settings):
        listed = [_declaration(here, name, value) for name, value in node.sets]
        return {"type": "InitializeVariable", "inputs": {"variables": listed}}
    (name, value) = node.sets[0]
    kind, said = _change(here, node.operation, value)
    return {"type": page.word(kind), "inputs": {"name": name} | said}


def _declaration(here: Here, name: str, value: ir.Value) -> dict[str, Any]:
    kind = here.page.declared.get(name, "")
    found: dict[str, Any] = {"name": name}
    if kind:
        found["type"] = kind
    return found | {"value": unwrapped(here, value)}


def _change(here: Here, operation: str, value: ir.Value) -> tuple[str, dict[str, Any]]:
    match operation:
        case "append":
            return "AppendToArrayVariable", {"value": unwrapped(here, value)}
        case "join":
            return "AppendToStringVariable", {"value": _printed(here, value)}
        case "add":
            return _added(here, value)
        case _:
            return "SetVariable", {"value": unwrapped(here, value)}


def _printed(here: Here, value: ir.Value) -> Any:
    source = value.source if isinstance(value, ir.Expression) else ""
    if source.startswith("@string(") and source.endswith(")"):
        return f"@{source[8:-1]}"
    return unwrapped(here, value)


def _added(here: Here, value: ir.Value) -> tuple[str, dict[str, Any]]:
    if isinstance(value, ir.Constant) and isinstance(value.value, int | float) and value.value < 0:
        return "DecrementVariable", {"value": -value.value}
    source = value.source if isinstance(value, ir.Expression) else ""
    if source.startswith("@sub(0, ") and source.endswith(")"):
        inner = ir.Expression("logic", f"@{source[8:-1]}")
        return "DecrementVariable", {"value": unwrapped(here, inner)}
    return "IncrementVariable", {"value": unwrapped(here, value)}


def unwrapped(here: Here, value: ir.Value) -> Any:
    """A value without the checks that the reader puts around it."""
    if not isinstance(value, ir.Expression):
        return here.value(value)
    declared, typed = (one.fullmatch(value.source) for one in (_DECLARED, _WRAPPED))
    if declared is not None:
        return _term(declared[2])
    if typed is not None:
        return _term(typed[3], typed[2])
    return here.value(value)


def _term(term: str, kind: str = "") -> Any:
    """A text of another type stands for itself; anything else is an expression."""
    if _LITERAL.fullmatch(term) and kind != "string":
        return escaped(term[1:-1].replace("''", "'"))
    return f"@{term}"
