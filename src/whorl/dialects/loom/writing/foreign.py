"""What workflows of other formats need: inputs as parameters, carried values as variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.texts import quote
from whorl.dialects.loom.writing.crossing import kind_of
from whorl.dialects.loom.writing.scope import Said, inputs_scope, value_kind, variables_in
from whorl.ir.walk import walk
from whorl.language import LanguageError, free_names

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here
    from whorl.dialects.loom.writing.scope import Scope

_TYPES = {
    "string": "String",
    "number": "Float",
    "integer": "Int",
    "boolean": "Bool",
    "json": "Object",
    "list": "Array",
}
# What an iteration knows of its loop has other names in a definition, or none.
_FACTS = ("number", "index")


def parameters(here: Here) -> dict[str, Any]:
    """The inputs of a workflow as parameters."""
    found: dict[str, Any] = {}
    for port in here.page.workflow.inputs:
        here.lose_unsaid(port, ("name", "type", "required", "default", "description"))
        if port.type != "any":
            what = f"the type {port.type!r} of input {port.name!r}"
            here.lose(what, "a parameter takes any value there")
        if port.required:
            here.lose(f"the input {port.name!r}, which must be given", "a parameter may be null")
        one: dict[str, Any] = {"type": _TYPES.get(port.type, "Object")}
        if port.default is not None:
            one["defaultValue"] = port.default
        if port.description:
            one["metadata"] = {"description": port.description}
        found[port.name] = one
    if here.page.workflow.main_input:
        name = here.page.workflow.main_input
        here.lose(f"the main input {name!r}", "the main input of a definition is its body")
    _check_names(here)
    return found


def _check_names(here: Here) -> None:
    """Actions are known by their names in the whole of a definition, letter case aside."""
    seen: set[str] = set()
    for path, node in walk(here.page.workflow.body):
        if node.name.lower() in seen:
            here.lose(f"the second step {node.name!r} ({path})", "a name is used once there")
        seen.add(node.name.lower())


def scope(here: Here) -> Scope:
    """The names that a whole workflow knows: inputs and variables."""
    workflow = here.page.workflow
    for name, value in workflow.variables:
        here.lose(
            f"the variable {name!r} with a first value", "actions give variables their values"
        )
        del value
    return inputs_scope(workflow).with_names(variables_in(workflow.body))


def with_variables(here: Here, actions: dict[str, Any]) -> dict[str, Any]:
    """The actions behind one that declares all variables, which are null at first."""
    workflow = here.page.workflow
    names = dict.fromkeys(variables_in(workflow.body))
    if not names:
        return actions
    first = "variables"
    while first in actions:
        first += "_"
    for action in actions.values():
        if action.get("runAfter") == {}:
            action["runAfter"] = {first: ["Succeeded"]}
    declared = {"variables": [{"name": name, "value": None} for name in names]}
    return {first: {"type": "InitializeVariable", "inputs": declared}} | actions


def inside_loop(here: Here, node: ir.Loop) -> tuple[Here, Here]:
    """The places of the steps of a loop and of its condition, which is weighed when the count of
    the next iteration is there already.
    """
    hidden = [name for name, _ in node.facts] + [carry.name for carry in node.carry]
    outer = here.crossing.scope.without(*hidden)
    counted = [name for name, fact in node.facts if fact == "number"]
    count = "variables('loopCount')"
    is_before = node.check == "before"
    later = Said(count if is_before else f"sub({count}, 1)", "integer")
    known = outer.with_names(dict.fromkeys(counted, Said(count, "integer")))
    body = known.with_names(_carried(node, known))
    checked = outer.with_names(dict.fromkeys(counted, later))
    return here.where(body).with_block(node.body), here.where(checked).with_block(node.body)


def _carried(node: ir.Loop, known: Scope) -> dict[str, Said]:
    """The carried values: one whose later values are of the kind of its first one keeps it."""
    kinds = {
        carry.name: value_kind(carry.first or ir.Constant(None), lambda one: kind_of(one, known))
        for carry in node.carry
    }
    while True:
        found = {name: Said(f"variables({quote(name)})", kind) for name, kind in kinds.items()}
        inside = known.with_names(found).with_block(node.body, kind_of)
        wrong = [one.name for one in node.carry if _later_kind(one, inside) != kinds[one.name]]
        if all(kinds[name] == "any" for name in wrong):
            return found
        kinds |= dict.fromkeys(wrong, "any")


def _later_kind(carry: ir.Carry, inside: Scope) -> str:
    if carry.later is None:
        return "any"
    return value_kind(carry.later, lambda one: kind_of(one, inside))


def carried_before(here: Here, node: ir.Loop) -> dict[str, Any]:
    """The actions that give carried values their first values, by name."""
    return {
        f"{node.name}_{carry.name}": _declare(here, carry.name, carry.first or ir.Constant(None))
        for carry in node.carry
    }


def carried_after(here: Here, node: ir.Loop) -> dict[str, Any]:
    """The actions at the end of an iteration that carry values over to the next one."""
    found: dict[str, Any] = {}
    names = {carry.name for carry in node.carry}
    for number, carry in enumerate(node.carry):
        if carry.later is None:
            here.lose(
                f"the carried value {carry.name!r}", "it is there in the first iteration only"
            )
            continue
        if number and _reads(carry.later, names - {carry.name}):
            here.lose(f"the carried value {carry.name!r}", "carried values change one by one there")
        found[f"{node.name}_{carry.name}_next"] = _set(here, carry.name, carry.later)
    return found


def _declare(here: Here, name: str, value: ir.Value) -> dict[str, Any]:
    declared = {"variables": [{"name": name, "value": here.value(value)}]}
    return {"type": "InitializeVariable", "inputs": declared}


def _set(here: Here, name: str, value: ir.Value) -> dict[str, Any]:
    return {"type": "setVariable", "inputs": {"name": name, "value": here.value(value)}}


def _reads(value: ir.Value, names: set[str]) -> bool:
    from whorl.ir.expressions import expressions_in

    for expression in expressions_in(value):
        try:
            if names & {use.name for use in free_names(expression)}:
                return True
        except LanguageError:
            return True
    return False
