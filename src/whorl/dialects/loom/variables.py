"""Actions that set variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, text_at
from whorl.dialects.loom.texts import computed, expression, has_expression, text_term, value_of
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Literal

    from whorl.dialects.loom.action import Action
    from whorl.language import Json
    from whorl.source import Value

SETTING = frozenset(
    {
        "setvariable",
        "incrementvariable",
        "decrementvariable",
        "appendtoarrayvariable",
        "appendtostringvariable",
    }
)
_EMPTY: dict[str, Json] = {
    "string": "",
    "array": [],
    "integer": 0,
    "int": 0,
    "float": 0.0,
    "boolean": False,
    "bool": False,
    "object": None,
}


def read_initialize(action: Action) -> ir.Node:
    """Declares variables and gives them their first values."""
    sets: list[tuple[str, ir.Value]] = []
    for item in declared(action.setting("variables")):
        name = text_at(item, "name")
        value = find(item, "value")
        kind = text_at(item, "type").lower()
        given = value_of(action.draft, value)
        if given == ir.Constant(None) and kind in _EMPTY:
            given = ir.Constant(_EMPTY[kind])
        sets.append((action.draft.variable(name), given))
    if not sets:
        action.draft.report(
            "W006",
            f"{action.name!r} names no variable",
            action.span,
            label="no variables",
            help='write "inputs": {"variables": [{"name": "n", "type": "integer", "value": 0}]}',
        )
    return ir.Assign(name=action.name, sets=tuple(sets), shape=_shape(sets))


def declared(variables: Value | None) -> list[Mapping]:
    """The variables that an action declares."""
    items = variables if isinstance(variables, Sequence) else ()
    return [item for item in items if isinstance(item, Mapping) and text_at(item, "name")]


def read_set(action: Action) -> ir.Node:
    """Sets, increments or appends to a variable."""
    name = _name(action)
    value = action.setting("value")
    operation: Literal["set", "append", "join", "add"] = "set"
    given = value_of(action.draft, value)
    match action.type:
        case "appendtoarrayvariable":
            operation = "append"
        case "appendtostringvariable":
            operation = "join"
            given = _as_text(action, value, given)
        case "incrementvariable" | "decrementvariable":
            operation = "add"
            given = ir.Constant(1) if value is None else given
            if action.type == "decrementvariable":
                given = _negative(action, value, given)
    sets = [(name, given)]
    return ir.Assign(name=action.name, sets=tuple(sets), operation=operation, shape=_shape(sets))


def name_of(action: Mapping) -> str:
    """The name of the variable that an action sets."""
    name = text_at(action, "inputs", "name")
    return name or text_at(action, "variableName") or text_at(action, "name")


def _name(action: Action) -> str:
    name = name_of(action.fields)
    if not name:
        action.draft.report(
            "W006",
            f"{action.name!r} names no variable",
            action.span,
            label="no name",
            help='write "inputs": {"name": "n", "value": 1}',
        )
    return action.draft.variable(name)


def _as_text(action: Action, value: Value | None, given: ir.Value) -> ir.Value:
    """What is appended to a text is printed by the rules of `@{}`."""
    if isinstance(value, Scalar) and isinstance(value.value, str) and has_expression(value.value):
        return expression(action.draft, value, f"@string({text_term(value.value)})")
    return given


def _negative(action: Action, value: Value | None, given: ir.Value) -> ir.Value:
    if isinstance(given, ir.Constant):
        is_number = isinstance(given.value, int | float) and not isinstance(given.value, bool)
        return ir.Constant(-given.value) if is_number else given  # type: ignore[operator]
    assert isinstance(value, Scalar)
    return expression(action.draft, value, f"@sub(0, {text_term(value.text)})")


def _shape(sets: list[tuple[str, ir.Value]]) -> ir.Value:
    if len(sets) != 1:
        return ir.Fields((("body", ir.Expression("jinja", "it")),))
    name = sets[0][0]
    value = computed("last_of", ir.Expression("jinja", "it"), name, True)
    body = ir.Fields((("name", ir.Constant(name)), ("value", value)))
    return ir.Fields((("body", body),))
